"""programs/paths.py: the ways to choose with a model, from recorded replies, as one table."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from corpora import many, write_corpus
from dovetail.errors import PendingError, UsageError
from dovetail.plugins import open_llm
from dovetail.ports import Message
from dovetail_bench.programs.paths import WAYS, main


def answered(folder: Path) -> int:
    """Answer what waits in a folder: the first table; how many requests there are now."""
    asked = (folder / "requests.jsonl").read_text("utf-8").splitlines()
    with (folder / "responses.jsonl").open("w") as stream:
        for line in asked:
            said = {"look_for": ["animals"], "tables": [1], "missing": "", "sure": 0.9}
            body = {"choices": [{"message": {"content": json.dumps(said)}}]}
            reply = {"status_code": 200, "body": body}
            stream.write(
                json.dumps({"custom_id": json.loads(line)["custom_id"], "response": reply}) + "\n"
            )
    return len(asked)


def test_the_ways_are_compared_over_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOVETAIL_EMBEDDER", "none")
    corpus = str(write_corpus(tmp_path / "zoo", many(4)))
    words = [corpus, "--sample", "2", "--runs", str(tmp_path / "runs")]
    names = [way.name for way in WAYS if not way.retriever.startswith("core-t")]
    ways = [part for name in names for part in ("--way", name)]
    before = 0
    for _ in range(3):
        main([*words, *ways, "--llm", f"replay:{tmp_path}/rec/{{}}?model=some"])
        before, last = answered(tmp_path / "rec" / "zoo"), before
    assert before == last > 2
    packed = tmp_path / "zoo.jsonl.xz"
    packed.write_bytes(lzma.compress((tmp_path / "rec" / "zoo" / "responses.jsonl").read_bytes()))
    capsys.readouterr()
    main([*words, *ways, "--llm", f"replay:{tmp_path}/{{}}.jsonl.xz"])
    _, _, *rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in cells] == [["zoo", name] for name in names]
    assert {row[6] for row in cells} == {"1.000"}  # few tables: all are offered
    calls = {row[1]: float(row[7]) for row in cells}
    assert calls["no model"] == 0
    assert calls["earlier"] == 1
    assert 1 <= calls["today"] <= 2


def test_a_recording_is_read_and_never_written(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl.xz"
    file.write_bytes(lzma.compress(b""))
    with pytest.raises(PendingError, match="no reply to request"):
        open_llm(f"replay:{file}").complete([Message("user", "?")])
    assert list(tmp_path.iterdir()) == [file]
    file.write_bytes(b"no recording")
    with pytest.raises(UsageError, match="is no recording"):
        open_llm(f"replay:{file}")
