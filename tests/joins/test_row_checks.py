"""Questions about rows: the answers of numpy against those of plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.joins.composite import LEAST_SHARE, composite
from dovetail.joins.rows import RowHashes, RowReader

CELLS = st.integers(0, 3)  # 0 stands for a missing value
TABLE = st.integers(1, 8).flatmap(
    lambda rows: st.lists(st.lists(CELLS, min_size=rows, max_size=rows), min_size=4, max_size=4)
)


class Rows:
    """Tables in memory, by name, as a reader gives them: a row of the array is a column."""

    def __init__(self, **tables: Sequence[Sequence[int]]) -> None:
        self._tables = {name: np.array(rows, dtype=np.uint64) for name, rows in tables.items()}

    def read(self, table: TableId, columns: Sequence[int]) -> RowHashes | None:
        found = self._tables.get(table.name)
        return None if found is None else found[list(columns)]


def ask(rows: Rows, check: Callable[[RowReader, Any], Any], question: dict[str, Any]) -> Any:
    return check(cast(RowReader, rows), question)


def complete(table: Sequence[Sequence[int]], columns: Sequence[int]) -> list[tuple[int, ...]]:
    rows = zip(*(table[column] for column in columns), strict=True)
    return [row for row in rows if all(row)]


@given(TABLE, TABLE)
def test_composite_keys_are_those_of_plain_python(
    child: list[list[int]], parent: list[list[int]]
) -> None:
    parts = [(0, 0), (0, 1), (1, 1), (2, 2), (3, 3)]
    expected: list[list[int]] = []
    for width in (2, 3):
        for chosen in combinations(range(len(parts)), width):
            mine, theirs = ([parts[number][side] for number in chosen] for side in (0, 1))
            if len(set(mine)) < width or len(set(theirs)) < width:
                continue
            key, references = complete(parent, theirs), complete(child, mine)
            found = sum(row in key for row in references)
            if (
                key
                and references
                and len(set(key)) == len(key)
                and found >= LEAST_SHARE * len(references)
            ):
                counts = (len(key), len(references), found, len(set(references)))
                expected.append([*chosen, *counts])
        if expected:
            break
    question = {
        "child": ["s", "child"],
        "parent": ["s", "parent"],
        "parts": parts,
        "first": 0,
        "days": [],
    }
    answer = ask(Rows(child=child, parent=parent), composite, question)
    assert answer == expected


def test_a_table_that_cannot_be_read_answers_nothing() -> None:
    nowhere = ["s", "nowhere"]
    question = {
        "child": nowhere,
        "parent": nowhere,
        "parts": [[0, 0], [1, 1]],
        "first": 0,
        "days": [],
    }
    assert ask(Rows(), composite, question) == []
