"""A query for a question without a language model, and how the question was read, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dovetail.domain import JoinEdge, Kind, Table, TableId, TableSet
from dovetail.domain.joins import join_sql
from dovetail.domain.sql import literal, quoted, table_sql
from dovetail.domain.tables import TIMES
from dovetail.joins.graph import JOINABLE
from dovetail.ports import Json
from dovetail.retrieve.parts import (
    AVERAGE,
    WORDS,
    Condition,
    Item,
    Reading,
    Ref,
    column_words,
    item_words,
    parts_of,
    reading_of,
)
from dovetail.retrieve.reading import key, names, read
from dovetail.retrieve.schema_links import schema_links
from dovetail.search.query import Query, stems
from dovetail.search.searcher import Searcher

# Rows of a query that asks for no column in particular.
_ROWS = 100
# Joins of two tables that are so much less sure may still be the one that is meant.
_ALIKE = 0.1
# Characters of a day: 2024-01-31.
_DAY = 10


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A query for a question, and how the question was read: in words, and part by part."""

    sql: str
    reading: str
    parts: Json


def skeleton(searcher: Searcher, found: TableSet, parts: Json | None = None) -> Skeleton:
    """The query that a question seems to ask for, over its tables, and how it was read.

    With `parts`, the query is what these ask for, whatever the question says.
    """
    if not found:
        return Skeleton("", "", {})
    query = searcher.analyse(found.question)
    meant = [_meant(edge, searcher, query) for edge in found.joins]
    reading = (
        read(schema_links(searcher, query, found.details), found.details, meant)
        if parts is None
        else reading_of(parts, found.details)
    )
    return _Writer(reading, found.details, meant, found.names).write()


def _meant(edge: JoinEdge, searcher: Searcher, query: Query) -> JoinEdge:
    """Of the joins of two tables the one whose columns the question names; else the surest."""
    own = set(stems(edge.left.name)) | set(stems(edge.right.name))

    def said(one: JoinEdge) -> int:
        return len((set(stems(one.columns[0][0])) - own) & query.words.keys())

    least = max(JOINABLE, edge.score - _ALIKE)
    others = searcher.member_joins.between(edge.left, edge.right)
    best = max((one for one in others if one.score > least), key=said, default=edge)
    return best if said(best) > said(edge) else edge


