"""Which keys may a column refer to by its name? Looked up by words alike, without every pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from dovetail.joins.column_arrays import ColumnArrays, Ints
from dovetail.joins.naming.name_words import Words, core, entity, word_likeness
from dovetail.joins.naming.persons import PEOPLE_WORD, is_people, is_role


class NameLookup:
    """Keys by the words of their tables and of their own names."""

    def __init__(self, arrays: ColumnArrays, keys: Ints) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        initials: dict[str, list[int]] = defaultdict(list)
        for key in keys.tolist():
            about = entity(arrays.ids[arrays.table[key]].name)
            called = core(arrays.name[key])
            for word in known_by(about, called):
                places[word].append(key)
            for name in (about, called):
                if len(name) > 1:
                    initials["".join(sorted(word[0] for word in name))].append(key)
        self._places = {word: np.array(found) for word, found in places.items() if word}
        self._initials = {letters: np.array(found) for letters, found in initials.items()}
        self._similar = SimilarWords(self._places)
        self._memory: dict[Words, Ints] = {}

    def keys_named_by(self, column: str) -> Ints:
        """The keys that have, in their or their table's name, a word like one of the column's."""
        named = core(column)
        if named not in self._memory:
            alike = {like for word in asked_by(named) for like in self._similar.of(word)}
            found = [self._places[word] for word in sorted(alike)]
            letters = "".join(sorted("".join(named)))
            found += [self._initials[letters]] if letters in self._initials else []
            self._memory[named] = (
                np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
            )
        return self._memory[named]


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
            mine = np.uint64(_letters(word))
            near: set[str] = set()
            for held, part in ((self._begin, word[:1]), (self._end, word[-4:])):
                found, letters = held.get(part, ([], np.empty(0, dtype=np.uint64)))
                # Of two like words the shorter has no letter that the longer has not.
                both = letters & mine
                near |= {found[at] for at in np.flatnonzero((both == letters) | (both == mine))}
            self._memory[word] = sorted(n for n in near if word and word_likeness(word, n) > 0)
        return self._memory[word]


def _all_letters(words: list[str]) -> npt.NDArray[np.uint64]:
    return np.array([_letters(word) for word in words], dtype=np.uint64)


@cache
def _letters(word: str) -> int:
    """The letters of a word as bits."""
    return sum({1 << ord(letter) % 64 for letter in word})
