"""Knowledge beside the catalog: a small file of JSON for each kind, with a version and a checksum.

One that is missing, damaged or of another version is nothing known, and is made again.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from pathlib import Path

from dovetail.catalog.files import DAMAGE, replace_file
from dovetail.catalog.knowledge.json_file import MOST_BYTES
from dovetail.ports import Json

FOLDER = "knowledge"


def read_stored(folder: Path, kind: str, version: int) -> Json | None:
    """What is stored of one kind beside the catalog in a folder; None where nothing is."""
    with suppress(*DAMAGE):
        with _file(folder, kind).open("rb") as stream:
            checksum, _, body = stream.read(MOST_BYTES).partition(b"\n")
        if int(checksum, 16) == zlib.crc32(body):
            found = json.loads(body)
            if isinstance(found, dict) and found.get("version") == version:
                return found
    return None


def write_stored(folder: Path, kind: str, version: int, known: Json) -> None:
    """Store knowledge of one kind, in place of what was there; the same gives the same bytes."""
    body = json.dumps({"version": version, **known}, ensure_ascii=False).encode()
    path = _file(folder, kind)
    path.parent.mkdir(exist_ok=True)
    replace_file(path, b"%08x\n" % zlib.crc32(body) + body)


def remove_stored(folder: Path, kind: str) -> bool:
    """Forget knowledge of one kind; whether there was any."""
    path = _file(folder, kind)
    known = path.is_file()
    path.unlink(missing_ok=True)
    return known


def _file(folder: Path, kind: str) -> Path:
    return folder / FOLDER / f"{kind}.json"
