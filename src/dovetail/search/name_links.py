"""Tables tied by name alone, where one of them has too few rows for its values to tell.

Too weak to be a join, strong enough to say that two tables speak of the same thing: what one covers
of a question counts a little for the other (`neighbours`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from dovetail.domain import Table
from dovetail.joins.naming.name_words import Words, core, entity, identifies, refers, words

# Fewer rows than these prove nothing.
_FEW = 5
# How far a column's name must refer to a table's.
_REFERS = 0.6
# What equal names of columns say: more, if the other's stands first, as keys do.
_EQUAL, _EQUAL_TO_FIRST = 0.5, 0.9
_REFERENCES = (("link",), ("ref",))
# Ties below this are too weak to count. Rivals share what a name says, so that a name with more
# holders than these ties nobody.
_LEAST = 0.2
_MOST_RIVALS = 64
# Beyond so many names of tables, only those that share a whole word with a column are compared.
_MOST_COMPARED = 5_000


def ties(tables: Sequence[Table]) -> dict[tuple[int, int], float]:
    """How strongly tables, numbered in order, are tied; the smaller number comes first."""
    thin = [table.rows < _FEW for table in tables]
    if not any(thin):
        return {}
    named = _Named([table.name for table in tables])
    holders: dict[Words, list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        for called in dict.fromkeys(words(column.name) for column in table.columns):
            holders[called].append(place)
    found: dict[tuple[int, int], float] = {}
    for place, table in enumerate(tables):
        for column in table.columns:
            rivals = _rivals(place, column.name, tables, named, holders)
            total = sum(strength**4 for strength in rivals.values())
            for other, strength in rivals.items():
                share = strength * strength**4 / total
                if share > _LEAST and (thin[place] or thin[other]):
                    pair = (min(place, other), max(place, other))
                    found[pair] = max(found.get(pair, 0.0), share)
    return found


def _rivals(
    place: int,
    column: str,
    tables: Sequence[Table],
    named: _Named,
    holders: dict[Words, list[int]],
) -> dict[int, float]:
    """The tables that a column may refer to by its name, and how well each fits."""
    called, said = words(column), core(column)
    if not identifies(column) and called[:1] not in _REFERENCES:
        return {}
    found = dict(named.referred(said)) if said else {}
    alike = holders[called] if said or len(called) > 1 else []
    if len(alike) <= _MOST_RIVALS:
        for other in alike:
            first = words(tables[other].columns[0].name)
            strength = _EQUAL_TO_FIRST if first == called else _EQUAL
            found[other] = max(found.get(other, 0.0), strength)
    found.pop(place, None)
    return found


class _Named:
    """Tables by what they are about."""

    def __init__(self, names: Sequence[str]) -> None:
        self._tables: dict[Words, list[int]] = defaultdict(list)
        for place, name in enumerate(names):
            self._tables[entity(name)].append(place)
        self._whole = len(self._tables) > _MOST_COMPARED
        self._by_key: dict[str, set[Words]] = defaultdict(set)
        for thing in self._tables:
            for word in thing:
                self._by_key[self._key(word)].add(thing)
        self._known: dict[Words, list[tuple[int, float]]] = {}

    def _key(self, word: str) -> str:
        return word if self._whole else word[:1]

    def referred(self, said: Words) -> Iterable[tuple[int, float]]:
        """The tables that some words refer to, and how well."""
        if said not in self._known:
            self._known[said] = list(self._compared(said))
        return self._known[said]

    def _compared(self, said: Words) -> Iterator[tuple[int, float]]:
        things = set().union(*(self._by_key.get(self._key(word), ()) for word in said))
        for thing in sorted(things):
            if (strength := refers(said, thing)) >= _REFERS:
                yield from ((place, strength) for place in self._tables[thing])
