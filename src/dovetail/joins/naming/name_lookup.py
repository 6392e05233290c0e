"""Which keys may a column refer to by its name? Looked up by words alike, without every pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Ints
from dovetail.joins.naming.name_words import Words, core, entity, word_likeness


class NameLookup:
    """Keys by the words of their tables and of their own names."""

    def __init__(self, arrays: ColumnArrays, keys: Ints) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        initials: dict[str, list[int]] = defaultdict(list)
        for key in keys.tolist():
            about = entity(arrays.ids[arrays.table[key]].name)
            called = core(arrays.name[key])
            for word in {*about, *called, "".join(about), "".join(called)}:
                places[word].append(key)
            for name in (about, called):
                if len(name) > 1:
                    initials["".join(sorted(word[0] for word in name))].append(key)
        self._places = {word: np.array(found) for word, found in places.items() if word}
        self._initials = {letters: np.array(found) for letters, found in initials.items()}
        self._similar = _SimilarWords(self._places)
        self._memory: dict[Words, Ints] = {}

    def keys_named_by(self, column: str) -> Ints:
        """The keys that have, in their or their table's name, a word like one of the column's."""
        named = core(column)
        if named not in self._memory:
            alike = {like for word in (*named, "".join(named)) for like in self._similar.of(word)}
            found = [self._places[word] for word in sorted(alike)]
            letters = "".join(sorted("".join(named)))
            found += [self._initials[letters]] if letters in self._initials else []
            self._memory[named] = (
                np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
            )
        return self._memory[named]


class _SimilarWords:
    """Words of a vocabulary that are like a word, found by their first letter or last four."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._begin: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._end: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for word in vocabulary:
            self._begin[word[:1]].append((word, _letters(word)))
            self._end[word[-4:]].append((word, _letters(word)))
        self._memory: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        """The words alike, in order."""
        if word not in self._memory:
            mine = _letters(word)
            # Of two like words the shorter has no letter that the longer has not.
            near = {
                other
                for other, letters in (
                    *self._begin.get(word[:1], ()),
                    *self._end.get(word[-4:], ()),
                )
                if letters & mine in (letters, mine)
            }
            self._memory[word] = sorted(n for n in near if word and word_likeness(word, n) > 0)
        return self._memory[word]


@cache
def _letters(word: str) -> int:
    """The letters of a word as bits."""
    return sum({1 << ord(letter) % 64 for letter in word})
