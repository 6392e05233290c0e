"""The page of the paper's comparison, held against the recorded replies it is made of."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from itertools import groupby
from operator import itemgetter
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
    committed = chapter((PAGES / "paper.md").read_text("utf-8"), model, corpus)
    assert len(committed) >= 100
    assert chapter(page.read_text("utf-8"), model, corpus) == committed, "make bench-paper"


def test_the_page_has_the_text_and_the_chapters_of_the_program() -> None:
    text = (PAGES / "paper.md").read_text("utf-8")
    assert text.startswith(f"{paper.INTRO}\n## "), "make bench-paper"
    for model, corpora in groupby(MADE, key=itemgetter(0)):
        headings = re.findall(r"^### (\w+): Runs$", of_model(text, model), re.MULTILINE)
        assert headings == sorted(name for _, name in corpora)


def test_fallbacks_are_counted_over_the_chapters() -> None:
    """The counts at the head of a model's chapter are those of its tables by reason."""
    part = of_model((PAGES / "paper.md").read_text("utf-8"), "small")
    head, _, tables = part.partition("### ")
    told = {
        (name, why): int(count)
        for name, whys in re.findall(r"^- `(.+?)`: (.+)$", head, re.MULTILINE)
        for why, count in re.findall(r"([^;]+?): (\d+)", whys)
    }
    counted: Counter[tuple[str, str]] = Counter()
    for table in re.findall(r"^### \w+: Fallbacks\n(.+?)\n###", f"### {tables}", re.M | re.S):
        for row in table.splitlines()[3:]:
            name, why, count, *_ = (cell.strip() for cell in row.strip("|").split("|"))
            counted[name, why] += int(count)
    assert counted == {(name.strip(), why.strip()): count for (name, why), count in told.items()}
    assert counted


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


def of_model(page: str, model: str) -> str:
    """All that a page says of a model."""
    return page.partition(f"\n## The {model} model\n")[2].partition("\n## ")[0]


def chapter(page: str, model: str, corpus: str) -> list[str]:
    """The lines about a model and a corpus, without the numbers of runs, which go on over all, and
    without the blank ones, of which a last chapter has one less."""
    found, inside = [], False
    for line in of_model(page, model).splitlines():
        if line.startswith("### "):
            inside = line.startswith(f"### {corpus}: ")
        if inside and line:
            row = re.sub(r" \| [\d, ]+ \|$", " |", line)
            found.append(re.sub(r"^\d+\. ", "", row))
    return found
