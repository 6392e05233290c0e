"""A login reaches the server, and nothing else: no file, no output, no message, no argument."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.errors import DovetailError, UsageError
from dovetail.ports import Listing
from dovetail.profile.batch import TableToRead
from dovetail.settings import Settings
from dovetail.sources import server
from dovetail.sources.resolve import root
from tests.support.command_line import Cli
from tests.support.servers import (
    Database,
    MysqlDatabase,
    PostgresDatabase,
    index,
    mysql,
    mysql_user,
    postgres,
    postgres_role,
)

service = pytest.mark.service

# All that a URL, SQL or a connection string could trip over.
PASSWORD = """Kw'9"\\ @%41;:/?#&=+${}é*"""


@pytest.fixture
def pg() -> Iterator[tuple[PostgresDatabase, str]]:
    """A database with two tables, and a role that may read them."""
    with postgres() as database, postgres_role(database, password=PASSWORD) as role:
        database.run(
            "CREATE TABLE a AS SELECT 1 AS id",
            "CREATE TABLE b AS SELECT 2 AS id",
            f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{role}"',
        )
        yield database, role


@pytest.fixture
def my() -> Iterator[tuple[MysqlDatabase, str]]:
    """A database with two tables, and a user that may read them."""
    with mysql() as database, mysql_user(database, password=PASSWORD) as user:
        database.run(
            "CREATE TABLE a AS SELECT 1 AS id",
            "CREATE TABLE b AS SELECT 2 AS id",
            f"GRANT SELECT ON {database.name}.* TO '{user}'@'%'",
        )
        yield database, user


@pytest.fixture(params=["postgresql", "mysql"])
def login(request: pytest.FixtureRequest) -> tuple[Database, str]:
    """A database of either server, and who may read it."""
    fixture = {"postgresql": "pg", "mysql": "my"}[request.param]
    found: tuple[Database, str] = request.getfixturevalue(fixture)
    return found


def assert_hidden(text: str, *secrets: str) -> None:
    """No secret is in a text, as it is or as a URL, SQL, JSON or Python would write it."""
    for secret in secrets:
        doubled = secret.replace("'", "''").replace('"', '""')
        escaped = secret.replace("\\", "\\\\").replace("'", "\\'")
        spellings = {secret, quote(secret), quote(secret, safe=""), repr(secret)[1:-1]}
        spellings |= {doubled, escaped, secret.encode("unicode_escape").decode()}
        found = [spelling for spelling in spellings if spelling in text]
        assert not found, text


def everything_in(folder: Path) -> str:
    """All bytes of all files below a folder, and what is packed in its Parquet files."""
    texts = []
    for path in sorted(folder.rglob("*")):
        texts.append(path.name)
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
            texts.append(path.read_bytes().decode("utf-8", "replace"))
        if path.suffix == ".parquet":
            texts.append(str(pq.read_table(path).to_pylist()))
    return "\n".join(texts)


