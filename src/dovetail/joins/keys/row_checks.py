"""What keys of several columns ask of rows: questions about one or two tables, answered in numbers.

A question is JSON and so is its answer, so that a pass can answer it wherever the tables can be
read. A table is named by source and name, a column by its index in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from dovetail.arrays import Ints, sorted_distinct
from dovetail.catalog.records import numbers
from dovetail.domain import TableId
from dovetail.engines.passes import Arrays, Passes, Range
from dovetail.joins.column_arrays import CatalogValues
from dovetail.joins.keys.few_rows import FEW_ROWS, Combined
from dovetail.joins.row_hashes import RowHashes, RowReader, combine_columns
from dovetail.plugins import resolve
from dovetail.ports import Json

# The least share of the child's rows that must be found: several columns agree by less chance.
LEAST_SHARE = 0.9
_MOST_COLUMNS = 3
# Combinations of columns that are tried together.
_AT_ONCE = 4096
# Cells that a range of questions reads, about, and what a question costs besides, in cells.
_CELLS, _EACH = 1 << 22, 1 << 13
# The tables that a question is about.
_SIDES = ("child", "parent", "table")

# A column of the child and the column of the parent that it refers to.
Part = tuple[int, int]


def composite(rows: RowReader, question: Json) -> list[list[int]]:
    """The composite keys of the fewest columns by which one table refers to another.

    For every such combination of the `parts`: their numbers, and then how many rows the key has,
    how many refer, how many of them are found, and how many distinct ones there are.
    """
    child, parent = (TableId(*question[side]) for side in ("child", "parent"))
    parts = [(mine, theirs) for mine, theirs in question["parts"]]
    small = question["rows"] <= FEW_ROWS
    for width in range(2, min(_MOST_COLUMNS, len(parts)) + 1):
        chosen = (some for some in combinations(range(len(parts)), width) if _apart(parts, some))
        likely = _likely(rows, child, parent, parts, chosen) if small else chosen
        found = []
        for some in likely:
            counted = _counted(rows, child, parent, [parts[number] for number in some])
            if counted is not None:
                found.append([*some, *counted])
        if found:
            return found
    return []


def first_key(rows: RowReader, question: Json) -> list[int]:
    """The first two or three of some columns that together are a key of their table, by number.

    None of them is one alone. Without such a key the answer is empty.
    """
    table, columns = TableId(*question["table"]), question["columns"]
    for width in (2, 3):
        for chosen in combinations(range(len(columns)), width):
            key = _tuples(rows, table, [columns[number] for number in chosen])
            if key is not None and len(key) and len(sorted_distinct(key)) == len(key):
                return list(chosen)
    return []


def depth(rows: RowReader, question: Json) -> int:
    """The longest chain from row to row by a column that refers to the table's first one.

    0 when there is none, or it is a cycle.
    """
    found = rows.read(TableId(*question["table"]), [0, question["column"]])
    return 0 if found is None else _longest_chain(found)


# Answers a question about one or two tables.
Check = Callable[[RowReader, Json], Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, and the check, named `module:function`, that answers them."""

    check: str
    questions: Sequence[Json]


class RowQuestions:
    """Has a pass answer questions about rows; `complete` as long as every table is as it was."""

    def __init__(self, passes: Passes[CatalogValues]) -> None:
        self._passes = passes
        tables = passes.values.catalog.records.tables
        sizes: list[int] = (numbers(tables["rows"]) * numbers(tables["columns"])).tolist()
        names = zip(tables["source"].to_pylist(), tables["name"].to_pylist(), strict=True)
        self._cells: dict[tuple[str, str], int] = dict(zip(names, sizes, strict=True))
        self.complete = True

    def ask(self, check: Check, questions: Sequence[Json]) -> list[Any]:
        """What a check says to each of some questions, in their order."""
        ranges = list(self._ranges(questions))
        shared = {"asked": Asked(f"{check.__module__}:{check.__qualname__}", questions)}
        answers: list[Any] = []
        for number, part in enumerate(self._passes.run(check_rows, ranges, shared)):
            if self._passes.elsewhere is not None and not part["complete"]:
                # A node that does not reach the source, or lacks the credentials for it.
                part = check_rows(self._passes.values, *ranges[number], shared)
            answers += json.loads(part["answers"].tobytes())
            self.complete = self.complete and bool(part["complete"])
        return answers

    def _ranges(self, questions: Sequence[Json]) -> Iterator[Range]:
        """Questions in ranges of about equal work: a table is read once for a range."""
        first, tables, work = 0, set[tuple[str, str]](), 0
        for number, question in enumerate(questions):
            named = {(s, n) for s, n in (question[side] for side in _SIDES if side in question)}
            more = _EACH + sum(self._cells[table] for table in named - tables)
            if number > first and work + more > _CELLS:
                yield first, number
                first, tables, work = number, set(), 0
                more = _EACH + sum(self._cells[table] for table in named)
            tables |= named
            work += more
        if questions:
            yield first, len(questions)


