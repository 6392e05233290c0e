"""The page of the paper's comparison, held against the recorded replies it is made of."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from dovetail_bench.core_t.select import parse_selection, why_cut
from dovetail_bench.programs import paper
from dovetail_bench.programs.results import PAGES

ROOT = Path(__file__).resolve().parents[2]
MADE = [
    (model.name, name)
    for model in paper.MODELS
    for name in paper.CORPORA
    if (ROOT / f"bench/recordings/paper/{model.name}/{name}.jsonl.xz").is_file()
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "corpus"), MADE)
def test_the_recordings_give_the_figures_of_the_page(
    model: str, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ROOT / ".bench" / "data" / corpus
    if not data.is_dir():
        pytest.skip(f"{data} is not there: make bench-data unpacks it")
    monkeypatch.chdir(ROOT)
    page = tmp_path / "paper.md"
    words = [f".bench/data/{corpus}", "--model", model, "--runs", str(tmp_path / "runs")]
    paper.main([*words, "--page", str(page)])
    committed = set(map(without_run, (PAGES / "paper.md").read_text("utf-8").splitlines()))
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    missing = [row for row in rows if without_run(row) not in committed]
    assert len(rows) >= 20
    assert missing == []


def test_replies_of_the_small_model_fail_as_the_page_says() -> None:
    whys = set()
    for file in sorted((ROOT / "bench/recordings/paper/small").glob("*.jsonl.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            choices = [json.loads(line)["response"]["body"]["choices"][0] for line in lines]
        for choice in choices:
            text, cut = choice["message"]["content"], choice["finish_reason"] == "length"
            if text.startswith("{"):
                whys.add(why_cut(text) if cut else parse_selection(text, 10).reason)
    assert whys == {"", "it repeats itself until it is cut", "it has no group"}


def without_run(row: str) -> str:
    """A row without its last cell, which numbers the runs of a page."""
    return row.rstrip(" |").rpartition(" | ")[0]
