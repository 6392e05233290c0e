"""Composite foreign keys: references by two or three columns that are a key only together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dovetail.arrays import Encoded, Ints
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.counting import count_shared
from dovetail.joins.keys.row_checks import LEAST_SHARE, Part, RowQuestions, composite
from dovetail.joins.keys.table_columns import HARDLY_ANY, TableColumns, probability
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import Weights
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
    hold the same columns, the one they are a key of is what the others refer to.
    """

    arrays: ColumnArrays
    columns: TableColumns
    databases: LatentDatabases
    rows: RowQuestions
    weights: Weights

    def edges(self) -> Iterator[JoinEdge]:
        """The composite foreign keys, scored."""
        found = list(self._narrowest())
        parents = Counter(map(_referring, found))
        for edge in found:
            alone = parents[_referring(edge)] == 1
            yield _raised(edge, self.weights.key) if alone and edge.evidence["name"] else edge

    def _narrowest(self) -> Iterator[JoinEdge]:
        """Between every two tables the best foreign key of the fewest columns."""
        pairs = [
            (tables, sorted(parts))
            for tables, parts in sorted(self._same_names().items())
            if not self.databases.clash(*tables)
        ]
        answers = self.rows.ask(composite, [self._question(*pair) for pair in pairs])
        if not any(answers):
            return
        conventions = self.arrays.conventions()
        named = self._named_after(pairs)
        for ((child, parent), parts), found in zip(pairs, answers, strict=True):
            convention = float(conventions[child] @ conventions[parent])
            edges = [
                self._edge([parts[number] for number in numbers], counts, convention, named)
                for *numbers, a, b, c, d in found
                for counts in [_Counts(a, b, c, d)]
            ]
            if edges:
                yield max(edges, key=lambda edge: edge.score)  # of equal ones the first

    def _question(self, tables: tuple[int, int], parts: Sequence[Part]) -> Json:
        """By which combinations of some columns one table refers to another."""
        arrays, (child, parent) = self.arrays, tables
        place = arrays.position
        return {
            "child": [arrays.ids[child].source, arrays.ids[child].name],
            "parent": [arrays.ids[parent].source, arrays.ids[parent].name],
            "rows": int(arrays.rows[list(tables)].max()),
            "parts": [[int(place[mine]), int(place[theirs])] for mine, theirs in parts],
        }

    def _same_names(self) -> dict[tuple[int, int], list[Part]]:
        """Two tables with two or more columns of the same name, the child's in the parent's."""
        arrays = self.arrays
        child, parent = self._columns_of_same_names()
        names = Encoded.of([words(table.name) for table in arrays.ids]).codes
        left, right = arrays.table[child], arrays.table[parent]
        apart = (left != right) & (names[left] != names[right])
        child, parent = child[apart], parent[apart]
        pair = arrays.table[child] * len(arrays.ids) + arrays.table[parent]
        shared = _times(pair)
        small = (arrays.rows <= HARDLY_ANY)[arrays.table[parent]]
        likely = (shared > 1) & ~(small & (shared > _MOST_PARTS))
        order = np.flatnonzero(likely)
        order = order[np.lexsort((parent[order], child[order]))]
        child, parent, pair = child[order], parent[order], pair[order]
        _, rows = count_shared(arrays.values, child, arrays.values, parent)
        held = np.flatnonzero(rows >= LEAST_SHARE * arrays.filled[child])
        held = held[_times(pair[held]) > 1]
        found: dict[tuple[int, int], list[Part]] = defaultdict(list)
        for place in held.tolist():
            mine, theirs = int(child[place]), int(parent[place])
            found[int(arrays.table[mine]), int(arrays.table[theirs])].append((mine, theirs))
        return found

    def _columns_of_same_names(self) -> tuple[Ints, Ints]:
        """Columns with the parts of keys that have the same name, but for names that are common."""
        arrays = self.arrays
        few = (arrays.rows <= HARDLY_ANY)[arrays.table]
        alike: dict[Words, list[int]] = defaultdict(list)
        for column in np.flatnonzero(arrays.filled > 0).tolist():
            alike[words(arrays.name[column])].append(column)
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
        return np.concatenate(children), np.concatenate(parents)

    def _may_be_part_of_key(self, column: int) -> bool:
        table = int(self.arrays.table[column])
        return not self.arrays.unique[column] and not self.columns.has_key_column(table)

    def _named_after(self, pairs: Sequence[tuple[Part, Sequence[Part]]]) -> dict[Part, float]:
        """How far each column of a child refers to what its parent is about."""
        arrays = self.arrays
        asked = sorted({(mine, parent) for (_, parent), parts in pairs for mine, _ in parts})
        called = [core(arrays.name[column]) for column, _ in asked]
        far = refers(called, [entity(arrays.ids[parent].name) for _, parent in asked])
        return dict(zip(asked, far.tolist(), strict=True))

    def _edge(
        self,
        parts: Sequence[Part],
        counts: _Counts,
        convention: float,
        named: Mapping[Part, float],
    ) -> JoinEdge:
        """The edge by some columns together."""
        arrays = self.arrays
        child, parent = (int(arrays.table[column]) for column in parts[0])
        mine, theirs = [c for c, _ in parts], [p for _, p in parts]
        share = counts.found / counts.references
        name = max(named[column, parent] for column in mine)
        value = self._value(theirs, counts.key, counts.distinct)
        logit = self._logit(name, value, convention, share)
        return JoinEdge(
            left=arrays.ids[child],
            right=arrays.ids[parent],
            columns=tuple((arrays.name[a], arrays.name[b]) for a, b in parts),
            score=probability(logit),
            cardinality="1:1" if counts.distinct == counts.references else "n:1",
            match_rate=round(share * counts.references / max(int(arrays.rows[child]), 1), 6),
            evidence={
                "composite": float(len(parts)),
                "row_containment": round(share, 6),
                "name": round(name, 6),
                "value": round(float(value), 6),
                "logit": round(float(logit), 6),
            },
        )

    def _value(self, key_columns: list[int], key_size: int, distinct: int) -> float:
        """Self-information of the inclusion: how little of all combinations the key holds."""
        room = float(np.prod([float(self.arrays.distinct[p]) for p in key_columns]))
        nats = -np.log(min(key_size / room, 1.0)) * min(distinct, 2)
        return min(float(nats) / self.weights.proof, 1.0)

    def _logit(self, name: float, value: float, convention: float, share: float) -> float:
        w = self.weights
        logit = w.prior + w.name * name + w.value * value * (2 - name) + w.key * (name > 0)
        logit += w.convention * (convention - 0.5) - w.orphan * (1 - share)
        return min(logit, 0.0) if name == 0 else logit


def _times(things: Ints) -> Ints:
    """How often each thing comes, beside each."""
    _, of, times = np.unique(things, return_inverse=True, return_counts=True)
    found: Ints = times[of]
    return found


def _referring(edge: JoinEdge) -> tuple[TableId, frozenset[str]]:
    return edge.left, frozenset(mine for mine, _ in edge.columns)


def _raised(edge: JoinEdge, more: float) -> JoinEdge:
    """The edge with some nats more."""
    logit = edge.evidence["logit"] + more
    evidence = {**edge.evidence, "logit": round(logit, 6)}
    return replace(edge, score=probability(logit), evidence=evidence)
