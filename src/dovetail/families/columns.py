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
    first = list(range(len(ordered)))  # of each set one of its group that comes before, or itself

    def root(place: int) -> int:
        while first[place] != place:
            first[place] = place = first[first[place]]
        return place

    holding: dict[str, list[int]] = {}
    for place, names in enumerate(ordered):
        rarest = sorted(names, key=lambda name: (often[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        near = sorted({at for name in probe for at in holding.get(name, ())})
        for at in near:
            low, high = sorted((root(at), root(place)))
            if low != high and alike(names, ordered[at]):
                first[high] = low
        for name in names:
            holding.setdefault(name, []).append(place)
    found: dict[int, list[FamilyTable]] = {}
    for place, names in enumerate(ordered):
        found.setdefault(root(place), []).extend(members[names])
    return [sorted(each, key=lambda table: table.id) for each in found.values()]
