"""Which columns have any value in common with some others? Few bits rule most values out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Flags, found_in, sorted_distinct
from dovetail.hashing import Hashes

# Bits of a value hash that say at a glance whether others can have it.
_BITS = 22


def any_shared(columns: Sequence[Hashes], others: Sequence[Hashes]) -> Flags:
    """Which columns have a value in common with some of the others; all are sorted hashes."""
    found = np.zeros(len(columns), dtype=np.bool_)
    known = sorted_distinct(np.concatenate([np.empty(0, dtype=np.uint64), *others]))
    if not len(columns) or not len(known):
        return found
    there = np.zeros(1 << _BITS, dtype=np.bool_)
    there[known >> np.uint64(64 - _BITS)] = True
    for place, hashes in enumerate(columns):
        maybe = hashes[there[hashes >> np.uint64(64 - _BITS)]]
        found[place] = bool(len(maybe)) and bool(found_in(maybe, known).any())
    return found
