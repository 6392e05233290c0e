"""Columns of given values as the arrays that join evidence sees, and pairs as Python has them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from dovetail.arrays import Ints
from dovetail.domain import TableId
from dovetail.hashing import mix
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.candidates import Candidates


def hashed(values: set[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.sort(mix(np.array(sorted(values), dtype=np.uint64)))


def arrays_of(sets: list[set[int]], tables: list[int], unique: list[bool]) -> ColumnArrays:
    """A arrays of columns with these values, all named alike."""
    count = len(sets)
    number = max(tables, default=-1) + 1
    value_hashes = [hashed(values) for values in sets]
    counts = [
        np.full(len(values), 1 if u else 2, np.uint32)
        for values, u in zip(sets, unique, strict=True)
    ]
    return ColumnArrays(
        ids=[TableId("s", f"thing_{table}") for table in range(number)],
        rows=np.full(number, 100),
        table=np.array(tables, dtype=np.int64),
        position=np.ones(count, dtype=np.int64),
        name=["thing_id"] * count,
        number=np.ones(count, dtype=np.bool_),
        filled=np.array([int(c.sum()) for c in counts], dtype=np.int64),
        distinct=np.array([len(values) for values in sets], dtype=np.int64),
        unique=np.array(unique, dtype=np.bool_),
        key=np.array(unique, dtype=np.bool_),
        low=np.zeros(count),
        high=np.array([float(max(values, default=0)) for values in sets]),
        value_hashes=value_hashes,
        counts=counts,
        global_ids=np.zeros(count, dtype=np.bool_),
    )


COLUMNS = st.lists(
    st.tuples(st.sets(st.integers(0, 60), max_size=40), st.integers(0, 4), st.booleans()),
    max_size=14,
)


def listed(blocks: Iterable[tuple[Ints, Ints]]) -> list[tuple[int, int]]:
    return [
        pair for inner, outer in blocks for pair in zip(inner.tolist(), outer.tolist(), strict=True)
    ]


def as_dict(found: Candidates) -> dict[tuple[int, int], tuple[int, int]]:
    parts = (found.child, found.parent, found.shared, found.rows)
    rows = zip(*(part.tolist() for part in parts), strict=True)
    return {(child, parent): (shared, held) for child, parent, shared, held in rows}
