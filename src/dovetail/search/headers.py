"""Vectors of column headers: the texts they are made of, and which vector each column has."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Ints, Vectors
from dovetail.catalog.files import mapped_array
from dovetail.domain import Table
from dovetail.search.embedding_text import header_text

VECTORS, CODES = "headers.npy", "header_of.npy"

Thing = TypeVar("Thing", bound=Hashable)


@dataclass(frozen=True, slots=True)
class HeaderVectors:
    """The `vectors` of distinct headers, in half precision; `codes` has a place there per column.

    Columns are numbered through the tables of the catalog.
    """

    vectors: npt.NDArray[np.float16]
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, columns: Ints | slice) -> Vectors:
        """A row for each of some columns; what is no number in a damaged file becomes 0."""
        found: Vectors = self.vectors[self.codes[columns]].astype(np.float32)
        return np.nan_to_num(found, copy=False, posinf=0.0, neginf=0.0)

    def cosines(self, columns: Ints, vector: Vectors) -> Vectors:
        """The cosine of each of some columns and a vector; 0 for those that are damaged."""
        with np.errstate(invalid="ignore"):
            found: Vectors = self.vectors[self.codes[columns]].astype(np.float32) @ vector
        return np.nan_to_num(found, copy=False, posinf=0.0, neginf=0.0)

    @classmethod
    def load(cls, folder: Path) -> HeaderVectors:
        """The vectors in a folder, mapped into memory; ValueError where they do not fit."""
        vectors, codes = (mapped_array(folder / name) for name in (VECTORS, CODES))
        if vectors.ndim != 2 or (len(codes) and not 0 <= codes.min() <= codes.max() < len(vectors)):
            raise ValueError(folder)
        return cls(vectors, codes)

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        np.save(folder / VECTORS, self.vectors)
        np.save(folder / CODES, self.codes)


@dataclass(frozen=True, slots=True)
class HeaderTexts:
    """The distinct `texts` of headers, each to be embedded, and each column's place there."""

    texts: list[str]
    codes: npt.NDArray[np.int32]

    def vectors(self, embedded: Vectors) -> HeaderVectors:
        """The headers' vectors, given those of the texts."""
        return HeaderVectors(embedded.astype(np.float16), self.codes)


def header_texts(tables: Sequence[Table]) -> HeaderTexts:
    """A text for each column: its name after that of its table, and its comment."""
    every = [
        header_text(table.name, column.name, column.comment)
        for table in tables
        for column in table.columns
    ]
    return HeaderTexts(*distinct(every))


def distinct(things: Iterable[Thing]) -> tuple[list[Thing], npt.NDArray[np.int32]]:
    """The things once each, as they come, and the place there of every one."""
    places: dict[Thing, int] = {}
    codes = [places.setdefault(thing, len(places)) for thing in things]
    return list(places), np.array(codes, dtype=np.int32)
