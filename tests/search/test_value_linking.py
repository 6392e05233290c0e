"""Value linking: names whose words stand in a column each, held against the slow way."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.arrays import Ints, sorted_pairs
from dovetail.search.value_linking import _with_other_words

columns = st.sets(st.integers(0, 11), max_size=6).map(
    lambda some: np.array(sorted(some), dtype=np.int64)
)


@given(st.lists(columns, min_size=2, max_size=3))
def test_parts_of_a_name_stand_in_a_column_each(words: list[Ints]) -> None:
    table_of = np.repeat(np.arange(4, dtype=np.int32), 3)
    slow = {
        column
        for split in product(*(word.tolist() for word in words))
        if len(set(split)) == len(split) and len({int(table_of[c]) for c in split}) == 1
        for column in split
    }
    found = {
        column
        for at, held in enumerate(words)
        for column in _with_other_words(held, [*words[:at], *words[at + 1 :]], table_of).tolist()
    }
    assert found == slow


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=12), st.booleans())
def test_pairs_in_order(pairs: list[tuple[int, int]], ordered: bool) -> None:
    given_pairs = sorted(pairs) if ordered else pairs
    first, second = np.array(given_pairs, dtype=np.int64).reshape(-1, 2).T
    found = sorted_pairs(first, second)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == sorted(pairs)
