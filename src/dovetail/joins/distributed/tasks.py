"""The tasks that workers do over a catalog's values: arrays in, a few numbers each out."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from dovetail.arrays import Ints
from dovetail.engines.workers import UNABLE
from dovetail.hashing import Hashes
from dovetail.joins.distributed.column_values import ColumnValues, rows_of, values_of
from dovetail.joins.distributed.distributed_columns import PARTS
from dovetail.joins.distributed.shared_arrays import opened_shared
from dovetail.joins.inclusion.any_shared import any_shared
from dovetail.joins.inclusion.bottom_k import SketchLookup, holders
from dovetail.joins.inclusion.candidate_search import CandidateSearch
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.keys.row_checks import ChecksHere
from dovetail.joins.scoring.upper_bounds import UpperBounds
from dovetail.joins.value_index.index_part import index_part
from dovetail.joins.value_index.make_segment import merged
from dovetail.joins.value_index.row_sample import sample_places
from dovetail.joins.value_index.signatures import smallest_hashes
from dovetail.ports import Json, Tick


def set_facts(job: Json, folder: Path, tick: Tick) -> Json:
    """Per column of a range: a digest of its value set, and its sampled values with their rows."""
    del tick
    values = values_of(job)
    if values is None:
        return UNABLE
    columns = range(job["first"], job["last"])
    digest = np.zeros((len(columns), 2), dtype=np.uint64)
    hashes: list[Hashes] = [np.empty(0, dtype=np.uint64)]
    rows: list[Ints] = [np.empty(0, dtype=np.int64)]
    for at, column in enumerate(columns):
        held, counts = values.hashes(column), values.counts(column)
        raw = hashlib.blake2b(np.ascontiguousarray(held).data, digest_size=16).digest()
        digest[at] = np.frombuffer(raw, dtype=np.uint64)
        places = sample_places(held, counts)
        hashes.append(held[places])
        rows.append(counts[places].astype(np.int64))
    np.save(folder / "digest.npy", digest)
    np.save(folder / "sizes.npy", np.array([len(part) for part in rows[1:]], dtype=np.int64))
    np.save(folder / "hashes.npy", np.concatenate(hashes))
    np.save(folder / "rows.npy", np.concatenate(rows))
    np.save(folder / "smallest.npy", smallest_hashes([values.hashes(c) for c in columns]))
    return {"columns": len(columns)}


def holding(job: Json, folder: Path, tick: Tick) -> Json:
    """Which columns of a range hold which of some sorted values."""
    del tick
    values = values_of(job)
    if values is None or not Path(job["given"]).is_dir():
        return UNABLE
    columns = _given(job, "columns")
    some = columns[job["first"] : job["last"]].tolist()
    held = holders(_lookup(job["given"]), [values.hashes(column) for column in some], len(columns))
    np.save(folder / "held.npy", held + job["first"])
    return {"held": len(held)}


def likely_pairs(job: Json, folder: Path, tick: Tick) -> Json:
    """The likely pairs, within bounds, of a range of a search."""
    del tick
    given = Path(job["given"])
    if not given.is_dir():
        return UNABLE
    search = opened_shared(CandidateSearch, given / "search")
    bounds = opened_shared(UpperBounds, given / "bounds")
    found = [np.stack(pair) for pair in search.pairs(job["first"], job["last"], bounds)]
    pairs = np.concatenate([np.empty((2, 0), dtype=np.int64), *found], axis=1)
    np.save(folder / "pairs.npy", pairs)
    return {"pairs": pairs.shape[1]}


def count_pairs(job: Json, folder: Path, tick: Tick) -> Json:
    """Values in common and rows found of a range of pairs of columns."""
    del tick
    values = values_of(job)
    if values is None or not Path(job["given"]).is_dir():
        return UNABLE
    child, outer = (
        _given(job, name)[job["first"] : job["last"]].astype(np.int64)
        for name in ("child", "outer")
    )
    columns, place = np.unique(np.append(child, outer), return_inverse=True)
    arrays = values.arrays(columns)
    mine, theirs = place[: len(child)], place[len(child) :]
    shared, rows = count_shared(arrays, mine, arrays.value_hashes, theirs)
    np.save(folder / "shared.npy", shared)
    np.save(folder / "rows.npy", rows)
    return {"pairs": len(child)}


def index_range(job: Json, folder: Path, tick: Tick) -> Json:
    """The part of an index segment with the values from `low` up to, but without, `high`."""
    del tick
    values = values_of(job)
    if values is None or not Path(job["given"]).is_dir():
        return UNABLE
    values.trust()  # workers have passed over all of them before
    table = _given(job, "table")
    slices = _slices(values, job, "columns")
    lengths = np.array([len(some) for some in slices], dtype=np.int64)
    if not lengths.any():
        return {"values": 0}
    sampled = np.load(Path(job["given"]) / "sampled.npy", mmap_mode="r", allow_pickle=False)
    part = index_part(*merged(slices, lengths), table, sampled)
    for name in PARTS:
        np.save(folder / f"{name}.npy", getattr(part, name))
    return {"values": int(lengths.sum())}


def sharing(job: Json, folder: Path, tick: Tick) -> Json:
    """Which columns hold a value, from `low` up to `high`, that any of some others holds."""
    del tick
    values = values_of(job)
    if values is None or not Path(job["given"]).is_dir():
        return UNABLE
    values.trust()  # workers have passed over all of them before
    found = any_shared(_slices(values, job, "columns"), _slices(values, job, "known"))
    np.save(folder / "found.npy", found)
    return {"columns": len(found)}


def check_rows(job: Json, folder: Path, tick: Tick) -> Json:
    """The answers to some questions about rows, if every table that they are about can be read."""
    del folder, tick
    rows = rows_of(job)
    if rows is None:
        return UNABLE
    rows.complete = True
    answers = ChecksHere(rows).ask(job["check"], job["questions"])
    return {"answers": answers} if rows.complete else UNABLE


def _slices(values: ColumnValues, job: Json, name: str) -> list[Hashes]:
    """Of each of some given columns, the values from `low` up to, but without, `high`."""
    low, high = np.uint64(job["low"]), job["high"]
    slices = []
    for column in _given(job, name).tolist():
        hashes = values.hashes(column)
        end = None if high is None else hashes.searchsorted(np.uint64(high))
        slices.append(hashes[hashes.searchsorted(low) : end])
    return slices


def _given(job: Json, name: str) -> Ints:
    """An array that the jobs share, mapped."""
    array: Ints = np.load(Path(job["given"]) / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    return array


@lru_cache(maxsize=1)
def _lookup(given: str) -> SketchLookup:
    return SketchLookup(np.load(Path(given) / "values.npy", allow_pickle=False))
