"""Waiting for a model, as long as somebody wants its reply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from dovetail.called_off import CALLED_OFF, LOOK
from dovetail.errors import ModelError


class _Turns(Protocol):
    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...
    def release(self) -> None: ...


def look_up() -> None:
    """Raise an error where whoever asked has gone."""
    if CALLED_OFF.get()():
        raise ModelError("the model was called off: whoever asked has gone")


@contextmanager
def turn(turns: _Turns) -> Iterator[None]:
    """Have a turn, as soon as there is one."""
    while not turns.acquire(timeout=LOOK):
        look_up()
    try:
        yield
    finally:
        turns.release()
