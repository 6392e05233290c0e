"""Ways in for programs: the same catalog over the Model Context Protocol and REST."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from dovetail.called_off import Cancelled

# Seconds in which a busy server says whether a caller has gone.
_TOLD_IN = 5.0


def is_this_machine(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def told_by(asked: Callable[[], Coroutine[Any, Any, bool]]) -> Cancelled:
    """Whether a caller has gone, as the event loop of here says: any thread but its own may ask."""
    loop = asyncio.get_running_loop()

    def gone() -> bool:
        if not loop.is_closed():
            told = asyncio.run_coroutine_threadsafe(asked(), loop)
            with suppress(TimeoutError, CancelledError):
                return told.result(_TOLD_IN)
        return loop.is_closed()

    return gone
