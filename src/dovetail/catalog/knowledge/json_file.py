"""JSON files as others write them: read within bounds, and told apart from what is no JSON."""

from __future__ import annotations

import json
from pathlib import Path

from dovetail.errors import SourceError
from dovetail.ports import Json

# A manifest of ten thousand models has about 150 MB.
MOST_BYTES = 400 << 20


def read_json(path: Path, most: int = MOST_BYTES) -> tuple[Json, bytes]:
    """The object that a file holds, and its bytes; a `SourceError` of one line where it has none.

    Never more than `most` bytes are read, whatever the file turns out to be.
    """
    try:
        if not path.is_file():
            raise SourceError(f"there is no file {path}; check the path")
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}; check its permissions") from None
    if len(content) > most:
        raise SourceError(f"{path} has more than {most >> 20:,} MB; it is not read")
    return parse_object(content, path), content


def parse_object(content: bytes, path: Path) -> Json:
    """The JSON object of some bytes; `path` is where they come from."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise SourceError(f"{path} is nested too deeply to be read") from None
    except (MemoryError, UnicodeDecodeError, ValueError) as error:
        why = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise SourceError(f"{path} is no JSON: {why}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{path} holds no JSON object")
    return found


def objects(value: object) -> list[Json]:
    """The objects that stand in a list, or under the keys of an object; nothing else counts."""
    if isinstance(value, dict):
        value = list(value.values())
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def inner(value: object, *keys: str) -> Json:
    """The object under some keys, one inside the other; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    """The texts of a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A text, with whatever is no character of Unicode replaced; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value.strip().encode(errors="replace").decode()
