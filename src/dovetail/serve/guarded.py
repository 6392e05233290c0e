"""What every request passes: who asks, how often, how much at once, and what is logged.

Tokens are kept as hashes, each with the tables that it may see. Plain ASGI, so that nothing is read
of a body before it may be.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sys
import time
import tomllib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from dovetail.errors import DovetailError, UsageError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

VARIABLE = "DOVETAIL_TOKENS"
_HASH = re.compile(r"[0-9a-f]{64}")
_OPEN = ("/api/health",)
# The page and its files: there is no data in them, so anybody may load them.
PAGE_PREFIX = "/page/"
_PAGE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
# Seconds over which the requests of a caller are counted.
_WINDOW = 60.0


class UnauthorizedError(DovetailError):
    """A request carries no token, or one that is not known."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a name for logs and limits, and the patterns of the tables to be seen.

    `notes` is whether notes may be written, where the server allows it at all.
    """

    name: str
    tables: tuple[str, ...] = ()
    notes: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """The callers by the SHA-256 of their tokens; without any, everybody may ask."""

    callers: Mapping[str, Caller]

    def caller(self, authorization: str | None, otherwise: str) -> Caller:
        """Who a request is from, by its Authorization header; `otherwise` names one without need.

        Hashes are compared in constant time, all of them.
        """
        if not self.callers:
            return Caller(otherwise)
        scheme, _, token = (authorization or "").partition(" ")
        given = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).hexdigest()
        found = [who for known, who in self.callers.items() if hmac.compare_digest(known, given)]
        if scheme.lower() != "bearer" or not found:
            raise UnauthorizedError("give a token: Authorization: Bearer TOKEN")
        return found[0]


def read_access(file: Path | None, environ: Mapping[str, str]) -> Access:
    """The tokens of a file, or of the variable DOVETAIL_TOKENS (`name=sha256,name=sha256`).

    A file is TOML: `[[tokens]]` with `name`, `sha256` and, if the token may not see every table,
    `tables`, a list of patterns; `notes = false` where it may write no notes.
    """
    if file is None:
        entries = [
            {"name": name.strip(), "sha256": digest.strip()}
            for name, _, digest in (
                part.partition("=") for part in environ.get(VARIABLE, "").split(",") if part.strip()
            )
        ]
        return Access(_callers(entries, VARIABLE))
    try:
        entries = tomllib.loads(file.read_text("utf-8")).get("tokens", [])
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no TOML: {error}") from None
    if not entries:
        raise UsageError(f"{file} has no [[tokens]]; give each a name and a sha256")
    return Access(_callers(entries, str(file)))


def _callers(entries: object, where: str) -> dict[str, Caller]:
    callers: dict[str, Caller] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [None], start=1):
        name = entry.get("name") if isinstance(entry, dict) else None
        digest = entry.get("sha256") if isinstance(entry, dict) else None
        tables = entry.get("tables", []) if isinstance(entry, dict) else None
        patterns = isinstance(tables, list) and all(isinstance(one, str) for one in tables)
        if not (isinstance(name, str) and name and isinstance(digest, str) and patterns):
            raise UsageError(f"{where}: token {number} needs a name and a sha256, tables is a list")
        if not _HASH.fullmatch(digest.lower()):
            raise UsageError(
                f"{where}: the sha256 of token {name!r} must be 64 hexadecimal digits: "
                "printf %s TOKEN | sha256sum"
            )
        notes = entry.get("notes", True) if isinstance(entry, dict) else True
        if not isinstance(notes, bool):
            raise UsageError(f"{where}: notes of token {name!r} is true or false")
        callers[digest.lower()] = Caller(name, tuple(tables or ()), notes)
    return callers


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
                fixed = _PAGE_HEADERS if is_page(scope["path"]) else _HEADERS
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


def is_page(path: str) -> bool:
    """Whether a path is the page's or one of its files'."""
    return path == "/" or path.startswith(PAGE_PREFIX)
