"""A ceiling of memory for work that reads outside data, which the system holds this process to.

What gives way, in this order: less is held at a time (`within`), so that batches are smaller and
more goes to disk in sorted runs; a table with more cells than may be held is not read a second time
for its joins, which then rest on samples and sketches; at last the work ends, and the error names
the setting.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import resource
except ImportError:  # where the system has no such limits
    resource = None  # type: ignore[assignment]

# The ceiling that sizes are made for: under a lower one they shrink, under a higher they stay.
_USUAL = 4 << 30
_STATM = Path("/proc/self/statm")
# How libraries that are not Python's say that there is no more.
_SIGNS = (
    "bad_alloc",
    "bad allocation",
    "Allocation failure",
    "Failed to allocate memory",
    "can't start new thread",
    "Cannot allocate memory",
    "Out of Memory",
)
_ceilings: list[int] = []


@contextmanager
def bounded(most: int | None) -> Iterator[None]:
    """Let this process take so many bytes more than it has; files that it maps do not count."""
    if most is None:
        yield
        return
    _ceilings.append(most)
    before = _limited(most)
    try:
        yield
    finally:
        _ceilings.pop()
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)


@contextmanager
def uncounted() -> Iterator[None]:
    """What is loaded meanwhile does not count: code of ours, not outside data.

    DuckDB reads an extension with a thread for each megabyte of its file. Where one of them gets no
    stack the process is aborted, as no error can be raised there.
    """
    limit = _limit()
    if limit is None or limit[0] == resource.RLIM_INFINITY or not _STATM.exists():
        yield
        return
    before = _data()
    resource.setrlimit(resource.RLIMIT_DATA, (limit[1], limit[1]))
    try:
        yield
    finally:
        raised = limit[0] + max(0, _data() - before)
        if limit[1] != resource.RLIM_INFINITY:
            raised = min(raised, limit[1])
        resource.setrlimit(resource.RLIMIT_DATA, (raised, limit[1]))


def is_spent(most: int | None) -> bool:
    """Whether this process, which may take so many bytes for a job, has less than half of them
    left: allocators keep what a job had, and the next would fail for want of it."""
    limit = _limit()
    if most is None or limit is None or limit[0] == resource.RLIM_INFINITY or not _STATM.exists():
        return False
    return limit[0] - _data() < most // 2


def within(usual: int) -> int:
    """How many entries of a kind may be held at a time, of which there are `usual` as a rule."""
    return max(1, usual * min([_USUAL, *_ceilings]) // _USUAL)


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there is no more memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS)


def too_little() -> str:
    """What is said of work that the ceiling is too low for."""
    given = f" of {min(_ceilings) >> 20:,} MB" if _ceilings else ""
    return f"needs more memory than the setting index_memory_mb{given} allows"


def _limited(most: int) -> tuple[int, int] | None:
    """Set the limit; returns the one before, None where the system has none."""
    limit = _limit()
    if limit is None:
        return None
    with suppress(OSError, ValueError):
        bounds = [_data() + most, *(bound for bound in limit if bound != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), limit[1]))
        return limit
    return None


def _limit() -> tuple[int, int] | None:
    """The limit in force and the highest there may be; None where the system has none."""
    with suppress(AttributeError, OSError, ValueError):
        return resource.getrlimit(resource.RLIMIT_DATA)
    return None


def _data() -> int:
    """The bytes of this process that count towards the limit."""
    return int(_STATM.read_text("ascii").split()[5]) * resource.getpagesize()
