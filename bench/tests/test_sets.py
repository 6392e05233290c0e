"""The table of all piles and corpora: results are held against the nearest set, means add up."""

from __future__ import annotations

from dovetail.domain import TableSet
from dovetail_bench.programs.sets import Row, result, table

FOUND = TableSet("q", (), (), (), confidence=0.5)


def test_the_nearest_accepted_set_counts_and_a_low_confidence_refuses() -> None:
    right = result(FOUND, ["a", "b"], [["a"], ["a", "b"]])
    assert right.score is not None
    assert (right.score.f1, right.refused) == (1, False)
    assert result(FOUND, [], [["a"]]).refused
    assert not result(FOUND, ["a"], [[]]).refused
    assert result(TableSet("q", (), (), (), confidence=0.2), ["a"], [[]]).refused


def test_means_have_the_piles_twice() -> None:
    good = Row("pile", True, [result(FOUND, ["a"], [["a"]]), result(FOUND, [], [[]])])
    bad = Row("corpus", False, [result(FOUND, ["b"], [["a"]])])
    lines = list(table([good, bad]))
    assert lines[2] == "| pile | 1 | 100.0 | 100.0 | 100.0 | 1.00 | 0 of 1 | 1 of 1 |"
    assert lines[3] == "| corpus | 1 | 0.0 | 0.0 | 0.0 | 1.00 | 0 of 1 |  |"
    assert lines[-1].startswith("| mean, piles twice |  | 66.7 |")
