"""A file of JSON lines that only ever grows, written by any number of threads and processes.

A process killed while it writes leaves at most one torn line: readers pass over it, and the next
writer cuts it off.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any


class Journal:
    """The lines of a file, and a way to add some that knows what others added meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = Lock()
        self._seen = 0

    def new_lines(self) -> list[dict[str, Any]]:
        """The lines added since this was last called, without damaged ones."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._seen)
                raw = stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return []
        whole = raw[: raw.rfind(b"\n") + 1]
        self._seen += len(whole)
        return list(_records(whole))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep everybody else from writing: what `new_lines` says holds until the end."""
        with self._turn:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                _cut_torn_line(descriptor)
                yield
            finally:
                os.close(descriptor)

    def append(self, record: dict[str, Any]) -> None:
        """Add a line; only while `writing`."""
        line = json.dumps(record, ensure_ascii=False) + "\n"
        with self.path.open("ab", buffering=0) as stream:
            stream.write(line.encode())


def _records(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _cut_torn_line(descriptor: int, step: int = 1 << 16) -> None:
    size = end = os.fstat(descriptor).st_size
    while end:
        start = max(end - step, 0)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        end = start + newline + 1
        if newline >= 0:
            break
    if end != size:
        os.ftruncate(descriptor, end)
