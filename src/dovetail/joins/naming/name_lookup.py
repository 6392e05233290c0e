"""Which keys may a column refer to by its name? Looked up by words alike, without every pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from dovetail.joins.column_arrays import ColumnArrays, Flags, Ints
from dovetail.joins.encoding import Encoded, encode_by
from dovetail.joins.naming.name_words import Words, core, entity, initials_of, word_likeness
from dovetail.joins.naming.persons import PEOPLE_WORD, is_people, is_role

# Words up to which it is quicker to compare with each than to rule some out.
_FEW = 8


class NameLookup:
    """Keys by the words of their tables and of their own names."""

    def __init__(self, arrays: ColumnArrays, keys: Ints) -> None:
        tables = [arrays.ids[table].name for table in arrays.table[keys].tolist()]
        about = encode_by(entity, Encoded.of(tables))
        called = encode_by(core, Encoded.of([arrays.name[key] for key in keys.tolist()]))
        self._keys = keys
        self._about, self._called = about.codes, called.codes
        self._abouts = _ByWord(about.dictionary, [known_by(name, ()) for name in about.dictionary])
        self._names = _ByWord(called.dictionary, [known_by((), name) for name in called.dictionary])
        self._memory: dict[Words, Ints] = {}

    def keys_named_by(self, column: str) -> Ints:
        """The keys that have, in their or their table's name, a word like one of the column's."""
        named = core(column)
        if named not in self._memory:
            about, called = self._abouts.places(named), self._names.places(named)
            chosen = np.zeros(len(self._keys) if about or called else 0, dtype=np.bool_)
            if about:
                chosen |= _flags(about, self._abouts.size)[self._about]
            if called:
                chosen |= _flags(called, self._names.size)[self._called]
            self._memory[named] = self._keys[np.flatnonzero(chosen)]
        return self._memory[named]


class _ByWord:
    """Names by the words that they are known by, and by their initials."""

    def __init__(self, names: Sequence[Words], known: Sequence[set[str]]) -> None:
        self.size = len(names)
        self._places: dict[str, list[int]] = defaultdict(list)
        self._initials: dict[str, list[int]] = defaultdict(list)
        for place, (name, words) in enumerate(zip(names, known, strict=True)):
            for word in words:
                self._places[word].append(place)
            if len(name) > 1:
                self._initials[initials_of(name)].append(place)
        self._similar = SimilarWords(self._places)

    def places(self, named: Words) -> list[int]:
        """The names that have a word like one of the given, or initials that these are."""
        found = [*self._initials.get("".join(sorted("".join(named))), ())]
        for word in asked_by(named):
            for like in self._similar.of(word):
                found += self._places[like]
        return found


def _flags(places: list[int], size: int) -> Flags:
    found = np.zeros(size, dtype=np.bool_)
    found[places] = True
    return found


def known_by(about: Words, called: Words) -> set[str]:
    """The words that a key is known by: its table's and its own, each name also in one word."""
    people = {PEOPLE_WORD} if is_people(about) else set()
    return {*about, *called, "".join(about), "".join(called), *people} - {""}


def asked_by(named: Words) -> tuple[str, ...]:
    """The words by which a column looks for the keys it may refer to."""
    return (*named, "".join(named), *((PEOPLE_WORD,) if is_role(named) else ()))


class SimilarWords:
    """Words of a vocabulary that are like a word, found by their first letter or last four."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        begin: dict[str, list[str]] = defaultdict(list)
        end: dict[str, list[str]] = defaultdict(list)
        for word in vocabulary:
            begin[word[:1]].append(word)
            end[word[-4:]].append(word)
        self._begin, self._end = (
            {part: (found, _all_letters(found)) for part, found in words.items()}
            for words in (begin, end)
        )
        self._memory: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        """The words alike, in order."""
        if word not in self._memory:
            near: set[str] = set()
            for held, part in ((self._begin, word[:1]), (self._end, word[-4:])):
                if part in held:
                    near |= _near(word, *held[part])
            self._memory[word] = sorted(n for n in near if word and word_likeness(word, n) > 0)
        return self._memory[word]


def _near(word: str, others: list[str], letters: npt.NDArray[np.uint64]) -> set[str]:
    """Those of some words that have all letters of a word, or no others."""
    if len(others) <= _FEW:
        return set(others)
    mine = np.uint64(_letters(word))
    # Of two like words the shorter has no letter that the longer has not.
    both = letters & mine
    return {others[at] for at in np.flatnonzero((both == letters) | (both == mine))}


def _all_letters(words: list[str]) -> npt.NDArray[np.uint64]:
    return np.array([_letters(word) for word in words], dtype=np.uint64)


@cache
def _letters(word: str) -> int:
    """The letters of a word as bits."""
    return sum({1 << ord(letter) % 64 for letter in word})
