"""What is frozen before a change is compared after it, and every difference is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail_bench.programs import frozen


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr("sys.argv", ["frozen", *map(str, arguments)])
    frozen.main()


def test_the_same_code_gives_the_same_and_a_difference_is_told(
    corpus: tuple[Path, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOVETAIL_EMBEDDER", "none")
    shop = next(path for path in corpus if path.name == "shop.sqlite")
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps(["Who ordered what?", {"question": "Which products?"}]))
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    run(monkeypatch, before, shop, "--questions", questions)
    with pytest.raises(SystemExit) as same:
        run(monkeypatch, after, shop, "--questions", questions, "--against", before)
    assert not same.value.code
    assert before.read_text("utf-8").count("Which products?") == 2

    changed = json.loads(before.read_text("utf-8"))
    gone = changed["joins"].pop()
    before.write_text(json.dumps(changed))
    with pytest.raises(SystemExit) as other:
        run(monkeypatch, after, shop, "--questions", questions, "--against", before)
    assert other.value.code
    assert f"joins: 1 differences\n  + {json.dumps(gone)}" in capsys.readouterr().out
