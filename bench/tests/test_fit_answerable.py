"""A corpus is measured by weights that were fitted without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_bench.datasets import Dataset
from dovetail_bench.programs import fit_answerable
from dovetail_bench.programs.fit_answerable import Row, fitted, left_out


def _rows(database: str, sign: float) -> list[Row]:
    """Own questions are told by the first number, the other way round where the sign is."""
    own = [Row((sign * (0.5 + n / 40), 0.3), False, database, own=True) for n in range(20)]
    strange = [Row((sign * (n / 40), 0.3), False, "other", stranger=True) for n in range(20)]
    return own + strange


def test_neither_the_corpus_nor_its_databases_take_part_in_the_fit() -> None:
    measured = Dataset("one", Path(), {"shared": Path(), "mine": Path()}, lambda: ())
    parts = {"one": _rows("mine", 1.0), "two": _rows("theirs", 1.0)}
    own, strange, auc, at_five, around = left_out(measured, parts)
    assert (own, strange, auc) == (20, 20, 1.0)
    assert at_five == around == 1.0
    misleading = {**parts, "one": parts["one"], "three": _rows("shared", -1.0) * 9}
    kept = [row for row in misleading["three"] if not row.own]
    assert left_out(measured, misleading)[2:] == left_out(measured, {**parts, "three": kept})[2:]


def test_weights_tell_questions_with_an_answer() -> None:
    weights = fitted(_rows("theirs", 1.0))
    assert weights[0] > 0
    assert len(weights) == 3


def test_what_is_printed_is_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = {name: Dataset(name, Path(), {name: Path()}, lambda: ()) for name in ("a", "b")}
    monkeypatch.setattr(fit_answerable, "open_dataset", corpora.__getitem__)
    monkeypatch.setattr(Dataset, "questions", lambda _: ())
    monkeypatch.setattr(fit_answerable, "rows", lambda one, *_: _rows(one.name, 1.0))
    fit_answerable.main(["a", "b", "--leave-one-out"])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| a | 20 | 20 | 1.000 | 100.0 | 100.0 |",
        "| b | 20 | 20 | 1.000 | 100.0 | 100.0 |",
    ]
