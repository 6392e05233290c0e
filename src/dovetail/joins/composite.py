"""Composite foreign keys: references by two or three columns that are a key only together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dovetail.arrays import Encoded, Ints, sorted_distinct
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.columns import (
    HARDLY_ANY,
    ColumnArrays,
    TableColumns,
    edge_of,
    probability,
)
from dovetail.joins.competition import same_thing
from dovetail.joins.counting import count_shared
from dovetail.joins.features import WEIGHTS
from dovetail.joins.rows import RowQuestions, RowReader, row_tuples
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, words
from dovetail.ports import Json

# A name that more columns share than this says nothing of which of them belong together.
_COMMON = 200

# The same, counting only tables with hardly any rows: such a name is one of a family of tables.
_COMMON_SMALL = 32
# Columns of the same names beyond which a parent with hardly any rows is not looked at: it and the
# child are of one family, and any two columns tell its rows apart. At 12 a declared join of Beaver,
# whose tables have three rows, was lost; at 32 none of the public corpora changes.
_MOST_PARTS = 32


# The least share of the child's rows that must be found: in each of several columns a few are bad.
LEAST_SHARE = 0.75
_MOST_COLUMNS = 3
# The share of rows that the only table of one source with such a key must hold where nothing is
# named after it, and the nats that this is worth.
_WHOLE, _ONLY = 0.99, 5.0
# Letters of a name behind a role, at least.
_SHORTEST = 4
# A column of the child and the column of the parent that it refers to.
Part = tuple[int, int]


class _Counts(NamedTuple):
    """Rows of a key, rows that refer to it, those of them that are found, and distinct ones."""

    key: int
    references: int
    found: int
    distinct: int


@dataclass(frozen=True, slots=True)
class CompositeKeys:
    """Finds composite foreign keys: two or three columns of the same names in child and parent.

    The parent has no key column, and one part names it, for two children of the same parents
    share their keys too. It is the likelier the parent if it is the only one: where several tables
    hold the same columns, the one they are a key of is what the others refer to. Within one source
    the only one needs no name, if the values of the columns together are beyond chance.
    """

    arrays: ColumnArrays
    columns: TableColumns
    rows: RowQuestions

    def edges(self) -> Iterator[JoinEdge]:
        """The composite foreign keys, scored."""
        edges = list(self._narrowest())
        parents = Counter(map(_referring, edges))
        wholly = Counter(_referring(edge) for edge in edges if _holds_all(edge))
        for edge in edges:
            if parents[_referring(edge)] == 1 and edge.evidence["name"]:
                yield _raised(edge, WEIGHTS.key)
            elif (
                _holds_all(edge)
                and wholly[_referring(edge)] == 1
                and bool(self.arrays.thresholds.sources)
            ):
                yield _raised(edge, _ONLY)
            else:
                yield edge

    def _narrowest(self) -> Iterator[JoinEdge]:
        """Between every two tables the best foreign key of the fewest columns."""
        pairs = sorted((tables, sorted(parts)) for tables, parts in self._same_names().items())
        answers = self.rows.ask(composite, [self._question(*pair) for pair in pairs])
        if not any(answers):
            return
        named = self._named_after(pairs)
        for (_, parts), keys in zip(pairs, answers, strict=True):
            edges = [
                self._edge([parts[number] for number in numbers], counts, named)
                for *numbers, a, b, c, d in keys
                for counts in [_Counts(a, b, c, d)]
            ]
            used: set[str] = set()
            for edge in sorted(edges, key=lambda edge: -edge.score):  # of equal ones the first
                own = {column for column, _ in edge.columns}
                if not used or (self.arrays.thresholds.sources and not used & own):
                    used |= own
                    yield edge

    def _question(self, tables: tuple[int, int], parts: Sequence[Part]) -> Json:
        """By which combinations of some columns one table refers to another."""
        arrays, (child, parent) = self.arrays, tables
        position = arrays.position
        return {
            "child": [arrays.ids[child].source, arrays.ids[child].name],
            "parent": [arrays.ids[parent].source, arrays.ids[parent].name],
            "parts": [[int(position[own]), int(position[key])] for own, key in parts],
            "first": int(position[self.columns.first[parent]]),
            "days": [n for n, part in enumerate(parts) if self._only_days(*part)],
        }

    def _same_names(self) -> dict[tuple[int, int], list[Part]]:
        """Two tables with two or more columns of the same name, the child's in the parent's."""
        arrays = self.arrays
        child, parent = self._columns_of_same_names()
        names = Encoded.of([words(table.name) for table in arrays.ids]).codes
        left, right = arrays.table[child], arrays.table[parent]
        apart = (left != right) & (names[left] != names[right])
        apart &= ~same_thing(arrays, left, right)
        apart &= arrays.distinct[parent] > 1  # what is the same in all rows tells none apart
        child, parent = child[apart], parent[apart]
        pair = arrays.table[child] * len(arrays.ids) + arrays.table[parent]
        shared = _times(pair)
        small = (arrays.rows <= HARDLY_ANY)[arrays.table[parent]]
        likely = (shared > 1) & ~(small & (shared > _MOST_PARTS))
        order = np.flatnonzero(likely)
        order = order[np.lexsort((parent[order], child[order]))]
        child, parent, pair = child[order], parent[order], pair[order]
        _, rows = count_shared(arrays.values, child, arrays.values, parent)
        contained = np.flatnonzero(rows >= LEAST_SHARE * arrays.filled[child])
        contained = contained[_times(pair[contained]) > 1]
        parts: dict[tuple[int, int], list[Part]] = defaultdict(list)
        for at in contained.tolist():
            own, key = int(child[at]), int(parent[at])
            parts[int(arrays.table[own]), int(arrays.table[key])].append((own, key))
        return parts

    def _columns_of_same_names(self) -> tuple[Ints, Ints]:
        """Columns with the parts of keys that have the same name, but for names that are common."""
        arrays = self.arrays
        few = (arrays.rows <= HARDLY_ANY)[arrays.table]
        alike: dict[Words, list[int]] = defaultdict(list)
        for column in np.flatnonzero(arrays.filled > 0).tolist():
            alike[words(arrays.called[column])].append(column)
        children, parents = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for columns in alike.values():
            if not 1 < len(columns) <= _COMMON:
                continue
            same = np.array(columns)
            if np.count_nonzero(few[same]) > _COMMON_SMALL:
                same = same[~few[same]]
            if len(same) > 1:
                keys = same[[self._may_be_part_of_key(column) for column in same.tolist()]]
                children.append(np.repeat(same, len(keys)))
                parents.append(np.tile(keys, len(same)))
        if arrays.thresholds.sources:
            nearly = set(self._nearly_same_names())
            known = np.stack([np.concatenate(children), np.concatenate(parents)]).T.tolist()
            both = sorted(nearly | set(self._days_beside(nearly.union(map(tuple, known)))))
            beside = np.array(both, dtype=np.int64).reshape(-1, 2)
            children.append(beside[:, 0])
            parents.append(beside[:, 1])
        pairs = np.unique(np.stack([np.concatenate(children), np.concatenate(parents)]), axis=1)
        return pairs[0], pairs[1]

    def _nearly_same_names(self) -> Iterator[Part]:
        """Columns with the parts of keys that have the same name but for an id-word, and of their
        own source those before or behind a role: the country and the port of departure."""
        arrays = self.arrays
        keys: dict[str, list[int]] = defaultdict(list)
        keys_of_source: dict[tuple[str, str], list[int]] = defaultdict(list)
        filled = np.flatnonzero(arrays.filled > 0).tolist()
        glued = {column: "".join(core(arrays.called[column])) for column in filled}
        source = [table.source for table in arrays.ids]
        for column in filled:
            if glued[column] and self._may_be_part_of_key(column):
                keys[glued[column]].append(column)
                keys_of_source[source[int(arrays.table[column])], glued[column]].append(column)
        for column, name in glued.items():
            own = int(arrays.table[column])
            shorter = range(_SHORTEST, len(name))
            names = {name[-size:] for size in shorter} | {name[:size] for size in shorter}
            for called in sorted({name} | names):
                same = keys.get(called, ())
                if called != name:
                    same = keys_of_source.get((source[own], called), ())
                for key in same if len(same) <= _COMMON_SMALL else ():
                    if own != arrays.table[key]:
                        yield column, key

    def _days_beside(self, pairs: Collection[Part]) -> Iterator[Part]:
        """The days of two tables that share another part, whatever they are called: of a trip the
        child may name the day of the complaint, and its parent the day of operation."""
        arrays, table = self.arrays, self.arrays.table
        days: dict[int, list[int]] = defaultdict(list)
        for column in np.flatnonzero(arrays.period & (arrays.filled > 0)).tolist():
            days[int(table[column])].append(column)
        tables = {
            (int(table[own]), int(table[key]))
            for own, key in pairs
            if not (arrays.period[own] or arrays.unique[own])
        }
        for child, parent in tables:
            for key in days.get(parent, ()) if child != parent else ():
                if self._may_be_part_of_key(key):
                    yield from ((own, key) for own in days.get(child, ()))

    def _only_days(self, own: int, key: int) -> bool:
        """Whether two columns have nothing in common but that they hold days."""
        called = self.arrays.called
        return bool(self.arrays.period[own]) and words(called[own]) != words(called[key])

    def _may_be_part_of_key(self, column: int) -> bool:
        table = int(self.arrays.table[column])
        return not self.arrays.unique[column] and not self.columns.has_key_column(table)

    def _named_after(self, pairs: Sequence[tuple[Part, Sequence[Part]]]) -> dict[Part, float]:
        """How far each column of a child refers to what its parent is about."""
        arrays = self.arrays
        asked = sorted({(column, parent) for (_, parent), parts in pairs for column, _ in parts})
        called = [core(arrays.called[column]) for column, _ in asked]
        far = refers(called, [entity(arrays.ids[parent].name) for _, parent in asked])
        return dict(zip(asked, far.tolist(), strict=True))

    def _edge(
        self,
        parts: Sequence[Part],
        counts: _Counts,
        named: Mapping[Part, float],
    ) -> JoinEdge:
        """The edge by some columns together."""
        arrays = self.arrays
        parent = int(arrays.table[parts[0][1]])
        own, keys = [c for c, _ in parts], [p for _, p in parts]
        share = counts.found / counts.references
        name = max(named[column, parent] for column in own)
        value = self._value(keys, counts.key, counts.distinct)
        logit = self._logit(name, value, share)
        evidence = {
            "composite": float(len(parts)),
            "row_containment": share,
            "name": name,
            "value": value,
        }
        kind = "1:1" if counts.distinct == counts.references else "n:1"
        return edge_of(arrays, parts, logit, counts.found, evidence, cardinality=kind)

    def _value(self, key_columns: list[int], key_size: int, distinct: int) -> float:
        """Self-information of the inclusion: how little of all combinations the key holds."""
        room = float(np.prod([float(self.arrays.distinct[p]) for p in key_columns]))
        nats = -np.log(min(key_size / room, 1.0)) * min(distinct, 2)
        return min(float(nats) / WEIGHTS.proof, 1.0)

    def _logit(self, name: float, value: float, share: float) -> float:
        w = WEIGHTS
        logit = w.prior + w.name * name + w.value * value * (2 - name) + w.key * (name > 0)
        logit -= w.orphan * (1 - share)
        return min(logit, 0.0) if name == 0 else logit


def _times(items: Ints) -> Ints:
    """How often each thing comes, beside each."""
    _, of, times = np.unique(items, return_inverse=True, return_counts=True)
    counts: Ints = times[of]
    return counts


def _referring(edge: JoinEdge) -> tuple[TableId, frozenset[str]]:
    return edge.left, frozenset(column for column, _ in edge.columns)


def _holds_all(edge: JoinEdge) -> bool:
    """Whether hardly a row is without a partner."""
    return edge.evidence["row_containment"] >= _WHOLE


def _raised(edge: JoinEdge, more: float) -> JoinEdge:
    """The edge with some nats more."""
    logit = edge.evidence["logit"] + more
    evidence = {**edge.evidence, "logit": round(logit, 6)}
    return replace(edge, score=probability(logit), evidence=evidence)


def composite(rows: RowReader, question: Json) -> list[list[int]]:
    """The composite keys of the fewest columns by which one table refers to another.

    For every such combination of the `parts`: their numbers, and then how many rows the key has,
    how many refer, how many of them are found, and how many distinct ones there are.
    """
    child, parent = (TableId(*question[side]) for side in ("child", "parent"))
    parts = [(own, key) for own, key in question["parts"]]
    for width in range(2, min(_MOST_COLUMNS, len(parts)) + 1):
        chosen = (each for each in combinations(range(len(parts)), width) if _apart(parts, each))
        keys = []
        for numbers in chosen:
            counted = _counted(rows, child, parent, [parts[number] for number in numbers])
            if counted is not None:
                keys.append([*numbers, *counted])
        if keys:
            first, days = question["first"], frozenset(question["days"])
            keys = [key for key in keys if days.isdisjoint(key[:-4])] or keys
            return [_widened(rows, child, parent, parts, key, first, days) for key in keys]
    return []


def _widened(
    rows: RowReader,
    child: TableId,
    parent: TableId,
    parts: Sequence[Part],
    key: list[int],
    first: int,
    days: Collection[int],
) -> list[int]:
    """A key with the columns that stand before its last one in the parent, from its first on, if
    the child has them too and they are no `days`: company, number and year identify a document,
    though number and year alone would do."""
    numbers = key[:-4]
    last = max(parts[number][1] for number in numbers)
    front = [
        number
        for number, (_, column) in enumerate(parts)
        if number in numbers or (column < last and number not in days)
    ]
    columns = {parts[number][1] for number in front}
    wide = last - first >= _MOST_COLUMNS
    if columns != set(range(first, last + 1)) or wide or not _apart(parts, front):
        return key
    counted = _counted(rows, child, parent, [parts[number] for number in front])
    return key if counted is None else [*front, *counted]


def _apart(parts: Sequence[Part], chosen: Sequence[int]) -> bool:
    """Whether no column is part of a combination twice."""
    return all(len({parts[n][side] for n in chosen}) == len(chosen) for side in (0, 1))


def _counted(
    rows: RowReader, child: TableId, parent: TableId, parts: Sequence[Part]
) -> tuple[int, int, int, int] | None:
    """Rows of the key, references, those found and distinct ones; None if it is no such key."""
    key = row_tuples(rows, parent, [key_column for _, key_column in parts])
    if key is None or not len(key) or len(sorted_distinct(key)) < len(key):
        return None
    references = row_tuples(rows, child, [own for own, _ in parts])
    if references is None or not len(references):
        return None
    matched = int(np.count_nonzero(np.isin(references, key)))
    if matched / len(references) < LEAST_SHARE:
        return None
    return len(key), len(references), matched, len(sorted_distinct(references))
