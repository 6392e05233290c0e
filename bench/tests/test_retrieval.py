"""`dovetail bench retrieval`: values worked out by hand, its JSON, and bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from corpora import Words, many, question, register, write_corpus
from dovetail.cli import app
from dovetail.domain import TableId
from dovetail.errors import PendingError, UsageError
from dovetail.settings import Settings
from dovetail_bench.datasets import PURPOSES, open_dataset
from dovetail_bench.errors import DatasetError
from dovetail_bench.question_file import read_questions_beside
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.retrievers import open_retriever
from dovetail_bench.run import RunConfig
from dovetail_bench.run_file import read_run

QUESTIONS = [
    question(0, "farm cat", ["farm_cat"]),
    question(1, "farm dog and farm hen", ["farm_DOG", "farm_hen"], evidence="owl"),
    question(2, "what do wood foxes eat", ["wood::wood_fox", "wood::food"]),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Words, "asked", [])
    monkeypatch.setattr(Words, "opened", [])
    register("words", "halves", "named", "unpaid")
    yield
    register()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "farms", QUESTIONS)


def measure(folder: Path, *names: str, k: tuple[int, ...] = (2,), **chosen: Any) -> dict[str, Any]:
    notes: list[str] = []
    config = RunConfig(folder.parent / "runs", Settings(), note=notes.append)
    result = bench_retrieval(open_dataset(folder), names, k, QuestionFilter(**chosen), config)
    return {**result, "notes": notes}


def test_values_by_hand(folder: Path) -> None:
    """At 2: cat and bee; dog and hen; two of the wood's tables that are not fox or food."""
    result = measure(folder, "words", k=(1, 2))
    one, two = result["results"]
    assert (result["dataset"], result["questions"], result["tables"]) == ("farms", 3, 14)
    assert (two["avg_tables"], two["k"], two["retriever"]) == (2, 2, "words")
    assert two["p"] == pytest.approx((0.5 + 1 + 0) / 3, abs=1e-6)
    assert two["r"] == pytest.approx((1 + 1 + 0) / 3, abs=1e-6)
    assert two["f1"] == pytest.approx((2 / 3 + 1 + 0) / 3, abs=1e-6)
    assert two["pr"] == pytest.approx(2 / 3, abs=1e-6)
    assert one["f1"] == pytest.approx((1 + 2 / 3 + 0) / 3, abs=1e-6)
    assert one["pr"] == pytest.approx(1 / 3, abs=1e-6)


def test_a_ranking_is_asked_once_for_all_k(folder: Path) -> None:
    rows = measure(folder, "words", k=(1, 2, 5))["results"]
    assert (Words.opened, len(Words.asked)) == ([5], 3)
    alone = [measure(folder.parent / "farms", "words", k=(k,))["results"][0] for k in (1, 2, 5)]
    assert (Words.opened, len(Words.asked)) == ([5], 3)
    assert alone == rows


def test_prefixes_of_a_ranking_are_what_a_run_for_that_k_finds(
    folder: Path, tmp_path: Path
) -> None:
    """The slow twin asks for every k on its own."""
    rows = measure(folder, "words", k=(1, 2, 5))["results"]
    for row in rows:
        config = RunConfig(tmp_path / f"runs-{row['k']}", Settings())
        alone = bench_retrieval(
            open_dataset(folder), ["words"], [row["k"]], QuestionFilter(), config
        )
        (found,) = alone["results"]
        assert found["run"] != row["run"]
        same = {name: row[name] for name in ("run", "seconds_per_question")}
        assert {**found, **same} == row


def test_what_is_no_ranking_is_asked_for_every_k(folder: Path) -> None:
    rows = measure(folder, "halves", k=(2, 4))["results"]
    assert (Words.opened, len(Words.asked)) == ([2, 4], 6)
    assert [row["avg_tables"] for row in rows] == [1, 2]
    assert (rows[0]["tokens_in"], rows[0]["tokens_out"], rows[0]["llm_calls"]) == (100, 7, 1)


