"""SQLite files read so that nothing beside them changes.

A database in WAL mode has a log of what was written last (`-wal`) and an index of that log which
those who have it open share (`-shm`). SQLite makes both where they are missing, even to read. So:

- both are there: `readonly_shm`, which heeds the locks of whoever writes, and writes none;
- no log, or an empty one nobody shares: the file is all there is, and `immutable` says so. SQLite
  then takes no lock, so whoever reads asks afterwards whether somebody wrote meanwhile;
- a log without its index, as a copied or crashed one: a copy of both is read, elsewhere.
"""

from __future__ import annotations

import os
import shutil
from tempfile import TemporaryDirectory
from urllib.parse import quote

from dovetail.errors import SourceError
from dovetail.sources.walk import first_bytes

# Where a SQLite file says how it is written, and the word for a write-ahead log.
_VERSION_AT, _LOGGED = 18, b"\x02"
_ATTEMPTS = 3

# Size and time of change of the database and of its log.
_State = tuple[tuple[int, int] | None, ...]


class ReadOnlyFile:
    """A SQLite file to be opened by `uri`, which leaves the files beside it as they are."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._copy: TemporaryDirectory[str] | None = None
        self._state = _state(path)
        log = self._state[1]
        self.logged = first_bytes(path, _VERSION_AT + 1)[_VERSION_AT:] == _LOGGED
        # Whether somebody else has the log open, or had when it crashed.
        self.shared = self.logged and log is not None and os.path.exists(f"{path}-shm")
        # Whether SQLite's own locks keep others from changing what is being read.
        self._locked = not self.logged or self.shared
        if not self.logged:
            self.uri = _uri(path, "mode=ro")
        elif self.shared:
            self.uri = _uri(path, "mode=ro&readonly_shm=1")
        elif log is None or log[0] == 0:
            self.uri = _uri(path, "mode=ro&immutable=1")
        else:
            self.uri = _uri(self._copied(), "mode=ro")

    def settled(self) -> bool:
        """Whether all that was read is of one state: nobody wrote, or SQLite's locks kept it so."""
        return self._locked or _state(self._path) == self._state

    def close(self) -> None:
        """Remove the copy, if there is one."""
        if self._copy is not None:
            self._copy.cleanup()

    def _copied(self) -> str:
        self._copy = TemporaryDirectory(prefix="dovetail-")
        there = os.path.join(self._copy.name, "copy.db")
        for _ in range(_ATTEMPTS):
            self._state = _state(self._path)
            shutil.copyfile(self._path, there)
            shutil.copyfile(f"{self._path}-wal", f"{there}-wal")
            if _state(self._path) == self._state:
                return there
        self.close()
        raise SourceError("is being written all the time; try again later")


def _uri(path: str, how: str) -> str:
    try:
        return f"file:{quote(path)}?{how}"
    except UnicodeEncodeError:
        raise SourceError("its name is not valid UTF-8; rename it") from None


def _state(path: str) -> _State:
    return _seen(path), _seen(f"{path}-wal")


def _seen(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return None
    return state.st_size, state.st_mtime_ns
