"""Logs in to warehouses with their own drivers (ADBC or DB-API) and gives answers as Arrow.

Logins are taken from the URL, from the environment, or from the driver's own configuration, and
are kept by nobody but the driver.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pyarrow as pa

from dovetail.errors import DovetailError, MissingExtraError, RescanError, SourceError
from dovetail.sources import duck
from dovetail.sources.server import Address

_ROWS_AT_ONCE = 10_000
_NETWORK = "check host and network, then index again"
_GRANT = "grant SELECT on it to the login, or leave it out with --exclude"
# What a warehouse says, by its own words or number, and what may help; the first that fits.
_REMEDIES = {
    r"connection refused": _NETWORK,
    r"not exist or not authori[sz]ed|ORA-00942": (
        "it went while we looked, or the login may not read it: index again, or grant SELECT on it"
    ),
    r"denied (?:for|on) (?:the )?(?:table|view|schema|object)|command denied|access denied: table"
    r"|insufficient (?:privilege|permission)|not have permission|42501": _GRANT,
    r"(?<!timeout )\bexpired\b|authenticat|unauthori[sz]ed|invalid (?:access )?token|invalid_grant"
    r"|token is invalid|log[io]n (?:failed|denied)|using password|username or password"
    r"|user is empty|28P01|28000|ORA-01017|(?:error|status|code)\W*401": (
        "log in again: check the login in the environment, or renew the token"
    ),
    r"\bdenied\b|privilege|permission|not authori[sz]ed": _GRANT,
    r"not exist|n't exist|not[ _]found|cannot be found|unknown table|invalid object|42P01": (
        "it went while we looked; index again"
    ),
    r"\bconnect|refused|resolve|timed out|timeout|unavailable|gone away|closed": _NETWORK,
}
# A name that is quoted, and may be of any words.
_NAME = re.compile(r"""(['"`])[^\s'"`]*\1""")


def _given(**options: str | None) -> dict[str, str]:
    return {name: text for name, text in options.items() if text}


def _snowflake(at: Address, driver: Any, seconds: float | None) -> Any:
    database, _, schema = at.database.partition("/")
    bound = {"STATEMENT_TIMEOUT_IN_SECONDS": max(1, round(seconds))} if seconds else {}
    environment = (
        "warehouse", "role", "authenticator", "private_key_file", "host", "port", "protocol",
    )  # fmt: skip
    return driver.connect(
        account=at.host,
        session_parameters={"QUERY_TAG": "dovetail", **bound},
        # We leave nothing running when we log out; version 5 wants to be told.
        enable_server_session_keep_alive_auto_detection=False,
        **_given(user=at.user, password=at.password, database=database, schema=schema),
        **_given(**{name: os.environ.get(f"SNOWFLAKE_{name.upper()}") for name in environment}),
    )


def _bigquery(at: Address, driver: Any, seconds: float | None) -> Any:
    del seconds  # the process that waits is ended
    client = importlib.import_module("google.cloud.bigquery").Client(project=at.host)
    return driver.connect(client)


def _databricks(at: Address, driver: Any, seconds: float | None) -> Any:
    del seconds  # the process that waits is ended
    catalog, _, schema = at.database.partition("/")
    return driver.connect(
        server_hostname=at.host,
        http_path=os.environ.get("DATABRICKS_HTTP_PATH", ""),
        **_given(
            access_token=at.password or os.environ.get("DATABRICKS_TOKEN"),
            catalog=catalog,
            schema=schema,
        ),
    )


def _trino(at: Address, driver: Any, seconds: float | None) -> Any:
    del seconds  # the process that waits is ended
    catalog, _, schema = at.database.partition("/")
    secure = {}
    if at.password:
        auth = importlib.import_module("trino.auth").BasicAuthentication(at.user, at.password)
        secure = {"auth": auth, "http_scheme": "https"}
    return driver.connect(
        host=at.host, port=at.port or 8080, catalog=catalog, **_given(user=at.user, schema=schema),
        **secure,
    )  # fmt: skip


def _flightsql(at: Address, driver: Any, seconds: float | None) -> Any:
    del seconds  # the process that waits is ended
    scheme = os.environ.get("FLIGHTSQL_SCHEME", "grpc+tls")
    return driver.connect(
        f"{scheme}://{at.host}:{at.port or 31337}",
        db_kwargs=_given(username=at.user, password=at.password),
        autocommit=True,
    )


def _mssql(at: Address, driver: Any, seconds: float | None) -> Any:
    return driver.connect(
        server=at.host, port=str(at.port or 1433), database=at.database,
        **_given(user=at.user, password=at.password), login_timeout=15, timeout=round(seconds or 0),
    )  # fmt: skip


def _oracle(at: Address, driver: Any, seconds: float | None) -> Any:
    del seconds  # the process that waits is ended
    dsn = f"{at.host}:{at.port or 1521}/{at.database}"
    return driver.connect(dsn=dsn, **_given(user=at.user, password=at.password))


Login = Callable[[Address, Any, float | None], Any]
# By kind, which is the name of the extra too: the module of the driver, and how to log in with it.
_DRIVERS: dict[str, tuple[str, Login]] = {
    "snowflake": ("snowflake.connector", _snowflake),
    "bigquery": ("google.cloud.bigquery.dbapi", _bigquery),
    "databricks": ("databricks.sql", _databricks),
    "trino": ("trino.dbapi", _trino),
    "flightsql": ("adbc_driver_flightsql.dbapi", _flightsql),
    "mssql": ("pymssql", _mssql),
    "oracle": ("oracledb", _oracle),
}


class Warehouse:
    """A connection to a warehouse; it is only ever sent SELECT and SHOW."""

    def __init__(self, kind: str, at: Address, seconds: float | None) -> None:
        self._at = at
        module, connect = _DRIVERS[kind]
        try:
            driver = importlib.import_module(module)
        except ModuleNotFoundError:
            raise MissingExtraError(f"a source of the kind {kind}", kind) from None
        with self.explained():
            self._connection = connect(at, driver, seconds)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows."""
        with self.explained(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]

    def ask_named(self, sql: str) -> list[dict[str, Any]]:
        """Run a statement whose columns the warehouse names, and return rows by these names."""
        with self.explained(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            names = [str(column[0]).lower() for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def stream(
        self, sql: str, *, as_text: bool = False
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Run a query and stream its rows, with `as_text` every value as text."""
        with self.explained(), ExitStack() as unless_streamed:
            cursor = self._connection.cursor()
            unless_streamed.callback(cursor.close)
            cursor.execute(sql)
            unless_streamed.pop_all()
            if hasattr(cursor, "fetch_record_batch"):
                reader = cursor.fetch_record_batch()
                return reader.schema, self._watched(reader, cursor)
            names = [str(column[0]) for column in cursor.description]
            first = cursor.fetchmany(_ROWS_AT_ONCE)
        columns = list(zip(*first, strict=True)) if first else [()] * len(names)
        kinds = [pa.string() if as_text else _kind(column) for column in columns]
        schema = pa.schema(list(zip(names, kinds, strict=True)))
        return schema, self._watched(_batches(cursor, first, schema), cursor)

    def close(self) -> None:
        """Log out."""
        with self.explained():
            self._connection.close()

    def _watched(self, batches: Iterator[pa.RecordBatch], cursor: Any) -> Iterator[pa.RecordBatch]:
        with self.explained(), closing(cursor):
            yield from batches

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn whatever a driver raises into one line, with what may help, and never the login."""
        try:
            yield
        except (DovetailError, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
            text = duck.one_line(self._at.hide_login(str(error) or type(error).__name__))
            advice = _remedy(text)
            raise SourceError(f"{text}; {advice}" if advice else text) from None


def _remedy(text: str) -> str:
    """What may help with what a driver says, whatever the things are called that it names."""
    words = _NAME.sub("", text)
    fitting = (advice for sign, advice in _REMEDIES.items() if re.search(sign, words, re.I))
    return next(fitting, "")


def _batches(cursor: Any, first: list[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = first
    while rows:
        columns = zip(*rows, strict=True)
        try:
            arrays = [_array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise RescanError("holds values of several types; it is read as text") from None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        rows = cursor.fetchmany(_ROWS_AT_ONCE)


def _kind(values: tuple[Any, ...]) -> pa.DataType:
    """The Arrow type of Python values; text where there is none."""
    try:
        kind = pa.array(values).type
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.string()
    plain = pa.types.is_null(kind) or pa.types.is_nested(kind) or pa.types.is_decimal(kind)
    return pa.string() if plain or pa.types.is_duration(kind) else kind


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([None if value is None else str(value) for value in values], kind)
    return pa.array(values, kind)
