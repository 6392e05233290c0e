"""Ctrl-C ends a command, wherever in it the interrupt is raised.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a destructor or in a
callback of the garbage collector exceptions are dropped, and the command would go on. Such an
interrupt is raised again a moment later, and what else became of one is remembered to the end.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_A_MOMENT = 0.02


def heed_interrupts() -> Callable[[], bool]:
    """From now on no interrupt gets lost; the answer tells whether there was one.

    A process that was started to ignore interrupts, as in the background of a script, goes on
    ignoring them: they are meant for others.
    """
    seen: list[int] = []
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return lambda: False

    def interrupt(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    drop = sys.unraisablehook

    def dropped(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _A_MOMENT)
        else:
            drop(what)

    sys.unraisablehook = dropped
    signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    return lambda: bool(seen)
