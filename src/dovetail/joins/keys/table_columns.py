"""The columns of each table: what keys of several columns need."""

from __future__ import annotations

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.name_words import core, entity, identifies, refers

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

    def find(self, table: int, name: str) -> int:
        """A column of a table by name."""
        return next(c for c in self.of[table] if self._arrays.name[c] == name)

    def has_key_column(self, table: int) -> bool:
        """Whether the first column is a key, by which the table is then referred to."""
        if not self.of[table]:
            return False
        first = self.of[table][0]
        name = self._arrays.name[first]
        named = identifies(name) or refers(core(name), entity(self._arrays.ids[table].name)) > 0.5
        return bool(self._arrays.unique[first]) and named


def probability(logit: float) -> float:
    """The score that log-odds in nats stand for, as edges carry it."""
    return round(float(1 / (1 + np.exp(-logit))), 6)
