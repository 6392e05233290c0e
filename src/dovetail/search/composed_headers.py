"""Vectors of headers put together from those of tables' and columns' names, for very many columns.

There are as many headers as columns, but far fewer names. A few thousand headers, drawn by their
digests, are embedded as they are, and least squares over them learn what the sum of a table's and a
column's vector lacks. Nothing of that is kept: the same catalog always draws the same headers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.domain import Table
from dovetail.names.words import spelled
from dovetail.search.headers import HeaderVectors, distinct

Places = npt.NDArray[np.int32]

# Headers that are embedded as they are. Of 1,000 the cosine of a composed header with its own
# vector was 0.944 on the average (Spider train, those not drawn), of 2,000 0.950; a sum has 0.875.
DRAWN = 2_048
# How strongly least squares are held to change little (ridge).
_RIDGE = 2.0
# Headers that are put together at a time.
_BLOCK = 1 << 14


@dataclass(frozen=True, slots=True)
class ComposedHeaders:
    """Headers as pairs of a place in `tables` and one in `columns`, which are names as words.

    `codes` is the header of each column of the catalog; `drawn` are the headers that are embedded
    as they are.
    """

    tables: list[str]
    columns: list[str]
    table: Places
    column: Places
    codes: Places
    drawn: Places

    @property
    def texts(self) -> list[str]:
        """All texts to embed: names of tables, names of columns, and the headers drawn."""
        drawn = zip(self.table[self.drawn].tolist(), self.column[self.drawn].tolist(), strict=True)
        whole = [f"{self.tables[table]} {self.columns[column]}" for table, column in drawn]
        return [*self.tables, *self.columns, *whole]

    def vectors(self, embedded: Vectors) -> HeaderVectors:
        """The headers' vectors, given those of the texts."""
        ends = len(self.tables), len(self.tables) + len(self.columns)
        tables, columns, own = np.split(embedded, ends)
        long = _weighted(tables, self.tables), _weighted(columns, self.columns)
        table, column = self.table[self.drawn], self.column[self.drawn]
        lacking = own - _at_length_one(long[0][table] + long[1][column])
        for_tables, for_columns = _learned(tables, columns, table, column, lacking)
        found = np.empty((len(self.table), embedded.shape[1]), dtype=np.float16)
        for at in range(0, len(found), _BLOCK):
            table, column = self.table[at : at + _BLOCK], self.column[at : at + _BLOCK]
            total = _at_length_one(long[0][table] + long[1][column])
            found[at : at + _BLOCK] = _at_length_one(
                total + for_tables[table] + for_columns[column]
            )
        return HeaderVectors(found, self.codes)


def composed_headers(
    tables: Sequence[Table], like: Sequence[int], drawn: int = DRAWN
) -> ComposedHeaders:
    """The headers of tables; `like` is the place of the table whose name each of them goes by."""
    words = [spelled(table.name) for table in tables]
    names, table_of = distinct(words[place] for place in like)
    columns, column_of = distinct(spelled(c.name) for table in tables for c in table.columns)
    owner = np.repeat(table_of, [len(table.columns) for table in tables])
    pairs, codes = distinct(zip(owner.tolist(), column_of.tolist(), strict=True))
    table, column = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    digests = [_digest(f"{names[mine]} {columns[its]}") for mine, its in pairs]
    order = sorted(range(len(pairs)), key=digests.__getitem__)[:drawn]
    return ComposedHeaders(names, columns, table, column, codes, np.array(order, dtype=np.int32))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _weighted(vectors: Vectors, names: Sequence[str]) -> Vectors:
    """The vectors of names, longer for longer ones: they have more of the model's mean."""
    lengths = np.sqrt([max(len(name), 1) for name in names]).astype(np.float32)
    weighted: Vectors = vectors * lengths[:, None]
    return weighted


def _at_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = vectors / np.maximum(lengths, np.float32(1e-6))
    return found


def _learned(
    tables: Vectors, columns: Vectors, table: Places, column: Places, lacking: Vectors
) -> tuple[Vectors, Vectors]:
    """What to add for each table and for each column, so that little is lacking (ridge)."""
    one = np.ones((len(table), 1))
    known = np.hstack([tables[table], columns[column], one]).astype(np.float64)
    squares = known.T @ known + _RIDGE * np.eye(known.shape[1])
    learned = np.linalg.solve(squares, known.T @ lacking).astype(np.float32)
    width = tables.shape[1]
    return tables @ learned[:width], columns @ learned[width:-1] + learned[-1]
