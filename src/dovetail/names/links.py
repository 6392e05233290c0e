"""Links by names alone, where values cannot tell.

Of two tables one has too few rows for its values to prove a foreign key. A name link is too weak to
be a join, but strong enough to say that two tables speak of the same thing: in search, what one
covers of a question counts a little for the other.

Which keys may a column refer to by its name is looked up by words alike, without every pair. A key
is known by the words of its own name and of its table's, and by each name in one word; a column
asks by its words, and by them in one word. A person's role asks for tables of people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.domain import Table
from dovetail.names.concepts import thing_of
from dovetail.names.references import abbreviations, refers, word_likeness
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, identifies, is_people, is_role, words

# Fewer rows than these prove nothing.
_FEW_ROWS = 5
# How far a column's name must refer to a table's.
_REFERS = 0.6
# What equal names of columns say: more, if the other's stands first, as keys do.
_EQUAL, _EQUAL_TO_FIRST = 0.5, 0.9
_REFERENCES = (("link",), ("ref",))
# Links below this are too weak to count. Competing tables share what a name says, so that a name
# in more tables than these links none: of more none has a share above it, 1 / (1 + 64 * 0.5**4).
_WEAK = 0.2
_MOST_COMPETING = 64


# Words up to which it is quicker to compare with each than to rule some out.
_FEW = 8
# Represents "people" among the words that a column and a key may have in common.
_PEOPLE = "\N{BUST IN SILHOUETTE}"
# Stands before an abbreviation.
_SHORT = "~"
# What a table is about, and what a key of it is called.
KeyName = tuple[Words, Words]


class NameJoin(NamedTuple):
    """A column of each of two tables, and how much their names say for the join."""

    left: str
    right: str
    strength: float


def name_join(left: Table, right: Table) -> NameJoin | None:
    """The columns by which names suggest that two tables join; None if they suggest nothing.

    Equal names that identify say most, the more if they stand first in a table, as keys do; then a
    column that is called like the other table, with that table's first identifying column.
    """
    joins = [*_equal_names(left, right), *_references(left, right)]
    joins += [NameJoin(join.right, join.left, join.strength) for join in _references(right, left)]
    return max(joins, key=lambda join: join.strength, default=None)


def _equal_names(left: Table, right: Table) -> list[NameJoin]:
    keys = {words(column.name): column.name for column in right.columns if identifies(column.name)}
    first = {words(table.columns[0].name) for table in (left, right) if table.columns}
    return [
        NameJoin(column.name, keys[called], _EQUAL_TO_FIRST if called in first else _EQUAL)
        for column in left.columns
        if (called := words(column.name)) in keys and core(column.name)
    ]


def _references(left: Table, right: Table) -> list[NameJoin]:
    keys = [column.name for column in right.columns if identifies(column.name)]
    names = [column.name for column in left.columns if identifies(column.name)]
    if not keys or not names:
        return []
    strengths = refers([core(name) for name in names], [entity(right.name)] * len(names)).tolist()
    return [
        NameJoin(name, keys[0], 0.8 * strength)
        for name, strength in zip(names, strengths, strict=True)
        if strength >= _REFERS
    ]


def name_links(tables: Sequence[Table]) -> dict[tuple[int, int], float]:
    """How strongly tables, by their indices, are linked; the smaller index comes first."""
    small = [table.rows < _FEW_ROWS for table in tables]
    if not any(small):
        return {}
    called = {
        column.name: words(column.name)
        for table in tables
        for column in table.columns
        if identifies(column.name) or words(column.name)[:1] in _REFERENCES
    }
    referred = _referred({core(name) for name in called} - {()}, tables)
    holders: dict[Words, list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        for name in dict.fromkeys(words(column.name) for column in table.columns):
            holders[name].append(at)
    links: dict[tuple[int, int], float] = {}
    for at, table in enumerate(tables):
        for column in table.columns:
            if column.name not in called:
                continue
            competing = _competing(column.name, tables, referred, holders)
            competing.pop(at, None)
            total = sum(strength**4 for strength in competing.values())
            for other, strength in competing.items():
                share = strength * strength**4 / total
                if share > _WEAK and (small[at] or small[other]):
                    pair = (min(at, other), max(at, other))
                    links[pair] = max(links.get(pair, 0.0), share)
    return links


def _competing(
    column: str,
    tables: Sequence[Table],
    referred: dict[Words, dict[int, float]],
    holders: dict[Words, list[int]],
) -> dict[int, float]:
    """The tables that a column may refer to by its name, and how well each fits."""
    called, named = words(column), core(column)
    competing = dict(referred.get(named, {}))
    if len(competing) > _MOST_COMPETING + 2:  # one of them may be the table itself
        return {}
    alike = holders[called] if named or len(called) > 1 else []
    if len(alike) <= _MOST_COMPETING:
        for other in alike:
            first = words(tables[other].columns[0].name)
            strength = _EQUAL_TO_FIRST if first == called else _EQUAL
            competing[other] = max(competing.get(other, 0.0), strength)
    return competing


def _referred(names: Iterable[Words], tables: Sequence[Table]) -> dict[Words, dict[int, float]]:
    """The tables that the words of each name refer to, and how far."""
    about: dict[Words, list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        about[entity(table.name)].append(at)
    entities = sorted(about)
    index = NameIndex([(each, ()) for each in entities])
    pairs = [
        (name, entities[at])
        for name in sorted(names)
        for at in index.alike(name)
        # Words that end alike are not enough without values: a call is no recall.
        if {word[0] for word in name} & {word[0] for word in entities[at]}
    ]
    referred: dict[Words, dict[int, float]] = defaultdict(dict)
    left, right = [name for name, _ in pairs], [each for _, each in pairs]
    for name, each, strength in zip(left, right, refers(left, right).tolist(), strict=True):
        if strength >= _REFERS:
            referred[name] |= dict.fromkeys(about[each], strength)
    return referred


def _known_by(name: KeyName) -> list[str]:
    """The words that a key is known by."""
    about, called = name
    people = {_PEOPLE} if is_people(about) else set()
    return sorted({*about, *called, "".join(about), "".join(called), *people} - {""})


def _short_for(about: Words) -> set[str]:
    """The abbreviations of what a table is about, marked: no other word is like them."""
    return {_SHORT + short for short in abbreviations(about)}


def _asked_by(called: Words) -> tuple[str, ...]:
    """The words by which a column looks for the keys it may refer to."""
    return (*called, "".join(called), *((_PEOPLE,) if is_role(called) else ()))


class NameIndex:
    """Names of keys by their words."""

    def __init__(self, names: Sequence[KeyName]) -> None:
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for at, name in enumerate(names):
            for word in (*_known_by(name), *_short_for(name[0])):
                self._by_word[word].append(at)
        self._similar = SimilarWords(w for w in self._by_word if not w.startswith(_SHORT))

    def alike(self, called: Words) -> list[int]:
        """The indices of names with a word like one of a column's."""
        indices: set[int] = set()
        for word in _asked_by(called):
            for like in (*self._similar.of(word), _SHORT + word):
                indices.update(self._by_word.get(like, ()))
        return sorted(indices)


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
