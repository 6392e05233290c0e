"""Combinations of columns of few rows, all at once: against each by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dovetail.joins.composite import Combined
from dovetail.joins.rows import RowHashes, combine_columns


def drawn(random: np.random.Generator, rows: int) -> RowHashes:
    """Six columns of a few values each, some of them missing."""
    return random.integers(0, 4, (6, rows)).astype(np.uint64)


def test_combinations_are_told_apart_as_each_by_itself_is() -> None:
    random = np.random.default_rng(3)
    outcomes = set()
    for rows, others, width in [(n, m, w) for n in range(7) for m in range(1, 6) for w in (2, 3)]:
        parent, child = drawn(random, rows), drawn(random, others)
        places = np.array(list(combinations(range(6), width)))
        keys, references = Combined.of(parent, places), Combined.of(child, places)
        may_be, held = keys.may_be_keys(), references.found_in(keys, 0.9)
        for at, columns in enumerate(places.tolist()):
            key, mine = combine_columns(parent[columns]), combine_columns(child[columns])
            unique = bool(len(key)) and len(np.unique(key)) == len(key)
            found = bool(len(mine)) and float(np.isin(mine, key).mean()) >= 0.9
            assert (may_be[at], held[at]) == (unique, found)
            outcomes.add((unique, found))
    assert len(outcomes) == 4


def test_some_of_the_combinations_keep_their_rows() -> None:
    rows = drawn(np.random.default_rng(5), 4)
    every = Combined.of(rows, np.array([[0, 1], [2, 3], [4, 5]]))
    some = every.take(np.array([True, False, True]))
    assert some.hashes.tolist() == every.hashes[[0, 2]].tolist()
    assert some.complete.tolist() == every.complete[[0, 2]].tolist()
