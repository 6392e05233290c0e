"""The ten features against plain loops, and what is read off a real catalog for them."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.arrays import Float32s
from dovetail.retrieve.groups import Belonging
from dovetail.retrieve.match import QueryMatch, QueryMatcher
from dovetail.retrieve.scorer import FEATURES, features, newly_covered
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from tests.support.scripted import HashEmbedder, write_shop
from tests.support.searchers import search_over


def drawn(seed: int) -> QueryMatch:
    """Some matches, with ties among them and terms that nothing matches."""
    rng = np.random.default_rng(seed)
    count, words, values = (int(n) for n in rng.integers((1, 0, 0), (7, 6, 4)))

    def some(*shape: int) -> Float32s:
        return rng.random(shape).astype(np.float32)

    joins = np.where(some(count, count) < 0.5, some(count, count), 0)
    joins = np.maximum(joins, joins.T)
    np.fill_diagonal(joins, 1)
    scores = np.sort(some(count))[::-1]
    levels = np.array([0, 0, 0.09, 0.3, 0.4, 2 / 3, 1], dtype=np.float32)
    return QueryMatch(
        scores=scores,
        names=some(count),
        columns=some(count),
        headers=some(count),
        gains=some(count),
        words=rng.choice(levels, (words, count)),
        covers=np.zeros((words, count), dtype=np.float32),
        content=np.ones(words, dtype=np.bool_),
        defined=np.zeros(count, dtype=np.float32),
        word_weights=some(words),
        mass=0.1 + float(some(1)[0]),
        values=rng.integers(0, 2, (values, count)).astype(np.float32),
        value_weights=some(values),
        plain=some(values),
        joins=joins.astype(np.float32),
        dense=some(count),
        value_signal=some(count),
        neighbours=some(count),
    )


def covered(known: QueryMatch, one: int) -> float:
    """The share of the question that a candidate covers by itself."""
    words = float(known.word_weights @ known.words[:, one])
    values = float(known.value_weights @ known.values[:, one])
    return words / max(1e-6, float(known.word_weights.sum())) + values / known.mass


def slowly(known: QueryMatch) -> list[list[float]]:
    """The same by the words of docs/lab/choosing.md, one number at a time."""
    candidates = range(len(known.scores))
    words, values = range(len(known.words)), range(len(known.values))
    weight = [float(value) for value in known.word_weights]
    held = [float(value) for value in known.value_weights]
    total = max(1e-6, sum(weight))

    def near(one: int, other: int) -> float:
        paths = [min(known.joins[one, mid], known.joins[mid, other]) for mid in candidates]
        return float(max(paths))

    def group(one: int) -> float:
        found = 0.0
        for w in words:
            reached = max(near(one, other) * known.words[w, other] for other in candidates)
            found += weight[w] / total * float(reached)
        for v in values:
            reached = max(near(one, other) * known.values[v, other] for other in candidates)
            found += held[v] / known.mass * float(reached)
        return found

    def best(one: int) -> float:
        found = 0.0
        for w in words:
            top = max(known.words[w])
            equal = [c for c in candidates if known.words[w, c] == top and top > 0.1]
            found += weight[w] / total / len(equal) if one in equal else 0
        return found

    def new(match: Float32s, weights: list[float], one: int) -> float:
        found = 0.0
        for row, value in zip(match, weights, strict=True):
            before = max((float(row[better]) for better in range(one)), default=0.0)
            found += value * max(0.0, float(row[one]) - before)
        return found

    def lone(one: int) -> float:
        own = [v for v in values if known.values[v, one]]
        return sum(5 * held[v] * float(known.plain[v]) for v in own)

    left = max(0.0, 1 - max(covered(known, one) for one in candidates))
    groups = [group(one) for one in candidates]
    return [
        [
            known.scores[one] - known.scores[0],
            math.log(1 + 5 * new(known.words, weight, one)),
            new(known.values, held, one),
            best(one),
            known.names[one],
            known.columns[one],
            known.headers[one] - max(known.headers),
            min(float(known.gains[one]), left),
            groups[one] - max(groups),
            lone(one),
        ]
        for one in candidates
    ]


@pytest.mark.parametrize("seed", range(60))
def test_features_are_those_of_plain_loops(seed: int) -> None:
    known = drawn(seed)
    np.testing.assert_allclose(features(known), slowly(known), atol=2e-6)


def test_new_is_what_no_better_ranked_candidate_covers() -> None:
    match = np.array([[1, 1, 0.5], [0.3, 0, 1]], dtype=np.float32)
    weights = np.array([1, 0.5], dtype=np.float32)
    assert newly_covered(weights, match).tolist() == pytest.approx([1.15, 0, 0.35])


def matched(shop: Searcher, question: str) -> tuple[list[str], QueryMatch]:
    found = shop.search(question, 7)
    return [one.id.name for one in found], QueryMatcher(shop).match(shop.analyse(question), found)


def test_a_word_counts_by_where_it_stands(shop: Searcher) -> None:
    """In the table's name, in a column's, in a key's, and as the beginning of another word."""
    names, known = matched(shop, "order title customer suppl")
    (order, title, customer, suppl) = (dict(zip(names, row, strict=True)) for row in known.words)
    assert order["orders"] == order["order_items"] == 1
    assert title["products"] == pytest.approx(2 / 3)
    assert customer["customers"] == 1
    assert customer["orders"] == pytest.approx(0.3)  # in customer_no
    assert suppl["suppliers"] == pytest.approx(0.6)
    assert suppl["products"] == pytest.approx(0.6 * 0.3)
    assert order["weather"] == title["customers"] == 0


