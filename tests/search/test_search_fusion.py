"""The score: fast arrays against loops, and what the shortcuts may leave out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.domain import JoinEdge, TableId
from dovetail.search import searcher as searching
from dovetail.search.embeddings import header_text, table_text
from dovetail.search.fusion import Coverage, fuse, leading, pooled, relevance, within_reach
from dovetail.search.neighbours import Neighbours
from dovetail.search.query import QueryTerm
from dovetail.search.searcher import Searcher
from dovetail_bench.corpora.questions import questions
from tests.support.scripted import HashEmbedder

COUNT = 9
# Sums of these are exact, so that nothing hangs on the order of additions.
sixteenths = st.integers(0, 16).map(lambda part: part / 16)


def floats(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


@st.composite
def terms(draw: st.DrawFn) -> QueryTerm:
    tables = sorted(draw(st.sets(st.integers(0, COUNT - 1))))
    parts = [draw(st.lists(sixteenths, min_size=len(tables), max_size=len(tables)))] * 2
    weight = draw(st.floats(0.1, 1))
    return QueryTerm("word", weight, np.array(tables, np.int32), floats(parts[0]), floats(parts[1]))


name_links = st.dictionaries(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)).filter(lambda p: p[0] < p[1]),
    sixteenths,
    max_size=12,
)


def neighbours(linked: dict[tuple[int, int], float]) -> Neighbours:
    return Neighbours.build({TableId("s", str(n)): n for n in range(COUNT)}, (), linked)


def match(term: QueryTerm, table: int) -> float:
    held = dict(zip(term.tables.tolist(), term.match.tolist(), strict=True))
    return float(held.get(table, 0.0))


@given(st.lists(terms(), max_size=4), st.lists(terms(), max_size=3), name_links)
def test_the_gain_by_one_partner_is_that_of_the_neighbour_that_adds_most(
    words: list[QueryTerm], values: list[QueryTerm], linked: dict[tuple[int, int], float]
) -> None:
    cover = Coverage(words, values, COUNT)
    mass = math.sqrt(sum(word.weight for word in words) or 1)
    joined = neighbours(linked)
    gained = cover.of(np.arange(COUNT), joined, one_partner=True).gain
    together = cover.of(np.arange(COUNT), joined).gain
    for table in range(COUNT):
        best = 0.0
        for pair, score in linked.items():
            for here, other in (pair, pair[::-1]):
                added = (
                    one.weight / mass * max(0.0, score * match(one, other) - match(one, table))
                    for one in (*words, *values)
                )
                best = max(best, sum(added)) if here == table else best
        assert gained[table] == pytest.approx(best, rel=1e-4, abs=1e-3)
        assert gained[table] <= together[table] + 1e-3


@given(st.lists(terms(), max_size=4), st.lists(terms(), max_size=3), name_links)
def test_cover_and_gain_are_what_loops_say(
    words: list[QueryTerm], values: list[QueryTerm], linked: dict[tuple[int, int], float]
) -> None:
    cover = Coverage(words, values, COUNT)
    mass = math.sqrt(sum(word.weight for word in words) or 1)
    covered = cover.of(np.arange(COUNT), neighbours(linked))
    gained = covered.gain
    for table in range(COUNT):
        for found, said in ((covered.words, words), (covered.values, values)):
            slow = sum(one.weight / mass * match(one, table) for one in said)
            assert found[table] == pytest.approx(slow, rel=1e-4, abs=1e-4)
        gain = 0.0
        for one in (*words, *values):
            around = [
                score * match(one, other)
                for pair, score in linked.items()
                for here, other in (pair, pair[::-1])
                if here == table
            ]
            gain += one.weight / mass * max(0.0, *around, match(one, table)) if around else 0.0
            gain -= one.weight / mass * match(one, table) if around else 0.0
        assert gained[table] == pytest.approx(gain, rel=1e-4, abs=1e-3)
        assert gained[table] >= 0


@given(
    st.lists(st.tuples(sixteenths, sixteenths, sixteenths), min_size=1, max_size=12),
    st.integers(1, 6),
)
def test_whoever_is_out_of_reach_would_not_have_come_in(
    rows: list[tuple[float, float, float]], k: int
) -> None:
    most = 0.5
    before = {
        "lexical": floats([4 * row[0] for row in rows]),
        "neighbour": floats([2 * row[1] for row in rows]),
    }
    column = floats([most * row[2] for row in rows])

    def best(places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, float]]:
        chosen = {name: part[places] for name, part in before.items()}
        scores = fuse(chosen | {"column": column[places]})
        order = np.lexsort((places, -scores))[:k]
        return [(int(places[at]), float(scores[at])) for at in order]

    assert best(within_reach(before, k, most)) == best(np.arange(len(rows)))


@given(st.lists(st.tuples(sixteenths, sixteenths), min_size=1, max_size=10))
def test_the_best_without_neighbours_stays_first(rows: list[tuple[float, float]]) -> None:
    alone = [row[0] for row in rows]
    scores = fuse({"lexical": floats(alone), "neighbour": floats([row[1] for row in rows])})
    first = alone.index(max(alone))
    assert int(np.argmax(scores)) == first
    others = [place for place in range(len(rows)) if place != first]
    assert [float(scores[at]) for at in others] == [sum(rows[at]) for at in others]


@given(st.lists(sixteenths, max_size=30), st.integers(1, 10))
def test_leaders_are_the_best_with_a_value(ranking: list[float], pool: int) -> None:
    found = [ranking[place] for place in leading(floats(ranking), pool).tolist()]
    assert sorted(found, reverse=True) == sorted((v for v in ranking if v), reverse=True)[:pool]


def test_pooled_are_leaders_and_their_neighbours() -> None:
    joined = neighbours({(0, 1): 0.5, (1, 2): 0.9, (4, 5): 0.1})
    leaders = [np.array([4, 0]), np.array([0]), np.array([], dtype=np.int64)]
    assert pooled(leaders, joined).tolist() == [0, 1, 4, 5]
    assert pooled([], joined).tolist() == []


def test_neighbours_count_by_their_surest_edge_and_doubtful_ones_not_at_all() -> None:
    ids = [TableId("s", name) for name in "abc"]
    edges = [JoinEdge(ids[0], ids[1], (("x", "x"),), score, "n:1", 1.0, {}) for score in (0.3, 0.8)]
    edges += [
        JoinEdge(ids[1], ids[2], (("x", "x"),), 0.05, "n:1", 1.0, {}),
        JoinEdge(ids[0], ids[0], (("x", "y"),), 0.7, "n:1", 1.0, {}),
    ]
    joined = Neighbours.build({table: place for place, table in enumerate(ids)}, edges, {})
    begins, others, scores = joined.around(np.array([1, 2, 0]))
    assert begins.tolist() == [0, 2, 3]
    assert others.tolist() == [0, 1, 2, 0, 1]
    assert scores.tolist() == pytest.approx([0.8, 1, 1, 1, 0.8])


def test_relevance_grows_with_the_score_and_falls_with_the_distance() -> None:
    assert relevance(2.0, 2.0) == pytest.approx(1 / (1 + math.exp(-(1.8 * 2 - 2.2))))
    assert relevance(1.0, 2.0) < relevance(1.0, 1.0) < relevance(2.0, 2.0)
    assert 0 < relevance(-50.0, 50.0) < relevance(50.0, 50.0) <= 1


class Slow:
    """The whole score by loops, over every table."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.tables = list(searcher.catalog)
        self.model = HashEmbedder()
        self.edges: dict[tuple[int, int], float] = {}
        joined = searcher._joined
        for table in range(len(self.tables)):
            for at in range(int(joined.starts[table]), int(joined.starts[table + 1])):
                self.edges[table, int(joined.other[at])] = float(joined.score[at])

    def ranked(self, question: str) -> list[tuple[TableId, float]]:
        query = self.searcher.analyse(question)
        mass = math.sqrt(sum(word.weight for word in query.terms) or 1)
        vector = self.model.embed_queries([question])[0]
        alone, gains = [], []
        for place, table in enumerate(self.tables):
            cover = sum(one.weight / mass * match(one, place) for one in query.terms)
            cover += sum(one.weight / mass * match(one, place) for one in query.value_terms)
            name = sum(
                share
                for word in query.terms
                for at, share in zip(word.tables.tolist(), word.name_share.tolist(), strict=True)
                if at == place
            )
            dense = float(self.model.embed_documents([table_text(table)])[0] @ vector)
            headers = [header_text(table.name, column.name) for column in table.columns]
            best = float((self.model.embed_documents(headers) @ vector).max())
            alone.append(1.5 * cover + 0.5 * dense + 0.5 * max(0.0, best) + 0.2 * name)
            gains.append(
                sum(
                    one.weight / mass
                    * (max(s * match(one, b) for (a, b), s in self.edges.items() if a == place)
                       - match(one, place))
                    for one in (*query.terms, *query.value_terms)
                )
            )  # fmt: skip
        scores = [one + two for one, two in zip(alone, gains, strict=True)]
        scores[alone.index(max(alone))] = max(scores)
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], alone[n] != max(alone), n))
        return [(self.tables[n].id, scores[n]) for n in order]


def test_search_is_the_whole_score_of_every_table(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_POOL", 1_000)
    slow = Slow(searcher)
    for row in questions()[::15]:
        expected = slow.ranked(row["question"])[:8]
        found = searcher.search(row["question"], 8)
        scores = [sum(one.signals.values()) for one in found]
        assert scores[1:] == pytest.approx([score for _, score in expected[1:]], abs=1e-2)
        assert found[0].id == expected[0][0]
        surely = [
            place
            for place in range(1, 7)
            if expected[place - 1][1] - expected[place][1] > 0.02
            and expected[place][1] - expected[place + 1][1] > 0.02
        ]
        assert [found[at].id for at in surely] == [expected[at][0] for at in surely]


def test_a_pool_of_fifty_finds_what_no_pool_finds(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [row["question"] for row in questions()]
    usual = [[one.id for one in searcher.search(text, 10)] for text in texts]
    monkeypatch.setattr(searching, "_POOL", 1_000)
    every = [[one.id for one in searcher.search(text, 10)] for text in texts]
    assert sum(one == two for one, two in zip(usual, every, strict=True)) >= 118
