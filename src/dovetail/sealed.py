"""Checksums of what is written: of a file, and in JSON that ends with that of its own bytes, by
which a change to any of them is noticed."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

_SEALED = re.compile(rb'(.+), "crc32": "([0-9a-f]{8})"\}\n', re.DOTALL)


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
