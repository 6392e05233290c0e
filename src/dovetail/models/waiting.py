"""Waiting for a model, as long as somebody wants its reply and a question may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, Semaphore

from dovetail.called_off import CALLED_OFF, LOOK
from dovetail.errors import ModelError

# When a question began, and the seconds that it may wait for models; without a question no limit.
_LIMIT: ContextVar[tuple[float, float] | None] = ContextVar("LIMIT", default=None)
# Who is told, again and again, for how many seconds a question has been waiting for models.
ON_WAIT: ContextVar[Callable[[float], None] | None] = ContextVar("ON_WAIT", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Wait for models for so many seconds at most, all calls of a question together."""
    token = _LIMIT.set((time.monotonic(), seconds))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def look_up() -> None:
    """Raise an error where whoever asked has gone, or the question has waited too long."""
    if CALLED_OFF.get()():
        raise ModelError("the model was called off: whoever asked has gone")
    if (limit := _LIMIT.get()) is None:
        return
    began, most = limit
    waited = time.monotonic() - began
    if waited > most:
        raise ModelError(f"the model took more than {most:g} s for a question (llm_seconds)")
    if on_wait := ON_WAIT.get():
        on_wait(waited)


@contextmanager
def turn(turns: Semaphore | Lock) -> Iterator[None]:
    """Have a turn, as soon as there is one."""
    while not turns.acquire(timeout=LOOK):
        look_up()
    try:
        yield
    finally:
        turns.release()
