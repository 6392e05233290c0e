"""Tables as text for a prompt or a reader: a slice of schema in SQL's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
) -> str:
    """`CREATE TABLE` for each table, with example values, and then how they join.

    Keys that a source declares stand as SQL has them, its comments among the remarks. A table to
    which another refers comes before it, so that all of it runs; a foreign key that DuckDB would
    refuse, such as one to another schema or around a circle, is a remark.
    Names, types, comments and values come from the sources and are data: none can begin a line of
    its own, and marks by which chat templates tell whose turn it is are broken up.
    """
    called = names or query_names(table.id for table in tables)
    parts = []
    created: dict[TableId, Table] = {}
    by_id = {table.id: table for table in tables}
    for table in _parents_first(tables):
        created[table.id] = table
        parts.append(_table(table, called, list(_foreign(table, called, by_id, created)), examples))
    parts += [_union(group, called) for group in slices(tables)]
    shown = [edge for edge in joins if {edge.left, edge.right} <= called.keys()]
    lines = [_join(edge, called) for edge in shown]
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
    columns = _listed(_shared(group))
    return (
        f"-- parts of one table: {listed}\n-- combine them: SELECT {columns} FROM each, UNION ALL"
    )


def _shown(name: str) -> str:
    return one_line(quoted(name))


def _called(name: str) -> str:
    return one_line(table_sql(name))


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A foreign key to a table that is shown; `taken` if DuckDB takes it where it stands."""

    columns: tuple[str, ...]
    references: str
    taken: bool


def _foreign(
    table: Table,
    called: Mapping[TableId, str],
    shown: Mapping[TableId, Table],
    created: Mapping[TableId, Table],
) -> Iterator[_Foreign]:
    """The declared foreign keys to tables that are shown.

    DuckDB takes one to a declared key of a table that is already there, in the same schema and with
    columns of the same types, and none in a database that was attached.
    """
    types = {column.name: column.type for column in table.columns}
    for key in table.keys.foreign:
        parent = shown.get(TableId(key.source or table.id.source, key.table))
        if parent is None:
            continue
        homes = {called[one.id].rpartition(".")[0] for one in (table, parent)}
        theirs = {column.name: column.type for column in parent.columns}
        taken = (
            parent.id in created
            and key.key_columns in parent.keys.candidate_keys
            and len(homes) == 1
            and "." not in homes.pop()
            and [*map(types.get, key.columns)] == [*map(theirs.get, key.key_columns)]
        )
        references = f"REFERENCES {_called(called[parent.id])} ({_listed(key.key_columns)})"
        yield _Foreign(key.columns, references, taken)


def _table(
    table: Table, called: Mapping[TableId, str], foreign: Sequence[_Foreign], examples: int
) -> str:
    comment = f"; {_comment(table.comment)}" if table.comment else ""
    lines = [f"CREATE TABLE {_called(called[table.id])} (  -- {table.rows:,} rows{comment}"]
    wide = [
        f"{'PRIMARY KEY' if columns == table.keys.primary else 'UNIQUE'} ({_listed(columns)})"
        for columns in table.keys.candidate_keys
        if len(columns) > 1
    ]
    several = [
        (f"FOREIGN KEY ({_listed(key.columns)}) {key.references}", key.taken)
        for key in foreign
        if len(key.columns) > 1
    ]
    wide += [words for words, taken in several if taken]
    last = len(table.columns) - 1
    for at, column in enumerate(table.columns):
        comma = "," if at < last or wide else ""
        own = [key for key in foreign if key.columns == (column.name,)]
        words = "".join([_key(table, column.name), *(f" {k.references}" for k in own if k.taken)])
        remarks = [k.references for k in own if not k.taken]
        remarks += _remarks(column, table.rows, examples, declared=table.keys.is_key(column.name))
        remark = f"  -- {'; '.join(remarks)}" if remarks else ""
        lines.append(f"  {_shown(column.name)} {one_line(column.type)}{words}{comma}{remark}")
    lines += [f"  {key}{',' if at < len(wide) - 1 else ''}" for at, key in enumerate(wide)]
    lines += [f"  -- {words}" for words, taken in several if not taken]
    return "\n".join([*lines, ");"])


def _key(table: Table, column: str) -> str:
    """Whether a column by itself is declared a key."""
    if not table.keys.is_key(column):
        return ""
    return " PRIMARY KEY" if table.keys.primary == (column,) else " UNIQUE"


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(_shown, columns))


def _comment(text: str) -> str:
    return '"' + one_line(cut(text, _COMMENT)).replace('"', "'") + '"'


def _remarks(column: Column, rows: int, examples: int, *, declared: bool) -> list[str]:
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
    return words


def _example(text: str, kind: Kind) -> str:
    text = one_line(" ".join(text.split()))
    text = cut(text, _WIDTH)
    return text if kind in (Kind.INTEGER, Kind.REAL, Kind.BOOLEAN) else f"'{text}'"


def _join(edge: JoinEdge, names: Mapping[TableId, str]) -> str:
    after = f", {transform_words(edge.transform)}" if edge.transform else ""
    condition = one_line(edge.condition(names))
    return f"-- {condition}  ({edge.cardinality}{after})"
