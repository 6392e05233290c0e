"""The shop as a catalog that is served, tables that land in it, and what a token's caller sends."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

import dovetail
from dovetail.settings import Settings
from tests.support.scripted import write_shop

NO_MODELS = Settings(embedder="none")
QUESTION = "Which customers ordered which products?"


def shop_catalog(folder: Path, settings: Settings = NO_MODELS) -> dovetail.Catalog:
    """The shop in a folder, and its catalog beside it."""
    source = f"shop={write_shop(folder / 'shop.sqlite')}"
    return dovetail.build(source, into=folder / "catalog", settings=settings)


def add_table(folder: Path, sql: str, settings: Settings = NO_MODELS) -> None:
    """Create a table in the shop, and bring its catalog up to date."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as file, file:
        file.execute(sql)
    dovetail.update(into=folder / "catalog", settings=settings)


def digest(token: str) -> str:
    """A token as a server keeps it."""
    return hashlib.sha256(token.encode()).hexdigest()


def bearer(token: str) -> dict[str, str]:
    """The header by which a caller shows a token."""
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def listening(app: Any, **options: Any) -> Iterator[tuple[uvicorn.Server, int]]:
    """A server over an app in a thread of this process, and the port that it listens at."""
    given: dict[str, Any] = {"port": 0, "lifespan": "off", "log_level": "warning", **options}
    config = uvicorn.Config(app, **given)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
