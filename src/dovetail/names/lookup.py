"""Which keys may a column refer to by its name? Looked up by words alike, without every pair.

A key is known by the words of its own name and of its table's, by each name in one word, and by
the initials of each; a column asks by its words, and by them in one word. A person's role asks for
tables of people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Encoded, Flags, Ints, encode_by, firsts, padded
from dovetail.names.concepts import thing_of
from dovetail.names.references import abbreviations, initials, word_likeness
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, is_people, is_role

# Words up to which it is quicker to compare with each than to rule some out.
_FEW = 8
# Names of columns whose words are marked together, a byte for each word of the vocabulary.
_TOGETHER = 256
# Represents "people" among the words that a column and a key may have in common.
_PEOPLE = "\N{BUST IN SILHOUETTE}"
# Stands before an abbreviation.
_SHORT = "~"
# What a table is about, and what a key of it is called.
KeyName = tuple[Words, Words]


def _known_by(name: KeyName) -> list[str]:
    """The words that a key is known by."""
    about, called = name
    people = {_PEOPLE} if is_people(about) else set()
    return sorted({*about, *called, "".join(about), "".join(called), *people} - {""})


def _short_for(about: Words) -> set[str]:
    """The abbreviations of what a table is about, marked: no other word is like them."""
    return {_SHORT + short for short in abbreviations(about)}


def _initials_of(name: KeyName) -> list[str]:
    """The initials that a key is known by, of names of more than one word."""
    return sorted({initials(words) for words in name if len(words) > 1})


def _asked_by(called: Words) -> tuple[str, ...]:
    """The words by which a column looks for the keys it may refer to."""
    return (*called, "".join(called), *((_PEOPLE,) if is_role(called) else ()))


def _letters_of(called: Words) -> str:
    """What the initials of a name must be for a column to be called by them."""
    return "".join(sorted("".join(called)))


def _key_names(abouts: Encoded[Words], called: Encoded[Words]) -> tuple[list[KeyName], Ints]:
    """The distinct names of keys, by their tables' and their own, and the index of each key's."""
    width = max(len(called.dictionary), 1)
    pairs, index = np.unique(abouts.codes * width + called.codes, return_inverse=True)
    names = [(abouts.dictionary[p // width], called.dictionary[p % width]) for p in pairs.tolist()]
    return names, index


class NameIndex:
    """Names of keys by their words, each name in as many keys as `counts` says."""

    def __init__(self, names: Sequence[KeyName], counts: Ints | None = None) -> None:
        self._counts = np.ones(len(names), dtype=np.int64) if counts is None else counts
        self._by_word: dict[str, list[int]] = defaultdict(list)
        self._by_initials: dict[str, list[int]] = defaultdict(list)
        for at, name in enumerate(names):
            for word in (*_known_by(name), *_short_for(name[0])):
                self._by_word[word].append(at)
            for letters in _initials_of(name):
                self._by_initials[letters].append(at)
        self._similar = SimilarWords(w for w in self._by_word if not w.startswith(_SHORT))

    @classmethod
    def of_keys(cls, tables: Sequence[str], columns: Sequence[str]) -> NameIndex:
        """The names of keys, given the name of each one's table and its own."""
        abouts, called = encode_by(entity, Encoded.of(tables)), encode_by(core, Encoded.of(columns))
        names, index = _key_names(abouts, called)
        return cls(names, np.bincount(index, minlength=len(names)))

    def alike(self, called: Words) -> list[int]:
        """The indices of names with a word like one of a column's, or initials that these are."""
        indices = {*self._by_initials.get(_letters_of(called), ())}
        for word in _asked_by(called):
            for like in (*self._similar.of(word), _SHORT + word):
                indices.update(self._by_word.get(like, ()))
        return sorted(indices)

    def has_more_than(self, called: Words, limit: int) -> bool:
        """Whether a column's name is like those of more keys than a limit."""
        if any(self._keys_by_word.get(word, 0) > limit for word in _asked_by(called)):
            return True  # one word is enough, which most names have
        return int(self._counts[self.alike(called)].sum()) > limit

    @cached_property
    def _keys_by_word(self) -> dict[str, int]:
        """How many keys are known by each word."""
        return {word: int(self._counts[at].sum()) for word, at in self._by_word.items()}


