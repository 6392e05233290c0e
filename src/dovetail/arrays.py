"""Arrays that many modules work with: their types, and the helpers that NumPy lacks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.uint32]
# One vector per row.
Vectors = npt.NDArray[np.float32]

Sortable = TypeVar("Sortable", npt.NDArray[np.uint64], Ints)
Item = TypeVar("Item", bound=Hashable)
Mapped = TypeVar("Mapped", bound=Hashable)


def spans(starts: Ints, ends: Ints) -> Ints:
    """The integers from each start up to its end, one range after the other.

    >>> spans(np.array([0, 7]), np.array([2, 10])).tolist()
    [0, 1, 7, 8, 9]
    """
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    numbers: Ints = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return numbers


def pieces(values: Ints, bounds: Ints) -> list[Ints]:
    """An array cut at some bounds: as `np.split`, in a tenth of the time where pieces are small.

    >>> [piece.tolist() for piece in pieces(np.array([7, 8, 9]), np.array([0, 2]))]
    [[], [7, 8], [9]]
    """
    ends = [*bounds.tolist(), len(values)]
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def sorted_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Pairs in order; to see that they are in order already is much quicker than to sort them."""
    if len(first) < 2:
        return first, second
    steps = np.diff(first)
    if ((steps > 0) | ((steps == 0) & (np.diff(second) >= 0))).all():
        return first, second
    order = np.lexsort((second, first))
    return first[order], second[order]


def firsts(ordered: npt.NDArray[Any]) -> Ints:
    """The indices at which a new value begins in a sorted array.

    >>> firsts(np.array([3, 3, 5, 9, 9])).tolist()
    [0, 2, 3]
    """
    if not len(ordered):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def sorted_distinct(values: Sortable) -> Sortable:
    """The distinct values in order: as `np.unique`, which takes up to ninety times as long for
    millions of hashes, since it puts them into a hash table first."""
    ordered = np.sort(values)
    distinct: Sortable = ordered[firsts(ordered)]
    return distinct


def found_in(values: Sortable, outer: Sortable) -> Flags:
    """Which values occur in a sorted array."""
    if not len(outer):
        return np.zeros(values.shape, dtype=np.bool_)
    at = np.searchsorted(outer, values)
    at[at == len(outer)] = 0
    present: Flags = outer[at] == values
    return present


def numbered(items: Sequence[Hashable]) -> Ints:
    """A number for each item, the same for equal ones, in the order in which they first occur."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)


def padded(rows: Sequence[Sequence[int]], fill: int) -> Ints:
    """Lists of integers as the rows of a matrix, filled up at the end."""
    width = max(map(len, rows), default=0)
    full = [[*row, *([fill] * (width - len(row)))] for row in rows]
    return np.array(full, dtype=np.int64).reshape(len(rows), width)


@dataclass(frozen=True, slots=True)
class Encoded(Generic[Item]):
    """Dictionary encoding: `codes` are the indices of the items in `dictionary`.

    >>> Encoded.of(["id", "name", "id"])
    Encoded(codes=array([0, 1, 0]), dictionary=['id', 'name'])
    """

    codes: Ints
    dictionary: list[Item]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Encoded[Item]:
        """Encode items in the order in which they first occur."""
        seen: dict[Item, int] = {}
        codes = [seen.setdefault(item, len(seen)) for item in items]
        return cls(np.array(codes, dtype=np.int64), list(seen))


def encode_by(function: Callable[[Item], Mapped], items: Encoded[Item]) -> Encoded[Mapped]:
    """Encode what a function makes of items, called once for equal ones."""
    made = Encoded.of([function(item) for item in items.dictionary])
    return Encoded(made.codes[items.codes], made.dictionary)


def once(
    score: Callable[[Ints, Ints], Floats], left: tuple[Ints, int], right: tuple[Ints, int]
) -> Floats:
    """The scores of pairs of integers, each below a bound, computed once per distinct pair."""
    width = max(right[1], 1)
    pair = left[0] * width + right[0]
    if left[1] * width > 4 * len(pair):
        pairs, back = np.unique(pair, return_inverse=True)
        return score(pairs // width, pairs % width)[back]
    # So few pairs are possible that a table of all of them is faster than sorting.
    present = np.zeros(left[1] * width, dtype=np.bool_)
    present[pair] = True
    pairs = np.flatnonzero(present)
    table = np.empty(len(present))
    table[pairs] = score(pairs // width, pairs % width)
    scores: Floats = table[pair]
    return scores
