"""Limits of rows, bytes, time and memory: queries are cut off or ended, and processes with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from itertools import count
from typing import Any

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.pool import Worker
from dovetail.answer.results import Limits
from dovetail.called_off import never
from dovetail.errors import LimitError
from dovetail.process import pipes, start
from tests.support.execution import children, pick
from tests.support.hostile import CONTAINED


def _request(sql: str) -> dict[str, Any]:
    """What a process is sent for a query over no table."""
    limits = {"seconds": 1}
    return {"task": "run", "engine": "duckdb", "sql": sql, "relations": [], "limits": limits}


def test_rows_beyond_the_limit_are_cut_off(shop_executor: Executor, shop: dovetail.Catalog) -> None:
    tables = pick(shop, "orders")
    for engine in ("duckdb", "sqlite"):
        found = shop_executor.run(
            "SELECT id FROM orders ORDER BY id", tables, engine=engine, limits=Limits(rows=10)
        )
        assert found.tuples() == [(number,) for number in range(10)]
        assert found.truncated
        whole = shop_executor.run("SELECT id FROM orders", tables, engine=engine)
        assert (whole.rows.num_rows, whole.truncated) == (300, False)


def test_bytes_beyond_the_limit_are_cut_off(
    shop_executor: Executor, shop: dovetail.Catalog
) -> None:
    sql = "SELECT a.name, b.name FROM orders a, orders b"
    for engine in ("duckdb", "sqlite"):
        limits = Limits(bytes=200_000)
        found = shop_executor.run(sql, pick(shop, "orders"), engine=engine, limits=limits)
        assert found.truncated
        assert 1_000 < found.rows.num_rows < 60_000
        assert found.rows.nbytes < 400_000


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_query_that_hangs_is_ended(
    shop_executor: Executor, shop: dovetail.Catalog, engine: str
) -> None:
    with pytest.raises(LimitError, match=r"ran longer than 1 seconds"):
        shop_executor.run(
            CONTAINED[0], pick(shop, "orders"), engine=engine, limits=Limits(seconds=1)
        )
    assert shop_executor.run("SELECT 1 AS a", []).tuples() == [(1,)]


def test_a_query_that_needs_too_much_memory_is_ended(
    shop_executor: Executor, shop: dovetail.Catalog
) -> None:
    with pytest.raises(LimitError, match="memory"):
        shop_executor.run(
            "SELECT list(a.name || b.name || c.name) FROM orders a, orders b, orders c",
            pick(shop, "orders"),
            limits=Limits(memory=100 << 20, seconds=60),
        )


def test_a_query_can_be_called_off(shop_executor: Executor, shop: dovetail.Catalog) -> None:
    looked = count()  # whoever waits looks again and again, and calls it off at last
    with pytest.raises(LimitError, match="called off"):
        shop_executor.run(CONTAINED[0], pick(shop, "orders"), cancelled=lambda: next(looked) > 20)


def test_a_query_ends_with_whoever_asked_for_it() -> None:
    worker = start("dovetail.answer.worker", errors=subprocess.DEVNULL)
    requests, answers = pipes(worker)
    endless = _request("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) FROM n")
    requests.write(json.dumps(endless | {"limits": {"seconds": 80_000}}).encode() + b"\n")
    requests.close()
    assert worker.wait() == -signal.SIGTERM
    answers.close()


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_stops_or_dies_does_not_hold_up_the_caller(how: signal.Signals) -> None:
    worker = Worker()
    request = _request("SELECT 1")
    worker.ask(request, 30, 1 << 20, never)
    os.kill(worker._process.pid, how)
    with pytest.raises((LimitError, TimeoutError)):
        worker.ask(request, 1, 1 << 20, never)
    worker.kill()
    assert worker._process.returncode is not None


def test_a_process_without_a_caller_ends_by_itself() -> None:
    worker = Worker()
    with pytest.raises(TimeoutError):
        worker.ask(_request(CONTAINED[0]), 2, 1 << 20, never)
    assert worker._process.wait() == -signal.SIGALRM
    worker.kill()


@pytest.mark.slow
def test_many_at_once_with_some_that_hang(shop: dovetail.Catalog) -> None:
    tables = pick(shop, "orders", "customers")
    outcomes: list[str] = []
    before = children()

    def one(number: int) -> None:
        hangs = number % 20 == 7
        sql = CONTAINED[0] if hangs else f"SELECT id FROM orders WHERE id = {number}"
        try:
            found = running.run(sql, tables, limits=Limits(seconds=2 if hangs else 600))
            outcomes.append(str(found.tuples() == [(number,)]))
        except LimitError as error:
            outcomes.append(str(error)[:21])

    with Executor(shop.reader, workers=2) as running:
        threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(children() - before) <= 2
    assert sorted(outcomes) == ["True"] * 38 + ["the query ran longer "] * 2
    assert children() == before
