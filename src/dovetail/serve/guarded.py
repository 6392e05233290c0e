"""What every request passes: who asks, how often, how much at once, and what is logged.

Tokens are kept as hashes, each with the tables that it may see. Plain ASGI, so that nothing is read
of a body before it may be.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import sys
import time
import tomllib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dovetail.atomic import open_regular
from dovetail.called_off import CALLED_OFF
from dovetail.errors import DovetailError, UsageError
from dovetail.serve import told_by

VARIABLE = "DOVETAIL_TOKENS"
_HASH = re.compile(r"[0-9a-f]{64}")
_OF_NOTHING = hashlib.sha256(b"").hexdigest()
_TOKEN_KEYS = frozenset(("name", "sha256", "tables", "notes"))
# What needs no token.
OPEN = ("/api/v1/health",)
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
# Callers whose requests are counted at most: without tokens each address is one.
_REMEMBERED = 10_000
# A name or an address, in brackets where it has colons, and a port.
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::[0-9]{1,5})?", re.ASCII)
# Digits of a length that can be within any limit.
_DIGITS = 12


class UnauthorizedError(DovetailError):
    """A request carries no token, or one that is not known."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a name for logs and limits, and the patterns of the tables to be seen, all of
    them where there is none.

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
        callers = [
            who for digest, who in self.callers.items() if hmac.compare_digest(digest, given)
        ]
        if scheme.lower() != "bearer" or not token.strip() or not callers:
            raise UnauthorizedError("give a token: Authorization: Bearer TOKEN")
        return callers[0]


def read_access(file: Path | None, environ: Mapping[str, str]) -> Access:
    """The tokens of a file, or of the variable DOVETAIL_TOKENS (`name=sha256,name=sha256`).

    A file is TOML: `[[tokens]]` with `name`, `sha256` and, if the token may not see every table,
    `tables`, a list of patterns; `notes = false` where it may write no notes.
    """
    if file is None:
        if VARIABLE not in environ:
            return Access({})
        parts = [part.partition("=") for part in environ[VARIABLE].split(",")]
        entries = [{"name": name.strip(), "sha256": digest.strip()} for name, _, digest in parts]
        return Access(_callers(entries, VARIABLE))
    try:
        with open_regular(file) as stream:
            content = tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no TOML: {error}") from None
    entries = content.pop("tokens", None)
    if not entries or content:
        others = f", and nothing else: not {', '.join(content)}" if content else ""
        raise UsageError(f"{file} must have [[tokens]] with a name and a sha256 each{others}")
    return Access(_callers(entries, str(file)))


def _callers(entries: object, where: str) -> dict[str, Caller]:
    """The callers by their hashes. What is not understood is an error, as it may have been meant
    to keep somebody out."""
    callers: dict[str, Caller] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [None], start=1):
        what = f"{where}: token {number}"
        if not isinstance(entry, dict) or (unknown := entry.keys() - _TOKEN_KEYS):
            odd = f", not {', '.join(sorted(unknown))}" if isinstance(entry, dict) else ""
            raise UsageError(f"{what} has the keys {', '.join(sorted(_TOKEN_KEYS))}{odd}")
        name, digest = entry.get("name"), str(entry.get("sha256", "")).lower()
        if not isinstance(name, str) or not name:
            raise UsageError(f"{what} needs a name")
        if not _HASH.fullmatch(digest) or digest == _OF_NOTHING or digest in callers:
            raise UsageError(
                f"{what}: its sha256 must be the 64 hexadecimal digits of a token that is not "
                "empty and that no other has: printf %s TOKEN | sha256sum"
            )
        tables, notes = entry.get("tables", ["*"]), entry.get("notes", True)
        if not _are_patterns(tables):
            raise UsageError(f"{what}: tables is a list of patterns; leave it out to show all")
        if not isinstance(notes, bool):
            raise UsageError(f"{what}: notes is true or false")
        callers[digest] = Caller(name, tuple(tables) if "tables" in entry else (), notes)
    return callers


