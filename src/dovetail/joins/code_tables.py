"""Code tables: one table of many lists, each of which columns of its source may refer to.

`codes (type, code, text)` says what statuses, kinds and terms mean. A code by itself is no key of
it, with the type it is. A column refers to the list that holds its values and that it is named
after, by itself or behind its table: `orders.status` to the list `ORDER_STATUS`. In one schema
types may be short for such names: `OST`. Only tables whose codes are called nothing but codes, or
whose types read like names of columns, are read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from dovetail.arrays import Ints, sorted_distinct, spans
from dovetail.domain import JoinEdge, TableId
from dovetail.domain.sql import literal
from dovetail.domain.tables import masked_kinds
from dovetail.hashing import Hashes, hash_values
from dovetail.joins.columns import ColumnArrays, TableColumns, edge_of
from dovetail.joins.features import WEIGHTS
from dovetail.joins.rows import RowQuestions, RowReader, combine_columns
from dovetail.names.references import is_short_for, refers
from dovetail.names.table_name import copy_marks, entity, qualifier
from dovetail.names.words import (
    Words,
    core,
    counts,
    identifies,
    is_position,
    plain,
    words,
)
from dovetail.ports import Json

# Rows and columns of a code table, and columns that may be its codes.
_FEWEST_ROWS, _MOST_ROWS, _MOST_COLUMNS, _MOST_CODES = 6, 20_000, 16, 3
# The share of its rows that have a type and a code, and in which the two are unique.
_WHOLE = 0.98
# Examples of types that read like names of columns, and the letters that these have in common.
_LIKE_NAMES, _LETTERS = 2, 4
# Values of a column that refers to a list, and the share of its rows that the list must hold.
_MOST_VALUES, _HELD = 200, 0.9
# How far a column is named after its list, at least, and how far by one whose name is short: for
# the column, or for its table and the column, or for the last words of both.
_NAMED, _SHORT = 0.6, re.compile("[a-z]{2,8}")
_SHORT_FOR, _MADE_OF = 0.7, 0.65
# The share of a list that a column uses whose table is of another schema than the list.
_USED = 0.8


@dataclass(frozen=True, slots=True)
class _List:
    """A list: the columns of its table that hold types and codes, its type, and its codes."""

    type: int
    code: int
    name: str
    codes: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Match:
    """A column and a list that holds so many of its rows: how far the one is named after the other,
    and the share of the list that the column uses."""

    column: int
    list: _List
    rows: int
    used: float
    name: float = 0.0


def with_code_tables(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
) -> list[JoinEdge]:
    """The edges, with those to lists, in place of such as their columns are named after less."""
    if not arrays.thresholds.sources:
        return list(edges)
    finder = _Finder(arrays, columns, rows.examples)
    tables = list(finder.tables())
    answers = rows.ask(code_lists, [finder.asked(pairs) for pairs in tables])
    by_source: dict[str, list[_List]] = defaultdict(list)
    for pairs, answer in zip(tables, answers, strict=True):
        for (kind, code), lists in zip(pairs, answer, strict=True):
            source = arrays.ids[int(arrays.table[code])].source
            by_source[source] += [_List(kind, code, *each) for each in lists]
    named: dict[tuple[TableId, str], float] = {}
    for edge in edges:
        for column, _ in edge.columns if edge.score > 0.5 else ():
            name = edge.evidence.get("name", 0.0) if len(edge.columns) == 1 else 1.0
            named[edge.left, column] = max(named.get((edge.left, column), 0.0), name)
    found: dict[tuple[TableId, str], JoinEdge] = {}
    for source, lists in by_source.items():
        for match in finder.matches(source, lists):
            edge = finder.edge(match)
            own = edge.left, edge.columns[0][0]
            if own not in named or named[own] < match.name:
                found[own] = edge
    kept = [e for e in edges if len(e.columns) > 1 or (e.left, e.columns[0][0]) not in found]
    return [*kept, *found.values()]


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds code tables, and columns that refer to them; `examples` are values of each column."""

    arrays: ColumnArrays
    columns: TableColumns
    examples: Sequence[Sequence[str]]

    def tables(self) -> Iterator[list[tuple[int, int]]]:
        """The columns of each table that may be types and codes."""
        arrays = self.arrays
        heads: dict[str, set[str]] = defaultdict(set)
        for table, called in zip(arrays.table.tolist(), arrays.called, strict=True):
            heads[arrays.ids[table].source] |= {_head(core(called)), plain(called)}
        may = arrays.children & (arrays.filled >= _WHOLE * arrays.rows[arrays.table])
        may &= (arrays.distinct > 1) & ~arrays.period
        for table, own in enumerate(self.columns.of):
            rows = int(arrays.rows[table])
            if _FEWEST_ROWS <= rows <= _MOST_ROWS and 2 < len(own) <= _MOST_COLUMNS:
                usable = [column for column in own if may[column]]
                source = arrays.ids[table].source
                pairs = [
                    (kind, code)
                    for kind in usable
                    if self._may_be_types(kind)
                    for named in [self._read_like_names(kind, heads[source] - {""})]
                    for code in self._codes(kind, usable, named)
                    if named or self._is_bare_code(code)
                ]
                if pairs:
                    yield pairs

    def _is_bare_code(self, column: int) -> bool:
        """Whether a column is called a code, and nothing besides."""
        return identifies(self.arrays.called[column]) and not core(self.arrays.called[column])

    def _may_be_types(self, column: int) -> bool:
        """Whether a column holds few texts, which may be shown: types are told."""
        arrays, texts = self.arrays, self.examples[column]
        few = 2 * arrays.distinct[column] <= arrays.filled[column] and not arrays.number[column]
        return bool(few and texts) and not masked_kinds(texts)

    def _read_like_names(self, column: int, heads: set[str]) -> bool:
        """Whether some types end as names of columns do, or one is such a name in one word."""
        texts = self.examples[column]
        alike = sum(_head(core(text)) in heads for text in texts)
        whole = any(len(text) > _LETTERS and plain(text) in heads for text in texts)
        return whole or alike >= min(_LIKE_NAMES, len(texts))

    def _codes(self, kind: int, columns: Sequence[int], named: bool) -> list[int]:
        """Columns that may be codes beside types, which read like names or do not: called so, or
        the next, come first."""
        arrays, rows = self.arrays, int(self.arrays.filled[kind])
        codes = [
            column
            for column in columns
            if column != kind
            and (
                not arrays.unique[column]
                or (kind < column and (named or self._is_bare_code(column)))
            )
            and int(arrays.distinct[column]) * int(arrays.distinct[kind]) >= rows
        ]
        codes.sort(key=lambda c: (not identifies(arrays.name[c]), c < kind, abs(c - kind)))
        return codes[:_MOST_CODES]

    def asked(self, pairs: Sequence[tuple[int, int]]) -> Json:
        """The question of which lists a table holds."""
        arrays = self.arrays
        table = arrays.ids[int(arrays.table[pairs[0][0]])]
        return {
            "table": [table.source, table.name],
            "pairs": [arrays.position[list(pair)].tolist() for pair in pairs],
        }

    def matches(self, source: str, lists: Sequence[_List]) -> Iterator[_Match]:
        """The list that each column of a source refers to, of those that refer to one."""
        by_column: dict[int, list[_Match]] = defaultdict(list)
        for match in self._named(self._held(source, lists)):
            if match.name >= _NAMED:
                by_column[match.column].append(match)
        for possible in by_column.values():
            best = max(possible, key=self._order)
            if self._logit(best) > 0:
                yield best

    def _held(self, source: str, lists: Sequence[_List]) -> list[_Match]:
        """Columns with the lists that hold nearly all of their rows."""
        arrays = self.arrays
        of_source = np.array([table.source == source for table in arrays.ids], dtype=np.bool_)
        may = of_source[arrays.table] & arrays.children & (arrays.distinct <= _MOST_VALUES)
        may &= (arrays.distinct > 1) & ~arrays.period & ~(arrays.first & arrays.unique)
        names = arrays.name
        children = [
            child
            for child in np.flatnonzero(may).tolist()
            if not (counts(names[child]) or is_position(names[child]))
        ]
        tables = arrays.table[[each.code for each in lists]]
        hashes, number = _index(lists)
        found: list[_Match] = []
        for child in children:
            values = arrays.values[child]
            start, end = (np.searchsorted(hashes, values, side) for side in ("left", "right"))
            which = number[spans(start, end)]
            rows = np.repeat(arrays.values.counts(child), end - start)
            held = np.bincount(which, rows, minlength=len(lists)).astype(np.int64)
            used = np.bincount(which, minlength=len(lists))
            enough = (held >= _HELD * arrays.filled[child]) & (tables != arrays.table[child])
            found += [
                _Match(child, of, int(held[at]), used[at] / len(of.codes))
                for at in np.flatnonzero(enough).tolist()
                for of in [lists[at]]
            ]
        return found

    def _named(self, matches: Sequence[_Match]) -> list[_Match]:
        """The same, with how far each column is named after the list: by itself, where the list has
        no more words, or behind its table."""
        arrays = self.arrays
        about = [words(match.list.name) for match in matches]
        own = [core(arrays.called[match.column]) for match in matches]
        tables = [entity(arrays.ids[int(arrays.table[match.column])].name) for match in matches]
        alone = [name if len(of) <= len(name) else () for name, of in zip(own, about, strict=True)]
        behind = [(*table, *name) for table, name in zip(tables, own, strict=True)]
        far = np.array([self._short(match) for match in matches])
        for called in (alone, behind):
            far = np.maximum(far, np.minimum(refers(called, about), refers(about, called)))
        return [replace(m, name=name) for m, name in zip(matches, far.tolist(), strict=True)]

    def _short(self, match: _Match) -> float:
        """How far the name of a list is short for what a column is called, alone or behind its
        table, or the other way round: in the same schema, or where the column uses all its codes.
        """
        arrays, letters = self.arrays, match.list.name.lower()
        own, other = (
            arrays.ids[int(arrays.table[c])].name for c in (match.column, match.list.code)
        )
        called = core(arrays.called[match.column])
        near = qualifier(own) == qualifier(other) or match.used >= _USED
        if not (called and near and _SHORT.fullmatch(letters)):
            return 0.0
        about = entity(own)
        one, plainly = ("".join(called),), (plain(arrays.called[match.column]),)
        names = [(*about, *called), about, called, called[-1:], one, plainly]
        if any(is_short_for(letters, name) for name in names) or is_short_for(*one, (letters,)):
            return _SHORT_FOR
        ends = ((*about[start:], *called) for start in range(1, len(about)))
        return _MADE_OF * any(is_short_for(letters, name) for name in ends)

    def _order(self, match: _Match) -> tuple[float, ...]:
        """The best list comes last: of no copy, the surest, the shortest."""
        table = self.arrays.ids[int(self.arrays.table[match.list.code])]
        copies = len(copy_marks(table.name))
        return -copies, self._logit(match), -len(match.list.codes), -match.list.code

    def _logit(self, match: _Match) -> float:
        w, filled = WEIGHTS, int(self.arrays.filled[match.column])
        return w.prior + w.name * match.name + w.key - w.orphan * (1 - match.rows / filled)

    def edge(self, match: _Match) -> JoinEdge:
        """The edge of a column to its list."""
        arrays, column, types = self.arrays, match.column, match.list.type
        return edge_of(
            arrays,
            [(column, match.list.code)],
            self._logit(match),
            match.rows,
            {
                "conditional": 1.0,
                "row_containment": match.rows / int(arrays.filled[column]),
                "name": match.name,
            },
            when=(arrays.name[types], literal(match.list.name)),
            when_right=True,
        )


