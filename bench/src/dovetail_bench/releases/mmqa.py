"""MMQA: questions that carry their tables, which are pooled here.

The release names no databases. Tables of one name and header are one table, of which the longest
copy is kept; those of one name and another header go to another database of the pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dovetail.domain import TableId
from dovetail.errors import DatasetError
from dovetail.ports import Json
from dovetail_bench.releases.opened import (
    Cells,
    Opened,
    database_file,
    key,
    question,
    write_database,
)

_FILES = {"two_table": "Synthesized_two_table.json", "three_table": "Synthesized_three_table.json"}
Header = tuple[str, tuple[str, ...]]


def read(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`Synthesized_two_table.json` and `Synthesized_three_table.json`."""
    pool = _Pool()
    questions: list[Json] = []
    keys: dict[tuple[str, ...], Json] = {}
    for kind, name in _FILES.items():
        for row in release.rows(name):
            try:
                tables = [
                    pool.add(table, part["table_columns"], part["table_content"])
                    for table, part in zip(row["table_names"], row["tables"], strict=True)
                ]
                gold = sorted({str(table) for table in tables})
                questions.append(
                    question(
                        f"{kind}_{row['id_']}", "", row["Question"], row["SQL"], gold=gold,
                        difficulty=kind,
                    )
                )  # fmt: skip
            except (KeyError, TypeError, ValueError) as error:
                raise DatasetError(f"{name}, question {row.get('id_')}: {error!r}") from None
            for joined in _keys(row, tables):
                keys.setdefault(tuple(joined.values()), joined)
    pool.write(into)
    return questions, list(keys.values())


class _Pool:
    """The distinct tables of all questions, and where each of them is put."""

    def __init__(self) -> None:
        self._places: dict[Header, TableId] = {}
        self._contents: dict[TableId, tuple[tuple[str, ...], Cells]] = {}
        self._variants: dict[str, int] = {}

    def add(self, name: str, columns: Sequence[str], rows: Cells) -> TableId:
        header = (name.casefold(), tuple(columns))
        if header not in self._places:
            number = self._variants.get(name.casefold(), 0) + 1
            self._variants[name.casefold()] = number
            self._places[header] = TableId(f"pool_{number}", name)
        place = self._places[header]
        if place not in self._contents or len(rows) > len(self._contents[place][1]):
            self._contents[place] = (tuple(columns), rows)
        return place

    def write(self, into: Path) -> None:
        databases: dict[str, dict[str, tuple[tuple[str, ...], Cells]]] = {}
        for place, content in self._contents.items():
            databases.setdefault(place.source, {})[place.name] = content
        for name, tables in databases.items():
            write_database(database_file(into, name), tables)


def _keys(row: Json, tables: Sequence[TableId]) -> Iterator[Json]:
    """The release names key columns but not their tables: one that two tables have joins them."""
    for name in sorted({_plain(name) for name in row.get("foreign_keys") or ()}):
        having = [
            (table, column)
            for table, part in zip(tables, row["tables"], strict=True)
            for column in part["table_columns"]
            if _plain(column) == name
        ]
        if len(having) == 2:
            (left, column), (right, other) = having
            sides = (left.name, column), (right.name, other)
            yield key(left.source, *sides, ref_db_id=right.source)


def _plain(name: str) -> str:
    return name.replace("_", "").replace(" ", "").casefold()
