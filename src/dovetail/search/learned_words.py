"""What a catalog teaches of its own words: short for long ones, and parts for whole names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dovetail.domain import JoinEdge, Table
from dovetail.search.abbreviations import learned
from dovetail.search.glued_names import parts_of
from dovetail.search.lexical import Lexical


def learned_words(lexical: Lexical, tables: Sequence[Table], edges: Iterable[JoinEdge]) -> Lexical:
    """The postings with the words that a word means besides itself, as their short form or part."""
    found: dict[str, dict[str, None]] = {}
    for short, longs in learned(tables, edges).items():
        for long in longs:
            found.setdefault(long, {})[short] = None
            found.setdefault(short, {})[long] = None
    for whole, parts in parts_of(lexical.words).items():
        for part in parts:
            found.setdefault(part, {})[whole] = None
    return replace(lexical, learned={word: tuple(others) for word, others in sorted(found.items())})
