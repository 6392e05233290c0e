"""Weights in packages of somebody else's: used only if they are the very files that are known."""

from __future__ import annotations

import hashlib
import mmap
import os
import time
from pathlib import Path

from dovetail.errors import ModelError
from dovetail.state import keep, recall

# Which files had their digest, and in what state of theirs; one that changed less than so many
# nanoseconds ago may change once more without another time.
_VERIFIED, _SETTLED = "verified_files.json", 2_000_000_000


def verified(file: Path, sha256: str, remedy: str) -> mmap.mmap:
    """The content of a file that must be exactly the one known, mapped and not copied.

    A file is read for its digest once, and again when anything says that it may have changed.
    """
    try:
        with file.open("rb") as stream:
            about = os.fstat(stream.fileno())
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: it is empty
        error = error if isinstance(error, OSError) else OSError(0, str(error))
        raise ModelError(f"{file} cannot be read ({error.strerror}): {remedy}") from None
    times = about.st_mtime_ns, about.st_ctime_ns
    state = [sha256, about.st_size, about.st_dev, about.st_ino, *times]
    recalled = recall(_VERIFIED)
    if recalled.get(str(file)) == state:
        return content
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(f"{file} is not the file it should be (sha256 differs): {remedy}")
    if time.time_ns() - max(times) > _SETTLED:
        others = {path: kept for path, kept in recalled.items() if Path(path).exists()}
        keep(_VERIFIED, others | {str(file): state})
    return content
