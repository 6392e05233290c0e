"""What a query may read: the tables of a set, what it calls them, and where an engine has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dovetail.domain import Table, TableId


@dataclass(frozen=True, slots=True)
class Relation:
    """A table under the name a query gives it; `place` is its name in the engine, part by part."""

    table: Table
    name: str
    place: tuple[str, ...]

    def at(self, *place: str) -> Relation:
        """The same, elsewhere."""
        return replace(self, place=place)


def relations(tables: Iterable[Table]) -> tuple[Relation, ...]:
    """Tables under their own names; those that share one (but for case) get an alias each."""
    given = tuple({table.id: table for table in tables}.values())
    names = query_names(table.id for table in given)
    return tuple(Relation(table, names[table.id], (names[table.id],)) for table in given)


def query_names(ids: Iterable[TableId]) -> dict[TableId, str]:
    """What to call tables. An alias begins with the source, and the order of the ids is all one.

    >>> names = query_names([TableId("erp.db", "t"), TableId("shop.db", "T"), TableId("x", "u")])
    >>> list(names.values())
    ['erp_t', 'shop_T', 'u']
    """
    wanted = sorted(set(ids))
    times = Counter(table.name.casefold() for table in wanted)
    names = {table: table.name for table in wanted if times[table.name.casefold()] == 1}
    taken = {name.casefold() for name in names.values()}
    for table in wanted:
        if table in names:
            continue
        brief = alias = f"{_stem(table.source)}_{table.name}"
        number = 2
        while alias.casefold() in taken:
            alias, number = f"{brief}_{number}", number + 1
        taken.add(alias.casefold())
        names[table] = alias
    return names


def _stem(source: str) -> str:
    """The last part of a source's label in letters that need no quotes."""
    last = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    stem = re.sub(r"\W+", "_", last.rpartition(".")[0] or last).strip("_")
    return stem if stem and not stem[0].isdigit() else f"t{stem}"
