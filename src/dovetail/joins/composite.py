"""Composite foreign keys: references by two or three columns that are a key only together.

Parts may need a transform before they match: zeros in front of a number, another case, a prefix.
One that does nothing to the other parts is done to all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from dovetail.arrays import Encoded, Flags, Ints, sorted_distinct
from dovetail.domain import JoinEdge, TableId
from dovetail.domain.sql import CASE, CUT, PREFIX, PUNCTUATED, ZEROS, cut_transform, rung
from dovetail.hashing import Hashes
from dovetail.joins.columns import (
    HARDLY_ANY,
    ColumnArrays,
    TableColumns,
    ValueSets,
    probability,
)
from dovetail.joins.counting import count_shared
from dovetail.joins.databases import same_thing
from dovetail.joins.features import Weights
from dovetail.joins.rows import RowHashes, RowQuestions, RowReader, mixed_in, row_tuples
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, is_position, words
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
# Letters of a table's name that a part of its key, which is a bare code there, may be named by.
_SHORTEST = 3
# Letters that are left of a name that was cut.
_CUT = 4
# Combinations of columns that are tried together.
_AT_ONCE = 4096
# A column of the child and the column of the parent that it refers to.
Part = tuple[int, int]
# Rungs at which a part may match, and those that do for the other side, which needs less.
_RUNGS = {CASE: (), PUNCTUATED: (CASE,), ZEROS: (), PREFIX: (ZEROS,), CUT: (PUNCTUATED, ZEROS)}
# Without zeros before a number, punctuation and capitals: what most keys read as in two systems.
_FOLDED = cut_transform("", "")


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
    the only one needs no name, if the values of the columns together are beyond chance; but what is
    numbered under the same parent (line 1, 2, 3) may be two things.
    """

    arrays: ColumnArrays
    columns: TableColumns
    rows: RowQuestions
    weights: Weights

    def edges(self) -> Iterator[JoinEdge]:
        """The composite foreign keys, scored."""
        edges = list(self._narrowest())
        parents = Counter(map(_referring, edges))
        wholly = Counter(_referring(edge) for edge in edges if _holds_all(edge))
        for edge in edges:
            if parents[_referring(edge)] == 1 and edge.evidence["name"]:
                yield _raised(edge, self.weights.key)
            elif (
                _holds_all(edge)
                and wholly[_referring(edge)] == 1
                and self._within_source(edge)
                and "numbered" not in edge.evidence
            ):
                yield _raised(edge, _ONLY)
            else:
                yield edge

    def _within_source(self, edge: JoinEdge) -> bool:
        """Whether both tables are of one source, where sources count."""
        return bool(self.arrays.thresholds.sources) and edge.left.source == edge.right.source

    def _narrowest(self) -> Iterator[JoinEdge]:
        """Between every two tables the best foreign key of the fewest columns."""
        same, after = self._same_names()
        every = {tables: sorted(parts) for tables, parts in sorted(same.items())}
        asked = [(t, [part for part in parts if part not in after]) for t, parts in every.items()]
        asked = [(tables, parts) for tables, parts in asked if len(parts) > 1]
        answers = self.rows.ask(composite, [self._question(*pair, "") for pair in asked])
        # Where columns as they are give no key, some of them may need a transform.
        keyed = {tables for (tables, _), keys in zip(asked, answers, strict=True) if keys}
        folded = [
            (tables, parts, _one_for_all([after.get(part, "") for part in parts]))
            for tables, parts in every.items()
            if tables not in keyed and any(part in after for part in parts)
        ]
        answers += self.rows.ask(composite, [self._question(*each) for each in folded])
        pairs = asked + [(tables, parts) for tables, parts, _ in folded]
        transforms = [""] * len(asked) + [transform for *_, transform in folded]
        if not any(answers):
            return
        conventions = self.arrays.conventions()
        named = self._named_after(pairs)
        for pair, transform, keys in zip(pairs, transforms, answers, strict=True):
            (child, parent), parts = pair
            convention = float(conventions[child] @ conventions[parent])
            edges = [
                self._edge(
                    [parts[number] for number in numbers], counts, convention, named, transform
                )
                for *numbers, a, b, c, d in keys
                for counts in [_Counts(a, b, c, d)]
            ]
            used: set[str] = set()
            for edge in sorted(edges, key=lambda edge: -edge.score):  # of equal ones the first
                own = {column for column, _ in edge.columns}
                if not used or (self.arrays.thresholds.sources and not used & own):
                    used |= own
                    yield edge

    def _question(self, tables: tuple[int, int], parts: Sequence[Part], transform: str) -> Json:
        """By which combinations of some columns, after a transform, one table refers to another."""
        arrays, (child, parent) = self.arrays, tables
        position = arrays.position
        return {
            "child": [arrays.ids[child].source, arrays.ids[child].name],
            "parent": [arrays.ids[parent].source, arrays.ids[parent].name],
            "rows": int(arrays.rows[list(tables)].max()),
            "parts": [[int(position[own]), int(position[key])] for own, key in parts],
            "first": int(position[self.columns.first[parent]]),
            "transform": transform,
        }

    def _same_names(self) -> tuple[dict[tuple[int, int], list[Part]], dict[Part, str]]:
        """Two tables with two or more columns of the same name, the child's in the parent's; and
        the transform of those that need one."""
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
        enough = rows >= LEAST_SHARE * arrays.filled[child]
        after: dict[Part, str] = {}
        if arrays.thresholds.sources:
            near = np.flatnonzero(~enough)
            after = self._after_transforms(child[near], parent[near])
            parts_near = zip(child[near].tolist(), parent[near].tolist(), strict=True)
            enough[near] = [part in after for part in parts_near]
        contained = np.flatnonzero(enough)
        contained = contained[_times(pair[contained]) > 1]
        parts: dict[tuple[int, int], list[Part]] = defaultdict(list)
        for at in contained.tolist():
            own, key = int(child[at]), int(parent[at])
            parts[int(arrays.table[own]), int(arrays.table[key])].append((own, key))
        return parts, after

    def _after_transforms(self, child: Ints, parent: Ints) -> dict[Part, str]:
        """Those of some pairs of columns that match at a rung of the ladder, with the transform."""
        arrays, passes = self.arrays, self.arrays.values.passes
        views: dict[tuple[int, str], tuple[int, str]] = {}
        for number, view in passes.values.views:
            views.setdefault((view.column, rung(view.transform)), (number, view.transform))
        after: dict[Part, str] = {}
        for kind, less in _RUNGS.items():
            sets: list[tuple[int, int]] = []
            pairs: list[tuple[Part, str]] = []
            for part in zip(child.tolist(), parent.tolist(), strict=True):
                own = [views.get((column, kind)) for column in part]
                # Of two prefixes each means something.
                if part in after or not any(own) or (kind in (PREFIX, CUT) and all(own)):
                    continue
                as_is = [(int(arrays.values.numbers[column]), "") for column in part]
                beside = [
                    next((v for form in less if (v := views.get((column, form)))), at)
                    for column, at in zip(part, as_is, strict=True)
                ]
                both = [view or other for view, other in zip(own, beside, strict=True)]
                sets.append((both[0][0], both[1][0]))
                column, name = next((c, v[1]) for c, v in zip(part, own, strict=True) if v)
                letters = arrays.prefix[column] if kind == PREFIX else ""
                pairs.append((part, cut_transform(letters, "") if letters else name))
            if not pairs:
                continue
            left, right = (ValueSets(passes, np.array(side)) for side in zip(*sets, strict=True))
            every = np.arange(len(pairs))
            _, rows = count_shared(left, every, right, every)
            for (part, transform), count in zip(pairs, rows.tolist(), strict=True):
                if count >= LEAST_SHARE * arrays.filled[part[0]]:
                    after[part] = transform
        return after

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
            more = {*self._bare_keys(alike), *self._nearly_same_names()}
            both = np.array(sorted(more), dtype=np.int64).reshape(-1, 2)
            children.append(both[:, 0])
            parents.append(both[:, 1])
        pairs = np.unique(np.stack([np.concatenate(children), np.concatenate(parents)]), axis=1)
        return pairs[0], pairs[1]

    def _nearly_same_names(self) -> Iterator[Part]:
        """Columns with the parts of keys of their source that have the same name but for an
        id-word, or whose whole name they are called by, in full or cut; or behind a role: the
        country and the port of departure."""
        arrays = self.arrays
        keys: dict[tuple[str, Words], list[int]] = defaultdict(list)
        cores: dict[tuple[str, str], list[int]] = defaultdict(list)
        for column in np.flatnonzero(arrays.filled > 0).tolist():
            if self._may_be_part_of_key(column):
                source, name = arrays.ids[int(arrays.table[column])].source, arrays.name[column]
                whole = "".join(words(name))
                cut = {(whole[:end],) for end in range(_CUT, len(whole) + 1)}
                for called in {core(arrays.called[column]), *cut} - {()}:
                    keys[source, called].append(column)
                cores[source, "".join(core(arrays.called[column]))].append(column)
        for column in np.flatnonzero(arrays.filled > 0).tolist():
            source, own = arrays.ids[int(arrays.table[column])].source, arrays.called[column]
            glued = "".join(core(own))
            ends = {glued[start:] for start in range(1, len(glued) - _CUT + 1)}
            alike = [keys.get((source, name), ()) for name in (core(own), words(own))]
            for same in alike + [cores.get((source, end), ()) for end in ends]:
                for key in same if len(same) <= _COMMON_SMALL else ():
                    if arrays.table[column] != arrays.table[key]:
                        yield column, key

    def _bare_keys(self, alike: Mapping[Words, Sequence[int]]) -> Iterator[Part]:
        """Columns that are called as a table of their source is, with its bare code: a part of its
        key elsewhere has no other name."""
        arrays = self.arrays
        keys: dict[tuple[str, str], list[int]] = defaultdict(list)
        for column in np.flatnonzero(arrays.filled > 0).tolist():
            bare = arrays.called[column] != arrays.name[column] and not core(arrays.called[column])
            table = arrays.ids[int(arrays.table[column])]
            if bare and self._may_be_part_of_key(column) and len(entity(table.name)) == 1:
                (about,) = entity(table.name)
                for end in range(_SHORTEST, len(about) + 1):
                    keys[table.source, about[:end]].append(column)
        for called, columns in alike.items():
            for column in columns if len(called) == 1 and keys else ():
                own = int(arrays.table[column])
                for key in keys.get((arrays.ids[own].source, called[0]), ()):
                    if own != arrays.table[key]:
                        yield column, key

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
        convention: float,
        named: Mapping[Part, float],
        transform: str,
    ) -> JoinEdge:
        """The edge by some columns together."""
        arrays = self.arrays
        child, parent = (int(arrays.table[column]) for column in parts[0])
        own, keys = [c for c, _ in parts], [p for _, p in parts]
        share = counts.found / counts.references
        name = max(named[column, parent] for column in own)
        value = self._value(keys, counts.key, counts.distinct)
        logit = self._logit(name, value, convention, share)
        logit -= self.weights.transform * bool(transform)
        numbered = any(is_position(arrays.called[column]) for column in own)
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
                **({"numbered": 1.0} if numbered else {}),
            },
            transform=transform,
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


