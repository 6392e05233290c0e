"""The piles of our own: their questions name tables that there are, and sets are scored fairly."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail
from dovetail_bench.programs.piles import PILES, best_score, measure


@pytest.mark.parametrize("name", PILES)
def test_a_pile_is_asked_and_scored(name: str, tmp_path: Path) -> None:
    catalog, questions = PILES[name](tmp_path)
    known = {str(table.id) for table in catalog}
    wanted = [row["tables"] for row in questions] + [
        other for row in questions for other in row.get("accepted", ())
    ]
    assert known.issuperset(table for tables in wanted for table in tables)
    asked = questions[:3]
    found = measure(catalog, asked)
    scores = [best_score(catalog, row).f1 for row in asked]
    assert found.questions == 3
    assert found.perfect == sum(one == 1 for one in scores) > 0
    assert found.f1 == pytest.approx(sum(scores) / 3, abs=1e-3)


def test_the_nearest_accepted_set_counts_and_a_refusal_is_right(sample: dovetail.Catalog) -> None:
    question = "Which patients have allergies?"
    row = {"question": question, "tables": ["x::y"]}
    found = [str(one.id) for one in sample.ask(question).tables]
    assert best_score(sample, row).f1 == 0
    assert best_score(sample, {**row, "accepted": [found]}).f1 == 1
    assert best_score(sample, {**row, "tables": []}).f1 == float(not found)


def test_what_another_covers_as_well_keeps_it_company_and_leaves_the_set(tmp_path: Path) -> None:
    catalog, _ = PILES["brewery"](tmp_path)
    question = "How did the order total develop from 2021 to 2023?"
    orders = {f"orders_{year}" for year in (2021, 2022, 2023)}
    assert {table.name for table in catalog.ask(question)} == orders
    assert {table.name for table in catalog.ask(question, breadth=0.75)} > orders
