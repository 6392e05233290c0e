"""Tables that are kept in parts: headers by year are one table of headers together.

Each part has a share of the keys, so that what refers to the table is contained in none of them.
The key columns of all parts together are a column of their own, to which others are compared; its
edges are then told of every part that holds some of the rows (`parted.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Counts, Flags, firsts
from dovetail.catalog.records import Records, numbers
from dovetail.domain import Kind, TableId
from dovetail.hashing import Hashes
from dovetail.names.table_name import TableName
from dovetail.names.words import plain

# The share of distinct values in each part's key, and of its values that no other part has.
_UNIQUE, _APART = 0.8, 0.98
# Keys of all parts together, at least.
_FEWEST = 20
# What may stand between the name of a table and the date of its part.
_BETWEEN = "0123456789 _-./"
_KINDS = (Kind.INTEGER, Kind.TEXT)


@dataclass(frozen=True, slots=True)
class Parts:
    """A table in parts: the numbers of these tables, and of the columns that are its keys, in the
    order of the tables, one row a key."""

    id: TableId
    tables: list[int]
    keys: list[list[int]]


def find_parts(records: Records) -> list[Parts]:
    """The tables of a catalog that are kept in parts: one source, one name but for dates and
    numbers in it, the same columns."""
    groups: dict[object, list[int]] = defaultdict(list)
    bounds = records.bounds.tolist()
    names = records.columns["name"].to_pylist()
    ids = records.ids
    for number, table in enumerate(ids):
        parsed = TableName.parse(table.name)
        if parsed.slots and not parsed.markers and parsed.stem:
            columns = frozenset(map(plain, names[bounds[number] : bounds[number + 1]]))
            groups[table.source, parsed.schema, parsed.stem, columns].append(number)
    eligible = _eligible(records)
    found = []
    for tables in groups.values():
        if len({TableName.parse(ids[table].name).label for table in tables}) > 1:
            places = [
                {plain(names[c]): c for c in range(bounds[table], bounds[table + 1])}
                for table in tables
            ]
            keys = [[place[name] for place in places] for name in places[0]]
            keys = [columns for columns in keys if eligible[columns].all()]
            if keys:
                found.append(Parts(whole_of([ids[t] for t in tables]), tables, keys))
    return found


def _eligible(records: Records) -> Flags:
    """Columns that may be a part of a key: numbers or text, hardly any of them twice, all kept."""
    columns, tables = records.columns, records.tables
    rows = np.repeat(numbers(tables["rows"]), numbers(tables["columns"]))
    filled, distinct = rows - numbers(columns["nulls"]), numbers(columns["distinct"])
    kind = np.array([each in _KINDS for each in columns["kind"].to_pylist()], dtype=np.bool_)
    kind &= distinct == numbers(columns["kept"])
    eligible: Flags = kind & (filled > 0) & (distinct >= _UNIQUE * filled)
    return eligible


def whole_of(ids: Sequence[TableId]) -> TableId:
    """What a table in parts is called: what the names of its parts have in common."""
    if len(ids) == 1:
        return ids[0]
    first, last = min(table.name for table in ids), max(table.name for table in ids)
    front = _common(first, last).rstrip(_BETWEEN)
    names = [table.name[::-1] for table in ids]
    back = _common(min(names), max(names))[::-1].lstrip(_BETWEEN)
    return TableId(ids[0].source, front if len(front) >= len(back) else back)


def _common(left: str, right: str) -> str:
    """What two texts both begin with."""
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return left[:at]
    return min(left, right, key=len)


def merged(hashes: Sequence[Hashes], counts: Sequence[Counts]) -> tuple[Hashes, Counts] | None:
    """The values of all parts together, and the rows of each; None if parts share more than a few:
    then each is a state of the whole, not a part of it."""
    every = np.concatenate(hashes)
    order = np.argsort(every, kind="stable")
    every = every[order]
    starts = firsts(every)
    if len(starts) < max(_FEWEST, _APART * len(every)):
        return None
    rows = np.add.reduceat(np.concatenate(counts)[order], starts)
    return every[starts], rows.astype(np.uint32)
