"""Answers questions for a server's callers: here, or by processes beside it.

One interpreter answers one question at a time, whatever the threads: beside each other they take
longer than one after the other. Processes share nothing but the catalog's files; who may ask, how
often, and what is counted stays with the server.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dovetail.answer.pool import Pool, never
from dovetail.api.catalog import Catalog
from dovetail.errors import (
    AmbiguousTableError,
    CatalogError,
    DovetailError,
    GuardError,
    LimitError,
    ModelError,
    NotFoundError,
    QueryError,
    UsageError,
)
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.views import JoinDetail, join, joins_among, named_set, ranked, set_json, told
from dovetail.settings import Settings

# What an error of ours is over HTTP, the first that fits.
_STATUS: tuple[tuple[type[DovetailError], int], ...] = (
    (AmbiguousTableError, 400), (UsageError, 400), (NotFoundError, 404), (GuardError, 422),
    (QueryError, 422), (ModelError, 502), (CatalogError, 503),
)  # fmt: skip
# What a reply may take, a language model's time included, and how long it may be.
_SECONDS, _BYTES = 900.0, 64 << 20
ASK, GIVEN, SEARCH, CANDIDATES = "ask", "set", "search", "candidates"


class RefusedError(DovetailError):
    """What a process says of a question that it could not answer, and its status over HTTP."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def status_of(error: DovetailError) -> int:
    """What an error of ours is over HTTP."""
    if isinstance(error, RefusedError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


class Asking:
    """Answers from a live catalog; with more than one of `processes`, by them."""

    def __init__(self, live: LiveCatalog, processes: int = 1) -> None:
        self._live, self.folder = live, live.folder
        self._pool: Pool | None = None
        if processes > 1:
            self._pool = Pool(processes, __name__)
            with ThreadPoolExecutor(processes) as each:  # every one opens the catalog before it
                list(each.map(self._open, range(processes)))  # is waited for

    def reply(self, kind: str, tables: Sequence[str], asked: dict[str, Any]) -> bytes:
        """JSON for one who sees some tables, or all; `kind` is what is asked for."""
        if self._pool is None:
            return _REPLIES[kind](self._live.current(tables), asked)
        # Settings may hold logins: they go by the pipe, as arguments can be read by others.
        where = [str(self.folder), asdict(self._live.settings), self._live.tables]
        request = {"catalog": where, "kind": kind, "tables": list(tables), "asked": asked}
        try:
            header, body = self._pool.ask(request, seconds=_SECONDS, most=_BYTES, cancelled=never)
        except LimitError:
            raise RefusedError(503, "the process that looks for tables ended; ask again") from None
        if "status" in header:
            raise RefusedError(header["status"], header["detail"])
        return body

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()

    def _open(self, _: int) -> None:
        self.reply(SEARCH, (), {"question": "tables", "k": 1, "looking_for": ()})


def _ask(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    return set_json(catalog, catalog.ask(**asked)).model_dump_json().encode()


def _given(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    found = catalog.completed(named_set(catalog, asked["question"], asked["tables"]))
    return set_json(catalog, found).model_dump_json().encode()


def _search(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    found = catalog.search(asked["question"], asked["k"], looking_for=asked["looking_for"])
    return _listed(ranked(catalog, one).model_dump_json() for one in found)


def _candidates(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    """What search finds, and how it joins."""
    found = catalog.search(asked["question"], asked["k"], looking_for=asked["looking_for"])
    tables = _listed(ranked(catalog, one).model_dump_json() for one in found)
    edges = joins_among(catalog, (one.id for one in found))
    joins = _listed(join(edge, JoinDetail).model_dump_json() for edge in edges)
    return b'{"search":' + tables + b',"joins":' + joins + b"}"


def _listed(parts: Any) -> bytes:
    return ("[" + ",".join(parts) + "]").encode()


_REPLIES: dict[str, Callable[[Catalog, dict[str, Any]], bytes]] = {
    ASK: _ask, GIVEN: _given, SEARCH: _search, CANDIDATES: _candidates,
}  # fmt: skip


def main() -> None:
    """Answer requests, each a line of JSON, until there are no more."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not end up between the answers
    live: LiveCatalog | None = None
    _send(answers, {"ready": True}, b"")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        folder, settings, tables = request["catalog"]
        header: dict[str, Any] = {"last": False}
        try:
            live = live or LiveCatalog(folder, _settings(settings), tables)
            body = _REPLIES[request["kind"]](live.current(request["tables"]), request["asked"])
        except DovetailError as error:
            body = b""
            header |= {"status": status_of(error), "detail": told(error, Path(folder))}
        _send(answers, header | {"bytes": len(body)}, body)


def _settings(given: dict[str, Any]) -> Settings:
    return Settings().but(
        **{name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    )


def _send(answers: int, header: dict[str, Any], body: bytes) -> None:
    unsent = memoryview(json.dumps(header).encode() + b"\n" + body)
    while unsent:
        unsent = unsent[os.write(answers, unsent) :]


if __name__ == "__main__":
    main()
