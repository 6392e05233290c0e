"""Groups tables whose sets of columns are nearly equal, without comparing every two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dovetail.families.tables import FamilyTable, alike

# The share of its columns that a set may lack in one it is like: 1 - 0.7 (see `alike`).
_LACKING = 0.3
Columns = frozenset[str]


def by_columns(tables: Iterable[FamilyTable]) -> list[list[FamilyTable]]:
    """The tables in groups, each connected by sets of columns that are alike.

    Two alike sets share most columns of the smaller one, so among its rarest few at least one is
    shared: a set is compared only with larger ones that hold one of these.
    """
    members: dict[Columns, list[FamilyTable]] = {}
    for table in tables:
        members.setdefault(table.names, []).append(table)
    if len(members) == 1:
        return list(members.values())
    often = Counter(name for names in members for name in names)
    ordered = sorted(members, key=lambda names: (-len(names), sorted(names)))
    group = list(range(len(ordered)))  # the first set of each one's group
    holding: dict[str, list[int]] = {}
    for place, names in enumerate(ordered):
        rarest = sorted(names, key=lambda name: (often[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        near = sorted({at for name in probe for at in holding.get(name, ())})
        for at in near:
            if group[at] != group[place] and alike(names, ordered[at]):
                low, high = sorted((group[at], group[place]))
                group = [low if one == high else one for one in group]
        for name in names:
            holding.setdefault(name, []).append(place)
    found: dict[int, list[FamilyTable]] = {}
    for place, names in enumerate(ordered):
        found.setdefault(group[place], []).extend(members[names])
    return [sorted(each, key=lambda table: table.id) for each in found.values()]