def _head(name: Words) -> str:
    """How the last word of a name begins."""
    return name[-1][:_LETTERS] if name else ""


def _index(lists: Sequence[_List]) -> tuple[Hashes, Ints]:
    """The hashes of all codes, sorted, and the number of the list of each."""
    hashes = hash_values(pa.array([code for each in lists for code in each.codes], pa.string()))
    number = np.repeat(np.arange(len(lists)), [len(each.codes) for each in lists])
    order = np.argsort(hashes, kind="stable")
    return hashes[order], number[order]


def code_lists(rows: RowReader, question: Json) -> list[list[tuple[str, list[str]]]]:
    """The lists of a table by each pair of columns that may be types and codes: by type, the codes.

    None where the two are no key of it.
    """
    table = TableId(*question["table"])
    answer: list[list[tuple[str, list[str]]]] = []
    for pair in question["pairs"]:
        answer.append([])
        hashes = rows.read(table, pair)
        if hashes is None:
            continue
        key = combine_columns(hashes)
        if len(sorted_distinct(key)) < _WHOLE * len(key):
            continue
        types, codes = rows.texts(table, pair)
        by_type: dict[str, set[str]] = defaultdict(set)
        for kind, code in zip(*hashes.tolist(), strict=True):
            if kind in types and code in codes:
                by_type[types[kind]].add(codes[code])
        answer[-1] = [(kind, sorted(of)) for kind, of in sorted(by_type.items()) if len(of) > 1]
    return answer
