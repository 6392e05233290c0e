"""Conditional keys: columns that refer to one table in some rows, to another in others.

`ref_id` is an invoice where `ref_type` is 1, and an order where it is 2. No key holds the column,
several hold it together, and a column of few values splits the rows so that each part is in one of
them. Ids 1..n are in every longer sequence of ids, so there the split must be named: `post`,
`App\\Photo` and the tables `posts` and `photos`. Only columns that no single key explains are
looked at, and rows are read where the keys together may explain one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.arrays import Encoded, Flags, Ints, found_in, sorted_distinct, spans
from dovetail.domain import JoinEdge, TableId
from dovetail.domain.sql import literal
from dovetail.domain.tables import masked_kinds
from dovetail.joins.columns import ColumnArrays, TableColumns, edge_of
from dovetail.joins.edges import cardinality
from dovetail.joins.features import WEIGHTS
from dovetail.joins.rows import RowQuestions, RowReader
from dovetail.names.references import is_short_for
from dovetail.names.table_name import copy_marks, entity
from dovetail.names.words import Words, core, counts, identifies, is_position, words
from dovetail.ports import Json

# Values of a column that splits rows, and how many such columns of a table are tried, the nearest.
_MOST_VALUES, _MOST_SPLITS = 12, 16
# Distinct values of a column that refers, and of each part of it that values alone prove.
_FEWEST, _FEWEST_OF_PART = 20, 5
# A key that holds so much explains a column; less than that, the others must add so much.
_EXPLAINED, _ADDED = 0.98, 0.05
_NAMED = 0.5
# Of the sampled rows all keys together must hold so many.
_TOGETHER = 0.5
# Keys that are tried for a column, those that hold most of it.
_MOST_KEYS = 32
# A part is in a key from this share of its rows on, and in none up to that one.
_INSIDE, _OUTSIDE = 0.9, 0.2
# The share of all rows whose part is in a key, at least; what a key holds of the other parts.
_LEAST_ROWS, _MOST_OF_OTHERS = 0.5, 0.5
# Letters that may be short for a table's name.
_LETTERS = re.compile("[a-z]{3,5}")
# Parts of fewer rows are noise.
_FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class _Question:
    """A column that no key explains, the columns that may split its rows, and possible parents."""

    column: int
    splits: Sequence[int]
    parents: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a column where another has some value, and how many of them each key holds."""

    text: str
    rows: int
    distinct: int
    found: Sequence[int]


