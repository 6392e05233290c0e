"""How far names refer to each other (`refers` of name_words.py), for millions of pairs at once.

Words are numbered, and only those that begin with one letter or end with the same four are compared
at all: no others are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Flags, Floats, Ints
from dovetail.joins.naming.name_words import (
    Words,
    head_places,
    initials_of,
    word_likeness,
    word_weights,
)

# Pairs of names that are compared at a time.
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class NamePairs:
    """Compares names by their numbers, which are their places among those given.

    Per name: its `length`, the numbers of its `words`, their `weights` and which are `heads`, all
    filled up to the longest; equal numbers for names that are equal when `glued`, for those of the
    same `letters`, and for names of such `initials`; how much a name says `by_initials`.
    """

    vocabulary: Vocabulary
    length: Ints
    words: Ints
    weights: Floats
    heads: Flags
    glued: Ints
    letters: Ints
    initials: Ints
    by_initials: Floats

    @classmethod
    def of(cls, names: Sequence[Words]) -> NamePairs:
        """The names, taken apart once."""
        vocabulary, numbers = Vocabulary.of(names)
        shape = len(names), max(map(len, names), default=0)
        length = np.array([len(name) for name in names], dtype=np.int64)
        words, weights = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        heads = np.zeros(shape, dtype=np.bool_)
        # All names at once, word after word: a row at a time takes three times as long.
        there = np.arange(shape[1]) < length[:, None]
        words[there] = [numbers[word] for name in names for word in name]
        weights[there] = [weight for name in names for weight in word_weights(name)]
        places = [head_places(name) for name in names]
        row = np.repeat(np.arange(len(names)), [len(some) for some in places])
        heads[row, [place for some in places for place in some]] = True
        texts = ["".join(name) for name in names]
        # The letters of a name glued together, and the initials of one, as equal numbers.
        sorts = _numbered(["".join(sorted(t)) for t in texts] + [initials_of(n) for n in names])
        letters, initials = np.split(sorts, 2)
        initials[length < 2] = -1
        by_initials = np.array([0.8 if len(text) > 2 else 0.5 for text in texts])
        return cls(
            vocabulary,
            length,
            words,
            weights,
            heads,
            _numbered(texts),
            letters,
            initials,
            by_initials,
        )

    def refers(self, one: Ints, other: Ints) -> Floats:
        """How far each name refers to what is called by the other, from 0 to 1."""
        found = np.empty(len(one))
        for at in range(0, len(one), _BLOCK):
            part = slice(at, at + _BLOCK)
            found[part] = self._by_words(one[part], other[part])
        initials = np.flatnonzero(self.letters[one] == self.initials[other])
        found[initials] = self.by_initials[one[initials]]
        found[self.glued[one] == self.glued[other]] = 1.0
        found[(self.length[one] == 0) | (self.length[other] == 0)] = 0.0
        return found

    def _by_words(self, one: Ints, other: Ints) -> Floats:
        lengths, others = self.length[one], self.length[other]
        mine = np.zeros((int(lengths.max(initial=0)), len(one)))
        theirs = np.zeros((int(others.max(initial=0)), len(one)))
        for place, best in enumerate(mine):
            for its, their_best in enumerate(theirs):
                here = np.flatnonzero((lengths > place) & (others > its))
                words = self.words[one[here], place], self.words[other[here], its]
                like = self.vocabulary.likeness(*words)
                best[here] = np.maximum(best[here], like)
                their_best[here] = np.maximum(their_best[here], like)
        found = self._weighted(other, theirs)
        headed = np.zeros(len(one), dtype=np.bool_)
        for place, best in enumerate(mine):
            headed |= self.heads[one, place] & (best > 0)
        return np.where(headed, found * (0.5 + 0.5 * self._weighted(one, mine)), found / 3)

    def _weighted(self, names: Ints, best: Floats) -> Floats:
        """How much of the words of each name is found, the head counting double."""
        total, weights = np.zeros((2, len(names)))
        for place, found in enumerate(best):
            total += self.weights[names, place] * found
            weights += self.weights[names, place]
        return total / np.maximum(weights, 1)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of names by number, and how alike two of them are.

    Words that begin alike have the same number in `first`, those that end alike in `last`.
    """

    every: list[str]
    first: Ints
    last: Ints

    @classmethod
    def of(cls, names: Iterable[Words]) -> tuple[Vocabulary, dict[str, int]]:
        """The words of some names, and the number of each."""
        numbers: dict[str, int] = {}
        for name in names:
            for word in name:
                numbers.setdefault(word, len(numbers))
        every = list(numbers)
        # A word of less than four letters ends like no other.
        last = _numbered([word[-4:] if len(word) > 3 else (word,) for word in every])
        return cls(every, _numbered([word[0] for word in every]), last), numbers

    def likeness(self, one: Ints, other: Ints) -> Floats:
        """`word_likeness` of many pairs of words."""
        found = np.zeros(len(one))
        same: Flags = one == other
        found[same] = 1.0
        near = (self.first[one] == self.first[other]) | (self.last[one] == self.last[other])
        rest = np.flatnonzero(near & ~same)
        width = max(len(self.every), 1)
        pairs, back = np.unique(one[rest] * width + other[rest], return_inverse=True)
        likeness = [
            word_likeness(self.every[p // width], self.every[p % width]) for p in pairs.tolist()
        ]
        found[rest] = np.array(likeness, dtype=np.float64)[back]
        return found


def _numbered(things: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things], dtype=np.int64)
