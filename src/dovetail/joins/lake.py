"""A catalog as join evidence sees it: columns in arrays, numbered through all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.catalog.reader import Catalog
from dovetail.domain import Kind, TableId
from dovetail.hashing import Hashes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_NUMBERS = (Kind.INTEGER, Kind.REAL)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What still counts, in dirty data, as a reference and as a key.

    `rows`: the least share of a column's rows that must be found in the key it refers to.
    `unique`: the least share of distinct values in a key.
    """

    rows: float = 0.7
    unique: float = 0.8


DEFAULT = Thresholds()


@dataclass(frozen=True, slots=True)
class Lake:
    """Tables and their columns. Per table: id, rows. Per column: the rest.

    `filled` counts the rows with a value; `low` and `high` are NaN unless the column holds numbers.
    `key` columns are unique but for a few rows entered twice.
    """

    ids: Sequence[TableId]
    rows: Ints
    table: Ints
    position: Ints
    name: Sequence[str]
    number: Flags
    filled: Ints
    unique: Flags
    key: Flags
    low: Floats
    high: Floats
    vectors: Sequence[Hashes]
    counts: Sequence[npt.NDArray[np.uint32]]
    thresholds: Thresholds = DEFAULT

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def distinct(self) -> Ints:
        return np.array([len(vector) for vector in self.vectors], dtype=np.int64)

    @classmethod
    def of(cls, catalog: Catalog, thresholds: Thresholds = DEFAULT) -> Lake:
        """All tables of a catalog, in the order of their ids."""
        tables, columns = catalog.rows.tables, catalog.rows.columns
        rows = tables["rows"].to_numpy().astype(np.int64)
        widths = tables["columns"].to_numpy().astype(np.int64)
        table = np.repeat(np.arange(len(rows)), widths)
        starts = np.repeat(np.cumsum(widths) - widths, widths)
        number = np.isin(columns["kind"].to_numpy(zero_copy_only=False), _NUMBERS)
        vectors, counts = catalog.vectors()
        filled = rows[table] - columns["nulls"].to_numpy()
        distinct = columns["distinct"].to_numpy()
        return cls(
            ids=catalog.ids,
            rows=rows,
            table=table,
            position=np.arange(len(table)) - starts,
            name=columns["name"].to_pylist(),
            number=number,
            filled=filled,
            unique=columns["unique"].to_numpy(zero_copy_only=False),
            key=(distinct > 0) & (distinct >= thresholds.unique * filled),
            low=_numbers(columns["minimum"].to_pylist(), number),
            high=_numbers(columns["maximum"].to_pylist(), number),
            vectors=vectors,
            counts=counts,
            thresholds=thresholds,
        )


def _numbers(texts: Sequence[str | None], number: Flags) -> Floats:
    found = [float(t) if n and t else np.nan for t, n in zip(texts, number, strict=True)]
    return np.array(found, dtype=np.float64)