def test_evidence_limit_and_share(folder: Path) -> None:
    assert measure(folder, "words", limit=2)["questions"] == 2
    assert len(Words.asked) == 2
    assert measure(folder, "words")["questions"] == 3
    assert len(Words.asked) == 3
    measure(folder, "words", evidence=True)
    assert Words.asked[3:] == ["farm cat", "farm dog and farm hen owl", "what do wood foxes eat"]
    assert measure(folder, "words", share=Fraction(1, 2))["questions"] == 1
    with pytest.raises(UsageError, match="no question to ask"):
        measure(folder, "words", share=Fraction(1, 100))


def split(folder: Path, content: object) -> Path:
    """A file of sub-questions."""
    file = folder.parent / "split.json"
    file.write_text(json.dumps(content))
    return file


def test_an_argument_after_a_colon_reaches_the_retriever(folder: Path) -> None:
    (row,) = measure(folder, "named:fox", k=(1,))["results"]
    assert (row["retriever"], Words.asked[2]) == ("named:fox", "what do wood foxes eat fox")
    assert row["p"] == pytest.approx(3 / 3)
    with pytest.raises(UsageError, match="'words' takes no argument; leave out ':fox'"):
        open_retriever("words:fox", open_dataset(folder).catalog(), k=1, settings=Settings())
    with pytest.raises(UsageError, match="retriever 'nobody' is not known; there are: halves"):
        measure(folder, "nobody")


def test_all_is_whatever_can_run(folder: Path) -> None:
    register("words", "halves", "unpaid")
    result = measure(folder, "all")
    assert [row["retriever"] for row in result["results"]] == ["halves", "words"]
    assert result["notes"] == ["unpaid cannot run: no key: set WORDS_API_KEY"]
    register("unpaid")
    with pytest.raises(UsageError, match="no retriever can run"):
        measure(folder, "all")


def test_bad_questions_are_refused_or_left_out_by_name(folder: Path) -> None:
    bad = [*QUESTIONS, question(2, "again", ["Food"]), question(3, "cow", ["farm_cow"])]
    (folder / "questions.json").write_text(json.dumps(bad))
    with pytest.raises(DatasetError, match="2 questions of farms cannot be scored"):
        measure(folder, "words")
    result = measure(folder, "words", skip_bad=True)
    assert result["questions"] == 3
    assert result["notes"] == [
        "left out question 2: its id is there twice",
        "left out question 3: its gold table farm::farm_cow is not in the catalog",
    ]


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bench", "retrieval", *arguments])


def test_the_json_has_the_promised_shape(folder: Path, tmp_path: Path) -> None:
    done = invoke(
        str(folder), "--retriever", "words,halves", "--k", "4,2", "--limit", "2",
        "--runs", str(tmp_path / "runs"), "--workers", "2", "--json",
    )  # fmt: skip
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert list(document) == ["dataset", "questions", "tables", "results"]
    assert [(row["retriever"], row["k"]) for row in document["results"]] == [
        ("words", 2), ("words", 4), ("halves", 2), ("halves", 4),
    ]  # fmt: skip
    assert list(document["results"][0]) == [
        "retriever", "knows", "k", "run", "settings", "avg_tables", "p", "r", "f1", "pr",
        "exact", "lenient_f1", "lenient_exact", "exact_any", "pr_any", "unanswerable",
        "abstained", "refused", "llm_calls", "tokens_in", "tokens_out", "fallbacks", "timeouts",
        "seconds_per_question", "in_sample",
    ]  # fmt: skip
    assert document["results"][0]["settings"]["evidence"] is False


