"""The most memory that a process and all that it started had at once, looked at every half second.

A page that several of them map counts once (`Pss` of Linux). Pages of mapped files count too, but
the system takes them back when others need them: what is left without them is the process's own.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread


class PeakMemory:
    """The peak while it is entered: of all memory, and of that which is not mapped from files."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self.own_megabytes = 0.0
        self._done = Event()
        self._watching = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()

    def _watch(self) -> None:
        while True:
            processes = _family(os.getpid())
            every, own = (
                sum(_kilobytes(process, kind) for process in processes) / 1024
                for kind in ("Pss:", "Pss_Anon:")
            )
            self.megabytes = max(self.megabytes, every)
            self.own_megabytes = max(self.own_megabytes, own)
            if self._done.wait(0.5):
                return


def _family(process: int) -> list[int]:
    """A process and all that it started."""
    found = [process]
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                found += _family(int(child))
    return found


def _kilobytes(process: int, kind: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith(kind):
                return int(line.split()[1])
    return 0


def cpu_seconds() -> float:
    """CPU used so far by this process and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
