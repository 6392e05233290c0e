"""The numbers that the columns of index segments have in a large catalog, kept beside them.

To find them takes a text for every table of the catalog and of the segments. Kept under the digest
of the catalog's contents, they are mapped into memory like the segments, and no text is made.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from dovetail.arrays import Ints
from dovetail.catalog.files import DAMAGE, mapped_array
from dovetail.catalog.reader import CatalogReader
from dovetail.joins.value_index.index_segment import IndexSegment

_FOLDER = "numbers"
# Tables from which the numbers are kept.
_LEAST_KEPT = 50_000
_MADE_HERE = re.compile(r"[0-9a-f]{16}(?:\.json|-\d+\.npy)(?:\.\d+)?")


def numbered_segments(
    folder: Path, catalog: CatalogReader, open_segment: Callable[..., IndexSegment]
) -> list[tuple[IndexSegment, Ints]]:
    """The segments of a catalog with the numbers of their columns; none where none are kept.

    The segments come without the names of their tables.
    """
    if not (folder / _FOLDER).is_dir():
        return []
    with suppress(*DAMAGE):
        names = json.loads((folder / _FOLDER / f"{catalog.contents}.json").read_text("utf-8"))
        found = []
        for place, name in enumerate(names):
            segment = open_segment(folder / Path(name).name, named=False)
            number = _load(folder / _FOLDER / f"{catalog.contents}-{place}.npy")
            if len(number) != len(segment) or number.max() >= len(catalog.records.columns):
                raise ValueError(name)
            found.append((segment, number))
        return found
    return []


def keep_numbers(
    folder: Path,
    catalog: CatalogReader,
    numbers: Sequence[tuple[str, Ints]],
    least: int = _LEAST_KEPT,
) -> None:
    """Keep the numbers of a large catalog, each array under the name of its segment."""
    if len(catalog) < least:
        return
    place = folder / _FOLDER
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        if _MADE_HERE.fullmatch(old.name) and not old.name.startswith(catalog.contents):
            old.unlink(missing_ok=True)
    for at, (_, number) in enumerate(numbers):
        beside = place / f"{catalog.contents}-{at}.npy.{os.getpid()}"
        with beside.open("wb") as file:
            np.save(file, number)
        beside.replace(place / f"{catalog.contents}-{at}.npy")
    beside = place / f"{catalog.contents}.json.{os.getpid()}"
    beside.write_text(json.dumps([name for name, _ in numbers]), "utf-8")
    beside.replace(place / f"{catalog.contents}.json")


def _load(path: Path) -> Ints:
    found: Ints = mapped_array(path)
    if found.ndim != 1 or found.dtype != np.int64:
        raise ValueError(path)
    return found
