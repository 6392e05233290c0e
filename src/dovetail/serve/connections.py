"""How many connections a server holds, and for how long one that does nothing.

A connection costs a descriptor before anybody knows who it is from: whoever opens many, sends
half a request or reads no reply must not keep others out. uvicorn bounds neither.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

# Connections that are held at most, those that wait to be taken, and the shares that both may
# have of the descriptors. What waits is taken in one go, and some goes are under way at a time.
_MOST, _WAITING = 1_024, 64
_SHARE, _WAITING_SHARE = 4, 16
# Seconds between two reports that a connection could not be taken.
_TOLD_EVERY = 60.0
_NOT_TAKEN = "socket.accept() out of system resource"


def bounded() -> dict[str, Any]:
    """How uvicorn is to take connections, so that descriptors are left for all else."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        descriptors = _SHARE * _MOST
    logger = logging.getLogger("asyncio")
    if not any(isinstance(one, _Told) for one in logger.filters):
        logger.addFilter(_Told())

    class Bounded(Connection):
        most = min(_MOST, descriptors // _SHARE)

    # Without WebSockets: a connection that became one would be counted no more.
    return {
        "http": Bounded, "ws": "none", "backlog": min(_WAITING, descriptors // _WAITING_SHARE),
    }  # fmt: skip


class Connection(H11Protocol):
    """A connection that ends where it is silent: no request comes, or a reply is not read.

    Beyond `most` of them, the oldest that nobody works for makes way for the newest; where there is
    none, the newest goes. `silent` are the seconds in which something must happen.
    """

    most: ClassVar[int] = _MOST
    silent: ClassVar[float] = 20.0
    since = 0.0
    _sweep: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = time.monotonic()
        self._look(None)
        if len(self.connections) <= self.most:
            return
        others = [one for one in self.connections if isinstance(one, Connection) and one.spare]
        oldest = min(others, key=lambda one: one.since)
        self.connections.discard(oldest)  # at once: many come before its end is told
        oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        super().connection_lost(exc)

    @property
    def spare(self) -> bool:
        """Whether nobody works for this connection: it has no request, or does not read."""
        return self._idle or self.transport.get_write_buffer_size() > 0

    @property
    def _idle(self) -> bool:
        closing = self.transport.is_closing()
        return closing or self.cycle is None or self.cycle.response_complete

    def _look(self, before: tuple[object, int] | None) -> None:
        """End the connection where all is as it was `before`, else look again later."""
        unread = self.transport.get_write_buffer_size()
        now = (self.cycle, unread)
        if now == before and (unread or self._idle):
            self.transport.abort()
        else:
            self._sweep = self.loop.call_later(self.silent, self._look, now)


class _Told(logging.Filter):
    """Lets asyncio tell that there is no descriptor for a connection in a line, and rarely."""

    def __init__(self) -> None:
        super().__init__()
        self._told = -_TOLD_EVERY

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.getMessage().startswith(_NOT_TAKEN):
            return True
        now = time.monotonic()
        if now < self._told + _TOLD_EVERY:
            return False
        self._told = now
        record.msg, record.args = "no descriptor is left for a connection; it waits", ()
        record.exc_info = record.exc_text = None
        return True
