"""A query for a question without a language model, and how the question was read, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dovetail.domain import Chosen, JoinEdge, Kind, Table, TableId, TableSet
from dovetail.domain.joins import join_sql
from dovetail.domain.sql import MOST, literal, quoted, table_sql
from dovetail.domain.tables import NUMBERS
from dovetail.joins.graph import JOINABLE, JoinGraph, shared_parent
from dovetail.names.table_name import unqualified
from dovetail.ports import Json
from dovetail.retrieve.cautions import unrelated
from dovetail.retrieve.parts import (
    AVERAGE,
    WORDS,
    Condition,
    Item,
    Reading,
    Ref,
    item_words,
    parts_of,
    reading_of,
)
from dovetail.retrieve.reading import key, names, read
from dovetail.retrieve.schema_links import schema_links
from dovetail.search.query import Query, stems
from dovetail.search.searcher import Searcher
from dovetail.text import one_line

# Rows of a query that asks for no column in particular.
_ROWS = 100
# Joins of two tables that are so much less sure may still be the one that is meant.
_ALIKE = 0.1
# Characters of a day: 2024-01-31.
_DAY = 10
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def with_skeleton(searcher: Searcher, found: TableSet, parts: Json | None = None) -> TableSet:
    """A set with the query that its question seems to ask for, and how it was read.

    With `parts`, the query is what these ask for, whatever the question says.
    """
    if not found:
        return replace(found, skeleton="", reading="", parts={})
    query = searcher.analyse(found.question)
    meant = [_meant(edge, searcher, query) for edge in found.joins]
    tables = _direct_first(found, meant)
    reading = (
        read(schema_links(searcher, query, tables), tables, meant)
        if parts is None
        else reading_of(parts, tables)
    )
    writer = _Writer(reading, tables, meant, found)
    return replace(found, skeleton=writer.sql(), reading=writer.sentence(), parts=writer.parts())


def _meant(edge: JoinEdge, searcher: Searcher, query: Query) -> JoinEdge:
    """Of the joins of two tables the one whose columns the question names; else the surest."""
    own = set(stems(edge.left.name)) | set(stems(edge.right.name))

    def said(one: JoinEdge) -> int:
        return len((set(stems(one.columns[0][0])) - own) & query.words.keys())

    least = max(JOINABLE, edge.score - _ALIKE)
    others = searcher.member_joins.between(edge.left, edge.right)
    alike = (one for one in others if (one.by_days if edge.by_days else one.score > least))
    best = max(alike, key=said, default=edge)
    return best if said(best) > said(edge) else edge


def _direct_first(found: TableSet, joins: Sequence[JoinEdge]) -> list[Table]:
    """The tables of a set; of those with one name, the one that joins most of what was chosen
    comes first."""
    chosen = {one.id for one in found.tables if not one.connects}

    def joined(table: TableId, to: Sequence[TableId]) -> int:
        return sum(_ends(edge) == {table, one} for edge in joins for one in to)

    def others(table: TableId) -> int:
        ends = [_ends(edge) - {table} for edge in joins if table in _ends(edge)]
        return len({end for other in ends for end in other & chosen if not _alike(end, table)})

    tables = list(found.details)
    first = list[TableId]()
    for at, table in enumerate(tables):
        alike = [n for n in range(at, len(tables)) if _alike(tables[n].id, table.id)]
        if any(_alike(table.id, one) for one in first):
            continue
        best = max(alike, key=lambda n: (joined(tables[n].id, first), others(tables[n].id)))
        tables[at], tables[best] = tables[best], tables[at]
        first.append(tables[at].id)
    return tables


def _ends(edge: JoinEdge) -> set[TableId]:
    return {edge.left, edge.right}


def _alike(one: TableId, other: TableId) -> bool:
    return unqualified(one.name).casefold() == unqualified(other.name).casefold()


class _Writer:
    """Writes what was read over the tables that it takes, and no others."""

    def __init__(
        self,
        reading: Reading,
        tables: Sequence[Table],
        joins: Sequence[JoinEdge],
        found: TableSet,
    ) -> None:
        self.reading, self.tables, self.called = reading, tables, found.names
        self.joins = sorted(joins, key=lambda edge: -edge.score)
        self.reached, self.edges = self._connected()
        self.select = [item for item in reading.select if self._has(item.of)]
        self.where = [one for one in reading.where if self._has(one.of)]
        self.slices = self._sliced()
        self.open = [*reading.open, *self._doubtful(found.tables)][: MOST["open"]]

    def _has(self, of: Ref) -> bool:
        return of.table.id in self.reached

    def _connected(self) -> tuple[list[TableId], list[JoinEdge]]:
        """The tables that are read, with those between them, and the joins of these."""
        reading = self.reading
        wanted = [table.id for table in reading.tables] or [self.tables[0].id]
        reached, edges = wanted[:1], list[JoinEdge]()
        graph = JoinGraph((table.id for table in self.tables), self.joins)
        for table in wanted[1:]:
            paths = (graph.path(start, table, least=0) for start in reached)
            path = [] if table in reached else min(filter(None, paths), key=len, default=[])
            edges += path
            ends = (end for edge in path for end in (edge.left, edge.right))
            reached = list(dict.fromkeys((*reached, *ends)))
        return reached, edges

    def _doubtful(self, chosen: Sequence[Chosen]) -> Iterator[str]:
        """Joins through a table that the question does not speak of, or that both sides merely
        refer to: rows that meet there may have nothing else in common."""
        apart = [table for table in self.reading.tables if table.id not in self.reached]
        apart += [table for table in self.reading.absent if not self._lacks(table)]
        yield from (f"how does {table.name} join the rest?" for table in apart)
        wanted = {table.id for table in self.reading.tables}
        strange = {one.id for one in chosen if unrelated(one)}
        for table in self.reached:
            edges = [edge for edge in self.edges if table in _ends(edge)]
            between = len(edges) > 1 and table not in wanted
            if between and (table in strange or shared_parent(edges, table)):
                ends = [end.name for edge in edges for end in _ends(edge) - {table}]
                yield f"do {' and '.join(ends)} belong together by {table.name}?"

    def sql(self) -> str:
        """The query; what is open stands before it in comments."""
        reading = self.reading
        columns = ", ".join(map(self._item, self.select)) or "*"
        lines = [f"-- open: {one_line(question)}" for question in self.open]
        lines.append(f"SELECT {'DISTINCT ' if reading.distinct else ''}{columns}")
        lines.append(self._read())
        halves = self._halves() if reading.both else []
        if halves:
            head = "\n".join(lines)
            return "\nINTERSECT\n".join(f"{head}\nWHERE {half}" for half in halves)
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
        return "\n".join(lines)

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

    def parts(self) -> Json:
        """What was written, part by part."""
        return parts_of(replace(self.reading, select=self.select, where=self.where, open=self.open))

    def _conditions(self) -> list[str]:
        """What must hold: of conditions that are choices, one of them."""
        choices: list[list[str]] = []
        for one in self.where:
            if one.either and choices:
                choices[-1].append(self._condition(one))
            else:
                choices.append([self._condition(one)])
        return [f"({' OR '.join(any_of)})" if any_of[1:] else any_of[0] for any_of in choices]

    def _halves(self) -> list[str]:
        """Two conditions on one column that no row meets both of, each with the others."""
        for one in self.where:
            rest = [other for other in self.where if other is not one]
            split: list[Condition] = []
            if one.operator == "in":
                split = [replace(one, operator="=", values=(text,)) for text in one.values]
            elif same := [other for other in rest if other.of == one.of]:
                split, rest = [one, same[0]], [other for other in rest if other is not same[0]]
            if split:
                return [" AND ".join(map(self._condition, (*rest, half))) for half in split]
        return []

    def _grouped(self) -> Iterator[str]:
        """What rows are grouped by: rows that are things are told apart by their key. Columns
        beside functions are grouped by, whether that was said or not."""
        reading = self.reading
        kinds = {bool(item.function) for item in self.select}
        if not self.select or not (reading.group or len(kinds) > 1):
            return
        counted = {table.id for table in reading.counted}
        counted |= {item.of.table.id for item in self.select if item.function}
        for item in filter(lambda one: self._has(one.of), reading.group):
            table, column = item.of.table, item.of.column
            things = column is None or (counted - {table.id} and column in names(table))
            if things and (unique := key(table)):
                yield self._name(Ref(table, unique))
        for item in (*reading.group, *self.select, *(item for item, _ in reading.order)):
            if item.of.column and not item.function and self._has(item.of):
                yield self._in_unit(item)

    def _in_unit(self, item: Item) -> str:
        """A column, its dates as the first day of the time that is asked for."""
        name = self._name(item.of)
        if not item.unit:
            return name
        if _holds_texts(item.of):
            name = f"TRY_CAST({_as_day(item.of, name)} AS DATE)"
        return f"CAST(date_trunc('{item.unit}', {name}) AS DATE)"

    def _name(self, of: Ref) -> str:
        if of.column is None:
            return "*"
        name = quoted(of.column.name)
        return f"{self._table(of.table)}.{name}" if len(self.reached) > 1 else name

    def _table(self, table: Table) -> str:
        return table_sql(self.called[table.id])

    def _item(self, item: Item) -> str:
        name = self._in_unit(item)
        if item.function in ("sum", "avg"):
            name = _as_number(item.of, name)
        once = "DISTINCT " if item.distinct else ""
        return f"{item.function}({once}{name})" if item.function else name

    def _condition(self, one: Condition) -> str:
        name = self._name(one.of)
        number = _as_number(one.of, name)
        # A cell may be called average as well.
        compared = one.operator not in ("=", "not =") or _holds_numbers(one.of)
        if one.values == (AVERAGE,) and compared:
            column = _as_number(one.of, quoted(one.of.words))
            return (
                f"{number} {one.operator} (SELECT avg({column}) FROM {self._table(one.of.table)})"
            )
        if one.operator.endswith(("in", "like")):
            values = ", ".join(_value(one, text) for text in one.values)
            brackets = f"({values})" if one.operator.endswith("in") else values
            return f"{name} {one.operator.upper()} {brackets}"
        if one.operator in ("=", "not ="):
            return f"{name} {'=' if one.operator == '=' else '<>'} {_value(one, one.values[0])}"
        past = one.operator in (">", "<=")
        bounds = [_bound(one.of, text, ends=past or at > 0) for at, text in enumerate(one.values)]
        name = _as_day(one.of, name) if bounds[0].startswith("'") else number
        if one.operator == "between":
            return f"{name} BETWEEN {bounds[0]} AND {bounds[1]}"
        return f"{name} {one.operator} {bounds[0]}"

    def _lacks(self, table: Table) -> str:
        """That rows have no partner in a table."""
        for edge in self.joins:
            ends = _ends(edge)
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

    def _filters(self) -> Iterator[str]:
        """The conditions in words, each said of the table whose rows must meet it."""
        before, said = self.select[-1].of.table.id if self.select else self.reached[0], ""
        for one in self.where:
            here = one.of.table
            if here.id == before:
                said = (" or " if one.either else " and ") if said else " whose "
            else:
                said = f"{' or' if one.either else ','} of {here.name} whose "
            yield f"{said}{one.of.words} is {one.words}"
            before = here.id

    def sentence(self) -> str:
        """How the question was read, in words."""
        reading = self.reading
        main = [table.name for table in self.tables if table.id in self.reached[:1]]
        text = ", ".join(self._selected()) or f"all columns of {main[0]}"
        if more := [table.name for table in self.slices if table.name not in main]:
            text += f" with {' and '.join(more)}"
        text += "".join(self._filters())
        text += "".join(f" without {table.name}" for table in reading.absent)
        group = [item_words(one) for one in reading.group if self.select and self._has(one.of)]
        text += f", per {' and '.join(group)}" if group else ""
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
    return f"TRY_CAST({name} AS DOUBLE)" if _holds_texts(of) else name


def _as_day(of: Ref, name: str) -> str:
    """A column as its days, where it keeps times as texts, for these sort as days do."""
    if of.column is None or of.column.profile.time is None or not _holds_texts(of):
        return name
    day = name if of.column.profile.time is Kind.DATE else f"substr({name}, 1, {_DAY})"
    return f"nullif({day}, '')" if of.column.profile.nulls else day


def _holds_texts(of: Ref) -> bool:
    return of.column is not None and of.column.profile.kind is Kind.TEXT


def _holds_numbers(of: Ref) -> bool:
    return of.column is not None and of.column.profile.kind in NUMBERS


def _value(one: Condition, text: str) -> str:
    """What a column is held equal to or alike: a number where it holds numbers, else a text."""
    plain = _holds_numbers(one.of) and not one.operator.endswith("like")
    return text if plain and _NUMBER.fullmatch(text) else literal(text)


def _bound(of: Ref, operand: str, *, ends: bool) -> str:
    """What a column is compared with: a number, or a text where it holds dates.

    A year that is a bound there stands for its first day, or, where it `ends` what is meant, for
    its last; so does a day for its last instant.
    """
    if of.column and of.column.profile.time:
        day = f"{operand}-{'12-31' if ends else '01-01'}" if len(operand) == 4 else operand
        instants = ends and of.column.profile.kind is Kind.TIMESTAMP and len(day) == _DAY
        return literal(f"{day} 23:59:59.999999" if instants else day)
    return operand if operand.replace(".", "", 1).isdigit() else literal(operand)
