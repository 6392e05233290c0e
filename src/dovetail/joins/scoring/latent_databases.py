"""Latent databases: which tables belong together, as sure edges tell. No database ids are used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Encoded, Flags, Ints
from dovetail.components import Components


class LatentDatabases:
    """Disjoint sets of tables joined by sure edges, none with two tables of one name.

    No database holds two tables of one name, so an edge that would force that is wrong.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._sets = Components(range(len(names)))
        self._names = [{name} for name in names]
        self._code = Encoded.of(names).codes

    def clash(self, one: int, other: int) -> bool:
        """Whether joining two tables would put two tables of one name into one set."""
        one, other = self._sets.root(one), self._sets.root(other)
        return one != other and not self._names[one].isdisjoint(self._names[other])

    def clashes(self, one: Ints, other: Ints) -> Flags:
        """The same for many pairs of tables."""
        sets = np.array([self._sets.root(t) for t in range(len(self._code))], dtype=np.int64)
        one, other = sets[one], sets[other]
        found: Flags = (one != other) & (self._code[one] == self._code[other])
        # Two tables by themselves clash by their one name; only larger sets need a closer look.
        single = np.bincount(sets, minlength=len(sets)) == 1
        more = np.flatnonzero(~(single[one] & single[other]))
        pairs, back = np.unique(one[more] * len(sets) + other[more], return_inverse=True)
        clashing = [self.clash(pair // len(sets), pair % len(sets)) for pair in pairs.tolist()]
        found[more] = np.array(clashing, dtype=np.bool_)[back]
        return found

    def join(self, one: int, other: int) -> bool:
        """Join two tables' sets, unless they are one or would clash; says whether it did."""
        if self.clash(one, other):
            return False
        one, other = self._sets.root(one), self._sets.root(other)
        if one == other:
            return False
        if len(self._names[one]) < len(self._names[other]):
            one, other = other, one
        self._sets.unite(one, other)
        self._names[one] |= self._names[other]
        return True
