"""Vectors of column headers: the texts they are made of, and which vector each column has."""

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
# text (`graph` on Spider dev: F1 83.2), but there are as many of them as columns, and half an hour
# goes by over 100,000. Beyond, the names of columns and of tables are embedded apart and their
# vectors added (F1 80.9; by the column's name alone 77.8): under 25,000 texts for the 193,113
# columns of Spider 2.
MOST_WITH_TABLE = 20_000
# Columns whose vectors are added together.
_BLOCK = 1 << 14


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
        """A row for each of some columns; what is no number in a damaged file becomes 0."""
        found: Vectors = self.vectors[self.codes[columns]].astype(np.float32)
        return np.nan_to_num(found, copy=False, posinf=0.0, neginf=0.0)

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


@dataclass(frozen=True, slots=True)
class HeaderTexts:
    """Distinct `texts` to embed for columns, each column's place there (`codes`), and `names` of
    tables to embed beside them: one for each column, or none where they are in the texts."""

    texts: list[str]
    codes: npt.NDArray[np.int32]
    names: list[str]
    name_codes: npt.NDArray[np.int32]

    @property
    def every(self) -> list[str]:
        """All texts to embed."""
        return [*self.texts, *self.names]

    def vectors(self, embedded: Vectors) -> HeaderVectors:
        """The headers' vectors, given those of all texts; two parts are added at length one."""
        if not self.names:
            return HeaderVectors(embedded.astype(np.float16), self.codes)
        columns, tables = embedded[: len(self.texts)], embedded[len(self.texts) :]
        found = np.empty((len(self.codes), embedded.shape[1]), dtype=np.float16)
        for at in range(0, len(found), _BLOCK):
            part = slice(at, at + _BLOCK)
            total = columns[self.codes[part]] + tables[self.name_codes[part]]
            found[part] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-6)
        return HeaderVectors(found, np.arange(len(found), dtype=np.int32))


def header_texts(tables: Sequence[Table], most_with_table: int = MOST_WITH_TABLE) -> HeaderTexts:
    """The texts that the columns of some tables are embedded by.

    A text is a column's name after its table's; the two stand apart where there would be too many.
    """
    both = [(table.name, column.name) for table in tables for column in table.columns]
    texts, codes = _distinct([header_text(*names) for names in both])
    if len(texts) <= most_with_table:
        return HeaderTexts(texts, codes, [], codes[:0])
    texts, codes = _distinct([spelled(column) for _, column in both])
    names, name_codes = _distinct([spelled(table) for table, _ in both])
    return HeaderTexts(texts, codes, names, name_codes)


def _distinct(texts: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(codes, dtype=np.int32)
