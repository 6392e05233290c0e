"""Which keys may a column refer to by its name? Looked up by words alike, without every pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Encoded, Flags, Ints, encode_by
from dovetail.joins.column_arrays import ColumnArrays
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
            self._memory[named] = self._keys[self._named(named, self._about, self._called)]
        return self._memory[named]

    def names_more_than(self, column: str, few: int) -> bool:
        """Whether these are more than a few, told without a list of them."""
        named, (about, called, keys) = core(column), self._name_counts
        if any(self._known_by.get(word, 0) > few for word in asked_by(named)):
            return True  # one word will do, which most names have
        return int(keys[self._named(named, about, called)].sum()) > few

    def _named(self, named: Words, about: Ints, called: Ints) -> Ints:
        """The places, among pairs of a table's name and a key's, of those that are named so."""
        abouts, names = self._abouts.places(named), self._names.places(named)
        chosen = np.zeros(len(about) if abouts or names else 0, dtype=np.bool_)
        if abouts:
            chosen |= _flags(abouts, self._abouts.size)[about]
        if names:
            chosen |= _flags(names, self._names.size)[called]
        return np.flatnonzero(chosen)

    @cached_property
    def _name_counts(self) -> tuple[Ints, Ints, Ints]:
        """Every name of a table with that of a key of it, and how many keys have both."""
        both = self._about * self._names.size + self._called
        names, keys = np.unique(both, return_counts=True)
        return names // max(self._names.size, 1), names % max(self._names.size, 1), keys

    @cached_property
    def _known_by(self) -> dict[str, int]:
        """How many keys each word is in the name of the table of; or in their own, if more."""
        about, called, keys = self._name_counts
        found: dict[str, int] = {}
        for names, codes in ((self._abouts, about), (self._names, called)):
            sizes = np.bincount(codes, keys, minlength=names.size).tolist()
            for word, places in names.places_of.items():
                found[word] = max(found.get(word, 0), int(sum(sizes[place] for place in places)))
        return found


class _ByWord:
    """Names by the words that they are known by, and by their initials."""

    def __init__(self, names: Sequence[Words], known: Sequence[set[str]]) -> None:
        self.size = len(names)
        self.places_of: dict[str, list[int]] = defaultdict(list)
        self._initials: dict[str, list[int]] = defaultdict(list)
        for place, (name, words) in enumerate(zip(names, known, strict=True)):
            for word in words:
                self.places_of[word].append(place)
            if len(name) > 1:
                self._initials[initials_of(name)].append(place)
        self._similar = SimilarWords(self.places_of)

    def places(self, named: Words) -> list[int]:
        """The names that have a word like one of the given, or initials that these are."""
        found = [*self._initials.get("".join(sorted("".join(named))), ())]
        for word in asked_by(named):
            for like in self._similar.of(word):
                found += self.places_of[like]
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
