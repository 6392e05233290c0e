"""The columns of each table: what keys of several columns need."""

from __future__ import annotations

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import core, identifies

# Tables with no more rows than these say nothing by their values.
HARDLY_ANY = 5


class TableColumns:
    """Columns by table and name, over `ColumnArrays` that number them through all tables."""

    def __init__(self, arrays: ColumnArrays) -> None:
        self.of: list[list[int]] = [[] for _ in arrays.ids]
        for column, table in enumerate(arrays.table.tolist()):
            self.of[table].append(column)
        self.place = {table: number for number, table in enumerate(arrays.ids)}
        self._arrays = arrays
        self._has_key = self._keys_first()

    def find(self, table: int, name: str) -> int:
        """A column of a table by name."""
        return next(c for c in self.of[table] if self._arrays.name[c] == name)

    def has_key_column(self, table: int) -> bool:
        """Whether the first column is a key, by which the table is then referred to."""
        return table in self._has_key

    def _keys_first(self) -> set[int]:
        """The tables whose first column is unique, and called an identifier or like the table."""
        arrays = self._arrays
        first = {t: columns[0] for t, columns in enumerate(self.of) if columns}
        unique = [(t, arrays.name[c]) for t, c in first.items() if arrays.unique[c]]
        called, about = [core(name) for _, name in unique], [arrays.ids[t].name for t, _ in unique]
        named = refers(called, [entity(name) for name in about]) > 0.5
        return {t for (t, name), own in zip(unique, named, strict=True) if own or identifies(name)}


def probability(logit: float) -> float:
    """The score that log-odds in nats stand for, as edges carry it."""
    return round(float(1 / (1 + np.exp(-logit))), 6)
