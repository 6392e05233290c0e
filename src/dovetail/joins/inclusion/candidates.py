"""Which columns may refer to which keys: few enough to look at closely, none left out that could.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows; the thresholds of the lake say what is a key and what is most. Of the many such pairs
that chance makes (ids 1..n lie in every longer run of ids), only those can come to anything whose
names have a word in common or whose values are telling; the rest is never looked at. Of those, the
scoring may rule out what no count could save (its `hope`); what is left is counted, runs of ids
many at a time as a product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Ints, Lake, found_in, spans
from dovetail.joins.inclusion.bottom_k import Holders
from dovetail.joins.inclusion.equal_sets import group
from dovetail.joins.naming.name_lookup import Named
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import drawn_places

# Likely pairs that are looked at together.
_BLOCK = 1 << 21
# Pairs from which on a column's are counted together with those of others, and the multiplications
# that take as long as counting one pair by itself.
_BUSY, _WORTH = 32, 200_000
# Columns that are counted together at most, and the numbers that their matrices may have.
_TOGETHER, _ROOM = 1024, 1 << 27


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of columns with exact counts: distinct values in common, and child rows found."""

    child: Ints
    parent: Ints
    shared: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.child)

    def take(self, chosen: Ints | Flags) -> Candidates:
        """Some of them."""
        parts = (self.child, self.parent, self.shared, self.rows)
        return Candidates(*(part[chosen] for part in parts))


# Says of many pairs (child, parent) whether they could come to anything, whatever their counts.
Hope = Callable[[Ints, Ints], Flags]


def find_candidates(lake: Lake, telling: Flags, hope: Hope | None = None) -> Candidates:
    """All candidates between two tables; `telling` says which columns hold values of note.

    Pairs without `hope` are not counted and left out; without a `hope` all have some.
    """
    search = _Search(lake, telling)
    found = []
    for child, parent in _blocks(search):
        chosen = np.flatnonzero(hope(child, parent)) if hope else np.arange(len(child))
        found.append(search.counted(child[chosen], parent[chosen]))
    return concatenate(found)


def _blocks(search: _Search) -> Iterator[tuple[Ints, Ints]]:
    """Likely pairs, many children at a time."""
    children: list[int] = []
    parents: list[Ints] = []
    waiting = 0
    for child in search.children.tolist():
        keys = search.parents(child)
        if len(keys):
            children.append(child)
            parents.append(keys)
            waiting += len(keys)
        if waiting >= _BLOCK:
            yield _pairs(children, parents)
            children, parents, waiting = [], [], 0
    if children:
        yield _pairs(children, parents)


def _pairs(children: Sequence[int], parents: Sequence[Ints]) -> tuple[Ints, Ints]:
    lengths = [len(keys) for keys in parents]
    return np.repeat(np.array(children, dtype=np.int64), lengths), np.concatenate(parents)


def find_fresh(
    lake: Lake, telling: Flags, fresh: Flags, postings: Postings, hope: Hope | None = None
) -> Candidates:
    """Those of all candidates that have a fresh column, without a look at the rest."""
    pairs = [*_as_children(lake, telling, fresh, postings)]
    pairs += _as_parents(lake, telling, fresh, postings)
    nothing = np.empty(0, dtype=np.int64)
    child, parent = (
        np.concatenate([nothing, *part])
        for part in (zip(*pairs, strict=True) if pairs else [[], []])
    )
    order = np.lexsort((parent, child))
    child, parent = child[order], parent[order]
    if hope:
        hopeful = np.flatnonzero(hope(child, parent))
        child, parent = child[hopeful], parent[hopeful]
    found = Candidates(child, parent, *common(lake, child, lake.vectors, parent))
    return found.take(found.rows >= lake.thresholds.rows * lake.filled[child])


