"""How far a name refers to what another is called: one definition, for millions of pairs at once.

All words of what is referred to should be there, its head noun above all. A role may stand in front
(created_by_staff names staff), another head may not follow (an account type is no account).
Words are numbered, and only those that begin with one letter or end with the same four are compared
at all: no others are alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by, found_in, numbered, once
from dovetail.names.concepts import other_words, thing_of
from dovetail.names.table_name import entity
from dovetail.names.words import PREPOSITIONS, Words, core, is_people, is_role

# Pairs of names that are compared at a time.
_BLOCK = 1 << 16
# The head noun of a name counts as much as two of its other words.
_HEAD = 2.0
_VOWELS = frozenset("aeio")
# Words for the same thing, in two languages or in full and short.
_SAME_THING = 0.7
# A word made of the beginnings of two others: hdemo, of household demographics.
_ABBREVIATED = 0.8
# How surely a role refers to a table of people: less than any name that has a word of the table.
ROLE = 0.6


@lru_cache(maxsize=1 << 17)
def word_likeness(one: str, other: str) -> float:
    """1 for equal words, less for what people make of a word: a prefix, its letters, its initial.

    >>> [word_likeness(*pair) for pair in (("stu", "student"), ("dept", "department"), ("a", "b"))]
    [0.8, 0.6, 0.0]
    """
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if short[0] == long[0]:
        if len(short) > 3 and short[:-1] == long[:-1] and {short[-1], long[-1]} <= _VOWELS:
            return 0.9  # one and many in Italian
        if len(short) == 1:
            return 0.4
        if long.startswith(short):
            return 0.8 if len(short) > 2 else 0.5
        if len(short) >= 3 and _in_order(short, long):
            return 0.6
    if len(short) >= 4 and long.endswith(short):
        return 0.8
    return _SAME_THING if _thing(one) is not None and _thing(one) == _thing(other) else 0.0


@lru_cache(maxsize=1 << 17)
def _thing(word: str) -> int | None:
    """The number of the thing that a word is for, or that it alone is short for."""
    others = other_words(word)
    return thing_of(others[0]) if others else None


def _in_order(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def heads(name: Words) -> list[int]:
    """The indices of a name's head nouns: the last word, and each before a preposition."""
    last = len(name) - 1
    return [at for at in range(last + 1) if at == last or name[at + 1] in PREPOSITIONS]


def abbreviations(name: Words) -> Iterator[str]:
    """Words that may be made of the beginnings of a name's words: one or two letters of the first,
    one of any between, and three to five of the last.

    >>> sorted(abbreviations(("household", "demographic")))[:4]
    ['hdem', 'hdemo', 'hdemog', 'hodem']
    """
    if len(name) > 1:
        between = "".join(word[0] for word in name[1:-1])
        for front in range(1, 3):
            for back in range(3, 6):
                yield name[0][:front] + between + name[-1][:back]


def abbreviates(letters: str, about: Words) -> float:
    """How far letters in front of a number say what it is of: by the beginning of a word of the
    table, or initials; or of a word for the same in another language.

    >>> [abbreviates(letters, ("employee",)) for letters in ("emp", "e", "x")]
    [1.0, 0.7, 0.0]
    >>> [round(abbreviates(letters, ("dipendente",)), 2) for letters in ("mit", "m", "x")]
    [0.7, 0.49, 0.0]
    """
    if not letters:
        return 0.0
    sure = 1.0 if len(letters) > 1 else 0.7
    first = "".join(word[0] for word in about)
    if letters == first or any(word.startswith(letters) for word in about):
        return sure
    others = chain.from_iterable(map(other_words, about))
    return _SAME_THING * sure if any(word.startswith(letters) for word in others) else 0.0


def is_short_for(letters: str, name: Words) -> bool:
    """Whether letters are those that all words of a name begin with, with some of each in order.

    >>> is_short_for("res", ("reservation",)), is_short_for("prf", ("profile",))
    (True, True)
    >>> is_short_for("ordst", ("order", "status")), is_short_for("ost", ("order", "kind"))
    (True, False)
    """
    if not name:
        return not letters
    if letters[:1] != name[0][:1]:
        return False
    ends = (at for at in range(1, len(letters) + 1) if _in_order(letters[1:at], name[0][1:]))
    return any(is_short_for(letters[at:], name[1:]) for at in ends)


