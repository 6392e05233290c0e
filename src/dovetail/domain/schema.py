"""Tables as text for a prompt or a reader: a slice of schema in SQL's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dovetail.domain.joins import JoinEdge
from dovetail.domain.sql import query_names, quoted, table_sql, transform_words
from dovetail.domain.tables import Column, Kind, Table, TableId
from dovetail.text import cut, one_line

_WIDTH = 40
_COMMENT = 120


def ddl(
    tables: Sequence[Table],
    joins: Iterable[JoinEdge] = (),
    *,
    names: Mapping[TableId, str] | None = None,
    examples: int = 3,
    dialect: str = "duckdb",
) -> str:
    """`CREATE TABLE` for each table, with example values, and then how they join.

    Keys that a source declares stand as SQL has them, its comments among the remarks. A table to
    which another refers comes before it, so that all of it runs; of tables in a circle, the first
    goes without the reference.
    Names, types, comments and values come from the sources and are data: none can begin a line of
    its own, and marks by which chat templates tell whose turn it is are broken up.
    """
    called = names or query_names(table.id for table in tables)
    parts = []
    created: dict[TableId, str] = {}
    for table in _parents_first(tables):
        created[table.id] = called[table.id]
        parts.append(_table(table, created, examples))
    parts += [_union(group, called) for group in slices(tables)]
    shown = [edge for edge in joins if {edge.left, edge.right} <= called.keys()]
    lines = [_join(edge, called, dialect) for edge in shown]
    if lines:
        parts.append("\n".join(["-- joins", *lines]))
    return "\n\n".join(parts) + "\n" if parts else ""


def _parents_first(tables: Sequence[Table]) -> Iterator[Table]:
    """Tables in their order, but each after those that it refers to."""
    by_id = {table.id: table for table in tables}
    seen: set[TableId] = set()

    def visit(table: Table) -> Iterator[Table]:
        if table.id in seen:
            return
        seen.add(table.id)
        for key in table.keys.foreign:
            if parent := by_id.get(TableId(key.source or table.id.source, key.table)):
                yield from visit(parent)
        yield table

    for table in tables:
        yield from visit(table)


def slices(tables: Sequence[Table]) -> list[list[Table]]:
    """Tables of one source whose names differ in numbers alone, and that share most columns."""
    groups: dict[tuple[str, str], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.id.source, re.sub(r"\d+", "#", table.name)), []).append(table)
    return [group for group in groups.values() if len(group) > 1 and _shared(group)]


def _shared(group: Sequence[Table]) -> list[str]:
    """The columns that all of some tables have, in the order of the first; few are none."""
    common = set.intersection(*({column.name for column in table.columns} for table in group))
    shared = [column.name for column in group[0].columns if column.name in common]
    return shared if 2 * len(shared) > max(len(table.columns) for table in group) else []


def _union(group: Sequence[Table], names: Mapping[TableId, str]) -> str:
    """How slices of one logical table are queried together."""
    listed = ", ".join(_called(names[table.id]) for table in group)
    columns = ", ".join(map(_shown, _shared(group)))
    return (
        f"-- parts of one table: {listed}\n-- combine them: SELECT {columns} FROM each, UNION ALL"
    )


def _shown(name: str) -> str:
    return one_line(quoted(name))


def _called(name: str) -> str:
    return one_line(table_sql(name))


def _table(table: Table, called: Mapping[TableId, str], examples: int) -> str:
    comment = f"; {_comment(table.comment)}" if table.comment else ""
    lines = [f"CREATE TABLE {_called(called[table.id])} (  -- {table.rows:,} rows{comment}"]
    wide = list(_wide_keys(table, called))
    last = len(table.columns) - 1
    for at, column in enumerate(table.columns):
        comma = "," if at < last or wide else ""
        key = _key(table, column.name, called)
        remark = _remark(column, table.rows, examples, declared="PRIMARY" in key or "UNIQUE" in key)
        shown = f"  -- {remark}" if remark else ""
        lines.append(f"  {_shown(column.name)} {one_line(column.type)}{key}{comma}{shown}")
    lines += [f"  {key}{',' if at < len(wide) - 1 else ''}" for at, key in enumerate(wide)]
    return "\n".join([*lines, ");"])


def _key(table: Table, column: str, called: Mapping[TableId, str]) -> str:
    """What is declared of a column by itself."""
    words = ""
    if table.keys.is_key(column):
        words += " PRIMARY KEY" if table.keys.primary == (column,) else " UNIQUE"
    for key in table.keys.foreign:
        to = called.get(TableId(key.source or table.id.source, key.table))
        if to and key.columns == (column,):
            words += f" REFERENCES {_called(to)} ({_shown(key.key_columns[0])})"
    return words


def _wide_keys(table: Table, called: Mapping[TableId, str]) -> Iterator[str]:
    """The declared keys of several columns."""
    for columns in table.keys.candidate_keys:
        if len(columns) > 1:
            word = "PRIMARY KEY" if columns == table.keys.primary else "UNIQUE"
            yield f"{word} ({', '.join(map(_shown, columns))})"
    for key in table.keys.foreign:
        to = called.get(TableId(key.source or table.id.source, key.table))
        if to and len(key.columns) > 1:
            own, other = (", ".join(map(_shown, each)) for each in (key.columns, key.key_columns))
            yield f"FOREIGN KEY ({own}) REFERENCES {_called(to)} ({other})"


def _comment(text: str) -> str:
    return '"' + one_line(cut(text, _COMMENT)).replace('"', "'") + '"'


def _remark(column: Column, rows: int, examples: int, *, declared: bool) -> str:
    profile = column.profile
    words = [_comment(column.comment)] if column.comment else []
    if profile.unique and not declared:
        words.append("unique")
    if declared and not profile.unique and rows > profile.nulls:
        words.append("declared, but its values repeat")
    if profile.nulls and rows:
        words.append(f"{profile.nulls / rows:.0%} null")
    shown = [_example(text, profile.kind) for text in profile.examples[:examples]]
    if shown:
        words.append("e.g. " + ", ".join(shown))
    return "; ".join(words)


def _example(text: str, kind: Kind) -> str:
    text = one_line(" ".join(text.split()))
    text = cut(text, _WIDTH)
    return text if kind in (Kind.INTEGER, Kind.REAL, Kind.BOOLEAN) else f"'{text}'"


def _join(edge: JoinEdge, names: Mapping[TableId, str], dialect: str) -> str:
    after = f", {transform_words(edge.transform)}" if edge.transform else ""
    condition = one_line(edge.condition(names, dialect))
    return f"-- {condition}  ({edge.cardinality}{after})"
