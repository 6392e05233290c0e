"""Runs: what is on disk stays, what is missing is asked, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from corpora import Words, many, register, write_corpus
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Chosen, TableId, TableSet
from dovetail.errors import LockedError
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.errors import DatasetError
from dovetail_bench.retrievers import open_retriever
from dovetail_bench.run import ask_all, check_tables, record_of
from dovetail_bench.run_file import Record, read_run, resumed, traces_of
from dovetail_bench.run_key import RunKey, key_of

ABOUT = {"dataset": "d", "k": 5}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return open_dataset(write_corpus(tmp_path / "farms", many(60)))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Words, "asked", [])
    monkeypatch.setattr(Words, "opened", [])
    register("words", "slow", "halves")
    yield
    register()


def record(question: str, **changed: Any) -> Record:
    return replace(Record(question, (), 0, 0, 0, False, 0.0, ""), **changed)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def run(dataset: Dataset, folder: Path, *, workers: int = 1, name: str = "words") -> Path:
    catalog = dataset.catalog()
    questions = dataset.questions()
    key = key_of(dataset.name, questions, name, catalog, Settings())
    with resumed(key.file(folder, 3), key.about(3)) as writer:
        retriever = open_retriever(name, catalog, k=3, settings=Settings())
        ask_all(retriever, questions, writer, workers=workers)
    return key.file(folder, 3)


def test_a_run_holds_every_question_in_order_with_its_trace(
    dataset: Dataset, tmp_path: Path
) -> None:
    file = run(dataset, tmp_path / "runs")
    found = read_run(file)
    assert list(found.records) == [str(n) for n in range(60)]
    assert found.about["retriever"] == "words"
    assert found.about["k"] == 3
    first = found.records["0"]
    assert [table.id for table in first.tables] == [
        TableId("farm", "farm_cat"),
        TableId("farm", "farm_bee"),
        TableId("farm", "farm_dog"),
    ]
    assert (first.tables[0].stage, first.tables[0].relevance) == ("search", 0.2)
    traces = {row["trace"]: row for row in lines(traces_of(file))}
    assert traces[first.trace]["stages"] == [
        {"stage": "search", "words": ["0", "cat", "farm", "number"]}
    ]
    assert len({each.trace for each in found.records.values()}) == 60


def test_what_is_on_disk_is_not_asked_again(dataset: Dataset, tmp_path: Path) -> None:
    file = run(dataset, tmp_path / "runs")
    before = file.read_bytes()
    assert len(Words.asked) == 60
    assert run(dataset, tmp_path / "runs") == file
    assert len(Words.asked) == 60
    assert file.read_bytes() == before


def without_seconds(file: Path) -> list[dict[str, Any]]:
    return [{**row, "seconds": None} for row in lines(file)]


def test_threads_leave_the_file_that_one_thread_leaves(dataset: Dataset, tmp_path: Path) -> None:
    alone = run(dataset, tmp_path / "alone", name="slow")
    together = run(dataset, tmp_path / "together", name="slow", workers=8)
    assert without_seconds(together) == without_seconds(alone)
    spent = sum(row["seconds"] for row in lines(together)[1:])
    assert spent >= 60 * 0.02


@pytest.mark.slow
def test_a_killed_run_goes_on_with_no_question_lost_or_doubled(
    dataset: Dataset, tmp_path: Path
) -> None:
    """A real process is killed, three times over, while it asks in four threads."""
    code = (
        "import sys; from pathlib import Path; from corpora import SlowWords, register;"
        "from test_run import run; from dovetail_bench.datasets import open_dataset;"
        "register('slow'); SlowWords.answered = int(sys.argv[3]);"
        "run(open_dataset(sys.argv[1]), Path(sys.argv[2]), workers=4, name='slow')"
    )
    dataset.catalog()
    runs = tmp_path / "runs"
    for answered in (8, 16, 24):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(dataset.home), str(runs), str(answered)],
            cwd=Path(__file__).parent,
        )
        while not (files := list(runs.glob("*slow.k3.????????????????.jsonl"))) or (
            files[0].read_bytes().count(b"\n") < 1 + answered
        ):  # then it waits for the next answers for ever
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        (file,) = files
        reached = file.read_bytes().count(b"\n")
        assert reached == 1 + answered
    register("slow")
    assert run(dataset, runs, name="slow", workers=4) == file
    assert len(Words.asked) == 61 - reached
    whole = run(dataset, tmp_path / "whole", name="slow")
    assert without_seconds(file) == without_seconds(whole)
    known = {row["trace"] for row in lines(traces_of(file))}
    assert {row["trace"] for row in lines(file)[1:]} == known


@pytest.mark.parametrize("torn", [b"", b"{", b'{"run": {"dataset": "d"'])
def test_a_run_that_died_in_its_first_line_begins_again(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(torn)
    with resumed(file, ABOUT) as writer:
        writer.append(record("1"), ())
    assert lines(file)[0] == {"run": ABOUT}
    assert list(read_run(file).records) == ["1"]


def test_a_half_written_last_line_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with resumed(file, ABOUT) as writer:
        writer.append(record("1"), ())
        writer.append(record("2"), ())
    whole = file.read_bytes()
    second = whole.splitlines(keepends=True)[2]
    for length in (1, len(second) // 2, len(second) - 1):
        file.write_bytes(whole[: -len(second)] + second[:length])
        assert list(read_run(file).records) == ["1"]
        with resumed(file, ABOUT) as writer:
            assert list(writer.records) == ["1"]
            writer.append(record("2"), ())
        assert file.read_bytes() == whole


def test_a_damaged_line_is_named_and_its_question_asked_again_without_it(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with resumed(file, ABOUT) as writer:
        for name in "123":
            writer.append(record(name), ())
    rows = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([rows[0], rows[1], b'{"question": "2", "tab\n', rows[3]]))
    with pytest.raises(DatasetError, match=r"line 3 of .* is damaged; remove it, and its question"):
        read_run(file)
    with pytest.raises(DatasetError, match="line 3"), resumed(file, ABOUT):
        pass
    file.write_bytes(b"".join([rows[0], rows[1], rows[3]]))
    with resumed(file, ABOUT) as writer:
        assert list(writer.records) == ["1", "3"]


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["run", "question", "tables", "trace"]), inner)
    ),
    max_leaves=6,
)


@given(st.lists(_JSON.map(lambda document: json.dumps(document).encode()) | st.binary(max_size=9)))
def test_no_content_of_a_file_does_worse_than_being_no_run(content: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "run.jsonl"
        file.write_bytes(b"\n".join([*content, b""]))
        try:
            found = read_run(file)
        except DatasetError as error:
            assert str(file) in str(error)
        else:
            assert found.records == {}


def test_a_question_is_not_written_twice(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with resumed(file, ABOUT) as writer:
        writer.append(record("1"), ())
        with pytest.raises(DatasetError, match=r"question 1 is in .* already"):
            writer.append(record("1"), ())
    rows = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*rows, rows[1]]))
    with pytest.raises(DatasetError, match="has question 1 twice; remove line 3"):
        read_run(file)


def test_two_processes_do_not_write_one_run(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    refused = pytest.raises(LockedError, match="another process")
    with resumed(file, ABOUT), refused, resumed(file, ABOUT):
        pass


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with resumed(file, {**ABOUT, "catalog": "abc"}) as writer:
        writer.append(record("1"), ())
    refused = pytest.raises(DatasetError, match="of another run: it differs in catalog")
    with refused, resumed(file, {**ABOUT, "catalog": "def"}):
        pass
    file.write_text("question,tables\n")
    with pytest.raises(DatasetError, match="is no run"):
        read_run(file)


def test_any_change_of_what_decides_is_another_run(dataset: Dataset, tmp_path: Path) -> None:
    catalog = dataset.catalog()
    questions = dataset.questions()

    def key(name: str = "words", settings: Settings | None = None, **changed: Any) -> RunKey:
        given: dict[str, Any] = {"questions": questions, "catalog": catalog} | changed
        return key_of("farms", given["questions"], name, given["catalog"], settings or Settings())

    same = key().file(tmp_path, 5)
    assert key().file(tmp_path, 5) == same
    assert key(settings=Settings(workers=3, catalog="elsewhere")).file(tmp_path, 5) == same
    dovetail.build(str(dataset.sources["farm"]), into=tmp_path / "other")
    other = CatalogReader.open(tmp_path / "other")
    reworded = (replace(questions[0], text="else"), *questions[1:])
    regilt = (replace(questions[0], gold=()), *questions[1:])
    assert key(questions=regilt).file(tmp_path, 5) == same
    different = [
        key().file(tmp_path, 6),
        key("halves").file(tmp_path, 5),
        key(settings=Settings(seed=1)).file(tmp_path, 5),
        key(questions=reworded).file(tmp_path, 5),
        key(catalog=other).file(tmp_path, 5),
    ]
    assert len({same, *different}) == 6


def test_a_deeper_run_on_disk_serves_a_smaller_k(dataset: Dataset, tmp_path: Path) -> None:
    key = key_of("farms", dataset.questions(), "words", dataset.catalog(), Settings())
    assert key.depth(tmp_path / "nowhere", 5) == 5
    for k in (4, 8, 15):
        with resumed(key.file(tmp_path, k), key.about(k)) as writer:
            writer.append(record("1"), ())
    with resumed(key.file(tmp_path, 6), key.about(6)):
        pass  # nothing was asked, so this is no run
    assert [key.depth(tmp_path, k) for k in (1, 4, 5, 9, 16)] == [4, 4, 8, 15, 16]


def test_costs_are_summed_over_the_stages_of_a_trace() -> None:
    trace: tuple[dict[str, object], ...] = (
        {"stage": "search", "seconds": 0.1},
        {"stage": "select", "tokens_in": 400, "tokens_out": 20, "llm_calls": 1, "fallback": False},
        {"stage": "verify", "tokens_in": 50, "tokens_out": 5, "llm_calls": 2, "fallback": True},
    )
    chosen = (Chosen(TableId("s", "t"), 0.51234567, "adjust", "why"),)
    found = record_of("q", TableSet("?", chosen, (), trace), 1.5)
    assert (found.tokens_in, found.tokens_out, found.llm_calls, found.fallback) == (
        450,
        25,
        3,
        True,
    )
    assert (found.tables[0].stage, found.tables[0].relevance, found.seconds) == (
        "adjust",
        0.512346,
        1.5,
    )


def test_tables_of_another_catalog_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    records = list(read_run(run(dataset, tmp_path / "runs")).records.values())
    other = dovetail.build(f"wood={dataset.sources['wood']}", into=tmp_path / "other")
    with pytest.raises(DatasetError, match=r"run names 6 tables that are not in .*farm::farm_bee"):
        check_tables(records, other.reader, "run")


def test_an_error_says_which_question_it_was(dataset: Dataset, tmp_path: Path) -> None:
    class Broken:
        def retrieve(self, question: str) -> TableSet:
            raise ValueError(question)

    file = tmp_path / "run.jsonl"
    with resumed(file, ABOUT) as writer, pytest.raises(ValueError, match="farm cat") as raised:
        ask_all(Broken(), dataset.questions(), writer, workers=2)
    assert raised.value.__notes__ == ["while asking question 0"]
