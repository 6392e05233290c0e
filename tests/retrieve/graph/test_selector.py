"""The selector that asks no model: what it picks, what it connects, and what it says of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.cli import app
from dovetail.domain import TableId
from dovetail.errors import UsageError
from dovetail.ports import Retriever
from dovetail.retrieve.graph.connect import ConnectedSet, LinkGraph
from dovetail.retrieve.graph.features import FEATURES
from dovetail.retrieve.graph.scored_candidates import BIAS, WEIGHTS, predict
from dovetail.retrieve.graph.selector import GraphRetriever, confidence, pick
from dovetail.retrieve.registry import open_retriever
from dovetail.search.index import IndexInputs
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail.testing import check_retriever
from tests.support.scripted import HashEmbedder, write_shop
from tests.support.searchers import search_over

A, B, C, D, E, F, G = (TableId("s", name) for name in "abcdefg")


def test_probability_is_logistic_in_the_weighted_features() -> None:
    rows = np.zeros((2, len(FEATURES)), dtype=np.float32)
    rows[1, FEATURES.index("gap")] = -1
    rows[1, FEATURES.index("best_words")] = 0.5
    logits = (BIAS, BIAS - WEIGHTS["gap"] + 0.5 * WEIGHTS["best_words"])
    np.testing.assert_allclose(predict(rows), [1 / (1 + math.exp(-o)) for o in logits], rtol=1e-6)
    assert tuple(WEIGHTS) == FEATURES


@pytest.mark.parametrize(
    ("breadth", "expected"),
    [
        (0.0, [1]),  # the best alone
        (0.2, [1]),  # 0.64 of 0.8 is 0.512
        (0.3, [1, 3]),  # 0.49 of 0.8 is 0.392
        (0.6, [1, 3, 0]),  # 0.16 of 0.8 is 0.128
        (0.9, [1, 3, 0, 2]),  # 0.01 of 0.8 is 0.008
        (1.0, [1, 3, 0, 2, 4]),
    ],
)
def test_picked_is_what_is_nearly_as_probable_as_the_best(
    breadth: float, expected: list[int]
) -> None:
    assert pick(np.array([0.2, 0.8, 0.1, 0.4, 0.001]), breadth) == expected


def test_ties_stay_in_the_order_of_the_search() -> None:
    assert pick(np.array([0.3, 0.5, 0.3, 0.5]), 0.9) == [1, 3, 0, 2]


def test_confidence_is_the_f1_to_expect() -> None:
    probabilities = np.array([0.9, 0.5, 0.2], dtype=np.float32)
    assert confidence([0.9], probabilities) == pytest.approx(2 * 0.9 / (1 + 1.6))
    assert confidence([0.9, 0.5], probabilities) == pytest.approx(2 * 1.4 / (2 + 1.6))
    assert confidence([0.9, 0.5, 0.0], probabilities) == pytest.approx(
        2 * 1.4 / (3 + 1.6)
    )  # a connector
    assert confidence([], probabilities[:0]) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 12))
def test_confidence_is_a_share(values: list[float], count: int) -> None:
    assert 0 <= confidence(values[:count], np.array(values)) <= 1


def names(found: ConnectedSet) -> tuple[str, str, str]:
    return (
        "".join(table.name for table in found.tables),
        "".join(connector.table.name for connector in found.connectors),
        "".join(table.name for table in found.left_out),
    )


def links(*pairs: tuple[TableId, TableId, float]) -> LinkGraph:
    return LinkGraph((A, B, C, D, E, F, G), pairs)


def test_components_are_parts_that_do_not_join() -> None:
    joined = links((A, B, 0.9), (B, C, 0.9), (D, E, 0.9), (A, F, 0.2))
    assert joined.components([C, D, A, B, F, E]) == [[C, A, B], [D, E], [F]]
    assert joined.components([C, A]) == [[C], [A]]
    assert joined.components([]) == []


@pytest.mark.parametrize(
    ("pairs", "chosen", "expected"),
    [
        pytest.param([(A, B, 0.9)], [A, B], ("ab", "", ""), id="joined already"),
        pytest.param([(A, B, 0.9), (B, C, 0.9)], [A, C], ("ac", "b", ""), id="one between"),
        pytest.param(
            [(A, B, 0.6), (B, C, 0.9), (A, D, 0.7), (D, C, 0.8)], [A, C], ("ac", "d", ""),
            id="the surer of the weaker joins",
        ),
        pytest.param(
            [(A, F, 0.6), (F, C, 0.6), (A, D, 1.0), (D, C, 1.0)], [A, C], ("ac", "f", ""),
            id="the more probable before the surer",
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (A, D, 0.9), (D, C, 0.9)], [A, C], ("ac", "b", ""),
            id="by name, all else equal",
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (C, D, 0.9)], [A, D], ("ad", "cb", ""), id="two between"
        ),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (C, D, 0.9), (D, E, 0.9)], [A, E], ("a", "", "e"),
            id="three between are too many",
        ),
        pytest.param([(A, B, 0.9)], [A, C], ("ac", "", ""), id="no path: it stays"),
        pytest.param(
            [(A, B, 0.9), (B, C, 0.9), (B, D, 0.9)], [A, C, D], ("acd", "b", ""),
            id="one connector for two components",
        ),
        pytest.param(
            [(A, B, 1), (B, C, 1), (C, D, 1), (D, E, 1), (E, F, 1)], [A, F, D],
            ("afd", "cbe", ""), id="a far component is reached over a nearer one",
        ),
        pytest.param(
            [(A, B, 0.9), (C, D, 0.9), (D, E, 0.9)], [A, C, E], ("ace", "d", ""),
            id="each component of the catalog is connected by itself",
        ),
        pytest.param([], [], ("", "", ""), id="nothing"),
    ],
)  # fmt: skip
def test_connected(
    pairs: list[tuple[TableId, TableId, float]],
    chosen: list[TableId],
    expected: tuple[str, str, str],
) -> None:
    assert names(links(*pairs).connect(chosen, {F: 0.4, A: 0.9})) == expected


def test_a_connector_says_between_what_it_stands() -> None:
    found = links((A, B, 0.9), (B, C, 0.9), (C, D, 0.9)).connect([A, D], {})
    assert [str(connector) for connector in found.connectors] == [
        "connects d and b",
        "connects c and a",
    ]
    assert found.ids == [A, D, C, B]


@pytest.mark.parametrize(
    ("least", "kept", "left_out"),
    [(0.0, [A, D, C, B], ()), (0.13, [A, D, C, B], ()), (0.15, [A], (D,))],
)
def test_a_part_must_be_worth_its_connectors(
    least: float, kept: list[TableId], left_out: tuple[TableId, ...]
) -> None:
    # d and its two connectors have a mean probability of 0.42 / 3.
    probabilities = {A: 0.9, D: 0.35, B: 0.05, C: 0.02}
    found = links((A, B, 0.9), (B, C, 0.9), (C, D, 0.9)).connect([A, D], probabilities, least)
    assert (found.ids, found.left_out) == (kept, left_out)


_TABLES = [TableId("s", f"t{n}") for n in range(9)]
_PAIRS = st.lists(
    st.tuples(st.sampled_from(_TABLES), st.sampled_from(_TABLES), st.sampled_from([0.1, 0.3, 0.9])),
    max_size=14,
)


@settings(deadline=None, max_examples=300)
@given(_PAIRS, st.lists(st.sampled_from(_TABLES), unique=True, max_size=6))
def test_a_set_falls_apart_only_where_no_way_leads(
    pairs: list[tuple[TableId, TableId, float]], chosen: list[TableId]
) -> None:
    probabilities = {table: 1 / (place + 1) for place, table in enumerate(chosen)}
    joined = LinkGraph(_TABLES, pairs)
    found = joined.connect(chosen, probabilities)
    assert sorted((*found.tables, *found.left_out)) == sorted(chosen)
    assert found.tables == tuple(table for table in chosen if table not in found.left_out)
    assert found.tables[:1] == tuple(chosen[:1])
    added = [connector.table for connector in found.connectors]
    assert len({*added, *chosen}) == len(added) + len(chosen)
    reached = _closure(pairs)
    parts = joined.components(found.ids)
    for place, part in enumerate(parts):
        for other in parts[place + 1 :]:
            assert not any((one, two) in reached for one in part for two in other)
    # What is left out could have been reached, but by no table or two.
    for table in found.left_out:
        assert any((table, kept) in reached for kept in found.tables)
    assert joined.connect(chosen, probabilities) == found


def _closure(pairs: list[tuple[TableId, TableId, float]]) -> set[tuple[TableId, TableId]]:
    """All pairs that a path of joins leads between, by going on until nothing is new."""
    joined = [(one, other) for one, other, score in pairs if score > 0.2]
    reached = {*joined, *((other, one) for one, other in joined)}
    while True:
        more = {(a, d) for a, b in reached for c, d in reached if b == c} - reached
        if not more:
            return reached
        reached |= more


@given(
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=16),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_larger_breadth_drops_nothing(
    probabilities: list[float], one: float, other: float
) -> None:
    few, many = sorted((one, other))
    known = np.array(probabilities, dtype=np.float32)
    smaller, larger = pick(known, few), pick(known, many)
    assert larger[: len(smaller)] == smaller
    assert int(np.argmax(known)) == smaller[0]


def test_contract(tmp_path: Path) -> None:
    def make(catalog: CatalogReader, k: int) -> Retriever:
        return GraphRetriever(search_over(catalog, IndexInputs(HashEmbedder())), k=k)

    check_retriever(make, tmp_path)


def test_it_works_without_an_embedder(tmp_path: Path) -> None:
    def make(catalog: CatalogReader, k: int) -> Retriever:
        return GraphRetriever(search_over(catalog, IndexInputs(None)), k=k)

    check_retriever(make, tmp_path)


def test_a_set_says_why(shop: Searcher) -> None:
    found = GraphRetriever(shop, breadth=0.3).retrieve("orders of customers in Turin")
    reasons = {chosen.id.name: (chosen.stage, chosen.reason) for chosen in found.tables}
    assert reasons == {
        "customers": ("select", "holds 'Turin' in city; its names say customers"),
        "orders": ("select", "its names say orders, customers"),
    }
    assert [(edge.left.name, edge.right.name) for edge in found.joins] == [("orders", "customers")]


def test_what_lies_between_is_brought_in(shop: Searcher) -> None:
    found = GraphRetriever(shop, breadth=0.1).retrieve("title of products and city of customers")
    stages = {chosen.id.name: chosen.stage for chosen in found.tables}
    assert stages == {
        "customers": "select",
        "products": "select",
        "orders": "connect",
        "order_items": "connect",
    }
    reasons = {chosen.reason for chosen in found.tables if chosen.stage == "connect"}
    assert reasons == {"connects customers and order_items", "connects orders and products"}
    assert len(found.joins) == 3


def test_the_trace_has_all_that_decided(shop: Searcher) -> None:
    retriever = GraphRetriever(shop, breadth=0.3, k=5)
    question = "orders of customers in Turin"
    found = retriever.retrieve(question)
    searched, selected = json.loads(json.dumps(found.trace))
    assert (searched["stage"], searched["k"]) == ("search", 5)
    assert (selected["stage"], selected["breadth"], selected["llm_calls"]) == ("select", 0.3, 0)
    scored = retriever.score(question)
    candidates = selected["candidates"]
    assert [one["table"] for one in candidates] == [str(c.id) for c in shop.search(question, 5)]
    assert [one["probability"] for one in candidates] == pytest.approx(
        scored.probabilities.tolist(), abs=1e-4
    )
    features = candidates[0]["features"]
    assert list(features) == list(FEATURES)
    chosen = {str(one.id) for one in found.tables if one.stage == "select"}
    assert {c["table"] for c in candidates if c["probability"] >= selected["cut"]} == chosen
    expected = confidence([one.relevance for one in found.tables], scored.probabilities)
    assert selected["confidence"] == pytest.approx(expected, abs=1e-4)
    assert selected["connectors"] == selected["left_out"] == []
    assert found.tables[0].relevance == max(scored.probabilities)


def test_only_candidates_and_connectors(shop: Searcher) -> None:
    for question in ("rainfall", "company of customer 112", "5003", "shelf height and quantity"):
        for breadth in (0.0, 0.5, 1.0):
            retriever = GraphRetriever(shop, breadth=breadth, k=3)
            offered = set(retriever.score(question).tables)
            for chosen in retriever.retrieve(question).tables:
                assert chosen.id in offered or chosen.stage == "connect"


@pytest.mark.parametrize("breadth", [-0.1, 1.1, math.nan])
def test_breadth_is_a_share(shop: Searcher, breadth: float) -> None:
    with pytest.raises(UsageError, match=r"from 0 .* to 1"):
        GraphRetriever(shop, breadth=breadth)


def test_the_breadth_is_an_argument_or_a_setting(tmp_path: Path) -> None:
    source, chosen = write_shop(tmp_path / "s.sqlite"), Settings(embedder="none", breadth=0.25)
    catalog = dovetail.build(str(source), into=tmp_path / "catalog", settings=chosen)
    for name, breadth in (("graph", 0.25), ("graph:0.8", 0.8)):
        made = open_retriever(name, catalog, k=4, settings=chosen)
        assert made.retrieve("orders").trace[1]["breadth"] == breadth
    with pytest.raises(UsageError, match="graph:much: the breadth must be a number"):
        open_retriever("graph:much", catalog, k=4, settings=chosen)


def test_bench_measures_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOVETAIL_EMBEDDER", "none")
    arguments = ["bench", "retrieval", "sample", "--retriever", "graph,graph:0.8", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--limit", "40"])
    assert result.exit_code == 0, result.output
    usual, wide = json.loads(result.stdout)["results"]
    assert (usual["retriever"], wide["retriever"]) == ("graph", "graph:0.8")
    assert usual["f1"] > 0.6
    assert wide["pr"] >= usual["pr"]
    assert wide["avg_tables"] > usual["avg_tables"]
    assert usual["llm_calls"] == 0
