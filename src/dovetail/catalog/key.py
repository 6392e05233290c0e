"""The key of a catalog without values: what its hashes are enciphered with.

It stands in a file beside the catalog, for its owner alone, or in the environment: whoever is given
the catalog without it cannot try guesses on the hashes.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

from dovetail.atomic import open_regular, replace_file
from dovetail.errors import CatalogError
from dovetail.hashing import HashCipher

VARIABLE = "DOVETAIL_KEY"
_BYTES = 16
_KEY = re.compile(rf"[0-9a-fA-F]{{{2 * _BYTES}}}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def key_file(catalog: Path) -> Path:
    """Where the key of a catalog stands."""
    folder = catalog.absolute()
    return folder.with_name(f"{folder.name}.key")


def key_id(cipher: HashCipher) -> str:
    """What a catalog says of its key: enough to tell another key, and nothing of this one."""
    return hashlib.sha256(b"dovetail key" + cipher.key).hexdigest()[:16]


def open_cipher(catalog: Path, known: str = "") -> HashCipher:
    """The cipher of a catalog whose key has this id; a new catalog has none yet, and is given the
    key that is there, or a new one."""
    path = key_file(catalog)
    text = os.environ.get(VARIABLE, "") or _read(path)
    if not text and not known:
        text = secrets.token_hex(_BYTES)
        replace_file(path, f"{text}\n".encode())
    elif not text:
        raise CatalogError(
            f"the key of {catalog} is missing; put {path} back or set {VARIABLE}, "
            "or remove the catalog and index again"
        )
    if not _KEY.fullmatch(text):
        raise CatalogError(f"a key has {2 * _BYTES} hexadecimal digits; check {VARIABLE} or {path}")
    cipher = HashCipher(bytes.fromhex(text))
    if known not in ("", key_id(cipher)):
        raise CatalogError(f"{catalog} was made with another key than {VARIABLE} or {path} has")
    return cipher


def _read(path: Path) -> str:
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_mode & _OTHERS:
                raise CatalogError(f"{path} is open to others; chmod 600 {path}")
            return stream.read(1024).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}") from None
