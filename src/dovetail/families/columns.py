"""Groups tables whose sets of columns are nearly equal, without comparing every two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dovetail.components import Components
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
    components = Components(range(len(ordered)))
    holding: dict[str, list[int]] = {}
    for place, names in enumerate(ordered):
        rarest = sorted(names, key=lambda name: (often[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        near = sorted({at for name in probe for at in holding.get(name, ())})
        for at in near:
            if components.root(at) != components.root(place) and alike(names, ordered[at]):
                components.unite(at, place)
        for name in names:
            holding.setdefault(name, []).append(place)
    groups = ([t for at in group for t in members[ordered[at]]] for group in components.groups())
    return [sorted(group, key=lambda table: table.id) for group in groups]