def test_the_table_for_people(folder: Path, tmp_path: Path) -> None:
    done = invoke(str(folder), "--retriever", "words", "--k", "2", "--runs", str(tmp_path / "runs"))
    assert "farms: 3 questions over 14 tables" in done.stdout
    assert done.stdout.splitlines()[-2].split()[:7] == [
        "words", "2", "2.0", "50.0", "66.7", "55.6", "66.7",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--k", "five"], "--k must be numbers like 5,10"),
        (["--k", "0"], "--k must be at least 1"),
        (["--share", "2"], "--share must be above 0 and at most 1"),
        (["--share", "1/0"], "--share must be a number"),
        (["--retriever", "nobody"], "retriever 'nobody' is not known"),
    ],
)
def test_wrong_usage_is_one_line(folder: Path, arguments: list[str], expected: str) -> None:
    command = [sys.executable, "-m", "dovetail", "bench", "retrieval", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder.parent, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr


def test_only_questions_about_some_sources(folder: Path) -> None:
    result = measure(folder, "words", sources=("wood",))
    assert (result["questions"], result["tables"]) == (1, 14)
    assert measure(folder, "words", sources=("wood", "farm"))["questions"] == 3
    with pytest.raises(UsageError, match="there is no source 'sea'; there are: farm, wood"):
        measure(folder, "words", sources=("sea",))


def test_purposes_that_a_model_wrote_are_searched_and_make_another_run(tmp_path: Path) -> None:
    """Only the purpose says the word that is asked for; the replies are recorded ones."""
    register()
    folder = write_corpus(tmp_path / "farms", [question(0, "zyzzyva", ["farm_cat"])])
    record = tmp_path / "record"
    config = RunConfig(tmp_path / "runs", Settings(embedder="none", llm=f"replay:{record}"))

    def found(question_filter: QuestionFilter) -> float:
        (row,) = bench_retrieval(open_dataset(folder), ["search"], [1], question_filter, config)[
            "results"
        ]
        return float(row["pr"])

    with pytest.raises(PendingError, match=r"purposes of 14 tables wait for replies"):
        found(QuestionFilter(descriptions=PURPOSES))
    with (record / "responses.jsonl").open("w") as replies:
        for line in (record / "requests.jsonl").read_text().splitlines():
            request = json.loads(line)
            ours = "Table: farm_cat" in request["body"]["messages"][-1]["content"]
            reply = {"content": "Where the zyzzyva sleeps." if ours else "None"}
            response = {"status_code": 200, "body": {"choices": [{"message": reply}]}}
            answer = {"custom_id": request["custom_id"], "response": response}
            replies.write(json.dumps(answer) + "\n")
    assert (found(QuestionFilter()), found(QuestionFilter(descriptions=PURPOSES))) == (0.0, 1.0)
    assert len(list(config.runs.glob("*-search.k1.*[0-9a-f].jsonl"))) == 2


def test_a_thousand_questions_cost_little_beyond_the_retriever(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "farms", many(1000))
    result = measure(folder, "words", k=(1,))
    assert (result["questions"], result["results"][0]["pr"]) == (1000, 1.0)


def test_a_run_keeps_its_command_and_its_questions(folder: Path) -> None:
    settings = Settings(embedder="none", llm="replay:it's here", catalog="mine")
    config = RunConfig(folder.parent / "runs", settings, corpus="some farms")
    question_filter = QuestionFilter(
        evidence=True, share=Fraction(2, 3), limit=2, skip_bad=True, sources=("farm",)
    )
    bench_retrieval(open_dataset(folder), ["words"], [1, 2], question_filter, config)
    (file,) = (file for file in config.runs.glob("*-words.k2*") if "traces" not in file.name)
    run = read_run(file)
    assert run.made == {
        "command": "DOVETAIL_EMBEDDER=none 'DOVETAIL_LLM=replay:it'\"'\"'s here' "
        "dovetail bench retrieval 'some farms' --retriever words --k 2 --evidence --skip-bad "
        "--source farm --share 2/3 --seed 42 --limit 2 -C mine",
        "ranks": True,
        "evidence": True,
        "purposes": False,
    }
    kept = read_questions_beside(file, run.about["dataset"], run.about["questions"])
    assert [question.text for question in kept][1] == "farm dog and farm hen owl"
    assert kept[1].gold == (TableId("farm", "farm_dog"), TableId("farm", "farm_hen"))
