"""The leading tables by way of the rarest terms, held against a sum for every table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.arrays import Flags, Float32s, Ints, sorted_pairs
from dovetail.search.fusion import Coverage
from dovetail.search.query import QueryTerm
from dovetail.search.top_tables import WeightedTerm, top_tables
from dovetail.search.value_linking import _beside

COUNT = 400


def drawn_term(draw: np.random.Generator, share: float) -> QueryTerm:
    """A term that so many of the tables have; ties are many, and sums in any order are exact."""
    tables = np.flatnonzero(draw.random(COUNT) < share).astype(np.int32)
    match, name_share = draw.integers(0, 4, (2, len(tables))).astype(np.float32) / 4
    return QueryTerm("word", float(draw.integers(1, 17)) / 16, tables, match, name_share)


def summed(terms: list[WeightedTerm], allowed: Flags | None) -> Float32s:
    """The sum for every table: the slow way."""
    found = np.zeros(COUNT, dtype=np.float32)
    for one in terms:
        for place, table in enumerate(one.term.tables.tolist()):
            match = one.values(one.term.match[[place]], one.term.name_share[[place]])
            if allowed is None or allowed[table]:
                found[table] += match[0]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_top_tables_are_those_of_a_sum_for_every_table(seed: int) -> None:
    draw = np.random.default_rng(seed)
    shares = draw.choice([0.0, 0.01, 0.05, 0.3, 0.9], 5)
    counts = draw.integers(0, 2)
    terms = [
        WeightedTerm(term, term.weight * (1 / 64 if share > 0.2 else 1), float(counts))
        for share in shares
        for term in [drawn_term(draw, share)]
    ]
    allowed = draw.random(COUNT) < 0.5 if seed % 3 == 0 else None
    for pool in (1, 5, 50):
        slow = summed(terms, allowed)
        order = np.lexsort((np.arange(COUNT), -slow))[:pool]
        expected = order[slow[order] > 0]
        assert top_tables(terms, pool, COUNT, allowed).tolist() == expected.tolist()


def test_frequent_terms_are_not_added_up_where_rare_ones_decide() -> None:
    draw = np.random.default_rng(1)
    rare, frequent = drawn_term(draw, 0.2), drawn_term(draw, 0.9)
    few = WeightedTerm(rare, 1.0, 0.0)
    many = WeightedTerm(frequent, 1e-3, 0.0)
    found = top_tables([few, many], 5, COUNT)
    held = dict(zip(rare.tables.tolist(), rare.match.tolist(), strict=True))
    assert [held[table] for table in found.tolist()] == [max(held.values())] * 5


def test_no_term_leads_nowhere() -> None:
    assert top_tables([], 5, COUNT).tolist() == []
    nothing = drawn_term(np.random.default_rng(0), 0.0)
    assert top_tables([WeightedTerm(nothing, 1.0, 1.0)], 5, COUNT).tolist() == []


@pytest.mark.parametrize("seed", range(10))
def test_both_ways_to_the_leaders_find_tables_of_the_same_coverage(seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = [drawn_term(draw, share) for share in (0.02, 0.1, 0.6)]
    values = [drawn_term(draw, share) for share in (0.01, 0.4)]
    cover = Coverage(words, values, COUNT)
    dense, sparse = cover.leaders(20, None), cover.leaders(20, None, most=0)
    every = [
        sum(
            np.float64(np.float32(term.weight / np.sqrt(sum(one.weight for one in words))))
            * term.match_of(np.arange(COUNT))
            + (term.look_up(np.arange(COUNT))[1] if terms is words else 0)
            for term in terms
        )
        for terms in (words, values)
    ]
    for one, other, score in zip(dense, sparse, map(np.asarray, every), strict=True):
        assert np.sort(score[one]) == pytest.approx(np.sort(score[other]), abs=1e-5)


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
        for column in _beside(held, [*words[:at], *words[at + 1 :]], table_of).tolist()
    }
    assert found == slow


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=12), st.booleans())
def test_pairs_in_order(pairs: list[tuple[int, int]], ordered: bool) -> None:
    given_pairs = sorted(pairs) if ordered else pairs
    first, second = np.array(given_pairs, dtype=np.int64).reshape(-1, 2).T
    found = sorted_pairs(first, second)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == sorted(pairs)