def _one_for_all(transforms: Sequence[str]) -> str:
    """The transform of all parts of a key, given those of each.

    >>> _one_for_all(["", "zeros"]), _one_for_all(["", "case"]), _one_for_all(["cut:k:", "zeros"])
    ('cut::', 'case', 'cut:k:')
    """
    needed = set(transforms) - {""}
    cut = sorted(name for name in needed if rung(name) == CUT)
    if len(needed) == 1 and needed <= {CASE, PUNCTUATED}:
        return needed.pop()
    return cut[0] if cut else PUNCTUATED if needed == {CASE, PUNCTUATED} else _FOLDED * bool(needed)


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
    transform = question["transform"]
    small = question["rows"] <= FEW_ROWS and not transform
    for width in range(2, min(_MOST_COLUMNS, len(parts)) + 1):
        chosen = (each for each in combinations(range(len(parts)), width) if _apart(parts, each))
        possible = _possible_keys(rows, child, parent, parts, chosen) if small else chosen
        keys = []
        for numbers in possible:
            counted = _counted(
                rows, child, parent, [parts[number] for number in numbers], transform
            )
            if counted is not None:
                keys.append([*numbers, *counted])
        if keys:
            first = question["first"]
            return [_widened(rows, child, parent, parts, key, first, transform) for key in keys]
    return []


