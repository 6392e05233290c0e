"""Finds a part by its name: built-in parts first, then entry points of other packages.

A built-in part is a reference `package.module:name`, so nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from dovetail.errors import UsageError
from dovetail.ports import LLM, Embedder, Engine, Source, SourceSpec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SOURCES = "dovetail.sources"
ENGINES = "dovetail.engines"
EMBEDDERS = "dovetail.embedders"
LLMS = "dovetail.llms"
RETRIEVERS = "dovetail.retrievers"
COMMANDS = "dovetail.commands"

_BUILT_IN = {
    SOURCES: {
        "sqlite": "dovetail.sources.database_files:SqliteSource",
        "duckdb": "dovetail.sources.database_files:DuckdbSource",
        "files": "dovetail.sources.files:FilesSource",
        "postgresql": "dovetail.sources.postgres:PostgresSource",
        "mysql": "dovetail.sources.mysql:MysqlSource",
        "s3": "dovetail.sources.object_store:ObjectStoreSource",
        "gs": "dovetail.sources.object_store:ObjectStoreSource",
        "az": "dovetail.sources.object_store:ObjectStoreSource",
        "http": "dovetail.sources.object_store:ObjectStoreSource",
        "https": "dovetail.sources.object_store:ObjectStoreSource",
        **dict.fromkeys(
            (
                "snowflake",
                "bigquery",
                "databricks",
                "trino",
                "flightsql",
                "mssql",
                "oracle",
            ),
            "dovetail.sources.warehouse:WarehouseSource",
        ),
    },
    ENGINES: {
        "local": "dovetail.engines.local:LocalEngine",
        "ray": "dovetail.engines.ray:RayEngine",
    },
    EMBEDDERS: {
        "minilm": "dovetail.models.embed_minilm:open_minilm",
        "none": "dovetail.models.vectors:open_none",
        "openai": "dovetail.models.openai:OpenAIEmbedder",
        "st": "dovetail.models.embed_st:open_st",
    },
    LLMS: {
        "openai": "dovetail.models.openai:OpenAILLM",
        "local": "dovetail.models.llm_local:LocalLLM",
    },
    # Offered by other packages alone; those of our own are in `dovetail.retrieve.ask`.
    RETRIEVERS: {},
    COMMANDS: {},
}


def entry_points(group: str) -> Iterable[EntryPoint]:
    """What other packages offer in a group."""
    from importlib import metadata  # takes 30 ms to load, and most names are built in

    return metadata.entry_points(group=group)


def load(group: str, name: str) -> Any:
    """Find a part of a group by name; the error for an unknown name lists those there are."""
    if name in _BUILT_IN[group]:
        return resolve(_BUILT_IN[group][name])
    offered = _offered(group, entry_points)
    if name in offered:
        return offered[name].load()
    listed = ", ".join(names(group)) or "none"
    raise UsageError(f"{group.split('.')[1][:-1]} {name!r} is not known; there are: {listed}")


def names(group: str) -> list[str]:
    """List the names of a group: built in, or offered by another package."""
    return sorted({*_BUILT_IN[group], *_offered(group, entry_points)})


@cache
def _offered(group: str, find: Callable[..., Iterable[EntryPoint]]) -> Mapping[str, EntryPoint]:
    """The parts that other packages offer, found once: it takes a look into every package."""
    return {entry.name: entry for entry in find(group=group)}


def resolve(reference: str) -> Any:
    """Import the object that a reference `package.module:name` stands for."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def open_source(spec: SourceSpec) -> Source:
    """Open a source by its kind."""
    return cast(Source, load(SOURCES, spec.kind)(spec))


def needs_driver(kind: str) -> bool:
    """Whether a source is read by the driver of a warehouse or by another package, which may need
    anything that is installed; the others are read by DuckDB and Arrow."""
    return ".warehouse:" in _BUILT_IN[SOURCES].get(kind, ".warehouse:")


def open_engine(name: str, *, workers: int | None, address: str | None) -> Engine:
    """Open an engine; without a number of workers it takes one per processor."""
    return cast(Engine, load(ENGINES, name)(workers=workers, address=address))


def open_embedder(name: str) -> Embedder | None:
    """Open an embedder, `part` or `part:argument` (`st:all-mpnet-base-v2`); `none` gives None."""
    part, _, argument = name.partition(":")
    return cast(Embedder | None, load(EMBEDDERS, part)(argument))


def open_llm(name: str, *, workers: int = 8) -> LLM:
    """Open a language model by name, `kind:model`, for at most `workers` calls at once."""
    if workers < 1:
        raise UsageError(
            f"a model cannot answer {workers} calls at once; set llm_workers to 1 or more"
        )
    kind, _, model = name.partition(":")
    return cast(LLM, load(LLMS, kind)(model, workers=workers))
