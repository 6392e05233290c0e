"""Words that a catalog itself teaches to mean others: `qty` for quantity, `dept` for department.

No list of abbreviations is kept, and letters alone are no proof: a short word stands for a long one
only where the catalog uses both for one thing. That is so where two columns that join differ in
just that word, where a column refers to a table of the long name by the short one, and where a
comment says the long word of a column or table that is called by the short one. A table that is
called by the long word and has the short one in its headers is a weaker sign, and must be seen
twice.

Joins translate, too: where `probka_id` refers to `sample_id`, or to a table `samples`, a question
about samples also means what is called by `probka` and its other forms. One of the two must be no
English word, since English ones that differ are roles (`manager_id` of an employee).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from dovetail.domain import JoinEdge, Table, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.names.table_name import entity
from dovetail.names.words import core, singular, spelled
from dovetail.search.lexical import Lexical
from dovetail.search.query import stem
from dovetail.search.run_together import usage

Pair = tuple[str, str]

_LEAST_SHORT = 3
# A short word that leaves out fewer letters is another form of the word, or a slip.
_LEAST_LEFT_OUT = 2
_PROOF, _SIGN = 2, 1
# Words of a comment that are read.
_MOST_TOLD = 60
_VOWELS = "aeiou"
# A word used less often in English texts is of another language, or an abbreviation.
_NO_ENGLISH = 2e6
# What forms of a word in another language have in common: so many letters, and all but so many.
_LEAST_ROOT, _MOST_ENDING = 4, 2


def abbreviates(short: str, long: str) -> bool:
    """Whether a word can be short for another: its letters in order, the first and last the same.

    A beginning of the word is none here, since search takes it for the word anyway; and people
    leave out vowels, so a short form does not end in one.

    >>> abbreviates("qty", "quantity"), abbreviates("emp", "employee"), abbreviates("cat", "coat")
    (True, False, False)
    """
    if len(short) < _LEAST_SHORT or len(long) - len(short) < _LEAST_LEFT_OUT:
        return False
    if (short[0], short[-1]) != (long[0], long[-1]) or long.startswith(short):
        return False
    if short[-1] in _VOWELS:
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)


def learned(tables: Sequence[Table], edges: Iterable[JoinEdge]) -> dict[str, tuple[str, ...]]:
    """The long words that each short one stands for in a catalog, as stems."""
    seen: Counter[Pair] = Counter()
    by_id, joined = {table.id: table for table in tables}, list(edges)
    for pair in (*_in_joins(by_id, joined), *translated(by_id, joined)):
        seen[pair] += _PROOF
    for table in tables:
        for pair in set(_in_comments(table)):
            seen[pair] += _PROOF
        for pair in set(_in_headers(table)):
            seen[pair] += _SIGN
    longs_of: dict[str, list[str]] = {}
    for (short, long), weight in sorted(seen.items()):
        if weight >= _PROOF:
            longs_of.setdefault(stem(short), []).append(stem(long))
    return {short: tuple(dict.fromkeys(longs)) for short, longs in longs_of.items()}


def _in_joins(tables: dict[TableId, Table], edges: Iterable[JoinEdge]) -> Iterator[Pair]:
    """Words by which two columns that join differ, and by which one refers to the other's table."""
    for edge in edges:
        if edge.score <= JOINABLE or edge.left not in tables or edge.right not in tables:
            continue
        for left, right in edge.columns:
            left_words, right_words = spelled(left).split(), spelled(right).split()
            named = [spelled(edge.left.name).split(), spelled(edge.right.name).split()]
            yield from _pairs(_beyond(left_words, right_words), _beyond(right_words, left_words))
            yield from _pairs(_beyond(left_words, right_words), named[1])
            yield from _pairs(_beyond(right_words, left_words), named[0])


def translated(tables: Container[TableId], edges: Iterable[JoinEdge]) -> Iterator[Pair]:
    """Words of which one is no English, by which two columns that join call the same thing."""
    often = usage()
    for edge in edges if often else ():
        if edge.score <= JOINABLE or edge.left not in tables or edge.right not in tables:
            continue
        for left, right in edge.columns if "names_only" not in edge.evidence else ():
            for child, parent in product([core(left)], {core(right), entity(edge.right.name)}):
                words = *map(singular, child), *map(singular, parent)
                one_each = len(child) == len(parent) == 1 and stem(words[0]) != stem(words[1])
                foreign = min((often.get(word, 0.0) for word in words), default=0.0) < _NO_ENGLISH
                if one_each and foreign and min(map(len, words)) >= _LEAST_SHORT:
                    yield words[0], words[1]


def _forms(word: str, words: Iterable[str]) -> Iterator[str]:
    """The words that are other forms of a word in another language: `probki` of `probka`.

    >>> list(_forms("probka", ["probki", "probability", "problem"]))
    ['probki']
    """
    root = word[: max(_LEAST_ROOT, len(word) - _MOST_ENDING)]
    for other in words:
        if other.startswith(root) and other != word and len(other) - len(root) <= _MOST_ENDING:
            yield other


def _in_comments(table: Table) -> Iterator[Pair]:
    """Short words of names that the comment on the same table or column says in full."""
    for name, comment in (
        (table.name, table.comment),
        *((column.name, column.comment) for column in table.columns),
    ):
        if comment:
            yield from _pairs(spelled(name).split(), spelled(comment).split()[:_MOST_TOLD])


def _in_headers(table: Table) -> Iterator[Pair]:
    """Short words of headers that the name of their table says in full."""
    headers = {word for column in table.columns for word in spelled(column.name).split()}
    return _pairs(headers, spelled(table.name).split())


def _beyond(words: Sequence[str], others: Sequence[str]) -> list[str]:
    return [word for word in words if word not in others]


def _pairs(words: Iterable[str], others: Sequence[str]) -> Iterator[Pair]:
    """Each word of the ones with each of the others that it is short for, or that is for it.

    A short form begins as its word does, and so does a singular: no others are compared.
    """
    by_letter: dict[str, list[str]] = {}
    for other in others:
        by_letter.setdefault(other[0], []).append(other)
    for word in words:
        for other in by_letter.get(word[0], ()):
            long = singular(other)
            if abbreviates(word, long):
                yield word, long
            elif abbreviates(other, singular(word)):
                yield other, singular(word)


def learned_words(lexical: Lexical, tables: Sequence[Table], edges: Iterable[JoinEdge]) -> Lexical:
    """The postings with the words that a word means besides itself, as their short or long form."""
    meanings: dict[str, dict[str, None]] = {}
    often = usage()
    for word, others in learned(tables, edges).items():
        for other in others:
            for one, two in ((word, other), (other, word)):
                meant = meanings.setdefault(one, {})
                meant[two] = None
                if often and often.get(two, 0.0) < _NO_ENGLISH:
                    meant |= dict.fromkeys(_forms(two, lexical.words))
    return replace(
        lexical, learned={word: tuple(others) for word, others in sorted(meanings.items())}
    )
