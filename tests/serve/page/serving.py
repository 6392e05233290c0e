"""A pile with what the page must show, and a server over it in a thread."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

import dovetail
from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.scripted import write_shop

SETTINGS = Settings(embedder="none")
HOSTILE = "<img src=x onerror=alert(1)>"
QUESTION = "Which customers ordered which products?"


def write_pile(folder: Path) -> Path:
    """A shop, an outlet with customers and orders of its own, a hostile name, a yearly table."""
    shop, outlet = write_shop(folder / "shop.sqlite"), folder / "outlet.sqlite"
    shutil.copy(shop, outlet)
    with closing(sqlite3.connect(outlet)) as db, db:
        for table in ("order_items", "products", "suppliers", "weather", "empty_shelf"):
            db.execute(f"DROP TABLE {table}")
        db.execute(
            "UPDATE customers SET customer_no = customer_no + 70000, name = 'walk-in ' || name"
        )
        db.execute(
            "UPDATE orders SET customer_no = customer_no + 70000, order_no = order_no + 90000"
        )
        db.execute(f'CREATE TABLE "{HOSTILE}" (lighthouse_no INTEGER, "<b>keeper</b>" TEXT)')
        db.executemany(
            f'INSERT INTO "{HOSTILE}" VALUES (?, ?)',
            [(n, f"<script>alert({n})</script>") for n in range(31, 37)],
        )
        for year in (2021, 2022, 2023):
            db.execute(f"CREATE TABLE visits_{year} (visit_no INTEGER, gate TEXT, visited_on TEXT)")
            db.executemany(
                f"INSERT INTO visits_{year} VALUES (?, ?, ?)",
                [
                    (year * 100 + n, f"gate {n % 4}", f"{year}-05-{n % 27 + 1:02}")
                    for n in range(60)
                ],
            )
    dovetail.build(f"shop={shop}", f"outlet={outlet}", into=folder / "catalog", settings=SETTINGS)
    return folder / "catalog"


@dataclass(frozen=True)
class Serving:
    """A server that answers at a URL until it is stopped."""

    url: str
    server: uvicorn.Server
    thread: threading.Thread

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


@contextmanager
def serving(
    catalog: Path, access: Access | None = None, limits: RequestLimits | None = None, **more: Any
) -> Iterator[Serving]:
    """Serve a catalog on a free port of this machine."""
    limits = limits or RequestLimits(per_minute=100_000)
    live = LiveCatalog(catalog, SETTINGS)
    app = rest_app(live, access or Access({}), limits, log=False, **more)
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def started(*arguments: Any, **named: Any) -> None:
        await startup(*arguments, **named)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert ready.wait(60)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Serving(f"http://127.0.0.1:{port}", server, thread)
    try:
        yield running
    finally:
        running.stop()
        live.current().close()
