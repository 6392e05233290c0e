"""Naming conventions of tables: how alike two tables spell their names."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Floats
from dovetail.joins.naming.name_words import core, identifies, is_plural, naming_convention


def naming_conventions(arrays: ColumnArrays) -> Floats:
    """A row of unit length per table; the product of two rows says how alike their conventions are.

    Counted are the case, separators and form of 'id' of all names, whether keys are named after the
    table, and plurals; as in tf-idf, what few tables do weighs more.
    """
    traits: list[Counter[str]] = [Counter() for _ in arrays.ids]
    facts = zip(arrays.table.tolist(), arrays.name, arrays.position, arrays.unique, strict=True)
    for table, name, position, unique in facts:
        traits[table].update(naming_convention(name))
        if position == 0 and unique and identifies(name):
            traits[table]["key named" if core(name) else "key bare"] += 1
    for counted, table_id in zip(traits, arrays.ids, strict=True):
        counted.update(f"table {trait}" for trait in naming_convention(table_id.name))
        counted["table plural" if is_plural(table_id.name) else "table singular"] += 2
    every = sorted({trait for counted in traits for trait in counted})
    index = {trait: place for place, trait in enumerate(every)}
    matrix = np.zeros((len(traits), len(index)))
    for row, counted in enumerate(traits):
        for trait, times in counted.items():
            matrix[row, index[trait]] = 1 + np.log(times)
    matrix *= np.log(1 + len(traits) / np.maximum((matrix > 0).sum(axis=0), 1))
    unit: Floats = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return unit
