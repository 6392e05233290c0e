"""Columns that are compared with the keys of their own source alone.

The numbers 1 to 10 are in every other table. Where very many tables hold a column's values, these
say nothing; where its name fits very many keys, it says little more. All pairs of such columns and
keys would be as many as tables times tables, and hardly one of them a join: of keys that look alike
the one of the same source is preferred in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.names.lookup import NameIndex
from dovetail.names.words import core

# Tables that hold a value, on average, from which on the values of a column say nothing.
_EVERYDAY = 1_000
# Keys that a name may fit for them to be looked at wherever they are.
_FEW_KEYS = 64


@dataclass(frozen=True, slots=True)
class Confinement:
    """Per column: whether only keys of its own source count for it, and the source's number."""

    confined: Flags
    source: Ints

    def allows(self, child: Ints, parent: Ints) -> Flags:
        """Whether each pair may be looked at."""
        allowed: Flags = ~self.confined[child] | (self.source[child] == self.source[parent])
        return allowed


def confinement(arrays: ColumnArrays, common: Floats) -> Confinement:
    """Which columns are confined; `common` is ln of how many tables hold a column's values.

    None is where sources do not count, or where there is but one.
    """
    source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
    everyday = (common > log(_EVERYDAY)) & (arrays.filled > 0)
    if not arrays.thresholds.sources or not everyday.any() or (source == source[0]).all():
        return Confinement(np.zeros(len(arrays), dtype=np.bool_), source)
    columns = np.flatnonzero(everyday)
    keys = np.flatnonzero(arrays.key).tolist()
    tables = [arrays.ids[table].name for table in arrays.table[keys].tolist()]
    lookup = NameIndex.of_keys(tables, [arrays.name[key] for key in keys])
    names = Encoded.of([arrays.name[column] for column in columns.tolist()])
    fits_many = [lookup.has_more_than(core(name), _FEW_KEYS) for name in names.dictionary]
    confined = np.zeros(len(arrays), dtype=np.bool_)
    confined[columns] = np.array(fits_many, dtype=np.bool_)[names.codes]
    return Confinement(confined, source)
