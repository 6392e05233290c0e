"""Naming conventions of tables: how alike two tables spell their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Encoded, Floats, Ints, spans
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.name_words import core, identifies, is_plural, naming_convention


def naming_conventions(arrays: ColumnArrays, names: Encoded[str] | None = None) -> Floats:
    """A row of unit length per table; the product of two rows says how alike their conventions are.

    Counted are the case, separators and form of 'id' of all names, whether keys are named after the
    table, and plurals; as in tf-idf, what few tables do weighs more.
    `names` are the columns' names, if they are encoded already.
    """
    names = names or Encoded.of(arrays.name)
    traits = [naming_convention(name) for name in names.dictionary]
    keys = [_key_trait(name) for name in names.dictionary]
    of_key = np.array([bool(trait) for trait in keys], dtype=np.bool_)
    first = np.flatnonzero((arrays.position == 0) & arrays.unique & of_key[names.codes])
    listed = [_of_table(table.name) for table in arrays.ids]
    every = sorted({trait for some in (*traits, keys, *listed) for trait in some if trait})
    index = {trait: place for place, trait in enumerate(every)}
    times = np.zeros((len(arrays.ids), len(index)), dtype=np.int64)
    _count(times, arrays.table, names.codes, [[index[t] for t in some] for some in traits])
    places = [[index[trait]] if trait else [] for trait in keys]
    _count(times, arrays.table[first], names.codes[first], places)
    tables = np.arange(len(arrays.ids))
    _count(times, tables, tables, [[index[t] for t in some] for some in listed])
    logs = np.array([0.0, *(1 + np.log(n) for n in range(1, int(times.max(initial=0)) + 1))])
    # Row by row in memory: sums of the same numbers in another order may differ in the last bit.
    matrix = np.ascontiguousarray(logs[times[:, times.any(axis=0)]])
    matrix *= np.log(1 + len(matrix) / np.maximum((matrix > 0).sum(axis=0), 1))
    unit: Floats = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return unit


def _key_trait(name: str) -> str:
    """How a key is called: by an id-word alone, or with a name; nothing if by no id-word."""
    if not identifies(name):
        return ""
    return "key named" if core(name) else "key bare"


def _of_table(name: str) -> list[str]:
    """The traits of a table's name; whether it stands in the plural counts double."""
    number = "table plural" if is_plural(name) else "table singular"
    return [*(f"table {trait}" for trait in naming_convention(name)), number, number]


def _count(times: Ints, rows: Ints, codes: Ints, places: Sequence[Sequence[int]]) -> None:
    """Count, in each row, the places that its code stands for."""
    lengths = np.array([len(some) for some in places], dtype=np.int64)
    ends = np.cumsum(lengths)
    flat = np.array([place for some in places for place in some], dtype=np.int64)
    every = flat[spans((ends - lengths)[codes], ends[codes])]
    counted = np.bincount(
        np.repeat(rows, lengths[codes]) * times.shape[1] + every, minlength=times.size
    )
    times += counted.reshape(times.shape)
