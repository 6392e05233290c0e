"""Warehouses that refuse: a line that says what helps, and everything else is indexed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dovetail.cli.catalog import _skipped_lines
from dovetail.domain import Skipped
from dovetail.ports import Declaration, Listing
from dovetail.sources import warehouse_driver
from dovetail.sources.warehouse import WarehouseSource
from tests.support.files import GOOD, put
from tests.support.servers import index
from tests.support.warehouses import flight_server

LOG_IN = "log in again: check the login in the environment, or renew the token"
GRANT = "grant SELECT on it to the login, or leave it out with --exclude"
GONE = "it went while we looked; index again"
EITHER = "it went while we looked, or the login may not read it: index again, or grant SELECT on it"
NETWORK = "check host and network, then index again"
# What drivers say: as recorded from PostgreSQL and MariaDB, as documented of the others.
SAID = {
    "390114 (08001): Authentication token has expired.  The user must authenticate again.": LOG_IN,
    "250001 (08001): Failed to connect: Incorrect username or password was specified.": LOG_IN,
    "390144: JWT token is invalid.": LOG_IN,
    "002003 (02000): Object 'SHOP.PUBLIC.LOGIN' does not exist or not authorized.": EITHER,
    "003001 (42501): Insufficient privileges to operate on schema 'TOKENS'": GRANT,
    "('invalid_grant: Token has been expired or revoked.', {'error': 'invalid_grant'})": LOG_IN,
    "401 Request had invalid authentication credentials.": LOG_IN,
    "403 Access Denied: Table acme:shop.login: User does not have permission to query": GRANT,
    "404 Not found: Table acme:shop.password was not found in location US": GONE,
    "Error during request to server: Invalid access token.": LOG_IN,
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `shop`.`token` cannot be found.": GONE,
    "[INSUFFICIENT_PERMISSIONS] Insufficient privileges: no SELECT on Table 'shop.login'": GRANT,
    "error 401: b'Unauthorized'": LOG_IN,
    "Access Denied: Cannot select from columns [id] in table or view login": GRANT,
    "(18456, b\"Login failed for user '***'.\")": LOG_IN,
    "(229, b\"The SELECT permission was denied on the object 'password', database 'a'\")": GRANT,
    "(208, b\"Invalid object name 'dbo.expired'.\")": GONE,
    "ORA-01017: invalid username/password; logon denied": LOG_IN,
    "ORA-28001: the password has expired": LOG_IN,
    "ORA-00942: table or view does not exist": EITHER,
    "ORA-01031: insufficient privileges": GRANT,
    "FATAL:  password authentication failed for user": LOG_IN,
    "ERROR:  permission denied for table authentication_log": GRANT,
    'ERROR:  relation "public.login_token" does not exist': GONE,
    "(1045, \"Access denied for user '***'@'localhost' (using password: YES)\")": LOG_IN,
    "(1142, \"SELECT command denied to user '***'@'localhost' for table `a`.`password`\")": GRANT,
    "(1146, \"Table 'shop.unauthorized' doesn't exist\")": GONE,
    "connection to server at 127.0.0.1, port 1 failed: Connection refused": NETWORK,
    "timeout expired": NETWORK,
    "Division by zero": "",
}


@pytest.mark.parametrize("text", SAID)
def test_what_helps(text: str) -> None:
    assert warehouse_driver._remedy(text) == SAID[text]


@pytest.fixture
def grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")
    monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")


FILL = [f"CREATE TABLE t{at} AS SELECT i AS id FROM range({at + 1}) r(i)" for at in range(4)]


@pytest.mark.usefixtures("grpc")
def test_a_table_that_goes_midway_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with flight_server(*FILL) as server:
        told = WarehouseSource.declarations

        def dropping(self: WarehouseSource, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
            server.run("DROP TABLE t2")
            return told(self, tables)

        monkeypatch.setattr(WarehouseSource, "declarations", dropping)
        run = index(server.url, into=tmp_path / "c")
        assert {table.name: table.rows for table in run.catalog} == {"t0": 1, "t1": 2, "t3": 4}
        assert list(run.skipped) == ["t2"]
        assert run.skipped["t2"].endswith("it went while we looked; index again")
        monkeypatch.undo()
        monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")
        assert index(into=tmp_path / "c").skipped == {}


@pytest.mark.usefixtures("grpc")
def test_a_token_that_expired_costs_its_warehouse_alone(tmp_path: Path) -> None:
    put(tmp_path / "town.csv", GOOD)
    with flight_server(*FILL) as server:
        server.allowed = 0
        run = index(server.url, str(tmp_path / "town.csv"), into=tmp_path / "c")
    assert [table.name for table in run.catalog] == ["town"]
    (skip,) = run.report.skipped
    assert (skip.source, skip.table) == (server.url, "")
    assert re.search(r"the token has expired.*; " + re.escape(LOG_IN), skip.reason)


@pytest.mark.usefixtures("grpc")
def test_a_token_that_expires_midway(tmp_path: Path) -> None:
    """What was read until then is kept, and the next update reads the rest."""
    with flight_server(*FILL) as server:
        server.allowed = 10
        run = index(server.url, into=tmp_path / "c")
        read = {table.name for table in run.catalog}
        assert 0 < len(read) < 4
        assert all(skip.reason.endswith(LOG_IN) for skip in run.report.skipped)
        server.allowed = math.inf
        later = index(into=tmp_path / "c")
        assert later.skipped == {}
        assert len(later.catalog) == 4


def test_many_tables_for_one_reason_are_one_line() -> None:
    expired = [Skipped("w", f"t{at}", f"the token has expired; {LOG_IN}") for at in range(2000)]
    other = [Skipped("w", "t7a", GONE), Skipped("v", "t1", GONE)]
    skipped = sorted([*expired, *other], key=lambda skip: (skip.source, skip.table))
    assert list(_skipped_lines(skipped)) == [
        f"v::t1: {GONE}",
        f"2,000 tables of w (t0, t1, t10, …): the token has expired; {LOG_IN}",
        f"w::t7a: {GONE}",
    ]
    assert list(_skipped_lines(expired[:4])) == [str(skip) for skip in expired[:4]]
