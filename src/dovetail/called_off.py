"""Whether whoever asked has gone: one way for all that waits on somebody's behalf.

A server says it once for a request. What waits (for a process, a model, a turn) looks there, and
ends the wait.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

Cancelled = Callable[[], bool]

# How often to look whether nobody wants it any more, in seconds.
LOOK = 0.05


def never() -> bool:
    """Nobody calls it off."""
    return False


# Whether it is called off, as any thread may ask.
CALLED_OFF: ContextVar[Cancelled] = ContextVar("CALLED_OFF", default=never)
