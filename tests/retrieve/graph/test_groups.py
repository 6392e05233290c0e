"""Which candidates belong together, which group is meant, and what is told of the others."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.domain import TableId
from dovetail.retrieve.graph.alternatives import Reading, alternatives
from dovetail.retrieve.graph.belonging import Pairs, belonging, place_of
from dovetail.retrieve.graph.groups import groups
from dovetail.retrieve.graph.query_match import QueryMatch
from dovetail.search.neighbours import Neighbours

A, B, C = (TableId("s", name) for name in "abc")


def match(words: list[list[float]]) -> QueryMatch:
    """A question of equally heavy words; a row for each of them, a column for each candidate."""
    found = np.array(words, dtype=np.float32)
    count, none = found.shape[1], np.zeros(found.shape[1], dtype=np.float32)
    return QueryMatch(
        scores=none, names=none, columns=none, headers=none, gains=none, words=found, covers=found,
        word_weights=np.ones(len(found), dtype=np.float32), mass=float(len(found)),
        values=np.zeros((0, count), dtype=np.float32),
        value_weights=np.zeros(0, dtype=np.float32), plain=np.zeros(0, dtype=np.float32),
        joins=np.eye(count, dtype=np.float32), defined=none, dense=none, held=none, neighbours=none,
    )  # fmt: skip


def pairs(together: list[list[float]]) -> Pairs:
    matrix = np.array(together, dtype=np.float32)
    return Pairs(matrix, matrix, 0 * matrix, 0 * matrix, matrix)


APART = pairs([[1, 0.9, 0.01], [0.9, 1, 0.01], [0.01, 0.01, 1]])


def test_a_group_is_what_belongs_to_its_most_probable_table() -> None:
    likely = np.array([0.2, 0.6, 0.4], dtype=np.float32)
    first, other = groups(likely, APART, match([[1, 0, 1]]))
    assert (first.places, other.places) == ((1, 0), (2,))
    # In the ratio of 0.8 to 0.4, preferred by its power of 1.5.
    assert first.probability / other.probability == pytest.approx(2**1.5, rel=1e-2)
    assert first.probability + other.probability == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param([[1, 0, 0], [0, 0, 1]], True, id="each says what the other does not"),
        pytest.param([[1, 0, 1], [0, 1, 0]], False, id="it says nothing new"),
        pytest.param([[1, 0, 1], [0, 0, 1]], False, id="it says all of it: another reading"),
        pytest.param([[1, 0, 0], [2 / 3, 0, 1]], False, id="named like a column"),
        pytest.param([[1, 0, 0], [0.3, 0, 1]], True, id="a key alone does not say it"),
    ],
)
def test_a_question_needs_both_groups_where_each_adds_to_the_other(
    words: list[list[float]], meant: bool
) -> None:
    likely = np.array([0.6, 0.2, 0.4], dtype=np.float32)
    first, other = groups(likely, APART, match(words))
    assert (first.meant, other.meant) == (True, meant)


def test_readings_are_told_with_what_speaks_for_them() -> None:
    likely = {A: 0.4, B: 0.3, C: 0.01}
    told = [Reading((A, C), 0.2), Reading((B,), 0.3), Reading((C,), 0.01)]
    first, second = alternatives(told, likely, 0.16, lambda tables: [["says it"] for _ in tables])
    assert (first.tables, first.probability, first.reason) == ((B,), 0.3, "b: says it")
    assert (second.tables, second.probability) == ((A,), 0.2)  # c is below the cut
    assert first.confidence == pytest.approx(2 * 0.3 / (1 + 0.71), abs=1e-4)


def test_joins_and_spelling_say_what_belongs_together() -> None:
    def alone(path: float, apart: float, same_name: float) -> float:
        matrices = (np.array([[1, one], [one, 1]]) for one in (path, apart, same_name))
        return float(belonging(*matrices)[0, 1])

    assert alone(1.0, 0.0, 0.0) > 0.9
    assert alone(0.0, 0.0, 0.0) < 0.1
    assert alone(1.0, 2.0, 0.0) < alone(1.0, 0.0, 0.0)
    assert alone(1.0, 0.0, 1.0) < 0.1  # no database has two tables of one name


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (TableId("erp", "sales.orders"), "erp::sales"),
        (TableId("crm.sqlite", "orders"), "crm.sqlite::"),
        (TableId("files", "exports/2024/orders.v2"), "files::exports/2024"),
    ],
)
def test_a_place_is_source_and_schema_or_folder(table: TableId, place: str) -> None:
    assert place_of(table) == place


def test_paths_are_the_best_product_of_up_to_four_joins() -> None:
    rng = np.random.default_rng(3)
    count = 12
    scores = np.where(rng.random((count, count)) < 0.2, rng.random((count, count)), 0)
    scores = np.maximum(scores, scores.T).astype(np.float32)
    np.fill_diagonal(scores, 1)
    rows, others = np.nonzero(scores)
    starts = np.searchsorted(rows, np.arange(count + 1))
    joined = Neighbours(starts, others.astype(np.int32), scores[rows, others])
    best = scores.copy()
    for _ in range(3):  # one join more each time
        best = np.array(
            [[max(best[a, c] * scores[c, b] for c in range(count)) for b in range(count)]
             for a in range(count)]
        )  # fmt: skip
    tables = np.array([4, 0, 7])
    np.testing.assert_allclose(joined.paths(tables), best[np.ix_(tables, tables)], rtol=1e-5)