def _abbreviated(names: Sequence[Words]) -> Ints:
    """Which names have a word that is an abbreviation of which others."""
    made: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        for short in set(abbreviations(name)):
            made[short].append(number)
    pairs = {
        left * len(names) + right
        for left, name in enumerate(names)
        for word in name
        for right in made.get(word, ())
    }
    return np.array(sorted(pairs), dtype=np.int64)


def word_weights(name: Words) -> list[float]:
    """How much each word of a name counts."""
    return [0.0 if word in PREPOSITIONS else 1.0 for word in name[:-1]] + [_HEAD] * bool(name)


def refers(called: Sequence[Words], about: Sequence[Words]) -> Floats:
    """How far the words of each name refer to the thing called by the other, from 0 to 1.

    >>> columns = [core(column) for column in ("customer_id", "cust_no", "city")]
    >>> refers(columns, [entity("customers")] * 3).round(2).tolist()
    [1.0, 0.72, 0.0]
    """
    names = Encoded.of([*called, *about])
    left, right = names.codes[: len(called)], names.codes[len(called) :]
    return NamePairs.of(names.dictionary).refers(left, right)


@dataclass(frozen=True, slots=True)
class NamePairs:
    """Names to be compared by their indices.

    Per name: its `length`, the numbers of its `words`, their `weights` and which are `heads`, all
    filled up to the longest; and equal numbers for names that are equal when `glued`.
    """

    vocabulary: Vocabulary
    length: Ints
    words: Ints
    weights: Floats
    heads: Flags
    glued: Ints
    abbreviated: Ints  # the first times the number of names, and the second, of pairs of names

    @classmethod
    def of(cls, names: Sequence[Words]) -> NamePairs:
        """The names, taken apart once."""
        vocabulary, numbers = Vocabulary.of(names)
        shape = len(names), max(map(len, names), default=0)
        length = np.array([len(name) for name in names], dtype=np.int64)
        words, weights = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        is_head = np.zeros(shape, dtype=np.bool_)
        # All names at once, word after word: a row at a time takes three times as long.
        present = np.arange(shape[1]) < length[:, None]
        words[present] = [numbers[word] for name in names for word in name]
        weights[present] = [weight for name in names for weight in word_weights(name)]
        listed = [heads(name) for name in names]
        row = np.repeat(np.arange(len(names)), [len(each) for each in listed])
        is_head[row, [at for each in listed for at in each]] = True
        return cls(
            vocabulary=vocabulary,
            length=length,
            words=words,
            weights=weights,
            heads=is_head,
            glued=numbered(["".join(name) for name in names]),
            abbreviated=_abbreviated(names),
        )

    def refers(self, left: Ints, right: Ints) -> Floats:
        """How far each left name refers to what is called by the right one, from 0 to 1."""
        far = np.empty(len(left))
        for at in range(0, len(left), _BLOCK):
            part = slice(at, at + _BLOCK)
            far[part] = self._by_words(left[part], right[part])
        short = found_in(left * len(self.length) + right, self.abbreviated)
        far[short] = np.maximum(far[short], _ABBREVIATED)
        far[self.glued[left] == self.glued[right]] = 1.0
        far[(self.length[left] == 0) | (self.length[right] == 0)] = 0.0
        return far

    def _by_words(self, left: Ints, right: Ints) -> Floats:
        left_length, right_length = self.length[left], self.length[right]
        left_best = np.zeros((int(left_length.max(initial=0)), len(left)))
        right_best = np.zeros((int(right_length.max(initial=0)), len(left)))
        for i, of_left in enumerate(left_best):
            for j, of_right in enumerate(right_best):
                here = np.flatnonzero((left_length > i) & (right_length > j))
                words = self.words[left[here], i], self.words[right[here], j]
                like = self.vocabulary.likeness(*words)
                of_left[here] = np.maximum(of_left[here], like)
                of_right[here] = np.maximum(of_right[here], like)
        named = self._weighted(right, right_best)
        headed = np.zeros(len(left), dtype=np.bool_)
        for i, best in enumerate(left_best):
            headed |= self.heads[left, i] & (best > 0)
        return np.where(headed, named * (0.5 + 0.5 * self._weighted(left, left_best)), named / 3)

    def _weighted(self, names: Ints, best: Floats) -> Floats:
        """The weighted mean, over the words of each name, of the best likeness of each word."""
        total, weights = np.zeros((2, len(names)))
        for at, likeness in enumerate(best):
            total += self.weights[names, at] * likeness
            weights += self.weights[names, at]
        return total / np.maximum(weights, 1)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of names by number, and how alike two of them are.

    Words that begin alike have the same number in `first`, those that end alike in `last`, those
    for the same thing in `thing`, which is negative for words that are for none.
    """

    words: list[str]
    first: Ints
    last: Ints
    thing: Ints

    @classmethod
    def of(cls, names: Iterable[Words]) -> tuple[Vocabulary, dict[str, int]]:
        """The words of names, and the number of each."""
        numbers: dict[str, int] = {}
        for name in names:
            for word in name:
                numbers.setdefault(word, len(numbers))
        every = list(numbers)
        # A word of less than four letters ends like no other.
        last = numbered([word[-4:] if len(word) > 3 else (word,) for word in every])
        things = [_thing(word) for word in every]
        thing = [-1 - number if each is None else each for number, each in enumerate(things)]
        first = numbered([word[0] for word in every])
        return cls(every, first, last, np.array(thing, dtype=np.int64)), numbers

    def likeness(self, left: Ints, right: Ints) -> Floats:
        """`word_likeness` of many pairs of words."""
        likeness = np.zeros(len(left))
        same: Flags = left == right
        likeness[same] = 1.0
        near = (self.first[left] == self.first[right]) | (self.last[left] == self.last[right])
        near |= self.thing[left] == self.thing[right]
        rest = np.flatnonzero(near & ~same)
        width = max(len(self.words), 1)
        pairs, back = np.unique(left[rest] * width + right[rest], return_inverse=True)
        computed = [
            word_likeness(self.words[p // width], self.words[p % width]) for p in pairs.tolist()
        ]
        likeness[rest] = np.array(computed, dtype=np.float64)[back]
        return likeness


@dataclass(frozen=True, slots=True)
class References:
    """Compares what columns are called with each other and with what tables are about.

    `called` numbers what each column is called, `about` what each table is about; `columns` and
    `tables` are how many of these there are, and `names` all of them, one after the other. `role`
    flags what a person's role is called, `people` what is about people, and `bare` columns whose
    names say that they identify, and nothing else.
    """

    names: NamePairs
    called: Ints
    columns: int
    about: Ints
    tables: int
    role: Flags
    people: Flags
    bare: Flags

    @classmethod
    def of(cls, columns: Encoded[str], tables: Sequence[str]) -> References:
        """All columns and tables by their names."""
        called = encode_by(core, columns)
        about = Encoded.of([entity(name) for name in tables])
        bare = np.array([not name for name in called.dictionary], dtype=np.bool_)
        return cls(
            names=NamePairs.of([*called.dictionary, *about.dictionary]),
            called=called.codes,
            columns=len(called.dictionary),
            about=about.codes,
            tables=len(about.dictionary),
            role=np.array([is_role(name) for name in called.dictionary], dtype=np.bool_),
            people=np.array([is_people(name) for name in about.dictionary], dtype=np.bool_),
            bare=bare[called.codes],
        )

    def to_column(self, child: Ints, parent: Ints) -> Floats:
        """How far each column refers to what another is called."""
        columns = self.called[child], self.columns
        return once(self.names.refers, columns, (self.called[parent], self.columns))

    def to_table(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to what a table is about."""

        def compare(called: Ints, about: Ints) -> Floats:
            return self.names.refers(called, about + self.columns)

        columns = self.called[column], self.columns
        return once(compare, columns, (self.about[table], self.tables))

    def to_table_or_people(self, column: Ints, table: Ints) -> Floats:
        """How far each column refers to a table: by its words, or by the role of a person."""
        far: Floats = np.maximum(self.to_table(column, table), ROLE * self.by_role(column, table))
        return far

    def by_role(self, column: Ints, table: Ints) -> Flags:
        """Whether each column is called by the role of a person, and the table is about people."""
        role: Flags = self.role[self.called[column]] & self.people[self.about[table]]
        return role

    def from_table(self, table: Ints, column: Ints) -> Floats:
        """How far what each table is about refers to what a column is called."""

        def compare(about: Ints, called: Ints) -> Floats:
            return self.names.refers(about + self.columns, called)

        tables = self.about[table], self.tables
        return once(compare, tables, (self.called[column], self.columns))