def _as_children(
    lake: Lake, telling: Flags, fresh: Flags, postings: Postings
) -> Iterator[tuple[Ints, Ints]]:
    """Fresh columns with the keys that likely hold them."""
    named = Named(lake, np.flatnonzero(lake.key))
    for child in np.flatnonzero(fresh & (lake.filled > 0)).tolist():
        drawn = drawn_places(lake.vectors[child], lake.counts[child])
        rows = lake.counts[child][drawn].astype(np.int64)
        place, column = postings.columns_holding(lake.vectors[child][drawn])
        by_value = np.bincount(column, minlength=len(lake))
        by_rows = np.bincount(column, rows[place], minlength=len(lake))
        likely = (2 * by_value >= len(drawn)) | (2 * by_rows >= rows.sum())
        keys = np.flatnonzero(likely & lake.key & (lake.table != lake.table[child]))
        chosen = found_in(keys, named.pointed_at(lake.name[child]))
        if telling[child]:
            chosen |= telling[keys]
        yield np.full(np.count_nonzero(chosen), child), keys[chosen]


def _as_parents(
    lake: Lake, telling: Flags, fresh: Flags, postings: Postings
) -> Iterator[tuple[Ints, Ints]]:
    """Fresh keys with the columns, not fresh themselves, that they likely hold."""
    keys = np.flatnonzero(fresh & lake.key & (lake.distinct > 0))
    named = Named(lake, keys)
    size, rows = postings.drawn
    for parent in keys.tolist():
        by_value, by_rows = postings.drawn_in(lake.vectors[parent])
        likely = (2 * by_value >= size) | (2 * by_rows >= rows)
        likely &= ~fresh & (lake.filled > 0) & (lake.table != lake.table[parent])
        children = np.flatnonzero(likely)
        chosen = np.array(
            [parent in named.pointed_at(lake.name[child]) for child in children.tolist()],
            dtype=np.bool_,
        )
        if telling[parent]:
            chosen |= telling[children]
        yield children[chosen], np.full(np.count_nonzero(chosen), parent)


def concatenate(parts: Sequence[Candidates]) -> Candidates:
    """Candidates one after the other."""
    names = ("child", "parent", "shared", "rows")
    nothing = np.empty(0, dtype=np.int64)
    return Candidates(
        *(np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in names)
    )


def between(lake: Lake, one: int, other: int) -> Candidates:
    """All candidates between two tables, whatever their names and values say."""
    mine = {table: np.flatnonzero(lake.table == table).tolist() for table in (one, other)}
    found = []
    for left, right in ((one, other), (other, one)):
        for child, parent in product(mine[left], mine[right]):
            if lake.key[parent] and lake.filled[child]:
                held = found_in(lake.vectors[child], lake.vectors[parent])
                rows = int(lake.counts[child][held].sum())
                if rows >= lake.thresholds.rows * lake.filled[child]:
                    found.append((child, parent, int(np.count_nonzero(held)), rows))
    return Candidates(*np.array(found, dtype=np.int64).reshape(-1, 4).T)


class _Search:
    """Looks up the parents of one column after the other, and counts many pairs at once."""

    def __init__(self, lake: Lake, telling: Flags) -> None:
        self._lake = lake
        self._telling = telling
        self._classes = group(lake)
        self.children = np.flatnonzero(lake.filled > 0)
        keys = np.flatnonzero(lake.key & (self._classes.of >= 0))
        self._named = Named(lake, keys)
        # Sets of values that are some key's, numbered anew, and the keys of each.
        sets = np.unique(self._classes.of[keys])
        self._keys = keys[np.argsort(self._classes.of[keys], kind="stable")]
        self._starts = np.searchsorted(
            self._classes.of[self._keys], np.append(sets, len(self._classes))
        )
        self._samples = [
            vector[drawn_places(vector, counts)]
            for vector, counts in zip(lake.vectors, lake.counts, strict=True)
        ]
        self._holders = Holders(self._samples, [self._classes.vectors[s] for s in sets.tolist()])

    def parents(self, child: int) -> Ints:
        """The keys of other tables that are named or telling and likely hold the child's rows."""
        likely = self._likely_sets(child)
        keys: Ints = self._keys[spans(self._starts[likely], self._starts[likely + 1])]
        keys = keys[self._lake.table[keys] != self._lake.table[child]]
        if not len(keys):
            return keys
        chosen = found_in(keys, self._named.pointed_at(self._lake.name[child]))
        if self._telling[child]:
            chosen |= self._telling[keys]
        return np.sort(keys[chosen])

    def _likely_sets(self, child: int) -> Ints:
        """The sets of keys that hold half of the child's drawn values, or of their rows.

        By rows, since many values of one row each may be orphans; by values, since one of many
        rows may be.
        """
        sample = self._samples[child]
        starts, ends = self._holders.ranges(self._holders.places(sample))
        sets = self._holders.sets[spans(starts, ends)]
        if not len(sets):
            return np.empty(0, dtype=np.int64)
        rows = self._lake.counts[child][found_in(self._lake.vectors[child], sample)]
        by_value = np.bincount(sets)
        by_rows = np.bincount(sets, np.repeat(rows, ends - starts))
        return np.flatnonzero((2 * by_value >= len(sample)) | (2 * by_rows >= rows.sum()))

    def counted(self, child: Ints, parent: Ints) -> Candidates:
        """Those of some pairs whose parent holds enough of the child's rows, with exact counts."""
        outer = self._classes.of[parent]
        pairs, back = np.unique(child * len(self._classes) + outer, return_inverse=True)
        inner, outer = pairs // len(self._classes), pairs % len(self._classes)
        shared, rows = common(self._lake, inner, self._classes.vectors, outer)
        found = Candidates(child, parent, shared[back], rows[back])
        return found.take(found.rows >= self._lake.thresholds.rows * self._lake.filled[child])


