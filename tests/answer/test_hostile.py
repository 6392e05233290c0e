"""What nobody may do: hostile statements change nothing and read nothing but the set's tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.pool import Pool
from dovetail.answer.relations import relations
from dovetail.answer.results import Limits
from dovetail.called_off import never
from dovetail.errors import DovetailError, GuardError, LimitError, QueryError
from tests.support.execution import SECRET, checksums, pick
from tests.support.hostile import CONTAINED, MEANINGLESS, REFUSED


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_hostile_statements_change_nothing(
    shop_executor: Executor, shop: dovetail.Catalog, den: Path, engine: str
) -> None:
    before = checksums(den)
    tables = pick(shop, "orders", "customers")
    for sql in REFUSED:
        with pytest.raises(GuardError):
            shop_executor.run(sql.replace("{folder}", str(den)), tables, engine=engine)
    for sql in MEANINGLESS:
        with pytest.raises((QueryError, GuardError)):
            shop_executor.run(sql, tables, engine=engine)
    assert checksums(den) == before


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("sql", CONTAINED, ids=range(len(CONTAINED)))
def test_hostile_queries_that_only_read_are_contained(
    shop_executor: Executor, shop: dovetail.Catalog, den: Path, sql: str, engine: str
) -> None:
    before = checksums(den)
    limits = Limits(seconds=2, memory=200 << 20, rows=1_000)
    try:
        found = shop_executor.run(sql, pick(shop, "orders"), engine=engine, limits=limits)
    except LimitError:
        pass
    else:
        assert found.truncated or found.rows.num_rows == 1
    assert checksums(den) == before


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_hostile_statements_that_got_past_the_guard_reach_nothing(
    shop: dovetail.Catalog, den: Path, engine: str
) -> None:
    """The engines are closed by themselves: no file changes, and no secret comes out."""
    before = checksums(den)
    with Executor(shop.reader, workers=1) as running:
        placed = running._located(relations(pick(shop, "orders")), engine)
        described = [running._described(relation) for relation in placed]
    processes = Pool(1)
    # These only use up time or memory, but for one that reads where its numbers point.
    slow = ("repeat(", "range(1", "series(1", "sleep(", "abs(abs(", "[[[", "arrow_scan")
    for sql in REFUSED:
        if len(sql) > 10_000 or any(part in sql for part in slow):
            continue
        request = {
            "task": "run",
            "private": [],
            "engine": engine,
            "sql": sql.replace("{folder}", str(den)),
            "relations": described,
            "limits": asdict(Limits(seconds=5, memory=300 << 20, rows=100)),
        }
        try:
            _, body = processes.ask(request, seconds=5, most=1 << 24, cancelled=never)
        except DovetailError as error:
            assert SECRET not in str(error)
        else:
            assert SECRET.encode() not in body, sql
            assert b"root:" not in body, sql
    processes.close()
    assert checksums(den) == before
