"""The vectors of tables, with the nearest by cosine, and those of headers.

The nearest tables are the paper's dense retrieval, DR (Section 4.1). The search is exact: 100,000
vectors of 384 numbers take about 20 ms on one core, half of what FAISS takes for one question.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, Vectors
from dovetail.catalog.generation import Part

_FILE = "dense.npy"
HEADER_VECTORS, _HEADER_OF = "headers.npy", "header_of.npy"
# Headers that are held in single precision, 25 MB of them: a question looks at half of a catalog's,
# and to convert these each time took most of the time of the search.
_CONVERTED = 16_384
# Headers that are taken out of their order and multiplied at a time: as many as stay in the cache.
_AT_A_TIME = 256


class Dense:
    """Vectors of length one, numbered by row, and the nearest of them to another."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    @classmethod
    def load(cls, part: Part) -> Dense:
        """The vectors in a part, mapped into memory; ValueError where they are none."""
        vectors = part.array(_FILE)
        if vectors.ndim != 2 or vectors.dtype != np.float32:
            raise ValueError(part.folder)
        return cls(vectors)

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        np.save(folder / _FILE, self._vectors)

    def vectors(self, rows: Ints) -> Vectors:
        """The vectors of some rows."""
        chosen: Vectors = self._vectors[rows]
        return chosen

    def nearest(
        self, vector: Vectors, count: int, allowed: Flags | None = None
    ) -> tuple[Ints, Vectors]:
        """The rows of the nearest vectors and their cosines, the nearest first, ties by row.

        Given `allowed`, only the rows that it flags are considered.
        """
        # Unlike a product by BLAS, this gives equal rows equal cosines.
        cosines = np.einsum("ij,j->i", self._vectors, vector)
        rows = np.arange(len(cosines)) if allowed is None else np.flatnonzero(allowed)
        if count < len(rows):
            least = np.partition(cosines[rows], -count)[-count]
            rows = rows[cosines[rows] >= least]
        best = rows[np.lexsort((rows, -cosines[rows]))][:count]
        return best, cosines[best]


@dataclass(frozen=True, slots=True)
class HeaderVectors:
    """The `vectors` of distinct headers, as numbers that half precision has; `codes` has the row of
    each column. Columns are numbered through the tables of the catalog.
    """

    vectors: npt.NDArray[np.float16] | Vectors
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, columns: Ints | slice) -> Vectors:
        """A row for each of the columns; what is no number in a damaged file becomes 0."""
        rows: Vectors = self.vectors[self.codes[columns]].astype(np.float32, copy=False)
        return np.nan_to_num(rows, copy=False, posinf=0.0, neginf=0.0)

    def cosines(self, columns: Ints | slice, vector: Vectors) -> Vectors:
        """The cosine of each of the columns and a vector; 0 for those that are damaged."""
        codes = self.codes[columns]
        cosines = np.empty(len(codes), dtype=np.float32)
        with np.errstate(invalid="ignore"):
            for at in range(0, len(codes), _AT_A_TIME):
                rows = self.vectors[codes[at : at + _AT_A_TIME]].astype(np.float32, copy=False)
                np.matmul(rows, vector, out=cosines[at : at + _AT_A_TIME])
        cosines[~np.isfinite(cosines)] = 0.0
        return cosines

    @classmethod
    def load(cls, part: Part) -> HeaderVectors:
        """The vectors in a part, mapped into memory; ValueError where they do not fit."""
        vectors, codes = part.array(HEADER_VECTORS, check=False), part.array(_HEADER_OF)
        if vectors.ndim != 2 or (len(codes) and not 0 <= codes.min() <= codes.max() < len(vectors)):
            raise ValueError(part.folder)
        if len(vectors) <= _CONVERTED:
            vectors = vectors.astype(np.float32)
        return cls(vectors, codes)

    def save(self, folder: Path) -> None:
        """Write the vectors into a folder."""
        np.save(folder / HEADER_VECTORS, self.vectors.astype(np.float16, copy=False))
        np.save(folder / _HEADER_OF, self.codes)
