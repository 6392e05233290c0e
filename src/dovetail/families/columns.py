"""Groups tables whose sets of columns are nearly equal, without comparing every two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dovetail.families.tables import FamilyTable, alike

# The share of its columns that a set may lack in one it is like: 1 - 0.7 (see `alike`).
_LACKING = 0.3
Columns = frozenset[str]


def by_columns(tables: Iterable[FamilyTable]) -> list[list[FamilyTable]]:
    """The tables in groups of nearly equal columns, in their order.

    Sets are taken from the largest to the smallest; each joins the first group whose largest set it
    is like, else it begins a group. Two alike sets share most columns of the smaller one, so among
    its rarest few at least one is shared: only groups that hold one of these are compared.
    """
    members: dict[Columns, list[FamilyTable]] = {}
    for table in tables:
        members.setdefault(table.names, []).append(table)
    if len(members) == 1:
        return list(members.values())
    often = Counter(name for names in members for name in names)
    heads: list[Columns] = []
    holding: dict[str, list[int]] = {}
    groups: list[list[FamilyTable]] = []
    for names in sorted(members, key=lambda names: (-len(names), sorted(names))):
        rarest = sorted(names, key=lambda name: (often[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        at = next((at for at in _near(probe, holding) if alike(names, heads[at])), None)
        if at is None:
            at = len(heads)
            heads.append(names)
            groups.append([])
            for name in names:
                holding.setdefault(name, []).append(at)
        groups[at] += members[names]
    return [sorted(group, key=lambda table: table.id) for group in groups]


def _near(probe: Sequence[str], holding: dict[str, list[int]]) -> list[int]:
    return sorted({at for name in probe for at in holding.get(name, ())})
