"""Vectors of column headers: one for each distinct header, and which of them each column has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.domain import Table
from dovetail.search.dense import Places, Vectors
from dovetail.search.embedding_text import header_text, spelled

VECTORS, CODES = "headers.npy", "header_of.npy"
# Distinct headers up to which each is embedded together with its table's name. That is the better
# text (`graph` on Spider dev: F1 83.2, by the name alone 77.8), but there are as many of them as
# columns, and half an hour goes by over 100,000; of names alone a lake has few: 19,169 for the
# 193,113 columns of Spider 2.
MOST_WITH_TABLE = 20_000


@dataclass(frozen=True, slots=True)
class HeaderVectors:
    """The `vectors` of distinct headers, in half precision; `codes` has a place there per column.

    Columns are numbered through the tables of the catalog.
    """

    vectors: npt.NDArray[np.float16]
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, columns: Places | slice) -> Vectors:
        """A row for each of some columns."""
        found: Vectors = self.vectors[self.codes[columns]].astype(np.float32)
        return found

    @classmethod
    def load(cls, folder: Path) -> HeaderVectors:
        """The vectors in a folder, mapped into memory; ValueError where they do not fit."""
        # As plain arrays: every slice of a memmap costs more than the slice.
        vectors, codes = (
            np.asarray(np.load(folder / name, mmap_mode="r", allow_pickle=False))
            for name in (VECTORS, CODES)
        )
        if vectors.ndim != 2 or (len(codes) and not 0 <= codes.min() <= codes.max() < len(vectors)):
            raise ValueError(folder)
        return cls(vectors, codes)

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        np.save(folder / VECTORS, self.vectors)
        np.save(folder / CODES, self.codes)


def header_texts(
    tables: Sequence[Table], most_with_table: int = MOST_WITH_TABLE
) -> tuple[list[str], npt.NDArray[np.int32]]:
    """The distinct texts that columns are embedded by, and the place there of each column's.

    A text is a column's name after its table's; or the name alone, where there would be too many.
    """
    texts, codes = _distinct(
        [header_text(table.name, column.name) for table in tables for column in table.columns]
    )
    if len(texts) <= most_with_table:
        return texts, codes
    return _distinct([spelled(column.name) for table in tables for column in table.columns])


def _distinct(texts: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(codes, dtype=np.int32)
