"""programs/paper.py: the paper's setup asked in rounds, and its page from recorded replies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.ranked import Ranked, letters

from corpora import many, write_corpus
from dovetail.settings import Settings
from dovetail_bench import retrievers
from dovetail_bench.core_t.retriever import ABLATIONS
from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.paper import keep, main, questions_asked, unpacked, waiting
from dovetail_bench.reporting.report import make_report
from dovetail_bench.run_file import read_run


def reply_to(body: dict[str, Any]) -> str:
    """What a model could say: a purpose, a step of ReAct, keywords, or the first two tables."""
    first, last = (body["messages"][place]["content"] for place in (0, -1))
    if "response_format" not in body:
        if "table_search" not in first:
            return "What animals eat."
        seen = re.search(r'"table_index": (\d+)', last)
        if seen is None:
            return "Thought: none is seen yet\nAction: table_search\nAction Input: animals"
        return f'Thought: enough\nFinal Answer: {{"relevant_tables": [{seen[1]}]}}'
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    if "keywords" in asked:
        return json.dumps({"keywords": ["animal", "feed"]})
    if "tables" in asked:
        return json.dumps({"tables": [1, 2]})
    formed = [{"group_index": 1, "table_indices": [1, 2]}]
    return json.dumps(
        {
            "group_formation": {"groups_formed": formed},
            "group_selection": {"selected_group_index": 1},
        }
    )


def answer(folder: Path) -> list[dict[str, Any]]:
    """Answer all requests of a folder; returns them."""
    lines = (folder / "requests.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    with (folder / "responses.jsonl").open("w") as stream:
        for each in asked:
            body = {"choices": [{"message": {"content": reply_to(each["body"])}}]}
            reply = {"status_code": 200, "body": body}
            stream.write(json.dumps({"custom_id": each["custom_id"], "response": reply}) + "\n")
    return [each["body"] for each in asked]


@pytest.mark.slow
def test_purposes_are_asked_first_and_the_page_comes_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, page = write_corpus(tmp_path / "zoo", many(6)), tmp_path / "paper.md"
    runs, kept = tmp_path / "runs", tmp_path / "kept"
    words = [str(corpus), "--runs", str(runs), "--page", str(page), "--kept", str(kept)]
    words += ["--model", "strong", "--llm", f"replay:{tmp_path}/rec/{{}}?model=some"]

    def last_line() -> str:
        main(words)
        return capsys.readouterr().out.splitlines()[-1]

    assert last_line() == "19 requests wait for replies"
    first = answer(tmp_path / "rec" / "zoo")
    assert sum("response_format" not in body for body in first) == 13, (
        "one for each table that looks different"
    )
    assert last_line() == "24 requests wait for replies", (
        "two selections, a first step and keywords for each question"
    )
    assert not page.exists()
    for count, of in ((12, "second steps, drafts of 2"), (6, "of 3"), (6, "of 4"), (0, "nothing")):
        answer(tmp_path / "rec" / "zoo")
        assert last_line() == f"{count} requests wait for replies", of
    text = page.read_text("utf-8")
    at_ten = ("core-t:paper@10", "react:paper@10", "arm:paper@10")
    for name in ("dense:paper@5", "dense:paper@8", "rear:paper@5", *at_ten, *ABLATIONS):
        assert name in text
    main(words)
    assert page.read_text("utf-8") == text
    assert waiting(f"replay:{tmp_path}/rec/zoo?model=some") == 0
    assert waiting("openai:some") == 0
    (run,) = runs.glob("zoo-rear_paper.k5.*[0-9a-f].jsonl")
    keep([run], kept)
    assert [file.name for file in kept.iterdir()] == ["zoo-rear_paper.sets.jsonl.xz"]
    (again,) = unpacked(kept, open_dataset(corpus), tmp_path / "again")
    assert read_run(again).records == read_run(run).records
    (chapter,) = make_report([again])
    assert chapter.tables[0].rows, "its questions lie beside it"


def test_a_corpus_that_a_model_was_not_asked_about_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, page = write_corpus(tmp_path / "zoo", many(2)), tmp_path / "paper.md"
    main([str(corpus), "--model", "small", "--runs", str(tmp_path / "runs"), "--page", str(page)])
    assert capsys.readouterr().out.splitlines()[0] == "zoo, small: nothing is recorded"
    assert "###" not in page.read_text("utf-8")


def test_no_system_of_the_paper_has_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = letters(tmp_path)
    asked: list[Settings] = []

    def searcher_of(_: object, settings: Settings) -> Ranked:
        asked.append(settings)
        return Ranked(catalog, [0.5, 0.4], {})

    monkeypatch.setattr(retrievers, "searcher_of", searcher_of)
    names = (
        "dense",
        "dense:paper",
        "jar:paper",
        "rear:paper",
        "react:paper",
        "arm:paper",
        "core-t",
    )
    for name in names:
        retrievers.open_retriever(name, catalog.reader, settings=Settings(llm="replay:nowhere"))
    assert [settings.families for settings in asked] == [False] * len(names)


def test_a_sample_is_a_share_that_the_command_of_a_row_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen = questions_asked(open_dataset("sample"), 30)
    assert chosen.options() == ["--skip-bad", "--share", "1/4", "--seed", "42"]
    assert questions_asked(open_dataset("sample"), 500).options() == ["--skip-bad"]
