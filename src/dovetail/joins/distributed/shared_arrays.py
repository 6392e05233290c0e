"""Dataclasses of arrays in a folder: written there once, and mapped by every worker that sees it.

An array is a file of its own, a dataclass within another a folder; what is left, numbers and texts,
stands in one JSON file. A worker reads of the arrays what it looks at.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

Shared = TypeVar("Shared")

_REST = "rest.json"


def write_shared(thing: Any, folder: Path) -> None:
    """Write a dataclass into a new folder."""
    folder.mkdir()
    rest: dict[str, Any] = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, np.ndarray):
            np.save(folder / f"{field.name}.npy", value)
        elif is_dataclass(value):
            write_shared(value, folder / field.name)
        else:
            rest[field.name] = value
    (folder / _REST).write_text(json.dumps(rest), encoding="utf-8")


def read_shared(kind: type[Shared], folder: Path) -> Shared:
    """A dataclass of a kind as it was written into a folder, its arrays mapped."""
    parts: dict[str, Any] = json.loads((folder / _REST).read_text(encoding="utf-8"))
    kinds = get_type_hints(kind)
    for path in folder.iterdir():
        if path.is_dir():
            parts[path.name] = read_shared(_dataclass(kinds[path.name]), path)
        elif path.suffix == ".npy":
            # As a plain array: those that know that they are mapped take longer for small parts.
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
            parts[path.stem] = mapped.view(np.ndarray)
    return kind(**parts)


def _dataclass(hint: Any) -> type[Any]:
    """The dataclass that a field is declared to hold, or to hold if anything."""
    return next(k for k in (hint, *get_args(hint)) if isinstance(k, type) and is_dataclass(k))


@lru_cache(maxsize=4)
def opened_shared(kind: type[Shared], folder: Path) -> Shared:
    """The same, kept for the next job of this process."""
    return read_shared(kind, folder)


def let_go_of_shared() -> None:
    """Unmap what jobs of this process opened."""
    opened_shared.cache_clear()
