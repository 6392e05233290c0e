"""What teaching is worth is measured on a pile of our own: all that was confirmed comes back."""

from __future__ import annotations

from pathlib import Path

import dovetail
from dovetail_bench.corpora import write_brewery
from dovetail_bench.corpora.questions import brewery_questions
from dovetail_bench.programs.teach import Pile, own_questions, taught, with_notes


def test_confirmed_sets_come_back_and_notes_help(tmp_path: Path) -> None:
    sources = [f"{path.name}={path}" for path in write_brewery(tmp_path)]
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(*sources, into=tmp_path / "catalog", settings=settings)
    rows = [{**row, "tables": row["gold_tables"]} for row in brewery_questions()]
    pile = Pile(catalog, str, own_questions(rows))
    measured = taught(pile)
    assert measured["come_back"] == measured["confirmed"] == len(pile.questions) > 15
    before, after = measured["f1_reworded"]
    assert after >= before > 0.9
    for fold in with_notes(pile):
        assert fold["chosen_on"][1] >= fold["chosen_on"][0]
        assert len(fold["lines"]) <= 10