def _widened(
    rows: RowReader,
    child: TableId,
    parent: TableId,
    parts: Sequence[Part],
    key: list[int],
    first: int,
    transform: str,
) -> list[int]:
    """A key with the columns that stand before its last one in the parent, from its first on, if
    the child has them too: company, number and year identify a document, though number and year
    alone would do."""
    numbers = key[:-4]
    last = max(parts[number][1] for number in numbers)
    front = [
        number for number, (_, column) in enumerate(parts) if column < last or number in numbers
    ]
    columns = {parts[number][1] for number in front}
    wide = last - first >= _MOST_COLUMNS
    if columns != set(range(first, last + 1)) or wide or not _apart(parts, front):
        return key
    counted = _counted(rows, child, parent, [parts[number] for number in front], transform)
    return key if counted is None else [*front, *counted]


def _apart(parts: Sequence[Part], chosen: Sequence[int]) -> bool:
    """Whether no column is part of a combination twice."""
    return all(len({parts[n][side] for n in chosen}) == len(chosen) for side in (0, 1))


def _possible_keys(
    rows: RowReader,
    child: TableId,
    parent: TableId,
    parts: Sequence[Part],
    chosen: Iterator[tuple[int, ...]],
) -> Iterator[tuple[int, ...]]:
    """Of two tables of few rows: the combinations that may be a composite key, many at once."""
    sides = np.array(parts, dtype=np.int64)
    while batch := list(islice(chosen, _AT_ONCE)):
        numbers = np.array(batch, dtype=np.int64)
        key = _combined(rows, parent, sides[numbers, 1])
        if key is None:
            return
        eligible = key.may_be_keys()
        if not eligible.any():
            continue
        references = _combined(rows, child, sides[numbers[eligible], 0])
        if references is not None:
            eligible[eligible] = references.found_in(key.take(eligible), LEAST_SHARE)
            yield from (batch[at] for at in np.flatnonzero(eligible).tolist())


