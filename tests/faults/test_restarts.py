"""A database server that is restarted while an update reads it: each table is as it was or as it
is, what could not be read is said in a line, and the next update is complete."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import dovetail
from tests.faults.place import WORDS, contents_of
from tests.support.proxy import Proxy, proxy
from tests.support.servers import MysqlDatabase, PostgresDatabase, mysql, postgres

pytestmark = pytest.mark.service
_TABLES, _ROWS = 6, 3_000
Served = tuple[PostgresDatabase | MysqlDatabase, Proxy, str]


@pytest.fixture(params=["postgresql", "mysql"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A database with small tables and one that takes many packets, behind a proxy."""
    port = {"postgresql": 5432, "mysql": 3306}[request.param]
    with postgres() if request.param == "postgresql" else mysql() as database:
        for number in range(_TABLES):
            database.run(
                f"CREATE TABLE t{number} (id int, word varchar(80))", _rows(f"t{number}", 0)
            )
        database.run("CREATE TABLE big (id int, word varchar(80))")
        for start in range(0, 60_000, _ROWS):
            database.run(_rows("big", start))
        with proxy(database.url, port) as (between, url):
            yield database, between, url


def _rows(table: str, start: int) -> str:
    rows = ", ".join(f"({n}, 'word {n} of {table}')" for n in range(start, start + _ROWS))
    return f"INSERT INTO {table} VALUES {rows}"


def _change(database: PostgresDatabase | MysqlDatabase, number: int) -> None:
    names = [*(f"t{each}" for each in range(_TABLES)), "big"]
    database.run(*(f"INSERT INTO {name} VALUES ({-number}, 'new {number}')" for name in names))


@pytest.mark.slow
@pytest.mark.parametrize("away", [False, True], ids=["back at once", "away"])
def test_a_server_that_is_restarted_during_an_update(
    served: Served, away: bool, tmp_path: Path
) -> None:
    database, between, url = served
    draw, into = random.Random(1), tmp_path / "catalog"
    dovetail.update([f"db={url}"], into=into, settings=WORDS)
    for number in (0, 1):  # the first update after the tables were filled may read more
        between.sent = 0
        _change(database, number)
        dovetail.update(into=into, settings=WORDS)
    size = between.sent
    assert contents_of(into) == _anew(database, tmp_path / "0")
    for case in range(2, 7):
        before = contents_of(into)
        _change(database, case)
        expected = _anew(database, tmp_path / str(case))
        between.cut_after(draw.randint(1, size // 2), away=away)  # later ones may send less
        summary = _updated(into)
        found = contents_of(into)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            assert values in (before[name], expected[name]), f"case {case}: {name}"
        stale = {name for name, values in found.items() if values != expected[name]}
        if summary is not None:
            told = " ".join(f"{each.source} {each.table}" for each in summary.skipped)
            assert not stale or told, f"case {case}: nothing is said of {stale}"
            assert all("\n" not in each.reason for each in summary.skipped)
        assert dovetail.check(into) == []
        between.back()
        dovetail.update(into=into, settings=WORDS)
        assert contents_of(into) == expected
    assert between.cuts == 5


def _updated(into: Path) -> dovetail.UpdateSummary[dovetail.Catalog] | None:
    """What an update says; None where it ends in an error, which is one line."""
    try:
        return dovetail.update(into=into, settings=WORDS)
    except dovetail.DovetailError as error:
        assert "\n" not in str(error)
        return None


def _anew(database: PostgresDatabase | MysqlDatabase, into: Path) -> dict[str, object]:
    """What a catalog made now says of the database."""
    dovetail.update([f"db={database.url}"], into=into, settings=WORDS)
    return contents_of(into)
