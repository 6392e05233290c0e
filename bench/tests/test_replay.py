"""Requests written down, replies read: the model is elsewhere, or no longer there at all."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.endpoint import completion

import dovetail
from dovetail.catalog.descriptions import Journal
from dovetail.errors import ModelError, PendingError, UsageError
from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import Completion, Message
from dovetail_bench.core_t.purposes import write_purposes

Json = dict[str, Any]


def ask(number: int) -> list[Message]:
    return [Message("user", f"Question {number}: ü | \n?")]


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def answer_all(folder: Path) -> None:
    """What a batch endpoint does."""
    with (folder / "responses.jsonl").open("a", encoding="utf-8") as stream:
        for line in lines(folder / "requests.jsonl"):
            text = "re: " + line["body"]["messages"][-1]["content"]
            response = {"status_code": 200, "body": completion(text, (100, 5))}
            record = {"id": "batch_1", "custom_id": line["custom_id"], "response": response}
            stream.write(json.dumps(record | {"error": None}) + "\n")


def test_a_missing_reply_is_written_down_once_and_found_when_answered(tmp_path: Path) -> None:
    llm = open_llm(f"replay:{tmp_path}?model=tiny")
    schema = {"type": "object"}
    for _ in range(2):
        with pytest.raises(PendingError, match=r"no reply to request \w{12} yet; have requests"):
            llm.complete(ask(1), schema=schema, max_tokens=9)
    (line,) = lines(tmp_path / "requests.jsonl")
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert len(line["custom_id"]) == 64
    assert line["body"] == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Question 1: ü | \n?"}],
        "max_tokens": 9,
        "temperature": 0,
        "seed": 42,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": schema},
        },
    }
    answer_all(tmp_path)
    for name in ("?model=tiny", ""):
        again = open_llm(f"replay:{tmp_path}{name}")
        assert again.model_id == "replay:tiny"
        assert again.complete(ask(1), schema=schema, max_tokens=9) == Completion(
            "re: Question 1: ü | \n?", 100, 5, 0.0, cached=True
        )
    assert len(lines(tmp_path / "requests.jsonl")) == 1


def test_a_record_answers_without_its_requests_and_whatever_the_model_is_called(
    tmp_path: Path,
) -> None:
    with pytest.raises(PendingError):
        open_llm(f"replay:{tmp_path}?model=a").complete(ask(1))
    answer_all(tmp_path)
    (tmp_path / "requests.jsonl").unlink()
    for name in ("", "?model=b"):
        assert open_llm(f"replay:{tmp_path}{name}").complete(ask(1)).tokens_in == 100
    assert open_llm(f"replay:{tmp_path}").model_id == "replay:unnamed"


def test_one_folder_is_for_one_model(tmp_path: Path) -> None:
    with pytest.raises(PendingError):
        open_llm(f"replay:{tmp_path}?model=a").complete(ask(1))
    with pytest.raises(UsageError, match="holds requests to a, not b; take another folder"):
        open_llm(f"replay:{tmp_path}?model=b")


def test_rounds_of_many_threads(tmp_path: Path) -> None:
    """Each question has a second step that needs the reply to the first."""

    def run() -> tuple[list[str], int]:
        llm = open_llm(f"replay:{tmp_path}")

        def steps(number: int) -> str:
            try:
                first = llm.complete(ask(number % 30))
                return llm.complete([*ask(number % 30), Message("assistant", first.text)]).text
            except PendingError:
                return ""

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(steps, range(90)))
        return answers, answers.count("")

    assert run()[1] == 90
    assert len(lines(tmp_path / "requests.jsonl")) == 30
    answer_all(tmp_path)
    assert run()[1] == 90
    assert len(lines(tmp_path / "requests.jsonl")) == 60
    answer_all(tmp_path)
    assert run() == ([f"re: re: Question {n % 30}: ü | \n?" for n in range(90)], 0)
    asked = lines(tmp_path / "requests.jsonl")
    assert len({line["custom_id"] for line in asked}) == len(asked) == 60


def test_a_reply_that_failed_is_an_error_until_a_good_one_is_added(tmp_path: Path) -> None:
    with pytest.raises(PendingError):
        open_llm(f"replay:{tmp_path}").complete(ask(1))
    key = lines(tmp_path / "requests.jsonl")[0]["custom_id"]
    body = {"error": {"message": "too long"}}
    bad = {"custom_id": key, "response": {"status_code": 400, "body": body}}
    gone = {"custom_id": key, "response": None, "error": {"message": "expired"}}
    for record in (bad, gone):
        (tmp_path / "responses.jsonl").write_text(json.dumps(record) + "\n")
        with pytest.raises(ModelError, match=r"request \w{12} of .* failed; have it") as caught:
            open_llm(f"replay:{tmp_path}").complete(ask(1))
        assert not isinstance(caught.value, PendingError)
    answer_all(tmp_path)
    with (tmp_path / "responses.jsonl").open("a") as stream:
        stream.write(json.dumps(bad) + "\n")
    assert open_llm(f"replay:{tmp_path}").complete(ask(1)).tokens_out == 5


def test_lines_that_are_damaged_are_passed_over(tmp_path: Path) -> None:
    for number in (1, 2):
        with pytest.raises(PendingError):
            open_llm(f"replay:{tmp_path}").complete(ask(number))
    answer_all(tmp_path)
    responses = tmp_path / "responses.jsonl"
    first, second = responses.read_bytes().splitlines(keepends=True)
    junk = b'\xff\xfe\n\n[1]\n"x"\n{"custom_id": 3}\n' + b"[" * 9999 + b"\n"
    responses.write_bytes(junk + first + second[: len(second) // 2])
    llm = open_llm(f"replay:{tmp_path}")
    assert llm.complete(ask(1)).text == "re: Question 1: ü | \n?"
    with pytest.raises(PendingError):
        llm.complete(ask(2))


def test_a_torn_request_is_cut_off_and_written_again(tmp_path: Path) -> None:
    for number in (1, 2):
        with pytest.raises(PendingError):
            open_llm(f"replay:{tmp_path}").complete(ask(number))
    requests = tmp_path / "requests.jsonl"
    whole = requests.read_bytes()
    for keep in (len(whole) - 1, len(whole) - 100, whole.index(b"\n") + 2, 10, 0):
        requests.write_bytes(whole[:keep])
        llm = open_llm(f"replay:{tmp_path}")
        for number in (1, 2):
            with pytest.raises(PendingError):
                llm.complete(ask(number))
        assert requests.read_bytes() == whole


WRITER = """
import sys
from pathlib import Path
from dovetail.catalog.descriptions import Journal
journal, known = Journal(Path(sys.argv[1])), set()
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    with journal.writing():
        known |= {line["number"] for line in journal.new_lines()}
        if number not in known:
            journal.append({"number": number, "pad": "x" * 5000})
