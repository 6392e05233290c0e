"""Columns with the same set of values are one class: classes are compared, columns are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Ints, Lake

# Values that are looked at together: a call per column would cost more than its values do.
_TOGETHER = 1 << 19


@dataclass(frozen=True, slots=True)
class Classes:
    """Columns grouped by equal sets of values, the largest sets first; empty ones are left out."""

    vectors: list[Hashes]
    of: Ints  # the class of each column, -1 for an empty one

    def __len__(self) -> int:
        return len(self.vectors)


def group(lake: Lake) -> Classes:
    """Group columns by equal sets.

    Sets are told apart by size, ends and the exclusive or of their hashes, which as good random
    numbers would hardly ever agree by chance; equal keys are compared value by value still.
    """
    vectors = list(lake.vectors)
    filled = [place for place, vector in enumerate(vectors) if len(vector)]
    first: dict[tuple[int, ...], list[int]] = {}  # the first column of each class, by key
    same = np.full(len(vectors), -1, dtype=np.int64)
    for place, key in zip(filled, _keys([vectors[place] for place in filled]), strict=True):
        alike = first.setdefault(key, [])
        for other in alike:
            if np.array_equal(vectors[other], vectors[place]):
                same[place] = other
                break
        else:
            alike.append(place)
            same[place] = place
    firsts = np.flatnonzero(same == np.arange(len(vectors)))
    sizes = np.array([len(vectors[place]) for place in firsts.tolist()], dtype=np.int64)
    order = firsts[np.argsort(-sizes, kind="stable")]
    number = np.full(len(vectors) + 1, -1, dtype=np.int64)  # the last is for empty columns
    number[order] = np.arange(len(order))
    return Classes([vectors[place] for place in order.tolist()], number[same])


def _keys(vectors: Sequence[Hashes]) -> Iterator[tuple[int, ...]]:
    """What equal sets have in common: size, ends, and the exclusive or of all hashes."""
    for _, values, starts in together(vectors):
        ends = np.append(starts[1:], len(values))
        parts = (
            ends - starts,
            values[starts],
            values[ends - 1],
            np.bitwise_xor.reduceat(values, starts),
        )
        yield from zip(*(part.tolist() for part in parts), strict=True)


def together(vectors: Sequence[Hashes]) -> Iterator[tuple[int, Hashes, Ints]]:
    """Some sets at a time: the number of the first, their values, and where each one's begin."""
    ends = np.cumsum([len(vector) for vector in vectors], dtype=np.int64)
    first, before = 0, 0
    while first < len(vectors):
        last = max(int(np.searchsorted(ends, before + _TOGETHER, side="right")), first + 1)
        starts = np.concatenate([[0], ends[first : last - 1] - before])
        yield first, np.concatenate(vectors[first:last]), starts
        first, before = last, int(ends[last - 1])