def with_conditional_keys(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
) -> list[JoinEdge]:
    """The edges, with those of conditional keys in place of all others of their columns."""
    if not arrays.thresholds.sources:
        return list(edges)
    finder = _Finder(arrays, columns, edges)
    questions = list(finder.questions(rows.examples))
    answers = rows.ask(split_rows, [finder.asked(question) for question in questions])
    found = [
        edge
        for question, splits in zip(questions, answers, strict=True)
        for edge in finder.edges(question, splits)
    ]
    explained = {(edge.left, edge.columns[0][0]) for edge in found}
    kept = [
        edge
        for edge in edges
        if len(edge.columns) > 1 or (edge.left, edge.columns[0][0]) not in explained
    ]
    return [*kept, *found]


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class _Finder:
    arrays: ColumnArrays
    columns: TableColumns
    known: Sequence[JoinEdge]

    def questions(self, examples: Sequence[Sequence[str]]) -> Iterator[_Question]:
        """The columns whose rows are worth reading; `examples` are some values of each column."""
        arrays = self.arrays
        splits = self._splits()
        for child in self._children.tolist():
            # The values of a condition are told, so they must be some that may be shown.
            near = [
                split
                for split in splits.get(int(arrays.table[child]), ())
                if examples[split] and not masked_kinds(examples[split])
            ]
            own = [split for split in near if split != child][:_MOST_SPLITS]
            own.sort(key=lambda split: abs(int(arrays.position[split] - arrays.position[child])))
            named: set[int] = set()
            if identifies(arrays.name[child]):
                for split in own:
                    keys = {key for text in examples[split] for key in self._named(child, text)}
                    if len({int(arrays.table[key]) for key in keys}) > 1:
                        named |= keys
            parents = sorted({*self._holding.get(child, ()), *named})
            if own and len({int(arrays.table[key]) for key in parents}) > 1:
                yield _Question(child, own, parents)

    def _splits(self) -> dict[int, list[int]]:
        """The columns of few values, by table."""
        arrays = self.arrays
        few = (arrays.distinct > 1) & (arrays.distinct <= _MOST_VALUES) & ~arrays.period
        few &= arrays.children
        found: dict[int, list[int]] = defaultdict(list)
        for column in np.flatnonzero(few).tolist():
            found[int(arrays.table[column])].append(column)
        return found

    @cached_property
    def _children(self) -> Ints:
        """Columns that may refer to others, and that no key holds.

        Numbers must be called an identifier; the key of a table refers to none of its parts. A key
        that holds a column explains it if the column is named after it; else values may name more.
        """
        arrays = self.arrays
        may: Flags = (arrays.distinct >= _FEWEST) & ~arrays.period & arrays.children
        may &= ~(arrays.unique & arrays.first)
        explained = {
            (edge.left, edge.columns[0][0])
            for edge in self.known
            if edge.score > 0.5
            and (
                edge.evidence.get("part", 0.0) > 0
                or (
                    edge.evidence.get("row_containment", 0.0) >= _EXPLAINED
                    and edge.evidence.get("name", 0.0) >= _NAMED
                )
            )
        }
        return np.array(
            [
                column
                for column in np.flatnonzero(may).tolist()
                if (arrays.ids[int(arrays.table[column])], arrays.name[column]) not in explained
                and (identifies(arrays.name[column]) or not arrays.number[column])
                and not counts(arrays.name[column])
                and not is_position(arrays.name[column])
            ],
            dtype=np.int64,
        )

    @cached_property
    def _holding(self) -> dict[int, list[int]]:
        """The keys that together hold a column and none of which does, by a sample of its rows."""
        arrays, children = self.arrays, self._children
        usable = arrays.key & arrays.children & (arrays.distinct >= _FEWEST_OF_PART)
        keys = np.flatnonzero(usable & ~arrays.period)
        hashes, weight, sizes = arrays.values.take(children).sampled()
        values = sorted_distinct(hashes)
        held = np.sort(arrays.values.take(keys).holding(values))
        value, key = held // max(len(keys), 1), keys[held % max(len(keys), 1)]
        starts = np.searchsorted(value, np.arange(len(values) + 1))
        ends = np.append(0, np.cumsum(sizes))
        found: dict[int, list[int]] = {}
        for at, child in enumerate(children.tolist()):
            part = slice(ends[at], ends[at + 1])
            sampled, rows = np.searchsorted(values, hashes[part]), weight[part]
            first, last = starts[sampled], starts[sampled + 1]
            holders = key[spans(first, last)]
            of = np.repeat(np.arange(len(sampled)), last - first)
            allowed = self._allowed(child, holders)
            holders, of = holders[allowed], of[allowed]
            if not len(holders):
                continue
            every, number = np.unique(holders, return_inverse=True)
            share = np.bincount(number, rows[of]) / rows.sum()
            together = rows[np.unique(of)].sum() / rows.sum()
            if together >= _TOGETHER and together - share.max() >= _ADDED:
                order = np.lexsort((every, -share))[:_MOST_KEYS]
                found[child] = every[order].tolist()
        return found

    def _allowed(self, child: int, keys: Ints) -> Flags:
        """Which keys a column may refer to: of its own source, of any where both are codes."""
        arrays = self.arrays
        table = int(arrays.table[child])
        same = self._source[arrays.table[keys]] == self._source[table]
        codes = arrays.codes[keys] & bool(arrays.codes[child])
        allowed: Flags = (
            (arrays.table[keys] != table) & self._same_kind(child, keys) & (same | codes)
        )
        return allowed

    @cached_property
    def _source(self) -> Ints:
        """The number of the source of every table."""
        return Encoded.of([table.source for table in self.arrays.ids]).codes

    def _same_kind(self, child: int, key: Ints | int) -> Flags:
        """Whether keys may be what a column holds: texts of a column may read as numbers, too."""
        arrays = self.arrays
        same: Flags = (arrays.number[key] == arrays.number[child]) | ~arrays.number[child]
        return same

    @cached_property
    def _tables_by_name(self) -> dict[tuple[str, Words], list[int]]:
        """The tables that have a key, by their source and what they are about."""
        arrays = self.arrays
        found: dict[tuple[str, Words], list[int]] = defaultdict(list)
        for number, table in enumerate(arrays.ids):
            if number < len(self.columns.of) and self.columns.has_key_column(number):
                found[table.source, entity(table.name)].append(number)
        return found

    @cached_property
    def _referring(self) -> Counter[TableId]:
        """How many sure joins refer to each table."""
        return Counter(edge.right for edge in self.known if edge.score > 0.5)

    def _named(self, child: int, text: str) -> Iterator[int]:
        """The keys of the tables that a value names by its last words."""
        source = self.arrays.ids[int(self.arrays.table[child])].source
        called = words(text)
        tables = [
            table
            for start in range(len(called))
            for table in self._tables_by_name.get((source, called[start:]), ())
        ]
        for table in tables or self._short_for(source, text.strip().lower()):
            key = self.columns.first[table]
            if self._same_kind(child, key):
                yield key

    def _short_for(self, source: str, text: str) -> Iterator[int]:
        """The tables of a source whose last word a few letters are short for: RES, PRF."""
        if not _LETTERS.fullmatch(text):
            return
        for (of, about), tables in self._tables_by_name.items():
            if of == source and about and is_short_for(text, about[-1:]):
                yield from tables

    def asked(self, question: _Question) -> Json:
        """The question of how the rows of a column split."""
        arrays = self.arrays
        table = arrays.ids[int(arrays.table[question.column])]
        return {
            "table": [table.source, table.name],
            "column": int(arrays.position[question.column]),
            "splits": arrays.position[list(question.splits)].tolist(),
            "parents": arrays.values.numbers[list(question.parents)].tolist(),
        }

    def edges(
        self, question: _Question, answer: Sequence[Sequence[Sequence[object]]]
    ) -> list[JoinEdge]:
        """The edges of the column by the best of the columns that split its rows; maybe none."""
        arrays = self.arrays
        best: tuple[tuple[float, ...], list[JoinEdge]] = ((), [])
        own = question.column
        for split, listed in zip(question.splits, answer, strict=True):
            parts = [_Part(*each) for each in listed]  # type: ignore[arg-type] # from JSON
            assigned = self._assigned(question, parts)
            if not assigned:
                continue
            matched = sum(part.found[at] for part, at in assigned)
            stem = set(core(arrays.name[split])) & set(core(arrays.name[own]))
            apart = abs(int(arrays.position[split] - arrays.position[own]))
            rank = (round(matched / arrays.filled[own], 2), len(stem), -apart)
            if not best[1] or rank > best[0]:
                best = rank, list(self._conditional(question, split, assigned))
        return best[1]

    def _assigned(self, question: _Question, parts: Sequence[_Part]) -> list[tuple[_Part, int]]:
        """Each part with the index of the key that holds it; none where the split says nothing."""
        filled = int(self.arrays.filled[question.column])
        assigned: list[tuple[_Part, int]] = []
        proved = True
        for part in parts:
            if part.rows < max(_FEWEST_ROWS, (1 - _EXPLAINED) * filled / len(parts)):
                continue
            shares = np.array(part.found) / part.rows
            named = set(self._named(question.column, part.text))
            of_name = [
                at
                for at, key in enumerate(question.parents)
                if key in named and shares[at] >= _INSIDE
            ]
            inside = of_name or np.flatnonzero(shares >= max(_INSIDE, shares.max() - 0.02)).tolist()
            if inside and (of_name or part.distinct >= _FEWEST_OF_PART):
                assigned.append((part, max(inside, key=lambda at: self._better(question, at))))
                proved = proved and bool(of_name)
            elif shares.max() > _OUTSIDE:
                return []
        keys = {at for _, at in assigned}
        if len({int(self.arrays.table[question.parents[at]]) for at in keys}) < 2:
            return []
        if sum(part.rows for part, _ in assigned) < _LEAST_ROWS * filled:
            return []
        return assigned if proved or self._apart(parts, assigned) else []

    def _apart(self, parts: Sequence[_Part], assigned: Sequence[tuple[_Part, int]]) -> bool:
        """Whether no key holds much of the parts that are another's."""
        for key in {at for _, at in assigned}:
            others = [p for p in parts if not any(p is one and at == key for one, at in assigned)]
            rows = sum(part.rows for part in others)
            if sum(part.found[key] for part in others) > _MOST_OF_OTHERS * rows:
                return False
        return True

    def _better(self, question: _Question, at: int) -> tuple[float, ...]:
        """What makes one of several keys that hold a part the master: its own table's key, of the
        same source, no copy, referred to by others, and little of it beside the part."""
        arrays, key = self.arrays, question.parents[at]
        table, own = int(arrays.table[key]), int(arrays.table[question.column])
        return (
            -len(copy_marks(arrays.ids[table].name)),
            arrays.ids[table].source == arrays.ids[own].source,
            bool(arrays.first[key]) and self.columns.has_key_column(table),
            self._referring[arrays.ids[table]],
            -float(arrays.distinct[key]),
            -key,
        )

    def _conditional(
        self, question: _Question, split: int, assigned: Sequence[tuple[_Part, int]]
    ) -> Iterator[JoinEdge]:
        """An edge to each key, with the values that its condition names."""
        arrays, column, w = self.arrays, question.column, WEIGHTS
        by_key: dict[int, list[_Part]] = defaultdict(list)
        for part, at in assigned:
            by_key[at].append(part)
        for at, parts in sorted(by_key.items()):
            key = question.parents[at]
            rows, found = sum(p.rows for p in parts), sum(p.found[at] for p in parts)
            logit = w.prior + w.name + w.key * float(arrays.first[key])
            logit -= w.orphan * (1 - found / rows)
            number = bool(arrays.number[split])
            values = sorted(part.text if number else literal(part.text) for part in parts)
            evidence = {"conditional": 1.0, "row_containment": found / rows}
            when = (arrays.name[split], *values)
            kind = cardinality(bool(arrays.unique[column]), bool(arrays.unique[key]))
            yield edge_of(
                arrays, [(column, key)], logit, found, evidence, cardinality=kind, when=when
            )


def split_rows(rows: RowReader, question: Json) -> list[list[list[object]]]:
    """How the rows of a column split by each of some others.

    For each of these the parts: the value as it is written, how many rows and distinct values the
    column has there, and how many of the rows each of some keys holds.
    """
    table = TableId(*question["table"])
    hashes = rows.read(table, [question["column"], *question["splits"]])
    if hashes is None:
        return [[] for _ in question["splits"]]
    own, *splits = hashes
    distinct, number = np.unique(own, return_inverse=True)
    keys = [rows.sets.hashes(parent) for parent in question["parents"]]
    held = np.array([found_in(distinct, key) for key in keys])
    texts = rows.texts(table, question["splits"])
    answer: list[list[list[object]]] = []
    for split, written in zip(splits, texts, strict=True):
        parts: list[list[object]] = []
        for value in np.unique(split).tolist():
            chosen = number[(split == value) & (own != 0)]
            if value in written and len(chosen):
                counts_of = np.bincount(chosen, minlength=len(distinct))
                found = (held * counts_of).sum(axis=1)
                kinds = int(np.count_nonzero(counts_of))
                parts.append([written[value], len(chosen), kinds, found.tolist()])
        answer.append(parts)
    return answer
