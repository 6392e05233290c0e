"""Faults at chosen instants: before the nth change that a process makes to files.

An instant is an event that Python tells its audit hooks of, so the nth is the same on every run,
and no clock is asked. Each step is done by a process of its own, forked from one that has imported
all.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dovetail.errors import DovetailError

CHANGES = frozenset(
    {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.utime"}
)
KILL, FULL, READ_ONLY, BROKEN = "kill", "disk full", "read-only", "input/output error"
# What ends a command and can be heard, by its name.
SIGNALS = {each.name: each for each in (signal.SIGINT, signal.SIGTERM)}
ERRORS = {FULL: errno.ENOSPC, READ_ONLY: errno.EROFS, BROKEN: errno.EIO}
# Packages whose import takes long, and starts nothing that a fork would lose.
_HEAVY = ("dovetail", "duckdb", "numpy", "pyarrow", "rapidfuzz", "scipy", "sqlglot", "tests")
DONE, REFUSED, WRONG = "done", "refused", "wrong"


def in_process(step: Callable[[], object]) -> tuple[str, str]:
    """Do a step in a forked process; returns how it ended, and what it returned or said."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        # As a shell starts a command, whatever packages that other tests use have set.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            ended, told = DONE, str(step())
        except DovetailError as error:
            ended, told = REFUSED, str(error)
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            ended, told = WRONG, traceback.format_exc()
        with os.fdopen(writing, "w") as stream:
            stream.write(f"{ended}\n{told}")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        ended, _, told = stream.read().partition("\n")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return (KILL if os.WTERMSIG(status) == signal.SIGKILL else WRONG), str(status)
    return ended, told


def import_for(step: Callable[[], object]) -> None:
    """Import here what a step imports, so that the processes forked for others need not."""
    ended, told = in_process(lambda: (step(), " ".join(sys.modules))[1])
    assert ended == DONE, told
    for name in told.split():
        if name.partition(".")[0] in _HEAVY:
            with suppress(ImportError):
                importlib.import_module(name)


def counted(step: Callable[[], object], below: Path) -> int:
    """How many changes a step makes to files below a folder."""

    def run() -> int:
        seen = [0]
        _listen(below, lambda: seen.__setitem__(0, seen[0] + 1))
        step()
        return seen[0]

    ended, told = in_process(run)
    assert ended == DONE, told
    return int(told)


def faulty(step: Callable[[], object], below: Path, at: int, fault: str) -> tuple[str, str]:
    """Do a step with a fault before its change number `at`. A killed process is gone; a full disk
    stays full."""

    def run() -> object:
        seen = [0]

        def strike() -> None:
            seen[0] += 1
            if seen[0] == at and fault == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            if seen[0] == at and fault in SIGNALS:
                os.kill(os.getpid(), SIGNALS[fault])
            if seen[0] >= at and fault in ERRORS:
                raise OSError(ERRORS[fault], os.strerror(ERRORS[fault]))

        _listen(below, strike)
        return step()

    return in_process(run)


def _listen(below: Path, strike: Callable[[], None]) -> None:
    """Call a function before every change to files below a folder, removals left out for errors."""
    start = str(below)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
        if (event in CHANGES or opens) and str(arguments[0]).startswith(start):
            strike()

    sys.addaudithook(hook)
