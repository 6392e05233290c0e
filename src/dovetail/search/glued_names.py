"""Names without anything between their words: `customerorders`, `ORDERLINEITEM`.

They are split by the words that the catalog writes apart elsewhere; each part then means the whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.search.compounds import split
from dovetail.search.query_terms import stem

_LEAST_PART = 4


def parts_of(vocabulary: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The words of a vocabulary that are made of others, each with its parts, as stems.

    >>> parts_of(["order", "custom", "item", "customerorderitem", "apple"])
    {'customerorderitem': ('custom', 'order', 'item')}
    """
    known = {word for word in vocabulary if len(word) >= _LEAST_PART and word.isalpha()}
    found = {}
    for word in sorted(known):
        parts = split(word, lambda part: stem(part) in known, least=_LEAST_PART)
        if parts:
            found[word] = tuple(map(stem, parts))
    return found
