"""Naming conventions counted by the distinct names, against every column by itself."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.arrays import Floats
from dovetail.domain import TableId
from dovetail.joins.columns import ColumnArrays
from dovetail.names.conventions import is_plural, naming_convention
from dovetail.names.words import core, identifies
from tests.support.column_arrays import arrays_of

NAMES = st.sampled_from(
    ["id", "orderId", "Order_ID", "CUST NO", "prices", "a_b_c", "7", "é", "ref"]
)
COLUMNS = st.lists(st.tuples(NAMES, st.integers(0, 3), st.booleans()), max_size=12)


def by_column(arrays: ColumnArrays) -> Floats:
    """The same, a column at a time."""
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


@settings(deadline=None)
@given(COLUMNS, st.lists(NAMES, min_size=4, max_size=4))
def test_conventions_are_those_of_each_column_by_itself(
    columns: list[tuple[str, int, bool]], tables: list[str]
) -> None:
    columns = sorted(columns, key=lambda column: column[1])
    arrays = arrays_of([{1}] * len(columns), [t for _, t, _ in columns], [u for *_, u in columns])
    first = np.append(True, np.diff(arrays.table) > 0)[: len(columns)]
    arrays = replace(
        arrays,
        ids=[TableId("s", name) for name in tables[: len(arrays.ids)]],
        name=[name for name, _, _ in columns],
        position=np.where(first, 0, 1),
        first=first,
    )
    assert np.array_equal(arrays.conventions(), by_column(arrays))


@given(st.text("idIDaZ_ 0-é.\n", max_size=9))
def test_conventions_by_the_shape_of_a_name_are_those_of_the_name(name: str) -> None:
    parts = re.findall("[A-Za-z]+", name)
    cases = [
        "upper" if part.isupper() and len(part) > 1 else "title" if part[0].isupper() else "lower"
        for part in parts
    ]
    expected = [f"{'later' if place else 'first'} {case}" for place, case in enumerate(cases)]
    camel = re.search("[a-z][A-Z]", name) is not None
    if len(parts) > 1 or camel:
        separator = "_" if "_" in name.strip("_") else " " if " " in name else ""
        expected.append(f"between {separator}{'camel' if camel else ''}")
    if parts and parts[-1].lower() == "id":
        expected.append(f"id as {parts[-1]}")
    assert list(naming_convention(name)) == expected
