"""How far names refer to each other (`refers` of name_words.py), for millions of pairs at once.

Words are numbered, and only those that begin with one letter or end with the same four are compared
at all: no others are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from dovetail.joins.column_arrays import Flags, Floats, Ints
from dovetail.joins.naming.name_words import (
    Words,
    head_places,
    initials_of,
    word_likeness,
    word_weights,
)

# Pairs of names that are compared at a time.
_BLOCK = 1 << 16


class NamePairs:
    """Compares names by their numbers, which are their places among those given."""

    def __init__(self, names: Sequence[Words]) -> None:
        vocabulary = _Vocabulary(names)
        self._like = vocabulary.likeness
        shape = len(names), max(map(len, names), default=0)
        self._length = np.array([len(name) for name in names], dtype=np.int64)
        self._words = np.zeros(shape, dtype=np.int64)
        self._weights = np.zeros(shape)
        self._heads = np.zeros(shape, dtype=np.bool_)
        # All names at once, word after word: a row at a time takes three times as long.
        there = np.arange(shape[1]) < self._length[:, None]
        self._words[there] = [vocabulary.numbers[word] for name in names for word in name]
        self._weights[there] = [weight for name in names for weight in word_weights(name)]
        heads = [head_places(name) for name in names]
        row = np.repeat(np.arange(len(names)), [len(places) for places in heads])
        self._heads[row, [place for places in heads for place in places]] = True
        glued = ["".join(name) for name in names]
        self._glued = _numbered(glued)
        # The letters of a name glued together, and the initials of one, as equal numbers.
        sorts = _numbered(["".join(sorted(g)) for g in glued] + [initials_of(n) for n in names])
        self._letters, self._initials = np.split(sorts, 2)
        self._initials[self._length < 2] = -1
        self._by_initials = np.array([0.8 if len(g) > 2 else 0.5 for g in glued])

    def refers(self, one: Ints, other: Ints) -> Floats:
        """How far each name refers to what is called by the other, from 0 to 1."""
        found = np.empty(len(one))
        for at in range(0, len(one), _BLOCK):
            part = slice(at, at + _BLOCK)
            found[part] = self._by_words(one[part], other[part])
        initials = np.flatnonzero(self._letters[one] == self._initials[other])
        found[initials] = self._by_initials[one[initials]]
        found[self._glued[one] == self._glued[other]] = 1.0
        found[(self._length[one] == 0) | (self._length[other] == 0)] = 0.0
        return found

    def _by_words(self, one: Ints, other: Ints) -> Floats:
        lengths, others = self._length[one], self._length[other]
        mine = np.zeros((int(lengths.max(initial=0)), len(one)))
        theirs = np.zeros((int(others.max(initial=0)), len(one)))
        for place, best in enumerate(mine):
            for its, their_best in enumerate(theirs):
                here = np.flatnonzero((lengths > place) & (others > its))
                words = self._words[one[here], place], self._words[other[here], its]
                like = self._like(*words)
                best[here] = np.maximum(best[here], like)
                their_best[here] = np.maximum(their_best[here], like)
        found = self._weighted(other, theirs)
        headed = np.zeros(len(one), dtype=np.bool_)
        for place, best in enumerate(mine):
            headed |= self._heads[one, place] & (best > 0)
        return np.where(headed, found * (0.5 + 0.5 * self._weighted(one, mine)), found / 3)

    def _weighted(self, names: Ints, best: Floats) -> Floats:
        """How much of the words of each name is found, the head counting double."""
        total, weights = np.zeros((2, len(names)))
        for place, found in enumerate(best):
            total += self._weights[names, place] * found
            weights += self._weights[names, place]
        return total / np.maximum(weights, 1)


class _Vocabulary:
    """The words of names by number, and how alike two of them are."""

    def __init__(self, names: Iterable[Words]) -> None:
        self.numbers: dict[str, int] = {}
        for name in names:
            for word in name:
                self.numbers.setdefault(word, len(self.numbers))
        self._all = list(self.numbers)
        self._first = _numbered([word[0] for word in self._all])
        # A word of less than four letters ends like no other.
        self._last = _numbered([word[-4:] if len(word) > 3 else (word,) for word in self._all])

    def likeness(self, one: Ints, other: Ints) -> Floats:
        """`word_likeness` of many pairs of words."""
        found = np.zeros(len(one))
        same: Flags = one == other
        found[same] = 1.0
        near = (self._first[one] == self._first[other]) | (self._last[one] == self._last[other])
        rest = np.flatnonzero(near & ~same)
        width = max(len(self._all), 1)
        pairs, back = np.unique(one[rest] * width + other[rest], return_inverse=True)
        likeness = [
            word_likeness(self._all[p // width], self._all[p % width]) for p in pairs.tolist()
        ]
        found[rest] = np.array(likeness, dtype=np.float64)[back]
        return found


def _numbered(things: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things], dtype=np.int64)