def common(lake: Lake, child: Ints, sets: Sequence[Hashes], outer: Ints) -> tuple[Ints, Ints]:
    """Per pair of a column and a set: distinct values in common, and the column's rows found.

    Pairs come in the order of their columns.
    """
    shared, rows = np.zeros((2, len(child)), dtype=np.int64)
    alone = np.ones(len(child), dtype=np.bool_)
    busy = np.flatnonzero(np.bincount(child)[child] >= _BUSY)
    starts = np.unique(child[busy], return_index=True)[1]
    for some in np.split(busy, starts[_TOGETHER::_TOGETHER]):
        counted = _by_product(lake, child[some], sets, outer[some]) if len(some) else None
        if counted is not None:
            shared[some], rows[some] = counted
            alone[some] = False
    for place in np.flatnonzero(alone).tolist():
        vector, counts = lake.vectors[child[place]], lake.counts[child[place]]
        held = found_in(vector, sets[outer[place]])
        shared[place], rows[place] = np.count_nonzero(held), counts[held].sum()
    return shared, rows


def _by_product(
    lake: Lake, child: Ints, sets: Sequence[Hashes], outer: Ints
) -> tuple[Ints, Ints] | None:
    """The same as a product of matrices (columns x values) and (values x sets).

    Worth it where few values make many pairs: runs of ids. None where it is not.
    """
    columns, row = np.unique(child, return_inverse=True)
    outers, place = np.unique(outer, return_inverse=True)
    vectors = [lake.vectors[column] for column in columns.tolist()]
    values = np.unique(np.concatenate(vectors))
    products, room = len(columns) * len(outers), (len(columns) + len(outers)) * len(values)
    if products * len(values) > _WORTH * len(child) or room > _ROOM:
        return None
    inner = _matrix(vectors, values)
    holds = _matrix([sets[outer] for outer in outers.tolist()], values).T
    shared = inner @ holds
    rows = shared.astype(np.float64)
    # Where no value repeats, its rows are the values; elsewhere each weighs its rows.
    sizes = np.array([len(vector) for vector in vectors])
    repeats = np.flatnonzero(lake.filled[columns] > sizes)
    if len(repeats):
        # Counts up to 2^24 are exact in single precision, up to 2^53 in double.
        exact = np.float32 if lake.filled[columns].max() < 2**24 else np.float64
        weights = inner[repeats].astype(exact)
        weights[inner[repeats] > 0] = np.concatenate(
            [lake.counts[c] for c in columns[repeats].tolist()]
        )
        rows[repeats] = weights @ holds.astype(exact, copy=False)
    return shared[row, place].astype(np.int64), rows[row, place].astype(np.int64)


def _matrix(vectors: Sequence[Hashes], values: Hashes) -> npt.NDArray[np.float32]:
    """Which set (row) holds which value (column)."""
    matrix = np.zeros((len(vectors), len(values)), dtype=np.float32)
    for row, vector in enumerate(vectors):
        matrix[row] = found_in(values, vector)
    return matrix
