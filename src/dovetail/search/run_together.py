"""Words that names run together: ACCOUNTSPAYABLEDETAILS are the details of accounts payable.

A word is split by how often English words are used (the package wordsegment), and a word that is no
English by those that the catalog itself writes apart. `warehouse` is frequent enough to be one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Protocol

from dovetail.domain import Table
from dovetail.names.table_name import qualifier, unqualified, without_affixes
from dovetail.names.words import ID_WORDS, PREPOSITIONS, Words, spelled, without_table_prefix
from dovetail.search.word_forms import split

# Shorter words are one word, longer ones are no words.
_SHORTEST, _LONGEST = 7, 48
# The least letters of a part, unless it is of those that are often glued on; and in how many names
# the catalog must write a part by itself.
_LEAST_PART, _LEAST_APART = 4, 2
# Parts this much more frequent than the whole word say that they were run together.
_RARER = 200.0
_SHORT_PARTS = (ID_WORDS | PREPOSITIONS | {"end", "due", "tax", "day", "age", "pay"}) - {"cod"}
_FREQUENT = 5e7
# Letters of a name in capitals that are left when those of its table are cut off, at least.
_LEAST_CUT = 3
_RUN_TOGETHER = re.compile("[A-Z][A-Z0-9]+")
_PACKAGE = "wordsegment"


class Segmenter(Protocol):
    """What is used of the package: words by how often they occur, and the best split by them."""

    unigrams: dict[str, float]

    def segment(self, text: str) -> list[str]: ...


def has_package() -> bool:
    """Whether English words are known; else names are split by the catalog's own words alone."""
    return find_spec(_PACKAGE) is not None


@cache
def _english() -> Segmenter | None:
    if not has_package():
        return None
    from wordsegment import Segmenter as Counted

    words = Counted()
    # Without the pairs of words, which matter to sentences and take as long to read again.
    words.unigrams = words.parse(words.UNIGRAMS_FILENAME)
    words.total, words.limit = words.TOTAL, words.LIMIT
    found: Segmenter = words
    return found


def usage() -> Mapping[str, float]:
    """How often English words are used; nothing where that is not known."""
    english = _english()
    return english.unigrams if english else {}


def run_together(tables: Iterable[Table]) -> dict[str, Words]:
    """The words of a catalog's names that are several words, each with its parts in order."""
    tables = list(tables)
    names = {name for table in tables for name in (table.name, *(c.name for c in table.columns))}
    written = Counter(word for name in names for word in {*spelled(name).split()})
    apart = {
        word
        for word, count in written.items()
        if count >= _LEAST_APART and (len(word) >= _LEAST_PART or word in _SHORT_PARTS)
    }
    parts = {
        word: _parts(word, apart)
        for word in sorted(written)
        if _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()
    }
    shortened = {
        word: tuple(part for piece in shorter for part in parts.get(piece, (piece,)))
        for word, shorter in _without_affixes(tables)
    }
    return {word: each for word, each in parts.items() if len(each) > 1} | shortened


def _without_affixes(tables: Iterable[Table]) -> Iterator[tuple[str, Words]]:
    """Names of one word without the letters that all tables of a schema, or all columns of a table,
    begin or end with: FCLIENTP is the client, its CLNOM the name."""
    schemas: dict[tuple[str, str], list[str]] = defaultdict(list)
    groups: list[tuple[Sequence[str], Sequence[str]]] = []
    for table in tables:
        schemas[table.id.source, qualifier(table.name)].append(unqualified(table.name))
        columns = [column.name for column in table.columns]
        if all(map(_RUN_TOGETHER.fullmatch, columns)):
            groups.append((columns, without_table_prefix(columns)))
    groups += [(names, without_affixes(names)) for names in schemas.values()]
    for names, shorter in groups:
        for name, short in zip(names, shorter, strict=True):
            left = tuple(spelled(short).split())
            if short != name and left and len(short) >= _LEAST_CUT:
                yield "".join(spelled(name).split()), left


def _parts(word: str, apart: set[str]) -> Words:
    """The parts of a word; itself where it is one."""
    english = _english()
    often = usage()
    if often.get(word, 0) >= _FREQUENT:
        return (word,)
    parts = english.segment(word) if english else [word]
    if parts[-1] == "s" and len(parts) > 1:  # a plural that English does not have
        parts.pop()
    pieces = tuple(piece for part in parts for piece in _halves(part, often))
    if len(pieces) > 1 and _are_words(pieces, often):
        return pieces
    rare = often.get(word, 0) == 0
    own = split(word, apart.difference([word]).__contains__) if rare else ()
    return own if _are_words(own, often) else (word,)


def _halves(word: str, often: Mapping[str, float]) -> list[str]:
    """A word as two where both are far more frequent: startdate."""
    rarer = often.get(word, 0.0) * _RARER
    best = max(
        (
            (min(often.get(word[:at], 0.0), often.get(word[at:], 0.0)), at)
            for at in range(_LEAST_PART, len(word) - 1)
            if len(word) - at >= _LEAST_PART or word[at:] in ID_WORDS
        ),
        default=(0.0, 0),
    )
    if best[0] and best[0] >= rarer:
        return [*_halves(word[: best[1]], often), *_halves(word[best[1] :], often)]
    return [word]


def _are_words(parts: Iterable[str], often: Mapping[str, float]) -> bool:
    """Whether each part is long enough to be meant, or often glued on, or frequent."""
    return all(
        len(part) >= _LEAST_PART
        or part in _SHORT_PARTS
        or (len(part) == _LEAST_PART - 1 and often.get(part, 0) >= _FREQUENT)
        for part in parts
    )
