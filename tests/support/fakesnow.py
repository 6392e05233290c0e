"""fakesnow in a process and an environment of its own: Snowflake's protocol over DuckDB."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

PYTHON = Path(__file__).parents[2] / ".venv-fakesnow" / "bin" / "python"
PROGRAM = Path(__file__).with_name("fakesnow_server.py")
# How long the server may take to come up.
_PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Snowflake:
    """A database of a server of our own, and the variables that lead the driver there."""

    port: int
    name: str

    @property
    def url(self) -> str:
        return f"snowflake://acme-shop/{self.name}"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "SNOWFLAKE_HOST": "127.0.0.1",
            "SNOWFLAKE_PORT": str(self.port),
            "SNOWFLAKE_PROTOCOL": "http",
            "SNOWFLAKE_USER": "nobody_here",
            "SNOWFLAKE_PASSWORD": "secret-word",
        }

    def run(self, *statements: str) -> None:
        with closing(self._connect()) as connection:
            for statement in statements:
                connection.cursor().execute(statement)

    def ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with closing(self._connect()) as connection:
            rows: Sequence[tuple[Any, ...]] = connection.cursor().execute(statement).fetchall()
            return rows

    def _connect(self) -> Any:
        import snowflake.connector

        return snowflake.connector.connect(
            account="acme-shop", user="u", password="p", host="127.0.0.1", port=self.port,
            protocol="http", database=self.name, schema="PUBLIC",
            enable_server_session_keep_alive_auto_detection=False,
        )  # fmt: skip


def require_driver() -> None:
    """Skip, or fail when CI=true, where the driver or the server is not installed."""
    if importlib.util.find_spec("snowflake") is None:
        _missing("no snowflake-connector-python: make setup")
    if not PYTHON.exists():
        _missing("no fakesnow in .venv-fakesnow: make setup")


def _missing(reason: str) -> None:
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextmanager
def fakesnow() -> Iterator[Snowflake]:
    """A server with an empty database."""
    require_driver()
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [PYTHON, "-P", PROGRAM, str(port)],
        env={name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield Snowflake(port, f"ZQ_{uuid4().hex[:8].upper()}")
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if server.poll() is not None:
            raise AssertionError(f"fakesnow ended with {server.returncode}")
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"fakesnow does not answer within {_PATIENCE} seconds")
