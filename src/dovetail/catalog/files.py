"""The files of a catalog: plain ones alone, and each of them whole or not there.

A catalog may come from someone else. It is made of plain files and folders: a symbolic link in it
could lead a writer to files of the user's, and a pipe would make a reader wait for ever. Both are
refused before anything is read or written. What is removed from a catalog is only what bears a name
that dovetail gives.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from dovetail.atomic import OWNER_ONLY, OWNER_ONLY_FOLDER, sync_folder
from dovetail.errors import CatalogError

# What reading a file of ours can raise where the file is damaged, cut off or tampered with. Things
# derived from a catalog that raise it are made again. NumPy takes the header of an array apart as
# Python text, so a header can be bad syntax.
DAMAGE = (
    OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError,
    RecursionError, RuntimeError, MemoryError, SyntaxError, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error, pa.ArrowException,
)  # fmt: skip
LOCK = "lock"
# The folder of tables that were given in memory, and the label of the source that they are.
MEMORY = "memory"
SEGMENTS, GENERATIONS, STAGING = "segments", "generations", "staging"
SEGMENT_NAME = re.compile(r"[0-9a-f]{20}")
# Names of folders that dovetail makes below the three above: of segments, generations, and
# unfinished work.
_OURS = re.compile(r"[0-9a-f]{20}|\d{8}|tmp\w{8}")
# Below this depth stand replies of language models, a file each: many, and none is written to.
_DEPTH = 3


def require_plain(folder: Path) -> None:
    """Refuse a catalog that holds anything but plain files and folders."""
    for entry in _entries(folder, _DEPTH):
        try:
            kind = entry.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:  # taken away since it was listed
            continue
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise CatalogError(
                f"{entry.path} is {_called(kind)}, and a catalog is made of plain files and "
                f"folders; remove it, or choose another folder for the catalog"
            )


def _entries(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        listed = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return  # an update may take a folder away at any moment
    except PermissionError as error:
        raise CatalogError(
            f"cannot read {folder}: {error.strerror}; check its permissions"
        ) from None
    for entry in listed:
        try:
            inside = entry.is_dir(follow_symlinks=False)
            yield entry
        except FileNotFoundError:
            continue
        if inside and depth > 1:
            yield from _entries(entry.path, depth - 1)


def _called(kind: int) -> str:
    if stat.S_ISLNK(kind):
        return "a symbolic link"
    return "a pipe" if stat.S_ISFIFO(kind) else "a device or socket"


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a plain file that has no other name; made where it is not there.

    Nothing is truncated before that is known, so `O_TRUNC` must not be among the flags.
    """
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, OWNER_ONLY)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise CatalogError(
            f"{path} is no plain file of the catalog alone; remove it, or choose another folder"
        )
    return descriptor


@contextmanager
def staging_folder(catalog: Path) -> Iterator[Path]:
    """A folder for the unfinished work of who holds the catalog's lock, removed at the end."""
    folder = Path(tempfile.mkdtemp(dir=catalog / STAGING))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ours(folder: Path) -> list[Path]:
    """The folders below segments, generations or staging that bear a name which dovetail gives."""
    return [
        path
        for path in sorted(folder.iterdir())
        if _OURS.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    ]


def move_in(staged: Path, target: Path) -> None:
    """Put a finished folder in its place in one step, its files, the owner's alone, first made to
    survive a crash, then their names, then its own."""
    staged.chmod(OWNER_ONLY_FOLDER)
    for file in staged.iterdir():
        file.chmod(OWNER_ONLY)
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    sync_folder(staged)
    staged.rename(target)
    sync_folder(target.parent)
