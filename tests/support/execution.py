"""Tables by name, files by checksum, and the processes that run queries."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import dovetail
from dovetail.domain import Table

SECRET = "swordfish"


def pick(catalog: dovetail.Catalog, *names: str) -> list[Table]:
    return [catalog[name] for name in names]


def checksums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def children() -> set[int]:
    """The processes that run queries of ours."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            command = (stat.parent / "cmdline").read_text()
        except (OSError, ValueError):
            continue
        if int(parent) == os.getpid() and state != "Z" and "dovetail.answer.worker" in command:
            found.add(int(stat.parent.name))
    return found
