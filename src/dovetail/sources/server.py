"""What database servers have in common: URLs, credentials that go nowhere else, SQL passed on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dovetail.errors import UsageError
from dovetail.ports import VARIABLE
from dovetail.sources import duck

_secret_names = count(1)


@dataclass(frozen=True, slots=True)
class Address:
    """A server's database, and how to log in there."""

    host: str
    port: int | None
    database: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        return (self.password,) if self.password else ()


def without_credentials(url: str) -> tuple[str, dict[str, str]]:
    """Take user and password out of a URL; `${NAME}` stands for an environment variable.

    >>> without_credentials("postgresql://ann:pw@db:5432/erp?password=x")
    ('postgresql://db:5432/erp', {'user': 'ann', 'password': 'x'})
    """
    parts = urlsplit(url)
    credentials = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
    }
    for name, value in parse_qsl(parts.query):
        if name not in credentials:
            raise UsageError(
                f"{parts.scheme} URL: parameter {name!r} is not known; use user, password"
            )
        credentials[name] = value
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else (parts.hostname or "")
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}", {k: v for k, v in credentials.items() if v}


def expand_variables(text: str) -> str:
    """Put the environment's values for `${NAME}`."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UsageError(f"the environment has no {match[1]}, which a source's URL asks for")
        return os.environ[match[1]]

    return VARIABLE.sub(value, text)


def address(
    location: str, credentials: Mapping[str, str], environment: Mapping[str, str]
) -> Address:
    """Where to log in: the URL first, then the variables that the server's own clients read."""
    parts = urlsplit(location)
    database = unquote(parts.path.lstrip("/"))
    if not parts.hostname or not database:
        raise UsageError(f"{location}: a server's URL is scheme://host[:port]/database")

    def login(name: str) -> str:
        given = credentials.get(name, "")
        return expand_variables(given) if given else os.environ.get(environment[name], "")

    return Address(parts.hostname, parts.port, database, login("user"), login("password"))


@contextmanager
def secret(kind: str, at: Address, default_port: int) -> Iterator[str]:
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
    duck.cursor().execute(f"CREATE TEMPORARY SECRET {name} (TYPE {kind}, {values})")
    try:
        yield name
    finally:
        duck.cursor().execute(f"DROP TEMPORARY SECRET {name}")


def ask(function: str, alias: str, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL in the server itself (`postgres_query`, `mysql_query`) and return the rows."""
    return duck.fetch(f"SELECT * FROM {function}({duck.literal(alias)}, {duck.literal(sql)})")