@service
@pytest.mark.parametrize("how", ["url", "query", "variables", "client's variables"])
def test_a_login_is_used_and_never_shown(
    how: str,
    login: tuple[Database, str],
    run_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database, user = login
    variables = {
        "postgresql": ("PGUSER", "PGPASSWORD"),
        "mysql": ("MYSQL_USER", "MYSQL_PWD"),
    }[database.label.partition(":")[0]]
    if how == "url":
        url = database.url_for(user, PASSWORD)
    elif how == "query":
        encoded = (quote(user, safe=""), quote(PASSWORD, safe=""))
        url = database.label + "?user={}&password={}".format(*encoded)
    else:
        variables = ("ERP_USER", "ERP_PASSWORD") if how == "variables" else variables
        monkeypatch.setenv(variables[0], user)
        monkeypatch.setenv(variables[1], PASSWORD)
        url = database.label
        if how == "variables":
            url = url.replace("://", "://${ERP_USER}:${ERP_PASSWORD}@")
    catalog = tmp_path / "c"
    runs = [
        run_cli("index", url, "-C", str(catalog)),
        run_cli("index", url, "-C", str(catalog), "--json", "--check"),
        run_cli("tables", "-C", str(catalog), "--json"),
        run_cli("show", "a", "-C", str(catalog)),
    ]
    assert [code for code, _ in runs] == [0, 0, 0, 0], runs
    assert dovetail.open(catalog).ids == [TableId(database.label, name) for name in ("a", "b")]
    written = "\n".join(text for _, text in runs)
    assert_hidden(written, user)
    assert_hidden(written + everything_in(catalog), PASSWORD)
    stored = dovetail.open(catalog).reader.manifest.roots[0].credentials
    kept = {"url": user, "query": user, "variables": "${ERP_USER}"}
    assert stored.get("user") == kept.get(how)


@service
def test_the_user_of_a_url_is_kept_for_sql_and_later_updates(
    my: tuple[MysqlDatabase, str], run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, user = my
    catalog = ("-C", str(tmp_path / "c"))
    assert run_cli("index", f"erp={database.url_for(user, PASSWORD)}", *catalog)[0] == 0
    code, written = run_cli("sql", "SELECT id FROM a", *catalog)
    assert (code, "check host, port, database and login" in written) == (1, True)
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    assert run_cli("sql", "SELECT id FROM a", "--csv", *catalog) == (0, "id\n1\n")
    database.run("INSERT INTO a VALUES (5)")
    assert run_cli("index", *catalog)[0] == 0
    assert dovetail.open(tmp_path / "c")["a"].rows == 2


@service
@pytest.mark.parametrize("how", ["variables", "settings"])
def test_a_login_reaches_sql(
    how: str,
    my: tuple[MysqlDatabase, str],
    run_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database, user = my
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    url = database.url_for(user, PASSWORD)
    if how == "variables":
        url = database.label.replace("://", f"://{quote(user, safe='')}:${{ERP_PASSWORD}}@")
    (tmp_path / "dovetail.toml").write_text(f"sources = ['erp={url}']\n", encoding="utf-8")
    assert run_cli("index")[0] == 0
    assert run_cli("sql", "SELECT id FROM a", "--csv") == (0, "id\n1\n")
    assert_hidden(everything_in(tmp_path / ".dovetail"), PASSWORD)


@service
def test_variables_are_looked_up_again(
    login: tuple[Database, str], run_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, user = login
    monkeypatch.setenv("ERP_USER", user)
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    catalog = tmp_path / "c"
    url = database.label.replace("://", "://${ERP_USER}:${ERP_PASSWORD}@")
    assert run_cli("index", f"erp={url}", "-C", str(catalog))[0] == 0
    assert isinstance(database, PostgresDatabase | MysqlDatabase)
    database.run("INSERT INTO a VALUES (5)")
    code, written = run_cli("index", "-C", str(catalog), "--json")
    assert code == 0
    assert '"changed": [\n  "erp::a"\n ]' in written

    monkeypatch.delenv("ERP_PASSWORD")
    code, written = run_cli("index", "-C", str(catalog))
    assert code == 1
    (line,) = [line for line in written.splitlines() if "ERP" in line]
    assert line == (
        "Skipped erp: the environment has no ERP_PASSWORD, which the URL asks for; "
        "set it, or give the URL again"
    )
    assert_hidden(written, user)
    assert len(dovetail.open(catalog)) == 2

    code, written = run_cli("index", f"erp={url}", "-C", str(tmp_path / "new"))
    assert (code, written) == (
        1,
        "dovetail: erp: the environment has no ERP_PASSWORD, which the URL asks for; "
        "set it, or give the URL again\n",
    )


@service
def test_a_wrong_password(my: tuple[MysqlDatabase, str], run_cli: Cli, tmp_path: Path) -> None:
    database, user = my
    url = database.url_for(user, "Wrong" + PASSWORD)
    code, written = run_cli("index", url, "-C", str(tmp_path / "new"))
    assert code == 1
    assert re.fullmatch(
        rf"dovetail: {re.escape(database.label)}: Access denied for user '\*\*\*'@'[\w.]+' "
        r"\(using password: YES\)\. Attempted host: [\w.]+; check host, port, database and login "
        r"\(the URL, or MYSQL_USER and MYSQL_PWD\)\n",
        written,
    )
    assert_hidden(written, user, PASSWORD)

    # Other sources are still indexed, and what was known stays.
    (tmp_path / "people.csv").write_text("name\nAnn\n", encoding="utf-8")
    catalog = tmp_path / "c"
    assert run_cli("index", database.url_for(user, PASSWORD), "-C", str(catalog))[0] == 0
    code, written = run_cli("index", url, f"people={tmp_path / 'people.csv'}", "-C", str(catalog))
    assert code == 1
    assert "3 tables in" in written
    assert "2 of these are still in the catalog" in written
    assert [table.name for table in dovetail.open(catalog)] == ["a", "b", "people"]
    assert_hidden(written, user)
    assert_hidden(written + everything_in(catalog), PASSWORD)


def test_postgresql_gets_the_password_it_was_given(tmp_path: Path) -> None:
    """Servers that trust everyone ask for none, so this one only asks, and says no."""
    user, heard = "vy 'vy\\", []

    def ask_for_password(listening: socket.socket) -> None:
        peer, _ = listening.accept()
        with peer:
            while True:
                (length,) = struct.unpack("!i", peer.recv(4))
                startup = peer.recv(length - 4)
                if struct.unpack("!i", startup[:4])[0] >> 16 == 3:
                    break
                peer.sendall(b"N")  # no encryption here
            heard.extend(startup[4:].decode().split("\0"))
            peer.sendall(b"R" + struct.pack("!ii", 8, 3))
            (length,) = struct.unpack("!i", peer.recv(5)[1:])
            heard.append(peer.recv(length - 4).decode().removesuffix("\0"))
            said = f'SFATAL\0C28P01\0Mpassword authentication failed for user "{user}"\0\0'
            peer.sendall(b"E" + struct.pack("!i", 4 + len(said)) + said.encode())

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        thread = Thread(target=ask_for_password, args=[listening])
        thread.start()
        login = f"{quote(user)}:{quote(PASSWORD, safe='')}"
        with pytest.raises(DovetailError) as caught:
            index(f"postgresql://{login}@127.0.0.1:{port}/zq", into=tmp_path / "c")
        thread.join()
    assert heard[-1] == PASSWORD
    assert heard[heard.index("user") + 1] == user
    assert heard[heard.index("application_name") + 1].startswith("dovetail")
    assert str(caught.value).startswith(
        f'postgresql://127.0.0.1:{port}/zq: connection to server at "127.0.0.1", port {port} '
        'failed: FATAL: password authentication failed for user "***"; check host, port, '
    )


@service
@pytest.mark.parametrize("trouble", ["closed port", "unknown database", "unknown user"])
def test_messages_about_a_server_that_lets_nobody_in(
    trouble: str, login: tuple[Database, str], run_cli: Cli, tmp_path: Path
) -> None:
    database, user = login
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        if trouble == "unknown user":
            user += " nobody"
        url = database.url_for(user, PASSWORD)
        if trouble == "closed port":
            url = url.replace(f":{database.port}/", f":{unused.getsockname()[1]}/")
        elif trouble == "unknown database":
            url += "_not"
        for option in ("--quiet", "--json"):
            code, written = run_cli("index", url, "-C", str(tmp_path / "c"), option)
            assert (code, written.count("\n")) == (1, 1)
            assert "; check host, port, database and login (the URL, or " in written
            assert_hidden(written, user, PASSWORD)


@pytest.mark.slow
@service
def test_workers_get_the_login_by_no_argument(
    my: tuple[MysqlDatabase, str], tmp_path: Path
) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc to look at the arguments of processes")
    database, user = my
    for number in range(20):
        database.run(f"CREATE TABLE t{number} AS SELECT {number} AS id")
    arguments: set[str] = set()

    def look(_: dovetail.Progress) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                parent = re.search(r"\) \S (\d+)", (process / "stat").read_text())
                if parent and int(parent[1]) == os.getpid():
                    arguments.add((process / "cmdline").read_bytes().decode())
            except OSError:
                continue

    report = dovetail.update(
        [database.url_for(user, PASSWORD)],
        into=tmp_path / "c",
        settings=Settings(workers=2),
        on_progress=look,
    )
    assert len(report.catalog) == 22
    assert any("dovetail.engines.worker" in line for line in arguments)
    assert_hidden("\n".join(arguments), user)
    assert_hidden("\n".join(arguments) + everything_in(tmp_path / "c"), PASSWORD)


def test_what_is_printed_of_a_source_holds_no_login() -> None:
    place = root(f"postgresql://vyvy:{quote(PASSWORD, safe='')}@db/erp", Path("/"))
    assert dict(place.credentials) == {"user": "vyvy", "password": PASSWORD}
    at = server.address(place.location, place.credentials, {"user": "U", "password": "P"})
    assert (at.user, at.password) == ("vyvy", PASSWORD)
    wanted = TableToRead(place, Listing("t", "t", 1))
    shown = [place, replace(place, label="erp"), at, wanted, [wanted]]
    assert_hidden("\n".join(map(repr, shown)) + "\n".join(map(str, shown)), "vyvy", PASSWORD)
    assert place.stored()["credentials"] == {"user": "vyvy"}
    assert at.hide_login(f'role "vyvy" with {PASSWORD}, not vyvyan') == (
        'role "***" with ***, not vyvyan'
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://vyvy:Kw/9@db/erp",
        "postgresql://vyvy:9/Kw@db/erp",
        "postgresql://vyvy:9?Kw@db/erp",
        "postgresql://vyvy:9#Kw@db/erp",
        "postgresql://vyvy:Kw#9@db/erp?user=x",
        "mysql://vyvy:Kw@db:99999/erp",
        "mysql://vyvy:Kw@[db/erp",
    ],
)
def test_a_url_that_cannot_be_read_is_not_quoted(url: str, run_cli: Cli, tmp_path: Path) -> None:
    """Any part of it may be part of a password that was not encoded."""
    code, written = run_cli("index", url, "-C", str(tmp_path / "c"))
    assert code == 2
    assert written == (
        f"dovetail: {url.partition(':')[0]} URL: expected "
        "scheme://user:password@host[:port]/database; "
        "in user and password write / as %2F, ? as %3F, # as %23\n"
    )
    with pytest.raises(UsageError):
        index(url, into=tmp_path / "c")


def test_a_password_may_hold_what_urls_leave_alone() -> None:
    for password in ("p@ss", "a:b", "q'\"\\", "50% off", "x y", "a+b"):
        assert root(f"mysql://vyvy:{password}@db/erp", Path("/")).credentials == {
            "user": "vyvy",
            "password": password,
        }
        assert root(f"mysql://db/erp?password={password}", Path("/")).credentials == {
            "password": password
        }


def test_an_unknown_parameter_is_named_and_its_value_is_not(tmp_path: Path) -> None:
    with pytest.raises(DovetailError) as caught:
        index("postgresql://db/erp?pasword=Kw9", into=tmp_path / "c")
    assert str(caught.value) == (
        "postgresql URL: parameter 'pasword' is not known; use user, password"
    )
