"""Answers questions for a server's callers: here, or by processes beside it.

One interpreter answers one question at a time, whatever the threads: beside each other they take
longer than one after the other. Processes share nothing but the catalog's files; who may ask, how
often, and what is counted stays with the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from dovetail.answer.pool import Pool
from dovetail.api.catalog import Catalog
from dovetail.called_off import CALLED_OFF, Cancelled, never
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
from dovetail.process import Caller
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.views import (
    JoinDetail,
    RankedTable,
    join,
    joins_among,
    message_of,
    named_set,
    ranked,
    set_json,
)
from dovetail.settings import Settings

# What an error of ours is over HTTP, the first that fits.
_STATUS: tuple[tuple[type[DovetailError], int], ...] = (
    (AmbiguousTableError, 400), (UsageError, 400), (NotFoundError, 404), (GuardError, 422),
    (QueryError, 422), (ModelError, 502), (CatalogError, 503),
)  # fmt: skip
# What a reply may take, a language model's time included, and how long it may be.
_SECONDS, _BYTES = 900.0, 64 << 20
# Seconds that a process has although its caller has gone: beginning anew takes longer than most
# questions do.
_GRACE = 5.0
ASK, GIVEN, SEARCH, CANDIDATES = "ask", "set", "search", "candidates"
_RANKING = TypeAdapter(list[RankedTable])


class ProcessError(DovetailError):
    """What a process says of a question that it could not answer, and its status over HTTP."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def status_of(error: DovetailError) -> int:
    """What an error of ours is over HTTP."""
    if isinstance(error, ProcessError):
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
            header, body = self._pool.ask(
                request, seconds=_SECONDS, most=_BYTES, cancelled=_long_gone(CALLED_OFF.get())
            )
        except LimitError:
            raise ProcessError(503, "the process that looks for tables ended; ask again") from None
        if "status" in header:
            raise ProcessError(header["status"], header["detail"])
        return body

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()

    def _open(self, _: int) -> None:
        self.reply(SEARCH, (), {"question": "tables", "k": 1, "looking_for": ()})


def _long_gone(called_off: Cancelled) -> Cancelled:
    """The same, as soon as a process is not worth keeping for it."""
    until = time.monotonic() + _GRACE
    return called_off if called_off is never else lambda: time.monotonic() > until and called_off()


def _ask(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    return set_json(catalog, catalog.ask(**asked)).model_dump_json().encode()


def _given(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    result = catalog.completed(named_set(catalog, asked["question"], asked["tables"]))
    return set_json(catalog, result).model_dump_json().encode()


class Found(BaseModel):
    """What search finds, and how it joins."""

    search: list[RankedTable]
    joins: list[JoinDetail]


def _candidates(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    candidates = catalog.search(asked["question"], asked["k"], looking_for=asked["looking_for"])
    edges = joins_among(catalog, (one.id for one in candidates))
    joins = [join(edge, JoinDetail) for edge in edges]
    listed = ranked(catalog, candidates, RankedTable)
    return Found(search=listed, joins=joins).model_dump_json().encode()


def _search(catalog: Catalog, asked: dict[str, Any]) -> bytes:
    candidates = catalog.search(asked["question"], asked["k"], looking_for=asked["looking_for"])
    return _RANKING.dump_json(ranked(catalog, candidates, RankedTable))


_REPLIES: dict[str, Callable[[Catalog, dict[str, Any]], bytes]] = {
    ASK: _ask, GIVEN: _given, SEARCH: _search, CANDIDATES: _candidates,
}  # fmt: skip


def main() -> None:
    """Answer requests, each a line of JSON, until there are no more."""
    live: LiveCatalog | None = None
    caller = Caller()
    for request in caller.requests():
        folder, settings, tables = request["catalog"]
        header: dict[str, Any] = {"last": False}
        try:
            live = live or LiveCatalog(folder, _settings(settings), tables)
            body = _REPLIES[request["kind"]](live.current(request["tables"]), request["asked"])
        except DovetailError as error:
            body = b""
            header |= {"status": status_of(error), "detail": message_of(error, Path(folder))}
        caller.send(header | {"bytes": len(body)}, body)


def _settings(given: dict[str, Any]) -> Settings:
    return Settings().but(
        **{name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    )


if __name__ == "__main__":
    main()
