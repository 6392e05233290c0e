"""`dovetail bench sql`: a scripted model answers right, wrong and worse; what that is worth."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.endpoint import Endpoint, Play, endpoint, says
from typer.testing import CliRunner

from corpora import Words, question, write_corpus
from dovetail import plugins
from dovetail.answer.execute import Executor
from dovetail.cli import app
from dovetail.domain import Chosen, TableSet
from dovetail.errors import PendingError
from dovetail.settings import Settings
from dovetail_bench.compare import same_result
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.run import RunConfig
from dovetail_bench.run_file import read_run, traces_of
from dovetail_bench.sql import bench_sql
from dovetail_bench.sql_gold import GoldResults
from test_sample import connected

Json = dict[str, Any]
Script = dict[str, str]

QUESTIONS = [
    question(0, "farm food count", ["Food"], sql="SELECT count(*) FROM food"),
    question(1, "farm food names", ["Food"], sql="SELECT name FROM Food ORDER BY id DESC"),
    question(
        2, "farm food and farm cat", ["Food", "farm_cat"], evidence="A cat eats its own number.",
        sql="SELECT f.name FROM Food f LEFT JOIN farm_cat c ON c.id = f.id",
    ),
    question(3, "wood food", ["wood::Food"], db_id="wood", sql="SELECT name FROM Food"),
    question(4, "farm dog", ["farm_dog"], sql="SELECT id FROM farm_dog"),
]  # fmt: skip
RIGHT = {
    "farm food count": "SELECT count(id) AS n FROM Food",
    "farm food names": "SELECT name FROM Food ORDER BY id DESC",
    "farm food and farm cat": "SELECT name FROM Food",
    "wood food": "SELECT name FROM Food ORDER BY name DESC",
    "farm dog": "SELECT id FROM farm_dog WHERE id > 0",
}


def asked_in(body: Json) -> str:
    """The question that a request is about."""
    text = body["messages"][0]["content"]
    return str(re.findall(r"^Question: (.*)$", text, re.MULTILINE)[-1])


def playing(script: Script) -> Callable[[Json], Play]:
    """An endpoint's answers by question: SQL is put into a block, anything else is said as it is.

    The part after `→` is said when the first was sent back.
    """

    def play(body: Json) -> Play:
        first, _, second = script[asked_in(body)].partition(" → ")
        said = second if second and len(body["messages"]) > 1 else first
        return says(f"```sql\n{said}\n```" if said[:1].isupper() else said)

    return play


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins._BUILT_IN[plugins.RETRIEVERS], "words", "corpora:Words")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "farms", QUESTIONS)


def measure(
    dataset: Dataset, runs: Path, *names: str, k: int = 2, engine: str | None = None, **given: Any
) -> Json:
    notes: list[str] = []
    settings = Settings(llm=given.pop("llm", "openai:scripted"), **given.pop("settings", {}))
    config = RunConfig(runs, settings, given.pop("workers", 1), note=notes.append)
    result = bench_sql(dataset, names, [k], QuestionFilter(**given), config, engine=engine)
    return {**result, "notes": notes, "row": result["results"][0]}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], Endpoint]]:
    """Has a model that answers by a script."""
    with ExitStack() as opened:

        def start(script: Script) -> Endpoint:
            played = opened.enter_context(endpoint(playing(script)))
            for name, value in played.environ.items():
                monkeypatch.setenv(name, value)
            return played

        yield start


Start = Callable[[Script], Endpoint]


def verdicts(runs: Path, name: str = "oracle") -> dict[str, str]:
    """What became of each question, by the run file."""
    (file,) = (
        file for file in (runs / "sql").glob(f"*-{name}.k*.jsonl") if "traces" not in file.name
    )
    records = read_run(file).records.values()
    return {each.question: each.written.error for each in records if each.written}


NONE_WRONG = dict.fromkeys(
    ("recall", "precision", "formatting", "schema_linking", "execution", "timeout", "result"), 0
)


def test_right_answers_in_other_words_are_right(
    folder: Path, tmp_path: Path, scripted: Start
) -> None:
    played = scripted(RIGHT)
    result = measure(open_dataset(folder), tmp_path / "runs", "oracle")
    row = result["row"]
    assert [row[name] for name in ("ex_all", "ex_mt", "ex_pr", "ex_given_pr")] == [1.0] * 4
    assert (row["errors"], row["repairs"]) == (NONE_WRONG, {"tried": 0, "right": 0})
    assert (row["scored"], row["pending"], row["unusable"]) == (5, 0, 0)
    assert (row["llm_calls"], row["tokens_in"], row["tokens_out"]) == (1.0, 11.0, 7.0)
    assert (row["settings"]["sql_engine"], row["settings"]["sql_model"]) == (
        "sqlite",
        "openai:scripted",
    )
    assert "one SQLite query" in played.asked[0]["messages"][0]["content"]
    assert result["notes"] == []


def test_every_class_of_error_by_hand(tmp_path: Path, scripted: Start) -> None:
    """Ten ways to be wrong over one table, and two right answers, one of them over two tables."""
    wrong = {
        "rows": ("SELECT 1", "result"),
        "order": ("SELECT name FROM Food ORDER BY id", "result"),
        "hostile": ("DELETE FROM Food", "formatting"),
        "leak": ("SELECT load_extension('x') FROM Food", "formatting"),
        "garbled": ("SELECT FROM WHERE (", "formatting"),
        "empty": ("i am sorry, i cannot help with that", "formatting"),
        "column": ("SELECT colour FROM Food", "schema_linking"),
        "table": ("SELECT name FROM farm_cow", "schema_linking"),
        "fails": ("SELECT abs(-9223372036854775808) FROM Food", "execution"),
        "endless": (
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
            "timeout",
        ),
    }
    asked = [
        question(name, name, ["Food"], sql="SELECT name FROM Food ORDER BY id DESC")
        for name in wrong
    ]
    both = "SELECT a.name FROM Food a JOIN farm_cat c ON a.id = c.id"
    asked += [
        question("good", "good", ["Food"], sql="SELECT id FROM Food"),
        question("two", "two", ["Food", "farm_cat"], sql=both),
    ]
    folder = write_corpus(tmp_path / "farms", asked)
    scripted(
        {name: sql for name, (sql, _) in wrong.items()}
        | {"good": "SELECT id FROM Food", "two": both}
    )
    result = measure(
        open_dataset(folder), tmp_path / "runs", "oracle",
        settings={"query_seconds": 10.0, "sql_repair": False},
    )  # fmt: skip
    row = result["row"]
    assert verdicts(tmp_path / "runs") == {
        **{name: error for name, (_, error) in wrong.items()},
        "good": "",
        "two": "",
    }
    assert row["errors"] == NONE_WRONG | {
        "formatting": 4, "schema_linking": 2, "execution": 1, "timeout": 1, "result": 2,
    }  # fmt: skip
    assert (row["ex_all"], row["ex_mt"]) == (pytest.approx(2 / 12, abs=1e-6), 1.0)
    assert (row["ex_pr"], row["ex_given_pr"]) == (row["ex_all"], row["ex_all"])


def test_nothing_is_the_gold_s_nothing_only_in_as_many_columns(
    tmp_path: Path, scripted: Start
) -> None:
    gold = "SELECT id FROM Food WHERE id < 0"
    asked = [question(name, name, ["Food"], sql=gold) for name in ("same", "wider", "rows")]
    folder = write_corpus(tmp_path / "farms", asked)
    scripted(
        {
            "same": "SELECT id FROM Food WHERE 1 = 0",
            "wider": "SELECT id, name FROM Food WHERE 1 = 0",
            "rows": "SELECT id FROM Food",
        }
    )
    measure(open_dataset(folder), tmp_path / "runs", "oracle")
    assert verdicts(tmp_path / "runs") == {"same": "", "wider": "result", "rows": "result"}


def test_what_retrieval_misses_counts_against_the_answers(
    folder: Path, tmp_path: Path, scripted: Start
) -> None:
    """At 1 the words miss Food in question 2, and take the farm's for the wood's in question 3.

    Both Foods hold the same, so question 3 is right without being fully retrieved.
    """
    scripted(RIGHT | {"farm dog": "SELECT 'x'"})
    row = measure(open_dataset(folder), tmp_path / "runs", "words", k=1)["row"]
    assert verdicts(tmp_path / "runs", "words") == {
        "0": "", "1": "", "2": "schema_linking", "3": "", "4": "result",
    }  # fmt: skip
    assert (row["pr"], row["avg_tables"]) == (0.6, 1.0)
    assert (row["ex_all"], row["ex_mt"], row["ex_pr"]) == (0.6, 0.0, 0.4)
    assert row["ex_given_pr"] == pytest.approx(2 / 3, abs=1e-6)
    assert row["errors"] == NONE_WRONG | {
        "recall": 2, "precision": 1, "schema_linking": 1, "result": 1,
    }  # fmt: skip
    assert (row["repairs"], row["llm_calls"]) == ({"tried": 1, "right": 0}, 1.2)


def test_sql_that_cannot_run_is_sent_back_once(
    folder: Path, tmp_path: Path, scripted: Start
) -> None:
    """At 2 both Foods are found for question 3, and neither is called Food any more."""
    played = scripted(RIGHT | {"wood food": "SELECT name FROM Food → SELECT name FROM Food_2"})
    dataset = open_dataset(folder)
    row = measure(dataset, tmp_path / "runs", "words", k=2)["row"]
    assert (row["ex_all"], row["repairs"]) == (1.0, {"tried": 1, "right": 1})
    assert (row["tokens_in"], row["tokens_out"]) == (11 * 6 / 5, 7 * 6 / 5)
    assert "Food is not a table of the set" in played.asked[4]["messages"][2]["content"]
    single = {"sql_repair": False}
    row = measure(dataset, tmp_path / "runs", "words", k=2, settings=single)["row"]
    assert (row["ex_all"], row["repairs"]) == (0.8, {"tried": 0, "right": 0})
    assert row["errors"]["schema_linking"] == 1
    assert len(played.asked) == 6  # the single shots were known from before


def test_questions_without_usable_gold_are_counted_and_not_asked(
    tmp_path: Path, scripted: Start
) -> None:
    asked = [
        *QUESTIONS[:2],
        question(5, "marked", ["Food"], sql="SELECT 1", sql_usable=False, exec_status="error"),
        question(6, "failed", ["Food"], sql="SELECT name FROM Food", exec_status="timeout"),
        question(7, "broken", ["Food"], sql="SELECT colour FROM Food"),
        question(8, "strange", ["Food"], sql="SELECT name FROM Foods"),
        question(9, "silent", ["Food"]),
    ]
    dataset = open_dataset(write_corpus(tmp_path / "farms", asked))
    played = scripted(RIGHT)
    for _ in range(2):
        result = measure(dataset, tmp_path / "runs", "oracle")
        row = result["row"]
        assert (result["questions"], row["scored"], row["unusable"]) == (7, 2, 5)
        assert (row["ex_all"], row["f1"], len(played.asked)) == (1.0, 1.0, 2)
    (file,) = (tmp_path / "runs" / "sql").glob("*[0-9a-f].jsonl")
    said = {each.question: each.written for each in read_run(file).records.values()}
    assert [name for name, written in said.items() if written and written.error == "gold"] == [
        "7", "8",
    ]  # fmt: skip
    assert "its table Foods is not in the catalog" in str(said["8"])


def test_evidence_reaches_the_retriever_and_the_prompt_apart(
    folder: Path, tmp_path: Path, scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Words, "asked", [])
    played = scripted(RIGHT)
    dataset = open_dataset(folder)
    measure(dataset, tmp_path / "runs", "words", evidence=True)
    assert Words.asked[2] == "farm food and farm cat A cat eats its own number."
    text = played.asked[2]["messages"][0]["content"]
    assert "Known besides: A cat eats its own number.\nQuestion: farm food and farm cat\n" in text
    measure(dataset, tmp_path / "runs", "words")
    assert "Known besides" not in played.asked[-3]["messages"][0]["content"]


@pytest.mark.slow
def test_what_is_on_disk_is_not_asked_again_and_a_change_is_another_run(
    folder: Path, tmp_path: Path, scripted: Start
) -> None:
    played = scripted(RIGHT)
    dataset, runs = open_dataset(folder), tmp_path / "runs"
    first = measure(dataset, runs, "oracle", limit=3)
    assert (first["questions"], len(played.asked)) == (3, 3)
    whole = measure(dataset, runs, "oracle", workers=3)
    (file,) = (runs / "sql").glob("*[0-9a-f].jsonl")
    before = file.read_bytes()
    assert measure(dataset, runs, "oracle") == whole
    assert (file.read_bytes(), len(played.asked)) == (before, 5)
    assert list(read_run(file).records) == ["0", "1", "2", "3", "4"]
    stages = [json.loads(line)["stages"] for line in traces_of(file).read_text().splitlines()]
    assert [stage["stage"] for stage in stages[0]] == ["sql", "run"]
    assert (stages[0][0]["first"], stages[0][1]) == (
        RIGHT["farm food count"],
        {"stage": "run", "rows": 1, "gold_rows": 1},
    )
    measure(dataset, runs, "oracle", engine="duckdb")
    measure(dataset, runs, "oracle", settings={"query_seconds": 9.0})
    measure(dataset, runs, "oracle", settings={"workers": 9})
    assert len(list((runs / "sql").glob("*[0-9a-f].jsonl"))) == 3


def test_another_engine_is_held_against_sqlite_on_the_own_database(
    folder: Path, tmp_path: Path, scripted: Start
) -> None:
    played = scripted(RIGHT)
    row = measure(open_dataset(folder), tmp_path / "runs", "oracle", engine="duckdb")["row"]
    assert (row["ex_all"], row["settings"]["sql_engine"]) == (1.0, "duckdb")
    assert "one DuckDB query" in played.asked[0]["messages"][0]["content"]


def answer_requests(folder: Path, script: Script, *, but: tuple[str, ...] = ()) -> int:
    """Reply to what was written down, as a batch endpoint would; returns how much that was."""
    lines = (folder / "requests.jsonl").read_text().splitlines()
    replies = {}
    for request in map(json.loads, lines):
        if asked_in(request["body"]) not in but:
            play = playing(script)(request["body"])
            response = {"status_code": 200, "body": json.loads(play.body)}
            replies[request["custom_id"]] = {
                "custom_id": request["custom_id"],
                "response": response,
            }
    text = "".join(json.dumps(reply) + "\n" for reply in replies.values())
    (folder / "responses.jsonl").write_text(text)
    return len(lines)


def test_replay_rounds_go_on_where_replies_are_there(folder: Path, tmp_path: Path) -> None:
    dataset, runs, replay = open_dataset(folder), tmp_path / "runs", tmp_path / "replay"
    script = RIGHT | {"farm dog": "SELECT colour FROM farm_dog → SELECT id FROM farm_dog"}

    def again() -> Json:
        return measure(dataset, runs, "oracle", llm=f"replay:{replay}")

    result = again()
    assert (result["row"]["pending"], result["row"]["scored"], result["row"]["ex_all"]) == (5, 0, 0)
    assert result["notes"] == [
        "oracle: 5 of 5 questions wait for replies and are not scored; have the requests of "
        f"replay:{replay} answered, then run this again"
    ]
    assert answer_requests(replay, script, but=("farm food names",)) == 5
    row = again()["row"]  # one waits for its reply, one for that to its repair
    assert (row["pending"], row["scored"], row["ex_all"]) == (2, 3, 1.0)
    assert list(verdicts(runs)) == ["0", "2", "3"]
    assert answer_requests(replay, script) == 6
    row = again()["row"]
    assert (row["pending"], row["scored"], row["ex_all"]) == (0, 5, 1.0)
    assert row["repairs"] == {"tried": 1, "right": 1}
    assert answer_requests(replay, script) == 6
    assert verdicts(runs) == dict.fromkeys(("0", "2", "3", "1", "4"), "")


class Hesitant(Words):
    """Waits for recorded replies to questions about food until the file `said` is there."""

    said = Path("said")

    def retrieve(self, question: str) -> TableSet:
        if "food" in question and not self.said.exists():
            raise PendingError("later")
        found = super().retrieve(question)
        cost = {"stage": "select", "tokens_in": 100, "tokens_out": 10, "llm_calls": 1}
        chosen = tuple(Chosen(each.id, 1.0, "select", "") for each in found.tables)
        return TableSet(question, chosen, (), (cost,))


def test_a_retriever_may_wait_as_well(
    folder: Path, here: Path, scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(plugins._BUILT_IN[plugins.RETRIEVERS], "hesitant", "test_sql:Hesitant")
    scripted(RIGHT | {"wood food": "SELECT name FROM Food_2"})
    dataset = open_dataset(folder)
    row = measure(dataset, here / "runs", "hesitant")["row"]
    assert (row["scored"], row["pending"], row["ex_all"]) == (1, 4, 1.0)
    (here / "said").touch()
    row = measure(dataset, here / "runs", "hesitant")["row"]
    assert (row["scored"], row["pending"], row["ex_all"]) == (5, 0, 1.0)
    # What a set costs and what its SQL costs are added up.
    assert (row["llm_calls"], row["tokens_in"], row["tokens_out"]) == (2.0, 111.0, 17.0)


@pytest.mark.slow
def test_a_killed_run_goes_on_with_no_question_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real process is killed twice while a slow model answers it in two threads."""
    asked = [
        question(number, f"food {number}", ["Food"], sql=f"SELECT id + {number} FROM Food")
        for number in range(30)
    ]
    script = {f"food {number}": f"SELECT {number} + id FROM Food" for number in range(30)}
    script["food 7"] = "SELECT 7 FROM Food"
    folder, runs = write_corpus(tmp_path / "farms", asked), tmp_path / "runs"
    pattern = "*[0-9a-f].jsonl"
    open_dataset(folder).catalog()
    command = [
        sys.executable, "-m", "dovetail", "bench", "sql", str(folder), "--retriever", "oracle",
        "--llm", "openai:scripted", "--runs", str(runs), "--workers", "2", "--json",
    ]  # fmt: skip
    answered, answer = 0, playing(script)

    def written() -> int:
        return sum(file.read_bytes().count(b"\n") for file in (runs / "sql").glob(pattern))

    def play(body: Json) -> Play:
        number = int(asked_in(body).removeprefix("food "))
        return answer(body) if number < answered else Play(hangs=True)

    with endpoint(play) as played:
        for name, value in played.environ.items():
            monkeypatch.setenv(name, value)
        for answered in (5, 10):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            while written() < 1 + answered:  # then it waits for the next answers for ever
                assert process.poll() is None
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            assert written() == 1 + answered
        answered = 30
        done = subprocess.run(command, capture_output=True, check=True)
        (row,) = json.loads(done.stdout)["results"]
        whole = measure(open_dataset(folder), tmp_path / "whole", "oracle", k=5)["row"]
        assert len(played.asked) <= 30 + 2 * 5  # at most what was under way when it was killed
    assert (row["scored"], row["ex_all"], row["errors"]["result"]) == (
        30, pytest.approx(29 / 30, abs=1e-6), 1,
    )  # fmt: skip
    apart = {"seconds_per_question": 0, "run": ""}
    assert {**row, **apart} == {**whole, **apart}
    (file,) = (runs / "sql").glob(pattern)
    assert list(read_run(file).records) == [str(number) for number in range(30)]


