"""May a column refer to a key by its name? Told for millions of pairs of columns at once.

The same answer as `NameLookup`, which lists the keys of one column: too long a list where words of
a schema stand in the names of all its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dovetail.arrays import Encoded, Flags, Ints, encode_by, firsts, sorted_distinct
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.name_lookup import SimilarWords, asked_by, known_by
from dovetail.joins.naming.name_words import Words, core, entity

# Names of columns whose words are marked together, a byte for each word of the vocabulary.
_TOGETHER = 256


@dataclass(frozen=True)
class NameMatch:
    """Says of pairs of a column and a key whether the key has, in its own or its table's name, a
    word like one of the column's, or initials that the column is called by.

    Columns that are called alike have the same number in `called`; keys that are called alike, in
    tables called alike, in `name`, which is -1 for other columns. The key's number is a row of
    `words`, places in the `vocabulary`, and of `initials`; the column's is a place in `letters` and
    in the words `asked` for.
    """

    called: Ints
    name: Ints
    words: Ints
    initials: Ints
    letters: Ints
    asked: list[list[str]]
    vocabulary: list[str]

    @classmethod
    def of(cls, arrays: ColumnArrays, keys: Ints) -> NameMatch:
        """All columns, and some of them as keys."""
        called = encode_by(core, Encoded.of(arrays.name))
        abouts = Encoded.of([entity(table.name) for table in arrays.ids])
        # Keys by what their table and they themselves are called.
        pair = abouts.codes[arrays.table[keys]] * len(called.dictionary)
        names, of_key = np.unique(pair + called.codes[keys], return_inverse=True)
        name_of = np.full(len(arrays), -1, dtype=np.int64)
        name_of[keys] = of_key
        width = max(len(called.dictionary), 1)
        both = [
            (abouts.dictionary[name // width], called.dictionary[name % width])
            for name in names.tolist()
        ]
        vocabulary: dict[str, int] = {}
        listed = [_numbered(known_by(*pair), vocabulary) for pair in both]
        letters: dict[str, int] = {}
        initials = _padded([_numbered(_initials(*pair), letters) for pair in both], -1)
        letters_of = [letters.get("".join(sorted("".join(n))), -2) for n in called.dictionary]
        return cls(
            called=called.codes,
            name=name_of,
            words=_padded(listed, len(vocabulary)),
            initials=initials,
            letters=np.array(letters_of, dtype=np.int64),
            asked=[list(asked_by(name)) for name in called.dictionary],
            vocabulary=list(vocabulary),
        )

    def __call__(self, child: Ints, key: Ints) -> Flags:
        """Whether each column may refer to its key by name."""
        called, name = self.called[child], self.name[key]
        found = np.zeros(len(child), dtype=np.bool_)
        order = np.argsort(called, kind="stable")
        starts = firsts(called[order])
        for at in range(0, len(starts), _TOGETHER):
            last = starts[at + _TOGETHER] if at + _TOGETHER < len(starts) else len(order)
            some = order[starts[at] : last]
            names = called[order[starts[at : at + _TOGETHER]]]
            marked, row = self._marked(names), np.searchsorted(names, called[some])
            for word in self.words.T:
                found[some] |= marked[row, word[name[some]]]
        for column in self.initials.T:
            found |= column[name] == self.letters[called]
        return found

    def _marked(self, names: Ints) -> Flags:
        """For each of some names of columns the words of the vocabulary that are like its own."""
        marked = np.zeros((len(names), len(self.vocabulary) + 1), dtype=np.bool_)
        for row, name in enumerate(names.tolist()):
            marked[row, self._alike_words(name)] = True
        return marked

    def _alike_words(self, name: int) -> Ints:
        if name not in self._alike:
            alike = {like for word in self.asked[name] for like in self._similar.of(word)}
            numbers = [self._numbers[word] for word in alike]
            self._alike[name] = np.array(numbers, dtype=np.int64)
        return self._alike[name]

    @cached_property
    def _alike(self) -> dict[int, Ints]:
        """The words like those of each name that was looked up."""
        return {}

    @cached_property
    def _similar(self) -> SimilarWords:
        return SimilarWords(self.vocabulary)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}


def may_refer(arrays: ColumnArrays, child: Ints, key: Ints) -> Flags:
    """Whether each column may refer to its key by name, with nothing done for other columns."""
    columns, keys = sorted_distinct(np.append(child, key)), sorted_distinct(key)
    names = [arrays.name[column] for column in columns.tolist()]
    few = replace(arrays, table=arrays.table[columns], name=names)
    match = NameMatch.of(few, np.searchsorted(columns, keys))
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
