"""Composite foreign keys: references by two or three columns that are a key only together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import ColumnArrays, Ints
from dovetail.joins.encoding import Encoded
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.keys.few_rows import FEW_ROWS
from dovetail.joins.keys.table_columns import HARDLY_ANY, TableColumns, probability
from dovetail.joins.naming.conventions import naming_conventions
from dovetail.joins.naming.name_words import Words, core, entity, refers, words
from dovetail.joins.row_hashes import RowReader
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import Weights

# The least share of the child's rows that must be found: several columns agree by less chance.
_LEAST_SHARE = 0.9
_MOST_COLUMNS = 3
# A name that more columns share than this says nothing of which of them belong together.
_COMMON = 200

# The same, counting only tables with hardly any rows: such a name is one of a family of tables.
_COMMON_SMALL = 32
# Columns of the same names beyond which a parent with hardly any rows is not looked at: it and the
# child are of one family, and any two columns tell its rows apart. At 12 a declared join of Beaver,
# whose tables have three rows, was lost; at 32 none of the public corpora changes.
_MOST_PARTS = 32
# Combinations of columns that are tried together.
_AT_ONCE = 4096

# A column of the child and the column of the parent that it refers to.
Part = tuple[int, int]


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
    rows: RowReader
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
        conventions = naming_conventions(self.arrays)
        for (child, parent), parts in sorted(self._same_names().items()):
            if self.databases.clash(child, parent):
                continue
            convention = float(conventions[child] @ conventions[parent])
            best: JoinEdge | None = None
            for width in range(2, min(_MOST_COLUMNS, len(parts)) + 1):
                for combination in self._likely(sorted(parts), width):
                    edge = self._edge(combination, convention)
                    if edge is not None and (best is None or edge.score > best.score):
                        best = edge
                if best is not None:
                    yield best
                    break

    def _likely(self, parts: Sequence[Part], width: int) -> Iterator[tuple[Part, ...]]:
        """The combinations of parts that may make an edge; of tall tables, all of them."""
        tables = [int(self.arrays.table[column]) for column in parts[0]]
        every = combinations(parts, width)
        if (self.arrays.rows[tables] > FEW_ROWS).any():
            yield from every
            return
        while some := list(islice(every, _AT_ONCE)):
            some = [chosen for chosen in some if _apart(chosen)]
            yield from self._held(some, *tables) if some else ()

    def _held(
        self, some: Sequence[tuple[Part, ...]], child: int, parent: int
    ) -> Iterator[tuple[Part, ...]]:
        """Combinations that are a key of the parent, and hold enough of the child's rows."""
        chosen = np.array(some, dtype=np.int64)
        key = self.columns.combined(self.rows, parent, chosen[:, :, 1])
        if key is None:
            return
        able = key.may_be_keys()
        if not able.any():
            return
        references = self.columns.combined(self.rows, child, chosen[able, :, 0])
        if references is not None:
            able[able] = references.found_in(key.take(able), _LEAST_SHARE)
            yield from (some[place] for place in np.flatnonzero(able).tolist())

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
        _, rows = count_shared(arrays, child, arrays.value_hashes, parent)
        held = np.flatnonzero(rows >= _LEAST_SHARE * arrays.filled[child])
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

    def _edge(self, parts: tuple[Part, ...], convention: float) -> JoinEdge | None:
        """The edge by some columns together; None if they are no key, or hold too few rows."""
        arrays = self.arrays
        child, parent = (int(arrays.table[column]) for column in parts[0])
        mine, theirs = [c for c, _ in parts], [p for _, p in parts]
        if not _apart(parts):
            return None
        key = self.columns.tuples(self.rows, parent, theirs)
        if key is None or not len(key) or len(np.unique(key)) < len(key):
            return None
        references = self.columns.tuples(self.rows, child, mine)
        if references is None or not len(references):
            return None
        share = float(np.isin(references, key).mean())
        if share < _LEAST_SHARE:
            return None
        distinct = len(np.unique(references))
        name = max(refers(core(arrays.name[c]), entity(arrays.ids[parent].name)) for c in mine)
        value = self._value(theirs, len(key), distinct)
        logit = self._logit(name, value, convention, share)
        return JoinEdge(
            left=arrays.ids[child],
            right=arrays.ids[parent],
            columns=tuple((arrays.name[a], arrays.name[b]) for a, b in parts),
            score=probability(logit),
            cardinality="1:1" if distinct == len(references) else "n:1",
            match_rate=round(share * len(references) / max(int(arrays.rows[child]), 1), 6),
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


def _apart(parts: Sequence[Part]) -> bool:
    """Whether no column is part of a combination twice."""
    return all(len(set(columns)) == len(parts) for columns in zip(*parts, strict=True))


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
