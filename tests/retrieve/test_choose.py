"""Tables that only keep others company leave a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dovetail.domain import Candidate, TableId
from dovetail.retrieve.choose import without_companions
from dovetail.retrieve.connect import ConnectedSet, LinkGraph
from dovetail.retrieve.scorer import ScoredCandidates
from tests.retrieve.test_groups import match, pairs

A, B, C = TABLES = [TableId("s", name) for name in "abc"]
ALL_JOINED = LinkGraph(TABLES, [(A, B, 0.9), (B, C, 0.9), (A, C, 0.9)])
IN_A_ROW = LinkGraph(TABLES, [(A, C, 0.9), (C, B, 0.9)])


def left(
    probabilities: Sequence[float],
    words: list[list[float]],
    links: LinkGraph = ALL_JOINED,
    names: Sequence[float] = (0, 0, 0),
    values: Sequence[float] = (0, 0, 0),
    defined: Sequence[float] = (0, 0, 0),
) -> str:
    """The names of what is left of a set of three tables, given how far each covers each word."""
    found = replace(
        match(words),
        names=np.array(names, dtype=np.float32),
        values=np.array([values], dtype=np.float32),
        defined=np.array(defined, dtype=np.float32),
    )
    likely = np.array(probabilities, dtype=np.float32)
    together = pairs(np.ones((3, 3)).tolist())
    candidates = [Candidate(table, 1.0, {}) for table in TABLES]
    features = np.zeros((3, 1), dtype=np.float32)
    scored = ScoredCandidates(candidates, found, together, features, likely, None, likely, ())  # type: ignore[arg-type]
    kept = without_companions(scored, ConnectedSet((A, B, C)), links)
    return "".join(table.name for table in kept.tables)


# What a covers, what b does, and what both do: c covers nothing beyond the two.
TOGETHER = [[1, 0, 0.9], [0, 1, 0.9]]


@pytest.mark.parametrize(
    ("probability", "words", "expected"),
    [
        pytest.param(0.4, [[1, 0, 1], [0, 1, 0]], "ab", id="another covers what it covers"),
        pytest.param(0.4, [[1, 0, 0], [0, 1, 0.7]], "ab", id="less well"),
        pytest.param(0.6, [[1, 0, 0.9], [0, 1, 0]], "abc", id="probable: about as well"),
        pytest.param(0.6, [[1, 0, 0.6], [0, 1, 0]], "ab", id="probable: clearly better"),
        pytest.param(0.4, TOGETHER, "ab", id="the others together do"),
        pytest.param(0.6, TOGETHER, "abc", id="probable: the others together do"),
        pytest.param(0.4, [[1, 0, 0], [0, 1, 0]], "ab", id="it covers nothing"),
        pytest.param(0.4, [*TOGETHER, [0, 0, 0.5]], "abc", id="it alone covers a word"),
    ],
)
def test_what_covers_nothing_beyond_leaves(
    probability: float, words: list[list[float]], expected: str
) -> None:
    assert left([0.9, 0.8, probability], words) == expected


def test_where_no_table_covers_a_word_those_that_are_called_stay() -> None:
    nothing = [[0.0, 0.0, 0.0]]
    assert left([0.4, 0.3, 0.2], nothing, names=[1, 1, 1]) == "abc"


def test_what_is_likelier_than_the_others_stays() -> None:
    assert left([0.3, 0.3, 0.4], TOGETHER) == "abc"


def test_what_is_called_by_its_name_stays() -> None:
    assert left([0.9, 0.8, 0.4], TOGETHER, names=[0, 0, 1]) == "abc"
    assert left([0.9, 0.8, 0.6], [[1, 0, 0.6], [0, 1, 0]], names=[0, 0, 1]) == "abc"


def test_what_connects_holds_a_value_or_is_noted_stays() -> None:
    assert left([0.9, 0.8, 0.4], TOGETHER, IN_A_ROW) == "abc"
    assert left([0.9, 0.8, 0.4], TOGETHER, values=[0, 0, 1]) == "abc"
    assert left([0.9, 0.8, 0.4], TOGETHER, values=[0, 1, 1]) == "ab"
    assert left([0.9, 0.8, 0.4], TOGETHER, defined=[0, 0, 1]) == "abc"
