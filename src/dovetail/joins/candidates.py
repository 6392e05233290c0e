"""Which columns may refer to which keys: few enough to look at closely, none left out that could.

A candidate is a column (child) and a unique column of another table (parent) that holds most of
the child's rows. Of the many such pairs that chance makes (ids 1..n lie in every longer run of
ids), only those can come to anything whose names have a word in common or whose values are
telling; the rest is never looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.inclusion import Holders, group
from dovetail.joins.lake import Flags, Ints, Lake
from dovetail.joins.names import Words, core, entity, word_likeness

# The least share of the child's rows that must be found in the parent.
FLOOR = 0.7
# Values of a child, drawn by rows, that a parent is tried with before all of them are.
_SAMPLE = 32


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


def find_candidates(lake: Lake, telling: Flags) -> Candidates:
    """All candidates between two tables; `telling` says which columns hold values of note."""
    search = _Search(lake, telling)
    found = [search.parents(child) for child in np.flatnonzero(lake.filled > 0).tolist()]
    return concatenate(found)


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
            if lake.unique[parent] and lake.filled[child]:
                held = found_in(lake.vectors[child], lake.vectors[parent])
                rows = int(lake.counts[child][held].sum())
                if rows >= FLOOR * lake.filled[child]:
                    found.append((child, parent, int(np.count_nonzero(held)), rows))
    return Candidates(*np.array(found, dtype=np.int64).reshape(-1, 4).T)


class _Search:
    """Looks up the parents of one column after the other."""

    def __init__(self, lake: Lake, telling: Flags) -> None:
        self._lake = lake
        self._telling = telling
        self._classes = group(lake)
        self._of = self._classes.of
        keys = np.flatnonzero(lake.unique & (lake.distinct > 0))
        self._named = _Named(lake, keys)
        # Sets of values that are some key's, numbered anew, and the keys of each.
        self._sets = np.unique(self._of[keys])
        self._set_of = np.full(len(self._classes), -1, dtype=np.int64)
        self._set_of[self._sets] = np.arange(len(self._sets))
        telling_keys = keys[telling[keys]]
        self._telling_keys = telling_keys[np.argsort(self._of[telling_keys], kind="stable")]
        self._samples = [
            drawn_by_rows(vector, counts)
            for vector, counts in zip(lake.vectors, lake.counts, strict=True)
        ]
        vectors = [self._classes.vectors[place] for place in self._sets.tolist()]
        self._holders = Holders(self._samples, vectors)

    def parents(self, child: int) -> Candidates:
        """The keys of other tables that hold enough of the child's rows, with exact counts."""
        keys = self._named.pointed_at(self._lake.name[child])
        likely = self._likely_sets(child)
        if self._telling[child]:
            places = np.searchsorted(self._of[self._telling_keys], self._sets[likely])
            ends = np.searchsorted(self._of[self._telling_keys], self._sets[likely], side="right")
            by_value = [self._telling_keys[a:b] for a, b in zip(places, ends, strict=True)]
            keys = np.unique(np.concatenate([keys, *by_value]))
        held = np.zeros(len(self._sets), dtype=np.bool_)
        held[likely] = True
        keys = keys[held[self._set_of[self._of[keys]]]] if len(keys) else keys
        keys = keys[self._lake.table[keys] != self._lake.table[child]]
        return self._counted(child, keys)

    def _likely_sets(self, child: int) -> Ints:
        """The sets of keys that hold at least half of the child's drawn values."""
        sample = self._samples[child]
        lists = self._holders.lists(self._holders.places(sample))
        if not lists:
            return np.empty(0, dtype=np.int64)
        times = np.bincount(np.concatenate(lists), minlength=len(self._sets))
        return np.flatnonzero(2 * times >= len(sample))

    def _counted(self, child: int, keys: Ints) -> Candidates:
        lake = self._lake
        vector, counts = lake.vectors[child], lake.counts[child]
        same, back = np.unique(self._of[keys], return_inverse=True)
        shared = np.zeros(len(same), dtype=np.int64)
        rows = np.zeros(len(same), dtype=np.int64)
        for place, key_set in enumerate(same.tolist()):
            held = found_in(vector, self._classes.vectors[key_set])
            shared[place], rows[place] = np.count_nonzero(held), counts[held].sum()
        found = Candidates(np.full(len(keys), child), keys, shared[back], rows[back])
        return found.take(found.rows >= FLOOR * lake.filled[child])


def found_in(values: Hashes, outer: Hashes) -> Flags:
    """Which of some values are in a sorted vector."""
    at = np.searchsorted(outer, values)
    at[at == len(outer)] = 0
    held: Flags = outer[at] == values
    return held


def drawn_by_rows(vector: Hashes, counts: npt.NDArray[np.uint32]) -> Hashes:
    """A few values, a value the likelier the more rows hold it; the same ones every time."""
    if len(vector) <= _SAMPLE:
        return vector
    # A value is a random number itself: the smallest of -ln(u) / weight are a weighted sample.
    order = -np.log((vector.astype(np.float64) + 1) / 2.0**64) / counts
    return np.sort(vector[np.argpartition(order, _SAMPLE)[:_SAMPLE]])


class _Named:
    """Keys by the words of their tables and of their own names."""

    def __init__(self, lake: Lake, keys: Ints) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        initials: dict[str, list[int]] = defaultdict(list)
        for key in keys.tolist():
            thing = entity(lake.ids[lake.table[key]].name)
            called = core(lake.name[key])
            for word in {*thing, *called, "".join(thing), "".join(called)}:
                places[word].append(key)
            for name in (thing, called):
                if len(name) > 1:
                    initials["".join(sorted(word[0] for word in name))].append(key)
        self._places = {word: np.array(found) for word, found in places.items() if word}
        self._initials = {letters: np.array(found) for letters, found in initials.items()}
        self._like = _LikeWords(self._places)
        self._memory: dict[Words, Ints] = {}

    def pointed_at(self, column: str) -> Ints:
        """The keys that have a like word in their names."""
        said = core(column)
        if said not in self._memory:
            alike = {like for word in (*said, "".join(said)) for like in self._like.of(word)}
            found = [self._places[word] for word in sorted(alike)]
            letters = "".join(sorted("".join(said)))
            found += [self._initials[letters]] if letters in self._initials else []
            self._memory[said] = (
                np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
            )
        return self._memory[said]


class _LikeWords:
    """Words like a word, found by their first letter or their last four."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._begin: dict[str, list[str]] = defaultdict(list)
        self._end: dict[str, list[str]] = defaultdict(list)
        for word in vocabulary:
            self._begin[word[:1]].append(word)
            self._end[word[-4:]].append(word)
        self._memory: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        if word not in self._memory:
            near = {*self._begin.get(word[:1], ()), *self._end.get(word[-4:], ())}
            self._memory[word] = sorted(n for n in near if word and word_likeness(word, n) > 0)
        return self._memory[word]
