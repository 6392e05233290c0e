"""Makes families of links: connected tables are one family, represented by its canonical member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dovetail.components import Components
from dovetail.domain import TableId
from dovetail.families.family import Families, Family, FamilyMember, Role
from dovetail.families.links import Link
from dovetail.families.periods import Period, short_years
from dovetail.families.use import Use
from dovetail.names.table_name import MARKERS, Marker

_ORDER = {role: at for at, role in enumerate(Role)}
# Markers that say of a table that it is not the one in use.
_SET_ASIDE = frozenset(Marker) - {Marker.VERSION, Marker.LAYER}


def assemble(links: Iterable[Link], use: Use) -> Families:
    """The families that links make; `use` says which member is most in use.

    Tables that are equal and both in use stay apart: a copy of both is in the family of the one
    whose link comes first.
    """
    links = list(links)
    joined = [link for link in links if link.role is not Role.TWIN]
    apart = [link for link in links if link.role is Role.TWIN and link.equal]
    linked: dict[TableId, Link] = {}
    components = KeptApart((link.table.id, link.of.id) for link in apart)
    for link in joined:
        if not components.unite(link.table.id, link.of.id):
            continue
        linked.setdefault(link.table.id, link)
        linked.setdefault(link.of.id, Link(link.of, link.of, Role.TABLE))
        if linked[link.table.id].role is Role.TABLE:
            linked[link.table.id] = link
    groups = (group for group in components.groups() if len(group) > 1)
    families = [_family([linked[table] for table in group], use) for group in groups]
    return Families(sorted(_with_twins(families, links), key=lambda family: family.canonical))


class KeptApart:
    """Connected components of tables; two that are kept apart are never in one component."""

    def __init__(self, pairs: Iterable[tuple[TableId, TableId]]) -> None:
        self._components: Components[TableId] = Components()
        # Of each component, by its root: which of its tables are kept from others, and from which.
        self._kept: dict[TableId, set[TableId]] = {}
        self._from: dict[TableId, set[TableId]] = {}
        for one, other in pairs:
            for table, away in ((one, other), (other, one)):
                self._kept.setdefault(table, set()).add(table)
                self._from.setdefault(table, set()).add(away)

    def unite(self, one: TableId, other: TableId) -> bool:
        """Connect two tables; False where tables that are kept apart would meet."""
        left, right = self._components.root(one), self._components.root(other)
        if left == right:
            return True
        if self._kept.get(left, set()) & self._from.get(right, set()):
            return False
        self._components.unite(left, right)
        for kept in (self._kept, self._from):
            if right in kept:
                kept.setdefault(left, set()).update(kept.pop(right))
        return True

    def groups(self) -> list[list[TableId]]:
        """The components, each in the order of ids."""
        return sorted(map(sorted, self._components.groups()))


def _family(group: Sequence[Link], use: Use) -> Family:
    canonical = _canonical(group, use)
    members = [_member(one, canonical) for one in group]
    members.sort(key=lambda m: (m.id != canonical.table.id, _ORDER[m.role], m.label, m.id))
    return Family(_name(canonical), canonical.table.id, tuple(members))


def _member(one: Link, canonical: Link) -> FamilyMember:
    role = one.role
    if one is canonical:
        role = role if role is Role.PARTITION else Role.TABLE
        evidence = one.evidence or "the table in use: neither a copy nor a slice"
        return FamilyMember(one.table.id, role, one.label, evidence)
    if role is Role.TABLE:  # another member is canonical
        role = Role.COPY
    evidence = one.evidence or f"{canonical.table.id.name} has the same columns and newer rows"
    return FamilyMember(one.table.id, role, one.label, evidence)


def _canonical(group: Sequence[Link], use: Use) -> Link:
    """The member in use: not set aside, not a slice, filled last, in the larger connected part of
    a schema, most joined, largest, by name.

    Where all are slices it is the latest that holds rows.
    """
    shared = frozenset.intersection(*(frozenset(one.table.parts.marks) for one in group))
    complete = [one for one in group if _in_use(one, shared) and one.role is not Role.PARTITION]
    slices = [one for one in group if one.role is Role.PARTITION and one.table.rows]
    short = short_years([one.label for one in group if one.label])
    if not any(one.table.rows for one in complete) and slices:
        return max(slices, key=lambda one: (_time(one.label, short), one.table.rows))

    def order(one: Link) -> tuple[object, ...]:
        table = one.table
        plain = not table.parts.markers and not table.parts.slots
        used = (*use.around(table.id), use.joined(table.id), table.rows)
        if dated:
            return table.rows > 0, _time(one.label, short), *used
        return table.rows > 0, table.last, plain, *used

    fewest = min(len(one.table.parts.marks) for one in group)
    marked = [one for one in group if len(one.table.parts.marks) == fewest]
    candidates = sorted(complete or marked, key=lambda one: one.table.id)
    dated = all(one.label for one in candidates)
    return max(candidates, key=order)


def _in_use(one: Link, shared: frozenset[str]) -> bool:
    """Whether nothing sets a table aside; markers that all members share say nothing of one."""
    own = {MARKERS[mark] for mark in one.table.parts.marks if mark not in shared}
    return one.role in (Role.TABLE, Role.COPY, Role.PARTITION) and not own & _SET_ASIDE


def _time(label: str, short: Mapping[str, Period]) -> list[tuple[int, str]]:
    """Labels in the order of what they say: 9 before 10, 99 before 01 where they are years."""
    if label in short:
        return [(0, short[label].first)]
    parts = label.replace("v", " ").replace(".", " ").replace("/", " ").split()
    return [(len(part) if part.isdigit() else 0, part) for part in parts]


def _name(canonical: Link) -> str:
    """What the family is called: its table's name, or for slices the name with a star."""
    name = canonical.table.id.name
    if canonical.role is not Role.PARTITION:
        return name
    head, dot, last = name.rpartition(".") if "/" not in name else name.rpartition("/")
    stars = "".join("*" if letter.isdigit() else letter for letter in last)
    while "**" in stars:
        stars = stars.replace("**", "*")
    return head + dot + stars


def _with_twins(families: Sequence[Family], links: Iterable[Link]) -> list[Family]:
    """The families with their twins; tables that have nothing but twins become families."""
    of = {table: family for family in families for table in family.tables}
    by_canonical: dict[TableId, Family] = {family.canonical: family for family in families}
    twins: dict[TableId, dict[TableId, FamilyMember]] = {}
    for link in links:
        if link.role is not Role.TWIN:
            continue
        ends = [
            of[table.id].canonical if table.id in of else table.id
            for table in (link.table, link.of)
        ]
        if ends[0] == ends[1]:
            continue
        for own, other in (ends, ends[::-1]):
            twin = FamilyMember(other, Role.TWIN, "", link.evidence)
            twins.setdefault(own, {}).setdefault(other, twin)
    for own, others in twins.items():
        itself = FamilyMember(own, Role.TABLE, "", "a table of its own")
        family = by_canonical.get(own) or Family(own.name, own, (itself,))
        by_canonical[own] = replace(family, members=(*family.members, *others.values()))
    return list(by_canonical.values())