def _are_patterns(tables: object) -> bool:
    return (
        isinstance(tables, list)
        and bool(tables)
        and all(isinstance(one, str) and one.strip() for one in tables)
    )


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one caller may do in a minute, and all of them at once.

    `body` and `body_seconds` are the bytes of a body and the time that it may take to come.
    """

    per_minute: int = 600
    at_once: int = 16
    body: int = 1 << 20
    body_seconds: float = 20.0


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
        app: ASGIApp,
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
        self._asked: dict[str, deque[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, number = time.perf_counter(), secrets.token_hex(8)
        answered: dict[str, Any] = {"status": 500, "caller": "", "cut": None}

        async def sending(message: Message) -> None:
            if answered["cut"] is not None:
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
        try:
            problem = self._refused(scope, answered)
            if problem is not None:
                await _reply(*problem, number)(scope, receive, sending)
            else:
                CALLED_OFF.set(told_by(Request(scope, receive).is_disconnected))
                with self._place("caller" in scope["state"]):
                    await self._app(scope, self._bounded(receive, answered), sending)
            if (cut := answered["cut"]) is not None:
                answered["cut"] = None
                status, detail = cut
                await _reply(status, detail, {}, number)(scope, receive, sending)
        finally:
            self._record(scope, answered, time.perf_counter() - started, number)

    @contextmanager
    def _place(self, one: bool) -> Iterator[None]:
        """Count a caller's request as `one` under way; what anybody may load takes no place."""
        self._under_way += one
        self._metrics.under_way.set(self._under_way)
        try:
            yield
        finally:
            self._under_way -= one
            self._metrics.under_way.set(self._under_way)

    def _refused(
        self, scope: Scope, answered: dict[str, Any]
    ) -> tuple[int, str, dict[str, str]] | None:
        """Why a request is not let through: status, detail and headers."""
        headers = {name.decode("latin1").lower(): value for name, value in scope["headers"]}
        if self._hosts and _host_name(headers.get("host", b"")) not in self._hosts:
            # A page elsewhere may have its own name lead to this machine, and so read what is here.
            return 421, "this server is asked by the name it listens at", {}
        if scope["path"] in OPEN or is_page(scope["path"]):
            return None
        if self._hosts and _is_foreign(headers, self._hosts):
            return 403, "this server is not asked by pages of others", {}
        host = (scope.get("client") or ("unknown",))[0]
        given = headers.get("authorization")
        try:
            caller = self._access.caller(given.decode("latin1") if given else None, str(host))
        except UnauthorizedError as error:
            return 401, str(error), {"www-authenticate": "Bearer"}
        answered["caller"] = caller.name
        scope["state"]["caller"] = caller
        if self._under_way >= self._limits.at_once:
            return 503, "too many requests at once; try again", {"retry-after": "1"}
        if not self._within_limit(caller.name):
            most = f"more than {self._limits.per_minute:,} requests a minute"
            return 429, most, {"retry-after": "10"}
        length = headers.get("content-length", b"0").lstrip(b"0") or b"0"
        if not length.isdigit():
            return 400, "content-length is no number", {}
        if len(length) > _DIGITS or int(length) > self._limits.body:
            return *self._too_large(), {}
        return None

    def _too_large(self) -> tuple[int, str]:
        return 413, f"the body has more than {self._limits.body:,} bytes"

    def _within_limit(self, caller: str) -> bool:
        """Count a request of a caller; whether it is within the limit of the last minute."""
        now = time.monotonic()
        asked = self._asked.pop(caller, deque())
        while asked and asked[0] < now - _WINDOW:
            asked.popleft()
        within = len(asked) < self._limits.per_minute
        if within:
            asked.append(now)
        if asked:
            self._asked[caller] = asked  # behind all others: who asked longest ago is first
        while (first := next(iter(self._asked), None)) is not None:
            if len(self._asked) <= _REMEMBERED and self._asked[first][-1] >= now - _WINDOW:
                break
            del self._asked[first]
        return within

    def _bounded(self, receive: Receive, answered: dict[str, Any]) -> Receive:
        """The same, but a body ends where it grows beyond its limit, or takes too long to come.

        Without that, callers who send a byte now and then would hold all places for ever.
        """
        until = time.monotonic() + self._limits.body_seconds
        read, more = 0, True

        async def bounded() -> Message:
            nonlocal read, more
            if not more:  # all is read: what comes now is that the caller has gone
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), until - time.monotonic())
            except TimeoutError:
                answered["cut"] = 408, "the body did not come in time"
                message = {"type": "http.request"}
            read += len(message.get("body", b""))
            if read > self._limits.body:
                answered["cut"] = self._too_large()
            if answered["cut"] is not None:
                message = {"type": "http.request", "body": b"", "more_body": False}
            more = bool(message.get("more_body"))
            return message

        return bounded

    def _record(self, scope: Scope, answered: dict[str, Any], seconds: float, number: str) -> None:
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


def _reply(status: int, detail: str, headers: dict[str, str], number: str) -> Response:
    body = json.dumps(problem(status, detail, number))
    return Response(body, status, headers, media_type="application/problem+json")


def _host_name(header: bytes) -> str | None:
    """The name in a Host header; None where it holds no address."""
    address = _ADDRESS.fullmatch(header.decode("latin1"))
    return (address[1] or address[2]).lower() if address else None


def _is_foreign(headers: Mapping[str, bytes], hosts: frozenset[str]) -> bool:
    """Whether a page from elsewhere asks. Without a login, whoever opens it lends it their place.

    Browsers say so themselves; older ones tell where the page is from alone.
    """
    if site := headers.get("sec-fetch-site"):
        return site == b"cross-site"
    origin = headers.get("origin")
    if origin is None:
        return False
    scheme, _, host = origin.partition(b"://")
    return scheme not in (b"http", b"https") or _host_name(host) not in hosts


def problem(status: int, detail: str, number: str) -> dict[str, object]:
    """An error as the body of a reply (RFC 9457)."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "request_id": number,
    }


def is_page(path: str) -> bool:
    """Whether a path is the page's or one of its files'."""
    return path == "/" or path.startswith(PAGE_PREFIX)
