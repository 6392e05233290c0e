"""Hostile names of tables, columns and files, by every way out: told right or refused."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.domain.sql import identifier
from dovetail.names.table_name import TableName, entity, unqualified
from dovetail.names.words import words
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail.text import one_line, sql_for_model, sql_of_model
from tests.support.hostile_names import PLAIN, Attack, is_clean, names

# What rich writes to draw and to colour: none of it is among the hostile names.
_DRAWING = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|2K|1A)|\r")


def test_names_are_told_right_or_refused(tmp_path: Path) -> None:
    hostile = names(seed=3, count=11)
    outcomes, wrong = Attack(tmp_path / "here", hostile).run()
    assert wrong == []
    assert outcomes["table as it is"] == len(hostile)
    assert outcomes["counted"] >= len(hostile)


def test_there_are_names_of_every_kind_and_none_twice() -> None:
    every = names(seed=1, count=520)
    assert len({name.casefold() for name in every}) == 520
    assert sum(len(name) > 9_000 for name in every) >= 10
    assert sum(not is_clean(name) for name in every) >= 100
    assert not any("\0" in name for name in every)


def test_a_terminal_is_not_steered(tmp_path: Path) -> None:
    """On a terminal there are a progress bar, colours, and CSV made harmless."""
    steering = ["\x1b]0;owned\x07", "\x1b[2Jx", "\u202etxt", "\x9b31m", "[bold]b[/bold]"]
    with closing(sqlite3.connect(tmp_path / "db.sqlite")) as db, db:
        for name in steering:
            db.execute(f"CREATE TABLE {identifier(name)} (a TEXT)")
            db.execute(f"INSERT INTO {identifier(name)} VALUES (?)", [name])
        db.execute("CREATE TABLE plain (a TEXT)")
        db.executemany("INSERT INTO plain VALUES (?)", [[name] for name in steering])
    shown = ""
    for command in (
        ["index", "db.sqlite", "-C", "c"],
        ["sql", "SELECT a FROM plain", "--csv", "-C", "c"],
    ):
        shown += _on_terminal(command, tmp_path)
    assert "[bold]b[/bold]" in shown
    assert "\ufffd]0;owned\ufffd" in shown
    assert all(map(is_clean, _DRAWING.sub("", shown).split("\n")))


def _on_terminal(command: list[str], folder: Path) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *command], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "DOVETAIL_EMBEDDER": "none"},
    )  # fmt: skip
    os.close(theirs)
    written = b""
    try:
        while more := os.read(ours, 1 << 16):
            written += more
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode()


@pytest.mark.parametrize("name", ["a_" * 5_000 + "order_id", "x " * 5_000 + "order id"])
def test_of_a_name_without_end_its_end_counts(name: str) -> None:
    assert words(name)[-2:] == ("order", "id")
    assert len(words(name)) == 32


def test_the_schema_is_cut_from_a_name_as_ever() -> None:
    names = {
        "hr.staff": "staff", "db.hr.staff": "staff", "x.db.hr.staff": "x.staff",
        "a-b.staff": "a-staff", "1b.staff": "1staff", "a.1b.staff": "a.1staff",
        "1.staff": "1.staff",
        "b.1": "b.1", "b.c-d": "b.c-d", "b.c ": "b.c ", "a..b": "a..b", "a.é_1.b": "b", "": "",
        "b.c\n": "c\n",
    }  # fmt: skip
    assert {name: unqualified(name) for name in names} == names


@pytest.mark.parametrize("piece", ["_", "a", "1_", "a1", "a.", "_.", " _", "(1", "a-", "é.1"])
@pytest.mark.parametrize("read", [unqualified, TableName.parse, entity])
def test_a_name_is_read_in_time_that_grows_with_it(
    read: Callable[[str], object], piece: str
) -> None:
    def seconds(times: int) -> float:
        before = time.process_time()
        read(piece * times + "!")
        return time.process_time() - before

    once, fourfold = seconds(10_000), seconds(40_000)
    assert fourfold < 8 * once + 1


def test_a_table_of_a_name_without_end_is_left_out_and_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db.sqlite")) as db, db:
        for name in ("plain", "_" * 100_000):
            db.execute(f"CREATE TABLE {name} (a INTEGER)")
            db.execute(f"INSERT INTO {name} VALUES (1)")
    catalog = dovetail.build(tmp_path / "db.sqlite", into=tmp_path / "c", settings=PLAIN)
    assert [table.name for table in catalog.ids] == ["plain"]
    (skipped,) = catalog.skipped
    assert skipped.reason.startswith("its name has 100,000 letters")
    assert len(str(skipped)) < 400


def test_joins_of_long_names_are_compared_in_bounded_steps(tmp_path: Path) -> None:
    """Word by word, two names of 5,000 words take 25 million steps, and there are many pairs."""
    with closing(sqlite3.connect(tmp_path / "db.sqlite")) as db, db:
        for table in ("a", "b", "c"):
            column = identifier("_".join(f"{table}{n}" for n in range(2_000)) + "_customer_no")
            db.execute(f"CREATE TABLE {table} (customer_no INTEGER, {column} INTEGER)")
            db.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, n % 50) for n in range(99)])
    catalog = dovetail.build(tmp_path / "db.sqlite", into=tmp_path / "c", settings=PLAIN)
    assert len(catalog) == 3


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "Price [USD]", "<5 years" FROM "t <|x|>" WHERE a<b AND c<>\'x\'',
        "SELECT 1 FROM t WHERE note = 'it''s'",
        'SELECT "a""b" FROM "[/INST]"',
    ],
)
def test_sql_goes_to_a_model_and_back(sql: str) -> None:
    shown = sql_for_model(sql)
    assert sql_of_model(shown) == sql
    assert sql_of_model(sql) == sql
    before, after = (re.findall(r'"(?:[^"]|"")*"', each) for each in (sql, shown))
    assert after == [one_line(name) for name in before]


@pytest.mark.parametrize("value", ["<|im_start|>system", "[INST]", "</s>"])
def test_a_value_that_steers_is_not_sent_in_other_words(value: str) -> None:
    assert sql_for_model(f"SELECT 1 FROM t WHERE a = '{value}'") == ""


def test_an_agent_runs_what_it_was_given(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db.sqlite")) as db, db:
        db.execute('CREATE TABLE prices (id INTEGER, "Price [USD]" REAL, "<5 years" TEXT)')
        db.execute("INSERT INTO prices VALUES (1, 2.5, 'yes')")
    dovetail.build(tmp_path / "db.sqlite", into=tmp_path / "c", settings=PLAIN)
    tools: Any = mcp_server(LiveCatalog(tmp_path / "c", PLAIN))
    question = {"question": "prices: average price USD"}
    found = asyncio.run(tools.call_tool("find_tables", question)).structured_content
    assert "[\\USD]" in found["ddl"]
    (shown,) = re.findall(r'"Price \[.*?"', found["ddl"])
    sql = {"sql": f"SELECT {shown} AS p FROM prices"}
    assert asyncio.run(tools.call_tool("run_sql", sql)).structured_content["rows"] == [[2.5]]
