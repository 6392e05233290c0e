"""Dictionary encoding: things by number, equal things by the same number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dovetail.joins.column_arrays import Floats, Ints

Thing = TypeVar("Thing", bound=Hashable)
Other = TypeVar("Other", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Encoded(Generic[Thing]):
    """The `codes` of some things, which are the places of the things in the `dictionary`.

    >>> Encoded.of(["id", "name", "id"])
    Encoded(codes=array([0, 1, 0]), dictionary=['id', 'name'])
    """

    codes: Ints
    dictionary: list[Thing]

    @classmethod
    def of(cls, things: Sequence[Thing]) -> Encoded[Thing]:
        """Encode some things in the order in which they first occur."""
        seen: dict[Thing, int] = {}
        codes = [seen.setdefault(thing, len(seen)) for thing in things]
        return cls(np.array(codes, dtype=np.int64), list(seen))


def encode_by(function: Callable[[Thing], Other], things: Encoded[Thing]) -> Encoded[Other]:
    """Encode what a function makes of things, asked once for equal ones."""
    made = Encoded.of([function(thing) for thing in things.dictionary])
    return Encoded(made.codes[things.codes], made.dictionary)


def once(
    score: Callable[[Ints, Ints], Floats], left: tuple[Ints, int], right: tuple[Ints, int]
) -> Floats:
    """score of pairs of numbers, each below a bound, worked out once per distinct pair."""
    width = max(right[1], 1)
    pair = left[0] * width + right[0]
    if left[1] * width > 4 * len(pair):
        pairs, back = np.unique(pair, return_inverse=True)
        return score(pairs // width, pairs % width)[back]
    # So few pairs there can be that a table of all of them is faster than sorting.
    there = np.zeros(left[1] * width, dtype=np.bool_)
    there[pair] = True
    pairs = np.flatnonzero(there)
    table = np.empty(len(there))
    table[pairs] = score(pairs // width, pairs % width)
    scores: Floats = table[pair]
    return scores