def test_values_are_held_and_told_from_speech(shop: Searcher) -> None:
    names, known = matched(shop, "customers in Turin")
    held = dict(zip(names, known.values[0], strict=True))
    assert held == {name: float(name == "customers") for name in names}
    assert known.plain.tolist() == [0]
    names, known = matched(shop, "customers in turin")
    assert known.plain.tolist() == [1]


def test_signals_of_the_search_come_back_unweighted(shop: Searcher) -> None:
    question = "city of customers"
    found = shop.search(question, 7)
    known = QueryMatcher(shop).match(shop.analyse(question), found)
    assert known.headers[0] == pytest.approx(found[0].signals["column"] / 0.5)
    assert known.names[0] == pytest.approx(found[0].signals["name"] / 0.2) == pytest.approx(1)
    assert known.scores[0] == max(known.scores)
    assert known.scores[1] == pytest.approx(sum(found[1].signals.values()))
    mass = shop.analyse(question).mass
    assert known.gains[2] == pytest.approx(found[2].signals["neighbour"] / math.sqrt(mass))
    city = [one.id.name for one in found].index("customers")
    assert known.columns[city] == 1


def test_joins_among_candidates_are_those_of_the_index(shop: Searcher) -> None:
    tables = [one.id for one in reversed(shop.tables)]
    found = shop.joined(tables)
    pairs = {frozenset((one, other)): score for one, other, score in shop.partners()}
    for row, one in enumerate(tables):
        for column, other in enumerate(tables):
            expected = 1.0 if one == other else pairs.get(frozenset((one, other)), 0.0)
            assert found[row, column] == pytest.approx(expected)
    assert shop.joined([]).shape == (0, 0)
    assert len(pairs) >= 4


def test_a_description_speaks_of_its_table(tmp_path: Path) -> None:
    source = str(write_shop(tmp_path / "s.sqlite"))
    catalog = dovetail.update(
        [source], into=tmp_path / "catalog", settings=Settings(embedder="none")
    ).catalog
    described = {
        table: "Dwellings of buyers." for table in catalog.ids if table.name == "customers"
    }
    _, known = matched(search_over(catalog.reader, HashEmbedder(), described), "dwellings")
    assert sorted(known.words[0].tolist())[-2:] == pytest.approx([0, 1 / 2])


def test_schemas_in_names_say_little_of_a_table_and_much_of_two(tmp_path: Path) -> None:
    """Also `placed_at` says little: any table may have such a column."""
    with sqlite3.connect(tmp_path / "s.sqlite") as made:
        made.executescript(
            """CREATE TABLE "sales.orders" (order_no INTEGER, placed_at TEXT, total REAL);
            CREATE TABLE "sales.clients" (client_no INTEGER, town TEXT);
            CREATE TABLE "hr.staff" (staff_no INTEGER, town TEXT);"""
        )
    source = str(tmp_path / "s.sqlite")
    catalog = dovetail.update(
        [source], into=tmp_path / "catalog", settings=Settings(embedder="none")
    ).catalog
    searcher = search_over(catalog.reader, HashEmbedder(), {})
    names, known = matched(searcher, "sales orders placed town")
    rows = (dict(zip(names, row, strict=True)) for row in known.words)
    sales, orders, placed, town = rows
    assert sales == {"sales.orders": 0.5, "sales.clients": 0.5, "hr.staff": 0}
    assert orders["sales.orders"] == 1
    assert placed["sales.orders"] == pytest.approx(0.3)
    assert town["sales.clients"] == town["hr.staff"] == pytest.approx(2 / 3)
    wanted = ("sales.clients", "sales.orders", "hr.staff")
    tables = sorted(catalog.ids, key=lambda table: wanted.index(table.name))
    together = Belonging(searcher).pairs(tables).together
    assert together[0, 1] > together[0, 2] == together[2, 0]


def test_every_feature_has_its_column() -> None:
    assert features(drawn(1)).shape[1] == len(FEATURES) == 10
