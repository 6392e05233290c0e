"""The guard against the grammar of each engine: what it lets through reads no other table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.errors import DovetailError
from tests.support.dialect_attacks import BOMBS, CANARY, DIALECTS, attack, engine, shop, statements

# Of the statements of a dialect so many are tried; `make soak` tries all of them.
FEW = 200


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dovetail.Catalog]:
    with shop(tmp_path_factory.mktemp("dialects")) as made:
        yield made


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_let_through_reads_no_other_table(catalog: dovetail.Catalog, dialect: str) -> None:
    with engine(dialect) as ask:
        ended, wrong = attack(dialect, ask, catalog, statements(dialect)[:FEW])
    assert not wrong
    assert ended["refused"] > FEW / 2
    assert ended["rows of the set"]  # the grammar makes statements that mean something, too


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_executor_contains_every_dialect(catalog: dovetail.Catalog, dialect: str) -> None:
    """The same statements go the whole way: into our process, with its own closed engine."""
    ways = [name for name in ("duckdb", "sqlite") if dialect in (name, "postgres", "mysql")]
    with Executor(catalog.reader, workers=1) as running:
        for sql in statements(dialect)[: FEW // 4]:
            for way in ways:
                try:
                    answer = running.run(sql, [catalog["pub"]], engine=way, dialect=dialect)
                    rows = str(answer.tuples())
                except DovetailError as error:
                    rows = str(error)
                assert CANARY not in rows, sql
        assert len(running.run("SELECT a FROM pub", [catalog["pub"]]).tuples()) == 2


@pytest.mark.parametrize("way", ["duckdb", "sqlite"])
@pytest.mark.parametrize("sql", BOMBS[::5], ids=range(len(BOMBS[::5])))
def test_bombs_end_at_their_limits(catalog: dovetail.Catalog, way: str, sql: str) -> None:
    limits = Limits(seconds=2, memory=200 << 20, rows=100)
    with Executor(catalog.reader, workers=1) as running:
        try:
            found = running.run(sql, [catalog["pub"]], engine=way, limits=limits)
        except DovetailError as error:
            assert len(str(error).splitlines()) == 1
        else:
            assert found.rows.num_rows <= 100
        assert len(running.run("SELECT a FROM pub", [catalog["pub"]]).tuples()) == 2