class Everything(Words):
    """Finds all tables there are."""

    def retrieve(self, question: str) -> TableSet:
        tables = (table for table, _ in self._names)
        return TableSet(question, tuple(Chosen(table, 1.0, "search", "") for table in tables), ())


def test_a_set_may_span_more_databases_than_sqlite_attaches(
    tmp_path: Path, scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query over one of eleven runs; one over all of them fails, and the run goes on."""
    monkeypatch.setitem(plugins._BUILT_IN[plugins.RETRIEVERS], "everything", "test_sql:Everything")
    names = [f"db{number:02}" for number in range(11)]
    for name in names:
        (tmp_path / "wide" / "databases" / name).mkdir(parents=True)
        file = tmp_path / "wide" / "databases" / name / f"{name}.sqlite"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(f"CREATE TABLE t_{name} (n INTEGER)")
            connection.execute(f"INSERT INTO t_{name} VALUES (1)")
    asked = [
        {"question_id": at, "db_id": "db00", "question": text, "sql": "SELECT n FROM t_db00"}
        for at, text in enumerate(("one", "all"))
    ]
    (tmp_path / "wide" / "questions.json").write_text(json.dumps(asked))
    (tmp_path / "wide" / "foreign_keys.json").write_text("[]")
    every = " UNION ".join(f"SELECT n FROM t_{name}" for name in names)
    scripted({"one": "SELECT n FROM t_db00", "all": every})
    dataset = open_dataset(tmp_path / "wide")
    row = measure(dataset, tmp_path / "runs", "everything", k=11)["row"]
    assert verdicts(tmp_path / "runs", "everything") == {"0": "", "1": "execution"}
    assert (row["avg_tables"], row["ex_all"]) == (11.0, 0.5)


@pytest.mark.slow
def test_the_sample_in_its_own_dialect_over_several_sources(
    sample_dataset: Dataset, tmp_path: Path, scripted: Start
) -> None:
    """Gold names every table under its source; the model knows them by their names alone."""
    chosen = sample_dataset.questions(8)
    script = {each.text: each.sql.replace('"civic.sqlite".', "") for each in chosen}
    # The third and the fourth are wrong, the sixth may not run.
    script[chosen[2].text] = "SELECT max(salary) FROM staff"
    script[chosen[3].text] = "SELECT school_name FROM schools WHERE county = 'Lakeshore'"
    script[chosen[5].text] = "COPY staff TO '/tmp/out.csv'"
    scripted(script)
    result = measure(
        sample_dataset, tmp_path / "runs", "oracle", limit=8, settings={"sql_repair": False}
    )
    row = result["row"]
    assert (row["ex_all"], row["ex_mt"], row["settings"]["sql_engine"]) == (0.625, 0.6, "duckdb")
    assert row["errors"] == NONE_WRONG | {"result": 1, "schema_linking": 1, "formatting": 1}


@pytest.mark.slow
def test_gold_results_of_the_sample_are_those_of_plain_duckdb(sample_dataset: Dataset) -> None:
    """The slow twin attaches all sources and runs the SQL as it is written."""
    catalog = sample_dataset.catalog()
    with Executor(catalog, workers=1) as executor, closing(connected(sample_dataset)) as plain:
        results = GoldResults(catalog, executor, sample_dataset.dialects)
        for each in sample_dataset.question_set().over(catalog.ids).questions:
            rows = plain.execute(each.sql).fetchall()
            found = results.of(each)
            assert same_result(rows, found.rows, found.order), each.id


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bench", "sql", *arguments])


def test_the_json_has_the_promised_shape(folder: Path, tmp_path: Path, scripted: Start) -> None:
    scripted(RIGHT | {"wood food": "SELECT name FROM Food_2"})
    runs = ["--runs", str(tmp_path / "runs"), "--llm", "openai:scripted", "--no-repair"]
    done = invoke(str(folder), "--retriever", "words,oracle", "--k", "2,1", *runs, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert list(document) == ["dataset", "questions", "tables", "results"]
    rows = document["results"]
    assert [(row["retriever"], row["k"]) for row in rows] == [
        ("words", 1), ("words", 2), ("oracle", 1), ("oracle", 2),
    ]  # fmt: skip
    assert list(rows[0]) == [
        "retriever", "knows", "k", "run", "settings", "avg_tables", "p", "r", "f1", "pr",
        "exact", "lenient_f1", "lenient_exact", "exact_any", "pr_any", "unanswerable",
        "abstained", "refused", "llm_calls", "tokens_in", "tokens_out", "fallbacks", "timeouts",
        "seconds_per_question", "in_sample",
        "ex_all", "ex_mt", "ex_pr", "ex_given_pr", "errors", "repairs", "scored", "pending",
        "unusable",
    ]  # fmt: skip
    assert rows[0]["settings"]["sql_repair"] is False
    assert {**rows[2], "k": 2} == rows[3]
    command = read_run(Path(rows[2]["run"])).made["command"]
    assert command.endswith(f"dovetail bench sql {folder} --retriever oracle --k 1 --no-repair")
    done = invoke(str(folder), "--retriever", "words", "--k", "2", *runs)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][:6] == ["farms:", "5", "questions", "over", "14", "tables;"]
    assert lines[4][:4] == ["words@2", "2.0", "73.3", "100.0"]
    assert "words@2: 5 scored, 0 pending; 0 sent back, of which 0 right then" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ([], 2, "writing SQL asks a language model and none is set: pass llm=..."),
        (["--llm", "replay:there", "--engine", "oracle"], 2, "engine 'oracle' is not known"),
        (["--llm", "replay:there", "--retriever", ","], 2, "no retriever is named"),
        (["--llm", "replay:there", "--retriever", "nobody"], 2, "'nobody' is not known"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: Path, arguments: list[str], code: int, expected: str
) -> None:
    command = [sys.executable, "-m", "dovetail", "bench", "sql", str(folder)]
    given = arguments if "--retriever" in arguments else ["--retriever", "oracle", *arguments]
    done = subprocess.run(
        [*command, *given], capture_output=True, text=True, cwd=folder.parent, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert expected in done.stderr