def check_rows(values: CatalogValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass over questions: the answers as JSON, and whether every table could be read."""
    asked, rows = shared["asked"], values.rows
    check: Check = resolve(asked.check)
    rows.complete = True
    answers = [check(rows, question) for question in asked.questions[first:last]]
    encoded = np.frombuffer(json.dumps(answers).encode(), dtype=np.uint8)
    return {"answers": encoded, "complete": np.array(rows.complete)}


def _apart(parts: Sequence[Part], chosen: Sequence[int]) -> bool:
    """Whether no column is part of a combination twice."""
    return all(len({parts[n][side] for n in chosen}) == len(chosen) for side in (0, 1))


def _likely(
    rows: RowReader,
    child: TableId,
    parent: TableId,
    parts: Sequence[Part],
    chosen: Iterator[tuple[int, ...]],
) -> Iterator[tuple[int, ...]]:
    """Of two tables of few rows: the combinations that may be a composite key, many at once."""
    sides = np.array(parts, dtype=np.int64)
    while some := list(islice(chosen, _AT_ONCE)):
        places = np.array(some, dtype=np.int64)
        key = _combined(rows, parent, sides[places, 1])
        if key is None:
            return
        able = key.may_be_keys()
        if not able.any():
            continue
        references = _combined(rows, child, sides[places[able], 0])
        if references is not None:
            able[able] = references.found_in(key.take(able), LEAST_SHARE)
            yield from (some[place] for place in np.flatnonzero(able).tolist())


def _counted(
    rows: RowReader, child: TableId, parent: TableId, parts: Sequence[Part]
) -> tuple[int, int, int, int] | None:
    """Rows of the key, references, those found and distinct ones; None if it is no such key."""
    key = _tuples(rows, parent, [theirs for _, theirs in parts])
    if key is None or not len(key) or len(sorted_distinct(key)) < len(key):
        return None
    references = _tuples(rows, child, [mine for mine, _ in parts])
    if references is None or not len(references):
        return None
    found = int(np.count_nonzero(np.isin(references, key)))
    if found / len(references) < LEAST_SHARE:
        return None
    return len(key), len(references), found, len(sorted_distinct(references))


def _tuples(rows: RowReader, table: TableId, columns: Sequence[int]) -> RowHashes | None:
    """A hash per complete row over some columns of a table; None if it cannot be read."""
    found = rows.read(table, columns)
    return None if found is None else combine_columns(found)


def _combined(rows: RowReader, table: TableId, chosen: Ints) -> Combined | None:
    """The rows of a table by many combinations of its columns; None if it cannot be read."""
    columns, places = np.unique(chosen, return_inverse=True)
    found = rows.read(table, columns.tolist())
    return None if found is None else Combined.of(found, places.reshape(chosen.shape))


def _longest_chain(found: RowHashes) -> int:
    key, reference = found
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], reference)
    at[at == len(key)] = 0
    to = np.where((key[order][at] == reference) & (reference != 0), order[at], -1)
    to[to == np.arange(len(to))] = -1  # a root may point at itself
    longest, here = 0, to
    while (here >= 0).any():
        longest += 1
        if longest > len(to):
            return 0
        here = np.where(here >= 0, to[here], -1)
    return longest
