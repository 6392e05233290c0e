"""Ctrl-C while a server makes us wait: the statement ends in the server, and we leave."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.servers import mysql, postgres

pytestmark = pytest.mark.service
# Seconds that the server makes us wait: nobody sees the end of it.
_A_DAY = 86_400
_BUSY_PG = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
_BUSY_MY = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%{}%'"


def _interrupt(url: str, folder: Path, waiting: Callable[[], bool], workers: int) -> None:
    """Index until the server makes us wait, interrupt, and wait until we have left."""
    command = [sys.executable, "-m", "dovetail", "index", url, "--views", "-C", str(folder)]
    process = subprocess.Popen(
        [*command, "--workers", str(workers)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        while not waiting():
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sleeping_view_of_postgresql_is_left(tmp_path: Path, workers: int) -> None:
    with postgres() as database:
        database.run(
            "CREATE TABLE t AS SELECT 1 AS a",
            f"CREATE VIEW v AS SELECT a, pg_sleep({_A_DAY})::text FROM t",
        )

        def busy() -> bool:
            return database.ask(_BUSY_PG) != [(0,)]

        _interrupt(database.url, tmp_path / "catalog", busy, workers)
        assert not busy()


def test_a_locked_table_of_postgresql_is_left(tmp_path: Path) -> None:
    with postgres() as database:
        database.run("CREATE TABLE t AS SELECT 1 AS a")
        with database.connect() as other, database.connect() as looking:
            other.execute("BEGIN")
            other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

            def blocked() -> bool:
                return looking.execute(waits.encode()).fetchall() != [(0,)]

            _interrupt(database.url, tmp_path / "catalog", blocked, 1)
            assert not blocked()
            other.execute("ROLLBACK")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sleeping_view_of_mariadb_is_left(tmp_path: Path, workers: int) -> None:
    with mysql() as database:
        slow = f"CREATE VIEW v AS SELECT SLEEP({_A_DAY}) AS a"
        database.run("CREATE TABLE t AS SELECT 1 AS a", slow)

        def busy() -> bool:
            rows = database.ask(_BUSY_MY.format("FROM `v`") + " AND info NOT LIKE '%processlist%'")
            return bool(rows[0][0])

        _interrupt(database.url, tmp_path / "catalog", busy, workers)
        assert not busy()
