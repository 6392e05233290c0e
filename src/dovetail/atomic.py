"""Files opened with care: outside ones only where they are plain, ours put in place whole.

What is written goes to a file beside the one meant, and then takes its place: a reader sees the old
content or the new, and nothing else. The file beside it has a name that nobody can guess and is
made anew, so no link that somebody laid there leads the writer to another file.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# What others may do with a file of ours: nothing, for it may tell of what is in tables.
OWNER_ONLY, OWNER_ONLY_FOLDER = 0o600, 0o700
_DIGITS = 32
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
# The name that a writer which was killed may leave behind.
UNFINISHED = re.compile(rf"\..+\.[0-9a-f]{{{_DIGITS}}}")


@contextmanager
def replacing(path: Path, *, mode: int = OWNER_ONLY) -> Iterator[BinaryIO]:
    """A stream whose content takes a file's place at the end, and survives a crash then."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(_DIGITS // 2)}")
    try:
        with os.fdopen(os.open(temporary, _NEW, mode), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def replace_file(path: Path, content: bytes, *, mode: int = OWNER_ONLY) -> None:
    """Put new content in a file's place, or make the file."""
    with replacing(path, mode=mode) as stream:
        stream.write(content)


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone, with those above it that are missing."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(OWNER_ONLY_FOLDER, exist_ok=True)


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file to be read; anything but a plain file (a pipe, a device) is an OSError at once.

    Opening a pipe would wait for a writer, and reading one or a device may never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file", str(path))
    return os.fdopen(descriptor, "rb")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