def _counted(
    rows: RowReader, child: TableId, parent: TableId, parts: Sequence[Part], transform: str
) -> tuple[int, int, int, int] | None:
    """Rows of the key, references, those found and distinct ones; None if it is no such key."""
    key = row_tuples(rows, parent, [key_column for _, key_column in parts], transform)
    if key is None or not len(key) or len(sorted_distinct(key)) < len(key):
        return None
    references = row_tuples(rows, child, [own for own, _ in parts], transform)
    if references is None or not len(references):
        return None
    matched = int(np.count_nonzero(np.isin(references, key)))
    if matched / len(references) < LEAST_SHARE:
        return None
    return len(key), len(references), matched, len(sorted_distinct(references))


def _combined(rows: RowReader, table: TableId, chosen: Ints) -> Combined | None:
    """The rows of a table by many combinations of its columns; None if it cannot be read."""
    columns, number = np.unique(chosen, return_inverse=True)
    hashes = rows.read(table, columns.tolist())
    return None if hashes is None else Combined.of(hashes, number.reshape(chosen.shape))


# Rows up to which combinations are compared together, row by row.
FEW_ROWS = 16
# By how much a share may be off.
_ROUNDING = 1e-9
# Stands for a row that is not complete.
_INCOMPLETE = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class Combined:
    """A hash per row (across) for each combination of columns (down), and which are complete."""

    hashes: RowHashes
    complete: Flags

    @classmethod
    def of(cls, rows: RowHashes, combinations: Ints) -> Combined:
        """Combine columns, which are the rows of a matrix, by their places there."""
        hashes = np.zeros((len(combinations), rows.shape[1]), dtype=np.uint64)
        complete = np.ones(hashes.shape, dtype=np.bool_)
        for places in combinations.T:
            column = rows[places]
            mixed_in(hashes, column)
            complete &= column != 0
        return cls(hashes, complete)

    def take(self, chosen: Flags) -> Combined:
        """Some of the combinations."""
        return Combined(self.hashes[chosen], self.complete[chosen])

    def may_be_keys(self) -> Flags:
        """Which combinations have a complete row, and no two of them alike."""
        ordered = np.where(self.complete, self.hashes, _INCOMPLETE)
        ordered.sort(axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != _INCOMPLETE)
        found: Flags = self.complete.any(axis=1) & ~twice.any(axis=1)
        return found

    def found_in(self, keys: Combined, least: float) -> Flags:
        """Which combinations have at least a share of their complete rows among those of a key."""
        held = np.zeros(self.hashes.shape, dtype=np.bool_)
        for row in _columns(keys):
            held |= self.hashes == row[:, None]
        whole = np.count_nonzero(self.complete, axis=1)
        rows = np.count_nonzero(held & self.complete, axis=1)
        found: Flags = (whole > 0) & (rows >= (least - _ROUNDING) * whole)
        return found


def _columns(keys: Combined) -> Iterator[Hashes]:
    """The rows of each key in turn; what is not complete equals no other."""
    for row, complete in zip(keys.hashes.T, keys.complete.T, strict=True):
        yield np.where(complete, row, _INCOMPLETE)
