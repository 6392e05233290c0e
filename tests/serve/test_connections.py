"""Strangers who open connections, send halves or read nothing keep nobody out."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from dovetail.serve.connections import Connection, bounded
from dovetail.serve.guarded import Access, Caller, Guarded, Metrics, RequestLimits
from tests.support.served import digest, listening

PAGE = b"x" * 3_000_000
ASKED = b"GET /page/page.js HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class Serving:
    """A server of this process: where it listens, and what it holds."""

    server: uvicorn.Server
    port: int
    begun: threading.Semaphore
    go_on: threading.Event

    def connect(self) -> socket.socket:
        """A connection of somebody who reads next to nothing."""
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        opened.settimeout(60)
        opened.connect(("127.0.0.1", self.port))
        return opened

    def get(self) -> bytes:
        """The status line of a request on a connection of its own."""
        with closing(self.connect()) as opened:
            opened.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
            return opened.recv(4_096).partition(b"\r\n")[0]


@contextmanager
def serving(*, most: int, silent: float) -> Iterator[Serving]:
    begun, go_on = threading.Semaphore(0), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            begun.release()
            while not go_on.is_set():
                await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": PAGE})

    class Few(Connection):
        pass

    Few.most, Few.silent = most, silent
    with listening(app, **bounded() | {"http": Few}) as (server, port):
        try:
            yield Serving(server, port, begun, go_on)
        finally:
            go_on.set()


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


@pytest.mark.parametrize("half", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: "])
def test_a_connection_without_a_request_ends(half: bytes) -> None:
    with serving(most=10, silent=0.05) as here, closing(here.connect()) as opened:
        opened.sendall(half)
        assert opened.recv(1) == b""


def test_who_drips_headers_without_end_is_not_waited_for() -> None:
    with serving(most=10, silent=0.05) as here, closing(here.connect()) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            while True:
                opened.sendall(b"y")
                time.sleep(0.002)


def test_who_reads_no_reply_is_not_waited_for() -> None:
    with serving(most=10, silent=0.05) as here, closing(here.connect()) as opened:
        opened.sendall(60 * ASKED)
        until(lambda: here.server.server_state.total_requests > 0)
        until(lambda: not here.server.server_state.connections)
        until(lambda: not here.server.server_state.tasks)


def test_a_request_that_takes_long_is_waited_for() -> None:
    with serving(most=10, silent=0.02) as here, closing(here.connect()) as opened:
        opened.sendall(SLOW)
        here.begun.acquire()
        with closing(here.connect()) as other:
            assert other.recv(1) == b""  # silent for as long, and ended
        here.go_on.set()
        assert opened.recv(15) == b"HTTP/1.1 200 OK"


def test_those_that_ask_nothing_make_way_for_who_asks() -> None:
    with serving(most=4, silent=600) as here:
        asking = here.connect()
        asking.sendall(SLOW)
        here.begun.acquire()
        idle = [here.connect() for _ in range(12)]
        try:
            assert here.get() == b"HTTP/1.1 200 OK"
            assert len(here.server.server_state.connections) <= 4
            assert idle[0].recv(1) == b""
            here.go_on.set()
            assert asking.recv(15) == b"HTTP/1.1 200 OK"
        finally:
            for one in (asking, *idle):
                one.close()


def test_those_that_do_not_read_make_way_for_who_does() -> None:
    with serving(most=4, silent=600) as here:
        unread = [here.connect() for _ in range(12)]
        try:
            for one in unread:
                one.sendall(2 * ASKED)
            assert here.get() == b"HTTP/1.1 200 OK"
        finally:
            for one in unread:
                one.close()


def test_where_all_are_asking_the_newest_goes() -> None:
    with serving(most=2, silent=600) as here:
        asking = [here.connect() for _ in range(2)]
        try:
            for one in asking:
                one.sendall(SLOW)
                here.begun.acquire()
            with closing(here.connect()) as opened:
                assert opened.recv(1) == b""
            here.go_on.set()
            assert [one.recv(15) for one in asking] == 2 * [b"HTTP/1.1 200 OK"]
        finally:
            for one in asking:
                one.close()


def test_descriptors_are_left_for_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for descriptors, most, waiting in ((256, 64, 16), (1_024, 256, 64), (1 << 20, 1_024, 64)):
        monkeypatch.setattr("resource.getrlimit", lambda _, given=descriptors: (given, given))
        taken = bounded()
        assert (taken["http"].most, taken["backlog"]) == (most, waiting)
        assert most + 8 * waiting < descriptors


def test_a_connection_that_cannot_be_taken_is_told_once_in_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bounded()
    logger = logging.getLogger("asyncio")
    for _ in range(3):
        logger.error(
            "socket.accept() out of system resource\nsocket: …", exc_info=OSError(24, "Too many")
        )
    logger.error("another")
    told = [(one.getMessage(), one.exc_info) for one in caplog.records if one.name == "asyncio"]
    assert told == [("no descriptor is left for a connection; it waits", None), ("another", None)]


def guarded(limits: RequestLimits, app: Any) -> Guarded:
    access = Access({digest("t"): Caller("reader")})
    return Guarded(app, access, limits, Metrics(), log=False)


async def status(app: Guarded, path: str, headers: dict[str, str], wait: Any = None) -> int:
    """What a request is answered with; `wait` keeps the reply from being taken."""
    found: list[int] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        if wait is not None:
            await wait()
        if message["type"] == "http.response.start":
            found.append(message["status"])

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": "GET", "headers": pairs, "query_string": b"",
             "client": ("127.0.0.1", 1)}  # fmt: skip
    await app(scope, receive, send)
    return found[0]


@pytest.mark.parametrize("path", ["/page/page.js", "/", "/api/v1/health", "/api/v1/stats"])
def test_who_shows_no_token_takes_no_place(path: str) -> None:
    async def plain(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def tried() -> None:
        app = guarded(RequestLimits(at_once=1), plain)
        held, read = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            held.set()
            await read.wait()

        strangers = [asyncio.create_task(status(app, path, {}, wait)) for _ in range(20)]
        await held.wait()
        shown = {"authorization": "Bearer t"}
        assert await status(app, "/api/v1/stats", shown) == 200
        held.clear()
        first = asyncio.create_task(status(app, "/api/v1/stats", shown, wait))
        await held.wait()
        assert await status(app, "/api/v1/stats", shown) == 503
        read.set()
        assert {await one for one in strangers} == ({401} if "stats" in path else {200})
        assert await first == 200
        assert await status(app, "/api/v1/stats", shown) == 200

    asyncio.run(tried())


def test_callers_who_ask_no_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr("dovetail.serve.guarded.time", clock)
    monkeypatch.setattr("dovetail.serve.guarded._REMEMBERED", 100)
    app = guarded(RequestLimits(per_minute=2), None)
    assert [app._within_limit("often") for _ in range(3)] == [True, True, False]
    for number in range(50):
        assert app._within_limit(f"address {number}")
    assert not app._within_limit("often")
    assert len(app._asked) == 51
    clock.now = 61.0
    assert app._within_limit("often")
    assert list(app._asked) == ["often"]
    for number in range(1_000):
        assert app._within_limit(f"address {number}")
    assert len(app._asked) == 100
