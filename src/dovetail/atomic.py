"""Files opened with care: outside ones only where they are plain, ours put in place whole.

What is written goes to a file beside the one meant, and then takes its place: a reader sees the old
content or the new, and nothing else. The file beside it has a name that nobody can guess and is
made anew, so no link that somebody laid there leads the writer to another file.

Checksums tell later whether a file is as it was written: those of whole files, and in JSON that
ends with that of its own bytes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

# What others may do with a file of ours: nothing, for it may tell of what is in tables.
OWNER_ONLY, OWNER_ONLY_FOLDER = 0o600, 0o700
_DIGITS = 32
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
# The name that a writer which was killed may leave behind.
UNFINISHED = re.compile(rf"\..+\.[0-9a-f]{{{_DIGITS}}}")
_SEALED = re.compile(rb'(.+), "crc32": "([0-9a-f]{8})"\}\n', re.DOTALL)


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
    """Make a folder for its owner alone, with those above it that are missing; they survive a
    crash as what is put into them does."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(OWNER_ONLY_FOLDER, exist_ok=True)
            with suppress(PermissionError):  # one may be made where one may not look
                sync_folder(each.parent)


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file to be read; anything but a plain file (a pipe, a device) is an OSError at once.

    Opening a pipe would wait for a writer, and reading one or a device may never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file", str(path))
    return os.fdopen(descriptor, "rb")


def require_regular(*paths: str | Path) -> None:
    """Refuse what is there and is no plain file, where somebody else's code is to open it.

    A database opens the files beside it by itself, and a pipe among them holds it up for ever.
    """
    for path in map(Path, paths):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError(0, f"{path.name} is no plain file", str(path))


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def seal(content: dict[str, Any], *, indent: int | None = None) -> bytes:
    """A line, or indented lines, of JSON for an object with at least one key.

    >>> unseal(seal({"a": 1}))["a"]
    1
    """
    body = json.dumps(content, ensure_ascii=False, indent=indent)[:-1].rstrip()
    raw = body.encode("utf-8", "replace")
    return b'%b, "crc32": "%08x"}\n' % (raw, zlib.crc32(raw))


def unseal(raw: bytes) -> dict[str, Any]:
    """The object that was sealed; what is not as it was written raises ValueError.

    >>> unseal(seal({"a": 1}).replace(b"1", b"2"))
    Traceback (most recent call last):
    ValueError: its checksum does not match
    """
    sealed = _SEALED.fullmatch(raw)
    if sealed is None or zlib.crc32(sealed[1]) != int(sealed[2], 16):
        raise ValueError("its checksum does not match")
    content = json.loads(raw)
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    return content


def file_checksum(file: Path) -> int:
    """The CRC-32 of a file."""
    checksum = 0
    with file.open("rb") as stream:
        while content := stream.read(1 << 20):
            checksum = zlib.crc32(content, checksum)
    return checksum
