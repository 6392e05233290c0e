"""Words that names run together: ACCOUNTSPAYABLEDETAILS are the details of accounts payable.

A word is split by how often English words are used (the package wordsegment), and a word that is no
English by those that the catalog itself writes apart. `warehouse` is frequent enough to be one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Protocol

from dovetail.domain import Table
from dovetail.names.words import ENGLISH_PREPOSITIONS, ID_WORDS, Words, spelled
from dovetail.search.question_words import split

# Shorter words are one word, longer ones are no words.
_SHORTEST, _LONGEST = 7, 48
# The least letters of a part, unless it is of those that are often glued on; and in how many names
# the catalog must write a part by itself.
_LEAST_PART, _LEAST_APART = 4, 2
# Parts this much more frequent than the whole word say that they were run together.
_RARER = 200.0
_SHORT_PARTS = (ID_WORDS | ENGLISH_PREPOSITIONS | {"end", "due", "tax", "day", "age", "pay"}) - {
    "cod"
}
_FREQUENT = 5e7


class Segmenter(Protocol):
    """What is used of the package: words by how often they occur, and the best split by them."""

    unigrams: dict[str, float]

    def segment(self, text: str) -> list[str]: ...


@cache
def _english() -> Segmenter:
    from wordsegment import Segmenter as Counted  # reads its words when it is made

    words = Counted()
    # Without the pairs of words, which matter to sentences and take as long to read again.
    words.unigrams = words.parse(words.UNIGRAMS_FILENAME)
    words.total, words.limit = words.TOTAL, words.LIMIT
    found: Segmenter = words
    return found


def usage() -> Mapping[str, float]:
    """How often English words are used."""
    return _english().unigrams


def run_together(tables: Iterable[Table]) -> dict[str, Words]:
    """The words of a catalog's names that are several words, each with its parts in order."""
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
    return {word: each for word, each in parts.items() if len(each) > 1}


def _parts(word: str, apart: set[str]) -> Words:
    """The parts of a word; itself where it is one."""
    often = usage()
    if often.get(word, 0) >= _FREQUENT:
        return (word,)
    parts = _english().segment(word)
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