class _Writer:
    """Writes what was read over the tables that it takes, and no others."""

    def __init__(
        self,
        reading: Reading,
        tables: Sequence[Table],
        joins: Sequence[JoinEdge],
        called: Mapping[TableId, str],
    ) -> None:
        self.reading, self.tables, self.called = reading, tables, called
        self.joins = sorted(joins, key=lambda edge: -edge.score)
        self.reached, self.edges = self._connected()
        self.select = [item for item in reading.select if self._has(item.of)]
        self.where = [one for one in reading.where if self._has(one.of)]
        self.slices = self._sliced()

    def _has(self, of: Ref) -> bool:
        return of.table.id in self.reached

    def _connected(self) -> tuple[list[TableId], list[JoinEdge]]:
        """The tables that are read, with those between them, and the joins of these."""
        reading = self.reading
        refs = [item.of for item in (*reading.select, *reading.group)]
        refs += [condition.of for condition in reading.where]
        refs += [item.of for item, _ in reading.order if item.at >= 0]
        wanted = [of.table.id for of in refs] + [table.id for table in reading.counted]
        wanted = list(dict.fromkeys(wanted)) or [self.tables[0].id]
        reached, edges = wanted[:1], list[JoinEdge]()
        for table in wanted[1:]:
            path = self._path(reached, table)
            edges += path
            ends = (end for edge in path for end in (edge.left, edge.right))
            reached = list(dict.fromkeys((*reached, *ends)))
        return reached, edges

    def _path(self, reached: Sequence[TableId], end: TableId) -> list[JoinEdge]:
        """The fewest joins from one of some tables to another; none where nothing connects."""
        came: dict[TableId, JoinEdge | None] = dict.fromkeys(reached)
        queue = list(reached)
        for here in queue:
            for edge in self.joins:
                there = edge.right if edge.left == here else edge.left
                if here in (edge.left, edge.right) and there not in came:
                    came[there] = edge
                    queue.append(there)
        path: list[JoinEdge] = []
        while step := came.get(end):
            path.append(step)
            end = step.left if step.right == end else step.right
        return path[::-1]

    def write(self) -> Skeleton:
        reading = self.reading
        columns = ", ".join(map(self._item, self.select)) or "*"
        lines = [f"-- open: {question}" for question in reading.open]
        lines.append(f"SELECT {'DISTINCT ' if reading.distinct else ''}{columns}")
        lines.append(self._read())
        halves = self._halves() if reading.both else []
        if halves:
            head = "\n".join(lines)
            sql = "\nINTERSECT\n".join(f"{head}\nWHERE {half}" for half in halves)
            return self._done(sql)
        where = [*self._conditions(), *filter(None, map(self._lacks, reading.absent))]
        group = list(dict.fromkeys(self._grouped()))
        having = [f"count(*) {operator} {number}" for operator, number in reading.having if group]
        order = [
            self._item(item) + (" DESC" if down else "")
            for item, down in reading.order
            if self._has(item.of) and (item.of.column or item.function)
        ]
        rows = reading.limit or (0 if self.select or reading.everything else _ROWS)
        parts = (
            ("WHERE ", " AND ".join(where)),
            ("GROUP BY ", ", ".join(group)),
            ("HAVING ", " AND ".join(having)),
            ("ORDER BY ", ", ".join(order)),
            ("LIMIT ", str(rows or "")),
        )
        lines += [word + text for word, text in parts if text]
        return self._done("\n".join(lines))

    def _read(self) -> str:
        """The FROM clause; of slices of one table all that are in the set are read."""
        slices = [self._table(table) for table in self.slices]
        if not slices:
            return join_sql(self.reached, self.edges, names=self.called)
        rows = "\n  UNION ALL ".join(f"SELECT * FROM {name}" for name in slices)
        return f"FROM (\n  {rows}\n) AS slices"

    def _sliced(self) -> list[Table]:
        """The tables of the set that hold rows of the one that is read, by year say."""
        main = next((table for table in self.tables if [table.id] == self.reached), None)
        alike = [one for one in self.tables if main and _shape(one) == _shape(main)]
        return sorted(alike, key=lambda one: one.id) if len(alike) > 1 else []

    def _done(self, sql: str) -> Skeleton:
        shown = replace(self.reading, select=self.select, where=self.where)
        return Skeleton(sql, self._sentence(), parts_of(shown))

    def _conditions(self) -> list[str]:
        written: list[str] = []
        for one in self.where:
            text = self._condition(one)
            if one.either and written:
                text = f"({written.pop().strip('()')} OR {text})"
            written.append(text)
        return written

    def _halves(self) -> list[str]:
        """Two conditions on one column that no row meets both of, each with the others."""
        for one in self.where:
            rest = [other for other in self.where if other is not one]
            split: list[Condition] = []
            if one.operator == "in":
                split = [replace(one, operator="=", operands=(text,)) for text in one.operands]
            elif same := [other for other in rest if other.of == one.of]:
                split, rest = [one, same[0]], [other for other in rest if other is not same[0]]
            if split:
                return [" AND ".join(map(self._condition, (*rest, half))) for half in split]
        return []

    def _grouped(self) -> Iterator[str]:
        """What rows are grouped by: rows that are things are told apart by their key."""
        reading = self.reading
        if not reading.group:
            return
        counted = {table.id for table in reading.counted}
        counted |= {item.of.table.id for item in self.select if item.function}
        for item in reading.group:
            table, column = item.of.table, item.of.column
            things = column is None or (counted - {table.id} and column in names(table))
            if things and (unique := key(table)):
                yield self._name(Ref(table, unique))
        for item in (*reading.group, *self.select, *(item for item, _ in reading.order)):
            if item.of.column and not item.function and self._has(item.of):
                yield self._name(item.of)

    def _name(self, of: Ref) -> str:
        if of.column is None:
            return "*"
        name = quoted(of.column.name)
        return f"{self._table(of.table)}.{name}" if len(self.reached) > 1 else name

    def _table(self, table: Table) -> str:
        return table_sql(self.called[table.id])

    def _item(self, item: Item) -> str:
        name = self._name(item.of)
        if item.function in ("sum", "avg"):
            name = _as_number(item.of, name)
        once = "DISTINCT " if item.distinct else ""
        return f"{item.function}({once}{name})" if item.function else name

    def _condition(self, one: Condition) -> str:
        name = self._name(one.of)
        number = _as_number(one.of, name)
        if one.operands == (AVERAGE,):
            column = _as_number(one.of, quoted(one.of.words))
            return (
                f"{number} {one.operator} (SELECT avg({column}) FROM {self._table(one.of.table)})"
            )
        if one.operator.endswith(("in", "like")):
            operands = ", ".join(one.operands)
            brackets = f"({operands})" if one.operator.endswith("in") else operands
            return f"{name} {one.operator.upper()} {brackets}"
        if one.operator in ("=", "not ="):
            return f"{name} {'=' if one.operator == '=' else '<>'} {one.operands[0]}"
        past = one.operator in (">", "<=")
        bounds = [
            _bound(one.of, operand, ends=past or at > 0) for at, operand in enumerate(one.operands)
        ]
        name = name if bounds[0].startswith("'") else number
        if one.operator == "between":
            return f"{name} BETWEEN {bounds[0]} AND {bounds[1]}"
        return f"{name} {one.operator} {bounds[0]}"

    def _lacks(self, table: Table) -> str:
        """That rows have no partner in a table."""
        for edge in self.joins:
            ends = {edge.left, edge.right}
            if table.id in ends and table.id not in self.reached and ends & set(self.reached):
                condition = edge.condition(self.called)
                return f"NOT EXISTS (SELECT 1 FROM {self._table(table)} WHERE {condition})"
        return ""

    def _selected(self) -> Iterator[str]:
        """What is selected in words, the last column of each table in a row with its name."""
        for at, item in enumerate(self.select):
            words, table = item_words(item), item.of.table
            last = at + 1 == len(self.select) or self.select[at + 1].of.table.id != table.id
            yield words if words.endswith(table.name) or not last else f"{words} of {table.name}"

    def _sentence(self) -> str:
        """How the question was read, in words."""
        reading = self.reading
        main = [table.name for table in self.tables if table.id in self.reached[:1]]
        text = ", ".join(self._selected()) or f"all columns of {main[0]}"
        if more := [table.name for table in self.slices if table.name not in main]:
            text += f" with {' and '.join(more)}"
        where = "".join(
            f" {'or' if one.either else 'and'} {column_words(one.of, reading)} is {one.words}"
            for one in self.where
        )
        where += "".join(f" and there is no {table.name}" for table in reading.absent)
        text += f" where {where.split(' ', 2)[2]}" if where else ""
        text += (
            f", per {' and '.join(item.of.words for item in reading.group)}"
            if reading.group
            else ""
        )
        text += "".join(
            f", {WORDS[operator]} {number} rows each" for operator, number in reading.having
        )
        turned = {True: ", highest first", False: ""}
        order = [item_words(item) + turned[down] for item, down in reading.order]
        text += f", by {', '.join(order)}" if order else ""
        return text + (f", the first {reading.limit}" if reading.limit else "")


def _shape(table: Table) -> tuple[object, ...]:
    """What slices of one table share: their columns, and the name but for its numbers."""
    named = re.sub(r"\d+", "", table.name)
    return table.id.source, named, tuple(column.name for column in table.columns)


def _as_number(of: Ref, name: str) -> str:
    """A column as a number, where it holds texts."""
    texts = of.column is not None and of.column.profile.kind is Kind.TEXT
    return f"TRY_CAST({name} AS DOUBLE)" if texts else name


def _bound(of: Ref, operand: str, *, ends: bool) -> str:
    """What a column is compared with: a number, or a text where it holds dates.

    A year that is a bound there stands for its first day, or, where it `ends` what is meant, for
    its last; so does a day for its last instant.
    """
    if of.column and of.column.profile.kind in TIMES:
        day = f"{operand}-{'12-31' if ends else '01-01'}" if len(operand) == 4 else operand
        instants = ends and of.column.profile.kind is Kind.TIMESTAMP and len(day) == _DAY
        return literal(f"{day} 23:59:59.999999" if instants else day)
    return operand if operand.replace(".", "", 1).isdigit() else literal(operand)
