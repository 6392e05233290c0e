"""What comes by a real socket: callers who go at any moment, and addresses that are none."""

from __future__ import annotations

import json
import logging
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dovetail.answer import execute
from dovetail.serve.connections import bounded
from dovetail.serve.guarded import Access, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail.serve.rest import rest_app
from tests.support.kinds.case import PLAIN, Case, Draw, Kind
from tests.support.served import QUESTION, listening, shop_catalog

# Nobody has so many seconds: a query that is not ended waits longer than a case may.
_LONG = PLAIN.but(query_seconds=3_600.0)
_SHORT_SQL = "SELECT count(*) AS n FROM orders"
LONG_SQL = (
    "SELECT sum(a.order_no * b.order_no + c.order_no * d.order_no + e.quantity * f.quantity) "
    "FROM orders a, orders b, orders c, orders d, order_items e, order_items f, order_items g"
)
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_VERSION = "2025-06-18"
_HELLO = {"protocolVersion": _VERSION, "capabilities": {},
          "clientInfo": {"name": "test", "version": "1"}}  # fmt: skip
Request = tuple[str, str, dict[str, Any] | None]


def callers_gone(folder: Path) -> Kind:
    """Callers of REST and of MCP over HTTP who hang up before, in or after what they send, or in
    the reply: the one place and the one process there is are free again for the next."""
    shop_catalog(folder)
    live = LiveCatalog(folder / "catalog", _LONG)
    limits = RequestLimits(per_minute=10**9, at_once=1)
    app = rest_app(live, Access({}), limits, log=False)
    requests: tuple[Request, ...] = (
        ("POST", "/api/v1/ask", {"question": QUESTION}),
        ("GET", "/api/v1/ask/stages?question=who+ordered+what", None),
        ("POST", "/api/v1/answer", {"question": QUESTION}),
        ("POST", "/api/v1/answer", {"sql": _SHORT_SQL, "format": "csv"}),
        ("POST", "/api/v1/answer", {"sql": LONG_SQL}),
        ("POST", "/api/v1/answer", {"sql": LONG_SQL}),
    )
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("find_tables", {"question": QUESTION}),
        ("run_sql", {"sql": _SHORT_SQL}),
        ("run_sql", {"sql": LONG_SQL}),
    )

    def rest(draw: Draw) -> Case:
        method, path, body = draw.choice(requests)
        with _rest(app) as port:
            how = _go(port, request_bytes(method, path, body, {}), draw)
            while (status := _status(port, "/api/v1/answer", {"sql": _SHORT_SQL})) == 503:
                time.sleep(0.01)
        wrong = f"{method} {path} {body} {how}: {status}" if status != 200 else ""
        return f"REST, {how}", wrong

    def agent(draw: Draw) -> Case:
        name, given = draw.choice(calls)
        with agents_served(live) as port:
            session = session_of(port)
            how = _go(port, request_bytes("POST", "/mcp", tool_call(name, given), session), draw)
            _, told = _asked(port, tool_call("run_sql", {"sql": _SHORT_SQL}), session_of(port))
        wrong = f"{name} {given} {how}: {told!r}" if b'"isError":true' in told else ""
        return f"MCP, {how}", wrong or ("" if b'"result"' in told else f"{how}: {told!r}")

    def case(draw: Draw) -> Case:
        with patch.object(execute, "_MOST_WORKERS", 1):
            return draw.choice((rest, agent))(draw)

    return case


def _go(port: int, request: bytes, draw: Draw) -> str:
    """Send a part of a request, or all of it and read a part of the reply, and hang up."""
    part = draw.random() < 0.4
    with closing(socket.create_connection(("127.0.0.1", port), 60)) as caller:
        caller.sendall(request[: draw.randrange(len(request))] if part else request)
        if not part and draw.random() < 0.5:
            time.sleep(draw.choice((0.0, 0.05, 0.3)))
        elif not part and b" AS n" in request:
            caller.recv(draw.choice((1, 20, 400)))
        way = draw.choice(("closed", "reset", "half closed"))
        if way == "reset":
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif way == "half closed":
            caller.shutdown(socket.SHUT_WR)
    return f"{way} {'in the request' if part else 'after it'}"


def addresses(folder: Path) -> Kind:
    """Requests to a server without a login by other names than its own, from pages of others, or
    by what is no address: refused with 4xx, without a traceback or a path of the machine."""
    shop_catalog(folder)
    live = LiveCatalog(folder / "catalog", PLAIN)
    ours = frozenset(("localhost", "127.0.0.1", "::1"))
    app = rest_app(live, Access({}), RequestLimits(per_minute=10**9), hosts=ours, log=False)

    def case(draw: Draw) -> Case:
        of_agents, odd = draw.random() < 0.4, draw.choice(("host", "page", "path", "all", ""))
        is_ours = odd not in ("host", "all")
        host = draw.choice(_OURS if is_ours else _NO_HOSTS)
        page, is_near = draw.choice(_NEAR), odd not in ("page", "all")
        page = page if is_near else draw.choice(_FAR)
        path = "/mcp" if of_agents else draw.choice(_PATHS)
        is_path = odd not in ("path", "all") or of_agents
        path = path if is_path else draw.choice(_NO_PATHS)
        heads = [f"Host: {host}"] if host is not None else []
        heads += [page] if page and not (of_agents and "Sec-" in page) else []
        is_near = is_near or page not in heads
        twice = draw.random() < 0.1
        heads += ["Host: localhost"] if twice else []
        heads += ["Connection: close"]
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO})
        heads += [f"{name}: {value}" for name, value in _JSON.items()] if of_agents else []
        heads += [f"Content-Length: {len(body)}"] if of_agents else []
        version = draw.choice(("1.1", "1.1", "1.1", "1.0"))
        first = f"{'POST' if of_agents else 'GET'} {path} HTTP/{version}"
        raw = "\r\n".join((first, *heads, "", body if of_agents else "")).encode("latin1")
        with _logged() as records:
            opened = agents_served(live) if of_agents else _rest(app)
            with opened as port:
                reply = _raw(port, raw.replace(b"PORT", str(port).encode()))
        status = int(reply[9:12]) if reply[:5] == b"HTTP/" else 0
        refused = 400 <= status < 500
        if is_ours and is_near and not twice:  # an odd path may lead to a page of our own
            fine = status == 200 or (refused and not is_path)
        else:
            fine = refused or (not is_path and not twice and status == 200 and b"<html" in reply)
        told = b"Traceback" in reply or str(folder).encode() in reply or status >= 500
        who = "MCP" if of_agents else "REST"
        wrong = not fine or told or records
        return f"{who}, {status}", f"{raw[:300]!r}: {reply[:400]!r} {records}" if wrong else ""

    return case


