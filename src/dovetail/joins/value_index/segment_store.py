"""Runs of postings beside the catalog: written once, mapped into memory, merged as they grow.

Tables that no run knows get a run of their own. When the writer of a catalog tidies up, that run
takes in all that are not much larger, so that there are few, and those of which half is gone; runs
are called by their tables' contents, so what is there is never out of date.

A run is one file: a line of JSON, the tables and what arrays there are, and then the arrays. To
open a file for each array took a fifth of the time in which a table is looked up.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.joins.column_arrays import Ints
from dovetail.joins.value_index.index_segment import Run, make_run
from dovetail.joins.value_index.row_sample import Drawn
from dovetail.joins.value_index.signatures import Outlines

FOLDER = "postings"
# Raised whenever the same tables would make another run.
_VERSION = 3
_ALIGNED = 64
_ARRAYS = {
    "run": [f.name for f in fields(Run) if f.name not in ("tables", "drawn", "outlines")],
    "drawn": [f.name for f in fields(Drawn)],
    "outlines": [f.name for f in fields(Outlines)],
}


def runs_of(catalog: CatalogReader, *, tidy: bool = False) -> list[tuple[Run, Ints]]:
    """Runs that know every table of a catalog, with the catalog's number of each of their columns.

    Made and written where they are missing. Only the holder of the catalog's lock may `tidy`.
    """
    folder = catalog.path / FOLDER
    keys = _keys(catalog)
    number = {key: place for place, key in enumerate(keys)}
    runs: list[Run] = []
    known: set[str] = set()
    for run in _opened(folder):
        mine = number.keys() & run.tables
        # Of two runs that know the same tables, one of them merged, the first has them.
        if mine - known:
            runs.append(run)
            known |= mine
    if tidy:
        runs = _lasting(runs, number)
        known = {key for run in runs for key in run.tables}
    missing = [place for key, place in number.items() if key not in known]
    if missing:
        runs.append(_make(catalog, keys, missing))
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            _save(folder, runs[-1])
    if tidy:
        _remove_others(folder, runs)
    return _numbered(catalog, runs, number)


def _keys(catalog: CatalogReader) -> list[str]:
    """A name for each table's id and contents."""
    tables = catalog.records.tables
    parts = zip(*(tables[name].to_pylist() for name in ("source", "name", "digest")), strict=True)
    return ["\0".join(part) for part in parts]


def _lasting(runs: Sequence[Run], number: dict[str, int]) -> list[Run]:
    """The runs that are not to be merged into the new one."""
    live = {id(run): sum(key in number for key in run.tables) for run in runs}
    kept = [run for run in runs if 2 * live[id(run)] >= len(run.tables)]
    held = {key for run in kept for key in run.tables}
    growing = len(number.keys() - held)
    if not growing:
        return kept
    lasting: list[Run] = []
    for run in sorted(kept, key=lambda run: live[id(run)]):
        if live[id(run)] <= 2 * growing:
            growing += live[id(run)]
        else:
            lasting.append(run)
    return lasting


def _make(catalog: CatalogReader, keys: Sequence[str], places: Sequence[int]) -> Run:
    bounds = catalog.records.bounds
    ids = catalog.ids
    columns = [(place, at) for place in places for at in range(bounds[place + 1] - bounds[place])]
    vectors = [catalog.hashes(ids[place], at) for place, at in columns]
    counts = [catalog.counts(ids[place], at) for place, at in columns]
    table = np.repeat(np.arange(len(places)), np.diff(bounds)[list(places)])
    return make_run([keys[place] for place in places], table, vectors, counts)


def _numbered(
    catalog: CatalogReader, runs: Sequence[Run], number: dict[str, int]
) -> list[tuple[Run, Ints]]:
    bounds = np.asarray(catalog.records.bounds)
    given: set[str] = set()
    found = []
    for run in runs:
        place = np.array([number.get(k, -1) if k not in given else -1 for k in run.tables])
        given.update(run.tables)
        first = np.searchsorted(run.table, np.arange(len(run.tables)))
        within = np.arange(len(run)) - first[run.table]
        column = place[run.table]
        found.append((run, np.where(column >= 0, bounds[column] + within, -1)))
    return found


@lru_cache(maxsize=16)  # asked for more than once, and long to write out
def _name(tables: tuple[str, ...]) -> str:
    text = json.dumps([_VERSION, *tables])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _opened(folder: Path) -> list[Run]:
    """The runs there are, the largest first; one that cannot be read is as good as not there."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(OSError, ValueError, KeyError, TypeError):
            run = _open(path)
            if path.name == _name(run.tables):
                found.append(run)
    return sorted(found, key=lambda run: (-len(run.tables), run.tables))


def _open(path: Path) -> Run:
    with path.open("rb") as file:
        about = json.loads(file.readline())
        place = _aligned(file.tell())
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    of: dict[str, dict[str, Any]] = {part: {} for part in _ARRAYS}
    for part, name, kind, shape in about["arrays"]:
        size = math.prod(shape)
        array = np.frombuffer(mapped, kind, size, place) if size else np.empty(0, kind)
        of[part][name] = array.reshape(shape)
        place = _aligned(place + array.nbytes)
    drawn, outlines = Drawn(**of["drawn"]), Outlines(**of["outlines"])
    return Run(tables=tuple(about["tables"]), drawn=drawn, outlines=outlines, **of["run"])


def _save(folder: Path, run: Run) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / _name(run.tables)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    parts = {"run": run, "drawn": run.drawn, "outlines": run.outlines}
    arrays = [
        (part, name, np.ascontiguousarray(getattr(parts[part], name)))
        for part, names in _ARRAYS.items()
        for name in names
    ]
    listed = [(part, name, array.dtype.str, array.shape) for part, name, array in arrays]
    try:
        with beside.open("wb") as file:
            file.write(json.dumps({"tables": run.tables, "arrays": listed}).encode() + b"\n")
            for _, _, array in arrays:
                file.seek(_aligned(file.tell()))
                file.write(array.data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED


def _remove_others(folder: Path, runs: Sequence[Run]) -> None:
    names = {_name(run.tables) for run in runs}
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name in names:
                continue
            if path.is_dir():  # a run of an older version
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
