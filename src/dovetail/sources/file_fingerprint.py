"""Tells whether a file changed: by size and time of change where they suffice, else by contents."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Sequence
from functools import lru_cache

from dovetail.errors import SourceError
from dovetail.ports import Fingerprint

_SECOND = 1_000_000_000
# A file system's clock ticks about this often; one that keeps whole seconds is given two.
_TICK, _COARSE_TICK = _SECOND // 50, 2 * _SECOND


def fingerprint_files(files: Sequence[str], previous: str | None) -> Fingerprint:
    """Fingerprint files that stand for one table or database; those that are gone are left out."""
    stats = _stats(files)
    before = json.loads(previous) if previous else {}
    if before and before.get("files") == stats:
        return Fingerprint(previous or "", unchanged=True)
    sha256 = _sha256(tuple((str(path), *state) for path, *state in stats))
    token = json.dumps({"files": stats, "sha256": sha256}, separators=(",", ":"))
    return Fingerprint(token, unchanged=before.get("sha256") == sha256)


def _stats(files: Sequence[str]) -> list[list[object]]:
    found: list[list[object]] = []
    for file in files:
        try:
            state = os.stat(file)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(state.st_mode):  # reading a pipe might never end
            raise SourceError(f"{file} is no regular file")
        _outlast(state.st_mtime_ns)
        found.append([file, state.st_size, state.st_mtime_ns])
    return found


def _outlast(changed: int) -> None:
    """Wait until a further change of the file could no longer get the same time stamp."""
    tick = _TICK if changed % _SECOND else _COARSE_TICK
    left = changed + tick - time.time_ns()
    if 0 < left <= _COARSE_TICK:
        time.sleep(left / _SECOND)


@lru_cache(maxsize=256)
def _sha256(stats: tuple[tuple[object, ...], ...]) -> str:
    digest = hashlib.sha256()
    for path, *_ in stats:
        with open(str(path), "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
