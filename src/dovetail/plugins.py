"""Name → object: the built-in parts first, then what other packages offer as entry points."""

from __future__ import annotations

import importlib
import inspect
from importlib.metadata import entry_points
from typing import Any, cast

from dovetail.errors import UsageError
from dovetail.ports import LLM, Embedder, Engine, Retriever, Source, SourceSpec

SOURCES = "dovetail.sources"
ENGINES = "dovetail.engines"
EMBEDDERS = "dovetail.embedders"
LLMS = "dovetail.llms"
RETRIEVERS = "dovetail.retrievers"

_BUILT_IN = {
    SOURCES: {
        "sqlite": "dovetail.sources.sqlite:SqliteSource",
        "duckdb": "dovetail.sources.duckdb_file:DuckdbSource",
        "files": "dovetail.sources.files:FilesSource",
        "postgresql": "dovetail.sources.postgres:PostgresSource",
        "mysql": "dovetail.sources.mysql:MysqlSource",
    },
    ENGINES: {
        "local": "dovetail.engines.local:LocalEngine",
        "ray": "dovetail.engines.ray:RayEngine",
    },
    EMBEDDERS: {
        "minilm": "dovetail.models.embed_minilm:open_minilm",
        "none": "dovetail.models.embed_none:open_none",
        "openai": "dovetail.models.embed_openai:open_openai",
        "st": "dovetail.models.embed_st:open_st",
    },
    LLMS: {
        "openai": "dovetail.models.llm_openai:OpenAILLM",
        "local": "dovetail.models.llm_local:LocalLLM",
        "replay": "dovetail.models.replay:ReplayLLM",
    },
    RETRIEVERS: {
        "core-t": "dovetail.retrieve.core_t:open_core_t",
        "graph": "dovetail.retrieve.graph.selector:open_graph",
        "hybrid": "dovetail.retrieve.hybrid:open_hybrid",
        **{
            name: f"dovetail.retrieve.factories:{name.upper()}"
            for name in ("dense", "search", "react", "arm", "rear", "steiner", "ppr")
        },
        "jar": "dovetail.retrieve.factories:open_jar",
    },
}


def load(group: str, name: str) -> Any:
    """Find a part by name; an unknown name says which ones there are."""
    if name in _BUILT_IN[group]:
        return resolve(_BUILT_IN[group][name])
    offered = {entry.name: entry for entry in entry_points(group=group)}
    if name in offered:
        return offered[name].load()
    known = ", ".join(names(group)) or "none"
    raise UsageError(f"{group.split('.')[1][:-1]} {name!r} is not known; there are: {known}")


def names(group: str) -> list[str]:
    """What there is in a group: built in, or offered by another package."""
    return sorted({*_BUILT_IN[group], *(entry.name for entry in entry_points(group=group))})


def resolve(reference: str) -> Any:
    """The object a reference `package.module:name` stands for."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def open_source(spec: SourceSpec) -> Source:
    """Open a source of whatever kind."""
    return cast(Source, load(SOURCES, spec.kind)(spec))


def open_engine(name: str, *, workers: int | None, address: str | None) -> Engine:
    """An engine with so many workers (as many as there are processors, unless told)."""
    return cast(Engine, load(ENGINES, name)(workers=workers, address=address))


def open_embedder(name: str) -> Embedder | None:
    """An embedder: `part` or `part:argument`, as in `st:all-mpnet-base-v2`; `none` is none."""
    part, _, argument = name.partition(":")
    return cast(Embedder | None, load(EMBEDDERS, part)(argument))


def open_llm(name: str, *, workers: int = 8) -> LLM:
    """A language model by name, `kind:model`; it answers so many calls at once, at most."""
    if workers < 1:
        raise UsageError(
            f"a model cannot answer {workers} calls at once; set llm_workers to 1 or more"
        )
    kind, _, model = name.partition(":")
    return cast(LLM, load(LLMS, kind)(model, workers=workers))


def open_retriever(
    name: str, catalog: object, *, k: int, settings: object, **given: object
) -> Retriever:
    """A retriever over a catalog, for `k` candidates; `name:argument` hands the argument on.

    A factory is called as `factory(catalog, k=…, settings=…)`, with `argument=…` where the name
    carries one, and with whatever else is given to it by name.
    """
    base, colon, argument = name.partition(":")
    if colon and not takes(base, "argument"):
        raise UsageError(f"retriever {base!r} takes no argument; leave out {colon + argument!r}")
    more = {"argument": argument} if colon else {}
    factory = load(RETRIEVERS, base)
    return cast(Retriever, factory(catalog, k=k, settings=settings, **more, **given))


def takes(retriever: str, option: str) -> bool:
    """Whether a retriever can be given something by name, beyond what every one is given."""
    factory = load(RETRIEVERS, retriever.partition(":")[0])
    return option in inspect.signature(factory).parameters