"""


def writer(path: Path, start: int, end: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, path, str(start), str(end)])


def test_processes_that_write_at_once_and_one_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    writers = [writer(path, 0, 300), writer(path, 0, 300), writer(path, 1000, 10**9)]
    while not any(line["number"] >= 1000 for line in Journal(path).new_lines()):
        time.sleep(0.02)
    os.kill(writers[2].pid, signal.SIGKILL)
    assert [process.wait() for process in writers] == [0, 0, -signal.SIGKILL]
    assert writer(path, 300, 301).wait() == 0
    assert [n for n in sorted(line["number"] for line in lines(path)) if n < 1000] == [*range(301)]


def test_purposes_by_batch(tmp_path: Path) -> None:
    for name, tables in (("a.sqlite", "orders items empty_"), ("b.sqlite", "orders items")):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            for table in tables.split():
                connection.execute(f"CREATE TABLE {table} (id INTEGER, note TEXT)")
                value = name if table == "items" else "x"
                connection.execute(f"INSERT INTO {table} VALUES (1, ?)", (value,))
            connection.commit()
    sources = [f"{name}={tmp_path / name}" for name in ("a.sqlite", "b.sqlite")]
    catalog = dovetail.build(*sources, into=tmp_path / "catalog")
    folder = tmp_path / "batch"
    first = write_purposes(
        catalog.reader, CachedLLM(open_llm(f"replay:{folder}"), tmp_path / "kept")
    )
    assert (first.pending, first.written, first.failed) == (5, 0, ())
    assert len(lines(folder / "requests.jsonl")) == 4
    answer_all(folder)
    second = write_purposes(
        catalog.reader, CachedLLM(open_llm(f"replay:{folder}"), tmp_path / "kept")
    )
    assert (second.pending, second.written, second.tokens_in, second.cost) == (0, 5, 400, 0.0)
    assert not (tmp_path / "kept").exists()
