"""Name links: tables that one column's name ties together, where values cannot tell.

One of the two tables has too few rows for its values to prove a foreign key. A name link is too
weak to be a join, but strong enough to say that two tables speak of the same thing: in search, what
one covers of a question counts a little for the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dovetail.domain import Table
from dovetail.joins.naming.name_words import Words, core, entity, identifies, refers, words

# Fewer rows than these prove nothing.
_FEW_ROWS = 5
# How far a column's name must refer to a table's.
_REFERS = 0.6
# What equal names of columns say: more, if the other's stands first, as keys do.
_EQUAL, _EQUAL_TO_FIRST = 0.5, 0.9
_REFERENCES = (("link",), ("ref",))
# Links below this are too weak to count. Competing tables share what a name says, so that a name
# with more holders than these links nobody.
_LEAST = 0.2
_MOST_COMPETING = 64
# Beyond so many names of tables, only those that share a whole word with a column are compared: to
# compare all that share an initial takes minutes for 5,000 tables whose names begin with a schema.
_MOST_COMPARED = 1_000
# Of more competing tables none has a share above the least: 1 / (1 + 64 * 0.5**4) = 0.2.
_MOST_SHARING = 65


def name_links(tables: Sequence[Table]) -> dict[tuple[int, int], float]:
    """How strongly tables, numbered in order, are linked; the smaller number comes first."""
    small = [table.rows < _FEW_ROWS for table in tables]
    if not any(small):
        return {}
    entities = _Entities([table.name for table in tables])
    holders: dict[Words, list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        for called in dict.fromkeys(words(column.name) for column in table.columns):
            holders[called].append(place)
    found: dict[tuple[int, int], float] = {}
    for place, table in enumerate(tables):
        for column in table.columns:
            competing = _competing(place, column.name, tables, entities, holders)
            total = sum(strength**4 for strength in competing.values())
            for other, strength in competing.items():
                share = strength * strength**4 / total
                if share > _LEAST and (small[place] or small[other]):
                    pair = (min(place, other), max(place, other))
                    found[pair] = max(found.get(pair, 0.0), share)
    return found


def _competing(
    place: int,
    column: str,
    tables: Sequence[Table],
    entities: _Entities,
    holders: dict[Words, list[int]],
) -> dict[int, float]:
    """The tables that a column may refer to by its name, and how well each fits."""
    called, named = words(column), core(column)
    if not identifies(column) and called[:1] not in _REFERENCES:
        return {}
    referred = entities.referred(named) if named else ()
    if len(referred) > _MOST_SHARING + 1:  # one of them may be the table itself
        return {}
    found = dict(referred)
    alike = holders[called] if named or len(called) > 1 else []
    if len(alike) <= _MOST_COMPETING:
        for other in alike:
            first = words(tables[other].columns[0].name)
            strength = _EQUAL_TO_FIRST if first == called else _EQUAL
            found[other] = max(found.get(other, 0.0), strength)
    found.pop(place, None)
    return found


class _Entities:
    """Tables by the entity they are about."""

    def __init__(self, names: Sequence[str]) -> None:
        self._tables: dict[Words, list[int]] = defaultdict(list)
        for place, name in enumerate(names):
            self._tables[entity(name)].append(place)
        self._whole = len(self._tables) > _MOST_COMPARED
        self._by_key: dict[str, set[Words]] = defaultdict(set)
        for about in self._tables:
            for word in about:
                self._by_key[self._key(word)].add(about)
        self._memory: dict[Words, list[tuple[int, float]]] = {}

    def _key(self, word: str) -> str:
        return word if self._whole else word[:1]

    def referred(self, named: Words) -> Sequence[tuple[int, float]]:
        """The tables that some words refer to, and how well."""
        if named not in self._memory:
            self._memory[named] = list(self._compared(named))
        return self._memory[named]

    def _compared(self, named: Words) -> Iterator[tuple[int, float]]:
        abouts = set().union(*(self._by_key.get(self._key(word), ()) for word in named))
        for about in sorted(abouts):
            if (strength := refers(named, about)) >= _REFERS:
                yield from ((place, strength) for place in self._tables[about])
