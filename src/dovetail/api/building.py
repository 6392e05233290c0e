"""Building a catalog, bringing it up to date, and opening it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dovetail.api.catalog import Catalog
from dovetail.catalog.files import MEMORY
from dovetail.catalog.writer import writing
from dovetail.errors import MissingModelError, UsageError
from dovetail.models.cache import open_model
from dovetail.offline import pipeline
from dovetail.offline.summary import ProgressCallback, UpdateSummary
from dovetail.ports import LLM
from dovetail.settings import Settings, load_settings
from dovetail.sources.frames import is_frame, write_frames

# What can be named as a source: a path, glob or URL, or a mapping of names to frames or to those.
SourceArgument = str | os.PathLike[str] | Mapping[str, Any]


def build(
    *sources: SourceArgument,
    into: str | Path | None = None,
    settings: Settings | None = None,
    describe: bool | None = None,
    on_progress: ProgressCallback | None = None,
) -> Catalog:
    """Bring the catalog at `into` up to date with sources, and open it.

    Each source is a SQLite or DuckDB file, a table file (CSV, Excel, …), a folder or glob of
    them, or a `postgresql://` or `mysql://` URL; `name=…` gives it a label. A mapping holds tables
    in memory by name: pandas, Polars or Arrow. They are written as Parquet into the catalog's
    folder, under `memory`, so that updates and SQL work as with any source. A path or URL in a
    mapping has its key as label.

    Tables are added, read again where they changed, or dropped; sources of earlier calls stay.
    Without any source, those that the settings name are taken, or else all that the catalog has.
    Without `into`, the settings say which folder; without `settings`, those of `dovetail.toml` in
    the current folder and of the environment hold.

    As with `dovetail index`, a language model describes the tables if the settings name one
    (`llm`), and none is asked otherwise; `describe=False` leaves that out, and `describe=True` is
    an error where no model is set. `on_progress` is called with a `Progress` now and then.

    >>> import dovetail
    >>> import pyarrow as pa
    >>> rates = pa.table({"currency": ["EUR", "NOK"], "rate": [1.0, 11.5]})
    >>> catalog = dovetail.build("shop.sqlite", {"rates": rates}, into="rated")
    >>> catalog["order_items"].rows, str(catalog["rates"].id)
    (1288, 'memory::rates')
    """
    return update(
        sources, into=into, settings=settings, describe=describe, on_progress=on_progress
    ).catalog


def update(
    sources: Sequence[SourceArgument] = (),
    *,
    into: str | Path | None = None,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    describe: bool | None = None,
    on_progress: ProgressCallback | None = None,
) -> UpdateSummary[Catalog]:
    """Do what `build` does, and say what it came to.

    `forget=[label, …]` drops sources by label; `check=True` reads every table again, whatever its
    source says. The summary tells the seconds of each stage.

    >>> import dovetail
    >>> first = dovetail.update(["shop.sqlite", "exports"], into="catalog")
    >>> again = dovetail.update(into="catalog", forget=["exports"])
    >>> len(first.added), len(again.dropped), again.unchanged
    (16, 10, 6)
    """
    chosen = settings or load_settings()
    folder = Path(into or chosen.catalog)
    given = [sources] if isinstance(sources, str | os.PathLike | Mapping) else sources
    done = pipeline.update(
        list(_arguments(given or chosen.sources, folder, no_values=chosen.no_values)),
        into=folder,
        settings=chosen,
        forget=forget,
        check=check,
        llm=_describing_model(folder, chosen, describe),
        on_progress=on_progress,
    )
    if MEMORY in forget:
        shutil.rmtree(folder / MEMORY, ignore_errors=True)
    return done.over(Catalog(done.catalog, chosen))


def _arguments(
    sources: Sequence[SourceArgument], catalog: Path, *, no_values: bool
) -> Iterator[str]:
    """Sources as the offline pipeline takes them: texts; tables in memory are written first."""
    for source in sources:
        if not isinstance(source, Mapping):
            yield _location(source)
            continue
        frames = {name: value for name, value in source.items() if is_frame(value)}
        yield from (
            f"{label}={os.fspath(location)}"
            for label, location in source.items()
            if label not in frames
        )
        if frames:
            with writing(catalog) as writer:
                if no_values or (writer.current is not None and writer.current.no_values):
                    raise UsageError(
                        "tables in memory are kept in the catalog, and this one keeps no values; "
                        "write them to a file and name that"
                    )
                folder = write_frames(frames, writer.folder.absolute() / MEMORY)
            yield f"{MEMORY}={folder}"


def _location(source: str | os.PathLike[str]) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    kind = type(source).__qualname__
    raise UsageError(
        f"a source is a path, a URL, or a mapping of names to tables in memory, not a {kind}; "
        'to give a table a name, pass {"name": table}'
    )


def _describing_model(folder: Path, settings: Settings, describe: bool | None) -> LLM | None:
    """The language model that is to describe tables, or None if none shall."""
    if describe is False:
        return None
    model = open_model(folder, settings)
    if describe and model is None:
        raise MissingModelError("describing tables")
    return model
