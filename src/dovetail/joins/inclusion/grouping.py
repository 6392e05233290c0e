"""Columns in groups that share their answers: a pair of groups stands for many of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Ints, spans

Facts = TypeVar("Facts", bound=npt.NDArray[Any])

# Pairs of things that come together.
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Groups:
    """Things in groups: those of group `n` stand from `starts[n]` to `starts[n + 1]`."""

    things: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first(self) -> Ints:
        """The first thing of each group."""
        found: Ints = self.things[self.starts[:-1]]
        return found

    def spread(self, reduce: np.ufunc, values: Facts) -> Facts:
        """For each thing what a reduction gives over its group; as it is for those in none."""
        if not len(self):
            return values
        found = values.copy()
        per_group = reduce.reduceat(values[self.things], self.starts[:-1])
        found[self.things] = np.repeat(per_group, np.diff(self.starts))
        return found

    @classmethod
    def of(cls, things: Ints, *facts: Ints) -> Groups:
        """Things in groups by the facts about each that there are, in the order of these."""
        order = things[np.lexsort([fact[things] for fact in reversed(facts)])]
        new = np.zeros(len(order), dtype=np.bool_)
        new[:1] = True
        for fact in facts:
            new[1:] |= fact[order][1:] != fact[order][:-1]
        return cls(order, np.append(np.flatnonzero(new), len(order)))


def products(left: Groups, mine: Ints, right: Groups, theirs: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of things that pairs of groups stand for, a block at a time."""
    lefts, rights = np.diff(left.starts), np.diff(right.starts)
    for some in in_parts(lefts[mine], BLOCK):
        one = left.things[spans(left.starts[mine[some]], left.starts[mine[some] + 1])]
        other = np.repeat(theirs[some], lefts[mine[some]])
        for part in in_parts(rights[other], BLOCK):
            chosen = other[part]
            thing = right.things[spans(right.starts[chosen], right.starts[chosen + 1])]
            yield np.repeat(one[part], rights[chosen]), thing


def in_parts(sizes: Ints, most: int) -> Iterator[slice]:
    """Cut a sequence so that the sizes in a part sum to no more than a bound, or it is one item."""
    ends = np.cumsum(sizes)
    start, before = 0, 0
    while start < len(sizes):
        end = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
        yield slice(start, end)
        start, before = end, int(ends[end - 1])
