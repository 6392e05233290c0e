"""May a column refer to a key by its name? Told for millions of pairs of columns at once.

The same answer as `NameLookup`, which lists the keys of one column: too long a list where words of
a schema stand in the names of all its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Flags, Ints, firsts, sorted_distinct
from dovetail.joins.encoding import Encoded, encode_by
from dovetail.joins.naming.name_lookup import SimilarWords, asked_by, known_by
from dovetail.joins.naming.name_words import Words, core, entity

# Names of columns whose words are marked together, a byte for each word of the vocabulary.
_TOGETHER = 256


class NameMatch:
    """Says of pairs of a column and a key whether the key has, in its own or its table's name, a
    word like one of the column's, or initials that the column is called by."""

    def __init__(self, arrays: ColumnArrays, keys: Ints) -> None:
        self._called = encode_by(core, Encoded.of(arrays.name))
        abouts = Encoded.of([entity(table.name) for table in arrays.ids])
        # Keys by what their table and they themselves are called.
        pair = abouts.codes[arrays.table[keys]] * len(self._called.dictionary)
        names, of_key = np.unique(pair + self._called.codes[keys], return_inverse=True)
        self._name = np.full(len(arrays), -1, dtype=np.int64)
        self._name[keys] = of_key
        width = max(len(self._called.dictionary), 1)
        both = [
            (abouts.dictionary[name // width], self._called.dictionary[name % width])
            for name in names.tolist()
        ]
        vocabulary: dict[str, int] = {}
        listed = [_numbered(known_by(*pair), vocabulary) for pair in both]
        self._none = len(vocabulary)
        self._words = _padded(listed, self._none)
        letters: dict[str, int] = {}
        self._initials = _padded([_numbered(_initials(*pair), letters) for pair in both], -1)
        self._letters = np.array(
            [letters.get("".join(sorted("".join(name))), -2) for name in self._called.dictionary],
            dtype=np.int64,
        )
        self._vocabulary = vocabulary
        self._similar = SimilarWords(vocabulary)
        self._alike: dict[int, Ints] = {}

    @property
    def called(self) -> Ints:
        """For each column a number; columns that are called alike have the same."""
        return self._called.codes

    @property
    def name(self) -> Ints:
        """For each key a number; keys that are called alike, in tables called alike, have the same.

        It is -1 for other columns.
        """
        return self._name

    def __call__(self, child: Ints, key: Ints) -> Flags:
        """Whether each column may refer to its key by name."""
        called, name = self._called.codes[child], self._name[key]
        found = np.zeros(len(child), dtype=np.bool_)
        order = np.argsort(called, kind="stable")
        starts = firsts(called[order])
        for at in range(0, len(starts), _TOGETHER):
            last = starts[at + _TOGETHER] if at + _TOGETHER < len(starts) else len(order)
            some = order[starts[at] : last]
            names = called[order[starts[at : at + _TOGETHER]]]
            marked, row = self._marked(names), np.searchsorted(names, called[some])
            for word in self._words.T:
                found[some] |= marked[row, word[name[some]]]
        for column in self._initials.T:
            found |= column[name] == self._letters[called]
        return found

    def _marked(self, names: Ints) -> Flags:
        """For each of some names of columns the words of the vocabulary that are like its own."""
        marked = np.zeros((len(names), self._none + 1), dtype=np.bool_)
        for row, name in enumerate(names.tolist()):
            marked[row, self._alike_words(name)] = True
        return marked

    def _alike_words(self, name: int) -> Ints:
        if name not in self._alike:
            called = self._called.dictionary[name]
            alike = {like for word in asked_by(called) for like in self._similar.of(word)}
            numbers = [self._vocabulary[word] for word in alike]
            self._alike[name] = np.array(numbers, dtype=np.int64)
        return self._alike[name]


def may_refer(arrays: ColumnArrays, child: Ints, key: Ints) -> Flags:
    """Whether each column may refer to its key by name, with nothing done for other columns."""
    columns, keys = sorted_distinct(np.append(child, key)), sorted_distinct(key)
    names = [arrays.name[column] for column in columns.tolist()]
    few = replace(arrays, table=arrays.table[columns], name=names)
    match = NameMatch(few, np.searchsorted(columns, keys))
    return match(np.searchsorted(columns, child), np.searchsorted(columns, key))


def _initials(about: Words, called: Words) -> set[str]:
    return {"".join(sorted(word[0] for word in name)) for name in (about, called) if len(name) > 1}


def _numbered(things: set[str], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(thing, len(numbers)) for thing in sorted(things)]


def _padded(lists: Sequence[list[int]], fill: int) -> Ints:
    """Lists as the rows of a matrix, filled up."""
    width = max(map(len, lists), default=0)
    rows = [[*numbers, *([fill] * (width - len(numbers)))] for numbers in lists]
    return np.array(rows, dtype=np.int64).reshape(len(lists), width)