_OURS: tuple[str | None, ...] = ("localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT")
_NO_HOSTS: tuple[str | None, ...] = (
    None, "", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "evil.example@localhost",
    "localhost.evil.example", "0.0.0.0:PORT", "127.1:PORT", "2130706433", "0x7f000001", "[::]:PORT",
    "[::ffff:127.0.0.1]:PORT", "[", "]", "[]", "a]b[", "[v1.a]", "[::1", "\xff", "loc\xe0lhost",
    "localhost evil.example", "evil.example,localhost", "http://localhost", "//localhost", "@",
    "evil.example#localhost", "evil.example/localhost", "evil.example\\localhost", "localhost.",
    "%6cocalhost", "a" * 9_000, "a:b:c", ":80", "\u00a0localhost", "-", "*",
)  # fmt: skip
_NEAR = ("", "", "Origin: http://localhost:PORT", "Origin: http://127.0.0.1:PORT",
         "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none")  # fmt: skip
_FAR = (
    "Sec-Fetch-Site: cross-site",
    *(f"Origin: {page}" for page in (
        "http://evil.example", "https://evil.example:8000", "null", "file://", "http://[", "\xff",
        "http://localhost.evil.example", "http://evil.example@localhost:PORT/", "localhost:PORT",
        "http://evil.example#http://localhost:PORT", "chrome-extension://abc", "http://", "*",
        "http://evil.example http://localhost:PORT", "http://xn--lcalhost-52a", "http://0:PORT",
    )),
)  # fmt: skip
_PATHS = ("/api/v1/stats", "/api/v1/about", "/api/v1/stats?a=%ff")
_NO_PATHS = (
    "/api/v1/tables/%00", "/api/v1/tables/..%2f..%2fetc%2fpasswd", "/page/../../../etc/passwd",
    "/page/%2e%2e/%2e%2e/rest.py", "//", "http://evil.example/api/v1/stats", "*", "/\xff", "/%ff",
    "/api/v1/tables/" + "a" * 60_000, "/api/v1//stats", "x", "/api/v1/tables/%0d%0aX-Evil:%201",
    "/%", "/api/v1/tables/\\..\\x",
)  # fmt: skip


@contextmanager
def _rest(app: Any) -> Iterator[int]:
    with listening(app, log_config=None, **bounded()) as (_, port):
        yield port


@contextmanager
def agents_served(live: LiveCatalog) -> Iterator[int]:
    """MCP over HTTP, as it is served on this machine."""
    app = mcp_server(live).streamable_http_app(host="127.0.0.1")
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it tells of every session
    with listening(app, lifespan="on", log_config=None, ws="none") as (server, port):
        yield port
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # of sessions that it ends
        server.should_exit = True


@contextmanager
def _logged() -> Iterator[list[str]]:
    """The tracebacks that are logged meanwhile."""
    traced: list[str] = []

    class Traced(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                traced.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

    handler = Traced()
    logging.getLogger().addHandler(handler)
    try:
        yield traced
    finally:
        logging.getLogger().removeHandler(handler)


def request_bytes(
    method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
) -> bytes:
    """A request as it goes over a socket."""
    content = json.dumps(body) if body is not None else ""
    given = {"Host": "127.0.0.1:80", **_JSON, **headers, "Content-Length": str(len(content))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in given.items())]
    return ("\r\n".join(lines) + f"\r\n\r\n{content}").encode()


def _raw(port: int, request: bytes) -> bytes:
    """What a server says to a request, until it hangs up."""
    reply = b""
    caller = socket.create_connection(("127.0.0.1", port), 60)
    with closing(caller), suppress(ConnectionError):  # what is refused is not read to its end
        caller.sendall(request)
        while part := caller.recv(65_536):
            reply += part
    return reply


def _status(port: int, path: str, body: dict[str, Any]) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=100)) as connection:
        connection.request("POST", path, json.dumps(body), _JSON)
        return connection.getresponse().status


def tool_call(name: str, given: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": given}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


def session_of(port: int) -> dict[str, str]:
    """The header by which an agent goes on that has said who it is."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    found = _asked(port, hello, {})[0]["mcp-session-id"]
    session = {"mcp-session-id": found, "mcp-protocol-version": _VERSION}
    _asked(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    return session


def _asked(port: int, body: dict[str, Any], headers: dict[str, str]) -> tuple[HTTPMessage, bytes]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=100)) as connection:
        connection.request("POST", "/mcp", json.dumps(body), {**_JSON, **headers})
        reply = connection.getresponse()
        return reply.headers, reply.read()
