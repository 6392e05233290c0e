"""Attacks of the kinds that once succeeded: a few variants of each; the soak does a hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.answer.tree import parse
from dovetail.learn.statements import without_literals
from tests.support.kinds import KINDS, attack


@pytest.mark.timeout(600)
def test_no_variant_of_a_kind_succeeds(tmp_path: Path) -> None:
    outcomes, wrong = attack(tmp_path, seed=3, count=12)
    assert wrong == []
    assert {name.rpartition(": ")[0] for name in outcomes} >= {
        name for name in KINDS if name != "text that takes for ever"
    }
    assert outcomes.total() == 12 * len(KINDS)


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("SELECT {'Ann': 1} FROM t", "postgres"),
        ("SELECT a FROM t WHERE {'Ann': a} = a", "sqlite"),
        ("SELECT INTERVAL '7 Ann' FROM t", "duckdb"),
        ("SELECT a = ANY(ARRAY[f('Ann', 'Lee')]) FROM t", "sqlite"),
    ],
)
def test_no_literal_is_kept_as_a_name(sql: str, dialect: str) -> None:
    assert "ann" not in without_literals(parse(sql, dialect), dialect, {"a"}).casefold()


def test_names_and_units_stay() -> None:
    sql = 'SELECT "Total Sum", INTERVAL \'7 days\' AS "in a week" FROM t'
    shown = without_literals(parse(sql, "duckdb"), "duckdb", {"total sum"})
    assert "Total Sum" in shown
    assert "DAYS" in shown
    assert "in a week" not in shown  # a name of the question's own may be a value