@dataclass(frozen=True)
class NameMatch:
    """Whether columns may refer to keys by name, for many pairs at once: `NameIndex` lists the keys
    of one column, too many where words of a schema are in the names of all its tables.

    Columns that are called alike have the same number in `called`; keys that are called alike, in
    tables called alike, in `name`, which is -1 for other columns. The key's number is a row of
    `words`, indices of the `vocabulary`, and of `initials`; the column's is an index of `letters`
    and of the words `asked` for.
    """

    called: Ints
    name: Ints
    words: Ints
    initials: Ints
    letters: Ints
    asked: list[tuple[str, ...]]
    vocabulary: list[str]

    @classmethod
    def of(
        cls, columns: Sequence[str], table: Ints, tables: Sequence[str], keys: Ints
    ) -> NameMatch:
        """All columns by name, and which of them are keys; `table` is each one's in `tables`."""
        called = encode_by(core, Encoded.of(columns))
        abouts = Encoded.of([entity(name) for name in tables])
        names, of_key = _key_names(
            Encoded(abouts.codes[table[keys]], abouts.dictionary),
            Encoded(called.codes[keys], called.dictionary),
        )
        name = np.full(len(columns), -1, dtype=np.int64)
        name[keys] = of_key
        vocabulary: dict[str, int] = {}
        asked = [_asked_by(each) for each in called.dictionary]
        # What no column is called needs no comparing.
        wanted = {_SHORT + word for each in asked for word in each}
        short = {about: sorted(_short_for(about) & wanted) for about in abouts.dictionary}
        listed = [_numbered([*_known_by(n), *short[n[0]]], vocabulary) for n in names]
        letters: dict[str, int] = {}
        first_letters = padded([_numbered(_initials_of(each), letters) for each in names], -1)
        letters_of = [letters.get(_letters_of(each), -2) for each in called.dictionary]
        return cls(
            called=called.codes,
            name=name,
            words=padded(listed, len(vocabulary)),
            initials=first_letters,
            letters=np.array(letters_of, dtype=np.int64),
            asked=asked,
            vocabulary=list(vocabulary),
        )

    def __call__(self, child: Ints, key: Ints) -> Flags:
        """Whether each column may refer to its key by name."""
        called, name = self.called[child], self.name[key]
        matched = np.zeros(len(child), dtype=np.bool_)
        order = np.argsort(called, kind="stable")
        starts = firsts(called[order])
        for at in range(0, len(starts), _TOGETHER):
            last = starts[at + _TOGETHER] if at + _TOGETHER < len(starts) else len(order)
            batch = order[starts[at] : last]
            names = called[order[starts[at : at + _TOGETHER]]]
            marked, row = self._marked(names), np.searchsorted(names, called[batch])
            for word in self.words.T:
                matched[batch] |= marked[row, word[name[batch]]]
        for column in self.initials.T:
            matched |= column[name] == self.letters[called]
        return matched

    def _marked(self, names: Ints) -> Flags:
        """For each name of a column the words of the vocabulary that are like its own."""
        marked = np.zeros((len(names), len(self.vocabulary) + 1), dtype=np.bool_)
        for row, name in enumerate(names.tolist()):
            marked[row, self._alike_words(name)] = True
        return marked

    def _alike_words(self, name: int) -> Ints:
        if name not in self._alike:
            alike = {like for word in self.asked[name] for like in self._similar.of(word)}
            alike |= {_SHORT + word for word in self.asked[name]} & self._numbers.keys()
            numbers = [self._numbers[word] for word in alike]
            self._alike[name] = np.array(numbers, dtype=np.int64)
        return self._alike[name]

    @cached_property
    def _alike(self) -> dict[int, Ints]:
        """The words like those of each name that was looked up."""
        return {}

    @cached_property
    def _similar(self) -> SimilarWords:
        return SimilarWords(word for word in self.vocabulary if not word.startswith(_SHORT))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}


def _numbered(things: Iterable[str], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(thing, len(numbers)) for thing in things]


class SimilarWords:
    """The words of a vocabulary that are like a word: found by the first letter, the last four, or
    what they are for."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        begin: dict[str, list[str]] = defaultdict(list)
        end: dict[str, list[str]] = defaultdict(list)
        self._things: dict[int, list[str]] = defaultdict(list)
        for word in vocabulary:
            begin[word[:1]].append(word)
            end[word[-4:]].append(word)
            if (thing := thing_of(word)) is not None:
                self._things[thing].append(word)
        self._begin, self._end = (
            {part: (listed, _all_letters(listed)) for part, listed in words.items()}
            for words in (begin, end)
        )
        self._memory: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        """The words alike, in order."""
        if word not in self._memory:
            thing = thing_of(word)
            near = set(() if thing is None else self._things.get(thing, ()))
            for by_part, part in ((self._begin, word[:1]), (self._end, word[-4:])):
                if part in by_part:
                    near |= _near(word, *by_part[part])
            self._memory[word] = sorted(n for n in near if word and word_likeness(word, n) > 0)
        return self._memory[word]


def _near(word: str, words: list[str], letters: npt.NDArray[np.uint64]) -> set[str]:
    """The words that have all letters of a word, or no others."""
    if len(words) <= _FEW:
        return set(words)
    own = np.uint64(_letters(word))
    # Of two like words the shorter has no letter that the longer has not.
    both = letters & own
    return {words[at] for at in np.flatnonzero((both == letters) | (both == own))}


def _all_letters(words: list[str]) -> npt.NDArray[np.uint64]:
    return np.array([_letters(word) for word in words], dtype=np.uint64)


@lru_cache(maxsize=1 << 17)
def _letters(word: str) -> int:
    """The letters of a word as bits."""
    return sum({1 << ord(letter) % 64 for letter in word})
