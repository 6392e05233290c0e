"""Columns of given values as the arrays that join evidence sees, and pairs as Python has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dovetail.arrays import Counts, Flags, Ints
from dovetail.domain import TableId
from dovetail.hashing import Hashes, mix
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays, ValuePasses, ValueSets
from dovetail.joins.features import UpperBounds


def hashed(values: set[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.sort(mix(np.array(sorted(values), dtype=np.uint64)))


class HeldValues:
    """Value sets in memory."""

    def __init__(self, hashes: Sequence[Hashes], counts: Sequence[Counts]) -> None:
        self._hashes, self._counts = hashes, counts
        self.distinct = np.array([len(each) for each in hashes], dtype=np.int64)
        self.filled = np.array([int(each.sum()) for each in counts], dtype=np.int64)

    def hashes(self, number: int) -> Hashes:
        return self._hashes[number]

    def counts(self, number: int) -> Counts:
        return self._counts[number]


def held(hashes: Sequence[Hashes], counts: Sequence[Counts] | None = None) -> ValueSets:
    """All of some value sets, each value in one row unless counts are given."""
    ones = [np.ones(len(each), dtype=np.uint32) for each in hashes]
    values = HeldValues(hashes, ones if counts is None else counts)
    return ValueSets(ValuePasses(values), np.arange(len(hashes)))


@dataclass(frozen=True)
class EachPair:
    """Bounds that a function tells, of pairs alone."""

    check: Callable[[Ints, Ints], Flags]
    child_kind: Ints
    key_kind: Ints

    def eligible(self, child: Ints, key: Ints) -> Flags:
        return np.ones_like(child == key)

    def within(self, child: Ints, key: Ints) -> Flags:
        return self.check(child, key)


class AnyScore(UpperBounds):
    """Upper bounds that let every pair through that is worth looking at."""

    def within(self, child: Ints, parent: Ints) -> Flags:
        return np.ones_like(child == parent)


def bounds_of(arrays: ColumnArrays, check: Callable[[Ints, Ints], Flags] | None = None) -> EachPair:
    """Bounds that rule out nothing but what a function tells; all columns are of one kind."""
    kind = np.zeros(len(arrays), dtype=np.int64)
    return EachPair(check or (lambda child, _: np.ones(len(child), dtype=np.bool_)), kind, kind)


def arrays_of(sets: list[set[int]], tables: list[int], unique: list[bool]) -> ColumnArrays:
    """A arrays of columns with these values, all named alike."""
    count = len(sets)
    number = max(tables, default=-1) + 1
    counts = [
        np.full(len(values), 1 if u else 2, np.uint32)
        for values, u in zip(sets, unique, strict=True)
    ]
    return ColumnArrays(
        ids=[TableId("s", f"thing_{table}") for table in range(number)],
        rows=np.full(number, 100),
        table=np.array(tables, dtype=np.int64),
        position=np.ones(count, dtype=np.int64),
        first=np.zeros(count, dtype=np.bool_),
        name=["thing_id"] * count,
        called=["thing_id"] * count,
        number=np.ones(count, dtype=np.bool_),
        text=np.zeros(count, dtype=np.bool_),
        filled=np.array([int(c.sum()) for c in counts], dtype=np.int64),
        distinct=np.array([len(values) for values in sets], dtype=np.int64),
        unique=np.array(unique, dtype=np.bool_),
        key=np.array(unique, dtype=np.bool_),
        low=np.zeros(count),
        high=np.array([float(max(values, default=0)) for values in sets]),
        values=held([hashed(values) for values in sets], counts),
        prefix=[""] * count,
        period=np.zeros(count, dtype=np.bool_),
        days=np.zeros(count, dtype=np.bool_),
        codes=np.zeros(count, dtype=np.bool_),
        words=np.zeros(count, dtype=np.bool_),
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
