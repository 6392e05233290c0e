"""What is remembered for a user between runs: small JSON files, outside of every catalog.

They stand in `$XDG_STATE_HOME/dovetail` (`~/.local/state/dovetail`). What they say is trusted, so a
folder or a file that is a link, belongs to another user or can be written by others counts as
missing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dovetail.atomic import replace_file

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def recall(name: str) -> dict[str, Any]:
    """The JSON object in a file of the state folder; an empty one where none can be trusted."""
    try:
        with (
            _opened(_folder(), os.O_DIRECTORY) as folder,
            _opened(name, 0, folder) as file,
            os.fdopen(file, "rb", closefd=False) as stream,
        ):
            content = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def keep(name: str, content: Mapping[str, Any]) -> None:
    """Write a file of the state folder, whole or not at all; nothing, where that cannot be."""
    with suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        with _opened(_folder(), os.O_DIRECTORY):
            text = json.dumps(content, indent=1, sort_keys=True) + "\n"
            replace_file(_folder() / name, text.encode())


def _folder() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        folder = state if state.is_absolute() else Path("~/.local/state").expanduser()
    except RuntimeError as error:  # the user has no home
        raise OSError(str(error)) from None
    return folder / "dovetail"


@contextmanager
def _opened(path: str | Path, flags: int, folder: int | None = None) -> Iterator[int]:
    """A descriptor to read a file or folder by, which is the user's own and no link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, dir_fd=folder)
    try:
        about = os.fstat(descriptor)
        if about.st_uid != os.geteuid() or about.st_mode & _WRITABLE_BY_OTHERS:
            raise PermissionError(f"{path} can be changed by others")
        yield descriptor
    finally:
        os.close(descriptor)
