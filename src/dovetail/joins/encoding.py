"""Dictionary encoding: things by number, equal things by the same number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dovetail.joins.column_arrays import Ints

Thing = TypeVar("Thing", bound=Hashable)


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
