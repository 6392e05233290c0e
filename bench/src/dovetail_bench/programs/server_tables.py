"""A database as SAP's are, made on a PostgreSQL, MariaDB or MySQL server and dropped again.

Its tables have short names, a key and German abbreviations for columns; one in twenty holds rows.
MariaDB and MySQL make them with their default engine: InnoDB, each in a file of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

ROWS = 50
# In one transaction PostgreSQL would run out of locks.
_AT_ONCE = 500
_KINDS = ["varchar(10)", "varchar(40)", "date", "numeric(15,2)", "integer"]


@contextmanager
def database(url: str, tables: int) -> Iterator[str]:
    """The URL of a database of its own that has so many tables."""
    name = f"dovetail_bench_{os.getpid()}"
    parts = urlsplit(url)
    postgres = parts.scheme.startswith("postgres")
    with closing(_connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            own = parts._replace(path=f"/{name}").geturl()
            fill(own, tables)
            yield own
        finally:
            cursor.execute(f"DROP DATABASE {name}{' WITH (FORCE)' if postgres else ''}")


def fill(url: str, tables: int, seed: int = 1) -> None:
    """Create tables of 12 columns; one in twenty has 50 rows."""
    random = np.random.default_rng(seed)
    letters = np.array(list("ABCDEFGHKLMNPRSTVWZ"))
    words = sorted({"".join(random.choice(letters, 5)) for _ in range(400)})
    with closing(_connect(url)) as connection, connection.cursor() as cursor:
        for at in range(0, tables, _AT_ONCE):
            statements = []
            for number in range(at, min(at + _AT_ONCE, tables)):
                chosen = random.choice(len(words), 11, replace=False)
                declared = [f"{words[i]} {_KINDS[i % 5]}" for i in chosen]
                table = f"{words[number % len(words)]}{number}"
                statements.append(f"CREATE TABLE {table} (MANDT varchar(3), {', '.join(declared)})")
                if number % 20 == 0:
                    rows = ", ".join(_row(row, chosen) for row in range(1, ROWS + 1))
                    statements.append(f"INSERT INTO {table} VALUES {rows}")
            cursor.execute(";".join(statements))
            while getattr(cursor, "nextset", bool)():  # MySQL runs them as they are waited for
                pass


def _row(number: int, columns: np.ndarray) -> str:
    """A row as SQL writes it: a value for the type of each column."""
    day = date(2024, 1, 1) + timedelta(days=number)
    values = [
        f"'K{number}'",
        f"'{hashlib.md5(str(number).encode()).hexdigest()}'",
        f"'{day}'",
        str(number * 1.5),
        str(number),
    ]
    return f"('100', {', '.join(values[i % 5] for i in columns)})"


def _connect(url: str) -> Any:
    """A session that commits by itself, and takes several statements at once."""
    if urlsplit(url).scheme.startswith("postgres"):
        import psycopg

        return psycopg.connect(url, autocommit=True)
    import pymysql
    from pymysql.constants import CLIENT

    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or "") or None,
        password=unquote(parts.password or ""),
        database=parts.path.strip("/") or None,
        autocommit=True,
        client_flag=CLIENT.MULTI_STATEMENTS,
    )
