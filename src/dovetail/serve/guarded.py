"""What stands around every request: who asks, how often, how much at once, and what is logged.

Plain ASGI, so that nothing is read of a body before it may be.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from dovetail.serve.access import Access, UnauthorizedError
from dovetail.serve.page_files import PAGE_HEADERS, is_page

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_OPEN = ("/api/health",)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
# Seconds over which the requests of a caller are counted.
_WINDOW = 60.0


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one caller may do in a minute, and all of them at once."""

    per_minute: int = 600
    at_once: int = 16
    body: int = 1 << 20


class Metrics:
    """Counts of requests, the seconds they took, and how many are under way."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "dovetail_requests", "Requests by path and status.", ["path", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "dovetail_request_seconds", "Seconds of a request by path.", ["path"],
            registry=self.registry,
        )  # fmt: skip
        self.under_way = Gauge(
            "dovetail_requests_under_way", "Requests under way.", registry=self.registry
        )
        self.generations = Gauge(
            "dovetail_catalog_generations", "Generations of the catalog that are held.",
            registry=self.registry,
        )  # fmt: skip


class Guarded:
    """Lets a request through to the app, or answers it with a problem."""

    def __init__(
        self,
        app: App,
        access: Access,
        limits: RequestLimits,
        metrics: Metrics,
        *,
        hosts: frozenset[str] = frozenset(),
        log: bool,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._access = access
        self._limits = limits
        self._metrics = metrics
        self._log = log
        self._under_way = 0
        self._asked: dict[str, list[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, number = time.perf_counter(), secrets.token_hex(8)
        answered = {"status": 500, "caller": "", "too_large": False}

        async def sending(message: Message) -> None:
            if answered["too_large"]:
                return  # whatever the app makes of half a body
            if message["type"] == "http.response.start":
                answered["status"] = message["status"]
                fixed = PAGE_HEADERS if is_page(scope["path"]) else _HEADERS
                extra = {**fixed, "x-request-id": number}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in extra.items()),
                ]
            await send(message)

        scope.setdefault("state", {})["request_id"] = number
        self._under_way += 1
        self._metrics.under_way.set(self._under_way)
        try:
            problem = self._refused(scope, answered)
            if problem is not None:
                await _answer(sending, *problem, number)
            else:
                await self._app(scope, self._bounded(receive, answered), sending)
            if answered["too_large"]:
                answered["too_large"] = False
                detail = f"the body has more than {self._limits.body:,} bytes"
                await _answer(sending, 413, detail, {}, number)
        finally:
            self._under_way -= 1
            self._metrics.under_way.set(self._under_way)
            self._note(scope, answered, time.perf_counter() - started, number)

    def _refused(
        self, scope: Scope, answered: dict[str, Any]
    ) -> tuple[int, str, dict[str, str]] | None:
        """Why a request is not let through: status, detail and headers."""
        headers = {name.decode("latin1").lower(): value for name, value in scope["headers"]}
        named = urlsplit("//" + headers.get("host", b"").decode("latin1")).hostname
        if self._hosts and named not in self._hosts:
            # A page elsewhere may have its own name lead to this machine, and so read what is here.
            return 421, "this server is asked by the name it listens at", {}
        if scope["path"] in _OPEN or is_page(scope["path"]):
            return None
        host = (scope.get("client") or ("unknown",))[0]
        given = headers.get("authorization")
        try:
            caller = self._access.caller(given.decode("latin1") if given else None, str(host))
        except UnauthorizedError as error:
            return 401, str(error), {"www-authenticate": "Bearer"}
        answered["caller"] = caller.name
        scope["state"]["caller"] = caller
        if self._under_way > self._limits.at_once:
            return 503, "too many requests at once; try again", {"retry-after": "1"}
        if not self._counted(caller.name):
            most = f"more than {self._limits.per_minute:,} requests a minute"
            return 429, most, {"retry-after": "10"}
        length = headers.get("content-length", b"0")
        if length.isdigit() and int(length) > self._limits.body:
            return 413, f"the body has more than {self._limits.body:,} bytes", {}
        return None

    def _counted(self, caller: str) -> bool:
        """Count a request of a caller; whether it is within the limit of the last minute."""
        now = time.monotonic()
        asked = self._asked.setdefault(caller, [])
        while asked and asked[0] < now - _WINDOW:
            asked.pop(0)
        if len(asked) >= self._limits.per_minute:
            return False
        asked.append(now)
        return True

    def _bounded(self, receive: Receive, answered: dict[str, Any]) -> Receive:
        """The same, but a body ends where it grows beyond its limit."""
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._limits.body:
                answered["too_large"] = True
                return {"type": "http.request", "body": b"", "more_body": False}
            return message

        return bounded

    def _note(self, scope: Scope, answered: dict[str, Any], seconds: float, number: str) -> None:
        route = scope.get("route")
        path = str(getattr(route, "path", "other"))
        self._metrics.requests.labels(path, answered["status"]).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        if self._log:
            line = {
                "request": number, "method": scope["method"], "path": path,
                "status": answered["status"], "milliseconds": round(1000 * seconds, 1),
                "caller": answered["caller"],
            }  # fmt: skip
            sys.stderr.write(json.dumps(line) + "\n")


async def _answer(
    send: Send, status: int, detail: str, headers: dict[str, str], number: str
) -> None:
    body = json.dumps(problem(status, detail, number)).encode()
    listed = {"content-type": "application/problem+json", **headers}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in listed.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})


_TITLES = {
    400: "Bad request", 401: "Unauthorized", 403: "Forbidden", 404: "Not found",
    405: "Method not allowed", 413: "Too large", 421: "Misdirected request",
    422: "Cannot be processed", 429: "Too many requests", 500: "Server error",
    502: "Model failed", 503: "Busy",
}  # fmt: skip


def problem(status: int, detail: str, number: str) -> dict[str, object]:
    """An error as the body of a reply (RFC 9457)."""
    return {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "request_id": number,
    }
