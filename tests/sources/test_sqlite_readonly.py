"""SQLite files in WAL mode: read in every state they can be in, and nothing beside them changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.errors import RescanError
from dovetail.ports import SourceSpec
from dovetail.sources.database_files import SqliteSource

# Opens a database in WAL mode, writes two rows, and stays until it is told to go.
WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
connection.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
connection.commit()
if sys.argv[2] == "empty":
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
print("written", flush=True)
sys.stdin.readline()
connection.close()
"""
ROWS = [(1, "one"), (2, "two")]
WORDS = dovetail.Settings(embedder="none")


@contextmanager
def database(folder: Path, state: str) -> Iterator[Path]:
    """A database with two rows, at rest, or as a writer has it or left it."""
    file = folder / "w é.db"
    log = "empty" if "empty" in state else "full"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file), log],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        if "crashed" in state:
            writer.kill()
        elif state == "at rest":
            writer.communicate("\n")
        if "without its index" in state:
            file.with_name(f"{file.name}-shm").unlink()
        yield file
        writer.kill()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("state", "files"),
    [
        ("at rest", 1),
        ("being written", 3),
        ("being written, log empty", 3),
        ("crashed", 3),
        ("crashed, log empty", 3),
        ("crashed, without its index", 2),
        ("crashed, log empty, without its index", 2),
    ],
)
def test_reading_changes_nothing(
    state: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.setattr("tempfile.tempdir", None)
    with database(folder, state) as file:
        before = contents(folder)
        assert len(before) == files
        catalog = dovetail.build(str(file), into=tmp_path / "catalog", settings=WORDS)
        assert catalog["t"].sample == (("1", "one"), ("2", "two"))
        with Executor(catalog.reader, workers=1) as running:
            for engine in ("duckdb", "sqlite"):
                found = running.run("SELECT a, b FROM t ORDER BY a", list(catalog), engine=engine)
                assert found.tuples() == ROWS
        assert dovetail.update(into=tmp_path / "catalog", settings=WORDS).unchanged == 1
        assert contents(folder) == before
    assert list(elsewhere.glob("dovetail-*")) == []


def source(file: Path) -> SqliteSource:
    return SqliteSource(SourceSpec("w", "sqlite", str(file), "w"))


def write(file: Path, rows: int) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executemany("INSERT INTO t VALUES (?, 'more')", [(n,) for n in range(rows)])


def test_what_is_written_meanwhile_is_noticed(tmp_path: Path) -> None:
    with database(tmp_path, "at rest") as file:
        reading = source(file)
        (table,) = reading.tables()
        scan = reading.scan(table)
        write(file, 1)
        with pytest.raises(RescanError, match="was written while it was read"):
            list(scan.batches)
        assert sum(batch.num_rows for batch in reading.scan(table).batches) == 3
        reading.close()


def test_a_writer_s_next_rows_are_seen(tmp_path: Path) -> None:
    """With the log and its index in place SQLite's own locks hold: one moment, then the next."""
    with database(tmp_path, "being written") as file:
        reading = source(file)
        (table,) = reading.tables()
        scan = reading.scan(table)
        write(file, 5000)
        assert sum(batch.num_rows for batch in scan.batches) in (2, 5002)
        assert sum(batch.num_rows for batch in reading.scan(table).batches) == 5002
        reading.close()


def test_a_file_that_is_written_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(tmp_path, "crashed, without its index") as file:
        copy = shutil.copyfile

        def copy_late(source: str, to: str) -> None:
            copy(source, to)
            now = file.stat().st_mtime_ns + 10**9
            os.utime(file, ns=(now, now))

        monkeypatch.setattr(shutil, "copyfile", copy_late)
        with pytest.raises(dovetail.DovetailError, match="is being written all the time"):
            source(file)
