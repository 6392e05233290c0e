"""What a kind of attack is made of: cases by seed, and what stands in what nobody may see."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dovetail.settings import Settings

PLAIN = Settings(embedder="none")
Case = tuple[str, str]
Draw = random.Random
Kind = Callable[[Draw], Case]
# Stands in every name, value and note that a token must not see, and in every literal.
HIDDEN = "zebra"
# Seconds after which a case waits for ever, however loaded a machine is.
_SECONDS = 120


class WaitsError(BaseException):
    """Something waits for ever; nobody catches it by mistake."""


@contextmanager
def not_for_ever() -> Iterator[None]:
    """An error where what is done within takes longer than anything may."""
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(_: int, __: FrameType | None) -> None:
    raise WaitsError
