"""The postings of a catalog with what it teaches of its own words: which are short for which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dovetail.domain import JoinEdge, Table
from dovetail.search.abbreviations import learned
from dovetail.search.lexical import Lexical


def learned_words(lexical: Lexical, tables: Sequence[Table], edges: Iterable[JoinEdge]) -> Lexical:
    """The postings with the words that a word means besides itself, as their short or long form."""
    found: dict[str, dict[str, None]] = {}
    for short, longs in learned(tables, edges).items():
        for long in longs:
            found.setdefault(long, {})[short] = None
            found.setdefault(short, {})[long] = None
    return replace(lexical, learned={word: tuple(others) for word, others in sorted(found.items())})
