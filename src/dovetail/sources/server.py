"""What database servers have in common: URLs, logins that go nowhere else, SQL passed on.

DuckDB connects, but every table is read by a SELECT of ours that runs in the server. DuckDB's own
view of an attached server loses what it has no word for: a NaN becomes 0, views pass for tables,
of two names that differ in case one is gone, and a backtick in a name is an error.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from dovetail.errors import SourceError, UsageError
from dovetail.ports import VARIABLE, Scan, ScannedColumn
from dovetail.sources import duck

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<login>[^/?#]*)@)?"
    r"(?P<host>\[[^\s/?#@\[\]]+\]|[^\s/?#@:\[\]]*)(?::(?P<port>[0-9]{0,5}))?"
    r"(?P<path>(?:/[^?#@]*)?)(?:\?(?P<query>(?:\w+=[^&#]*(?:&|$))*))?",
    re.IGNORECASE,
)
_FORM = "scheme://user:password@host[:port]/database"
# A host that has not let us in after so many seconds never will.
PATIENCE = 15
# How DuckDB leads into what the server said.
_MESSAGE = re.compile(r'(?:": (?:ERROR:\s+)?|(?:ERROR|FATAL):\s+)(.+)')
_REMEDIES = {
    r"\bdenied\b": "grant SELECT on it to the login, or leave it out with --exclude",
    r"^(relation|Table) .* (does not|doesn't) exist": "it went while we looked; index again",
}

# How long to wait for a statement to end that was called off.
_REAP_SECONDS = 3.0

_T = TypeVar("_T")
_secret_names = count(1)


@dataclass(frozen=True, slots=True)
class Address:
    """A server's database, and how to log in there."""

    host: str
    port: int | None
    database: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    def hide_login(self, text: str) -> str:
        """A text without user and password."""
        if self.password:
            text = text.replace(self.password, "***")
        return re.sub(rf"(?<!\w){re.escape(self.user)}(?!\w)", "***", text) if self.user else text


def without_credentials(url: str) -> tuple[str, dict[str, str]]:
    """Take user and password out of a URL; `${NAME}` stands for an environment variable.

    >>> without_credentials("postgresql://ann:pw@db:5432/erp?password=x")
    ('postgresql://db:5432/erp', {'user': 'ann', 'password': 'x'})
    """
    parts = _parse(url)
    user, _, password = (parts["login"] or "").partition(":")
    credentials = {"user": unquote(user), "password": unquote(password)}
    for name, value in re.findall(r"(\w+)=([^&]*)", parts["query"] or ""):
        if name not in credentials:
            raise UsageError(
                f"{parts['scheme']} URL: parameter {name!r} is not known; use user, password"
            )
        credentials[name] = unquote(value)
    if any(not char.isprintable() for text in credentials.values() for char in text):
        raise UsageError(f"{parts['scheme']} URL: user or password hold a character that is none")
    port = f":{parts['port']}" if parts["port"] else ""
    location = f"{parts['scheme'].lower()}://{parts['host'].lower()}{port}{parts['path']}"
    if VARIABLE.search(location):
        raise UsageError(
            f"{parts['scheme']} URL: a variable may stand for user and password, and nothing else"
        )
    return location, {name: text for name, text in credentials.items() if text}


def _parse(url: str) -> re.Match[str]:
    """The parts of a URL. A part of a password may stand anywhere in one that has none."""
    parts = _URL.fullmatch(url)
    if not parts or int(parts["port"] or 0) > 65535:
        raise UsageError(
            f"{url.partition('://')[0]} URL: expected {_FORM}; "
            "in user and password write / as %2F, ? as %3F, # as %23"
        )
    return parts


def expand_variables(text: str) -> str:
    """Put the environment's values for `${NAME}`."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise SourceError(
                f"the environment has no {match[1]}, which the URL asks for; "
                "set it, or give the URL again"
            )
        return os.environ[match[1]]

    return VARIABLE.sub(value, text)


def address(
    location: str, credentials: Mapping[str, str], environment: Mapping[str, str]
) -> Address:
    """Where to log in: the URL first, then the variables that the server's own clients read."""
    parts = _parse(location)
    host = parts["host"].strip("[]")
    database = unquote(parts["path"].lstrip("/"))
    if not host or not database or "\0" in host + database:
        raise UsageError(f"{location}: a server's URL is {_FORM}")

    def login(name: str) -> str:
        given = credentials.get(name, "")
        return expand_variables(given) if given else os.environ.get(environment[name], "")

    port = int(parts["port"]) if parts["port"] else None
    return Address(host, port, database, login("user"), login("password"))


@dataclass(frozen=True, slots=True)
class Asked:
    """How a column is read from a server: its name, and the SQL that gives its values.

    `type` is what to call it where the SQL changes its type; `number` marks text that is one.
    `slot` is a word for the type of the SQL in the server: columns with the same one can stand
    below each other.
    """

    name: str
    sql: str
    slot: str
    type: str = ""
    number: bool = False


class Server:
    """A connection to one database: `kind` is DuckDB's word for its server.

    `before` is put before every statement that the server is sent. `target` and `before` may hold
    `{tag}`, a word that the sessions or statements of this object are known by in the server.
    `cancel` is how to end what they do, from another session: a query that finds it, and a
    statement for each thing `{running}` that it names, unless the query itself ends it.
    """

    def __init__(
        self,
        kind: str,
        at: Address,
        *,
        port: int,
        target: str = "",
        before: str = "",
        remedy: str = "",
        cancel: tuple[str, str] = ("", ""),
    ) -> None:
        self._at = at
        self._kind = kind
        self._port = port
        self._tag = f"dovetail-{secrets.token_hex(6)}"
        self._cancel = cancel
        self._target = target
        self._before = before.replace("{tag}", self._tag)
        self._function = f"{kind}_query"
        duck.load_extension(f"{kind}_scanner")
        with self.explained(remedy), _secret(kind, at, port) as login:
            tagged = target.replace("{tag}", self._tag)
            self._alias = _in_time(
                lambda: duck.attach(tagged, f"TYPE {kind}, SECRET {login}"), remedy
            )

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query in the server and return all its rows."""
        return self._wait(lambda: duck.fetch(f"SELECT * FROM {self._relation(sql)}"))

    def scan(self, table: str, columns: Sequence[Asked]) -> Scan:
        """Stream columns of a table (its name as the server quotes it)."""
        if not columns:
            with self.explained():
                self.ask(f"SELECT 1 AS c0 FROM {table}")  # most likely the server says why
            raise SourceError("has no columns")
        # Numbered, for DuckDB renames a column whose name differs from another's by case alone.
        wanted = ", ".join(f"{column.sql} AS c{at}" for at, column in enumerate(columns))
        relation = self._relation(f"SELECT {wanted} FROM {table}")
        with self.explained():
            described = self._wait(lambda: duck.describe(relation))
        scanned = self._wait(lambda: duck.scan(relation, self.explained, described=described))
        return Scan(named_columns(columns, scanned.columns), self._batches(scanned.batches))

    def copy(self, sql: str, table: str) -> None:
        """Run a query in the server and keep its answer as a table of this process's DuckDB."""
        statement = f"CREATE TABLE {table} AS SELECT * FROM {self._relation(sql)}"
        self._wait(lambda: duck.run(statement))

    def _batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        while (batch := self._wait(lambda: next(batches, None))) is not None:
            yield batch

    def _wait(self, work: Callable[[], _T]) -> _T:
        """Have work done that waits for the server, and can be called off meanwhile.

        DuckDB's clients of servers do not look up while they wait, so they wait in a thread. When
        the caller is interrupted, the statement is ended in the server before we leave.
        """
        if current_thread() is not main_thread():  # where no interrupt arrives
            return work()
        outcome = _begun(work)
        while not outcome.done():
            try:
                wait([outcome])
            except BaseException:  # an interrupt, or the end of the process
                self._end_statements()
                wait([outcome], _REAP_SECONDS)
                raise
        return outcome.result()

    def _end_statements(self) -> None:
        """End what our sessions do in the server, from a session of its own; as well as we can."""

        def end() -> str:
            find, each = (text.replace("{tag}", self._tag) for text in self._cancel)
            target = self._target.partition(" options=")[0].replace("{tag}", "dovetail")
            with _secret(self._kind, self._at, self._port) as login:
                name = duck.attach(target, f"TYPE {self._kind}, SECRET {login}", read_only=False)
            alias = duck.literal(name)
            rows = duck.fetch(f"SELECT * FROM {self._function}({alias}, {duck.literal(find)})")
            for (running,) in rows if each else ():
                statement = duck.literal(each.replace("{running}", running))
                duck.run(f"CALL {self._kind}_execute({alias}, {statement})")
            return name

        with suppress(SourceError, *duck.ENGINE_ERRORS):
            duck.detach(_in_time(end, ""))

    def close(self) -> None:
        """Close the connection."""
        duck.detach(self._alias)

    @contextmanager
    def explained(self, remedy: str = "") -> Iterator[None]:
        """Turn errors into one line that says what the server said, and never who we are."""
        try:
            yield
        except duck.ENGINE_ERRORS as error:
            message = self._at.hide_login(str(error))
            quoted = _MESSAGE.search(message)
            text = duck.one_line(quoted[1] if quoted else message)
            fitting = (advice for sign, advice in _REMEDIES.items() if re.search(sign, text))
            advice = remedy or next(fitting, "")
            raise SourceError(f"{text}; {advice}" if advice else text) from None

    def _relation(self, sql: str) -> str:
        return f"{self._function}({duck.literal(self._alias)}, {duck.literal(self._before + sql)})"


def named_columns(
    asked: Sequence[Asked], scanned: Sequence[ScannedColumn]
) -> tuple[ScannedColumn, ...]:
    """The columns that were found, by the names and types of those that were asked for."""
    return tuple(
        ScannedColumn(wish.name, wish.type or got.type, got.untyped or wish.number)
        for wish, got in zip(asked, scanned, strict=True)
    )


@contextmanager
def _secret(kind: str, at: Address, default_port: int) -> Iterator[str]:
    """The login as a DuckDB secret, so that its error messages cannot quote it."""
    name = f"login_{next(_secret_names)}"
    fields = {
        "HOST": at.host,
        "PORT": str(at.port or default_port),
        "DATABASE": at.database,
        "USER": at.user,
        "PASSWORD": at.password,
    }
    values = ", ".join(f"{key} {duck.literal(text)}" for key, text in fields.items() if text)
    duck.run(f"CREATE TEMPORARY SECRET {name} (TYPE {kind}, {values})")
    try:
        yield name
    finally:
        duck.run(f"DROP TEMPORARY SECRET {name}")


def _in_time(attach: Callable[[], str], remedy: str) -> str:
    """Attach in a thread, left behind when it takes too long: MySQL's client waits for ever."""
    try:
        return _begun(attach).result(PATIENCE)
    except TimeoutError:
        raise SourceError(f"no answer within {PATIENCE} seconds; {remedy}") from None


def _begun(work: Callable[[], _T]) -> Future[_T]:
    """What work will give that is done in a thread of its own, which nobody has to wait for."""
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    return outcome
