"""From logical tables to tables: the members of a family that a question means, and the others.

Search and selection work with one member of each family. Afterwards the slices that the question
names take its place ("in 2022", "2019 to 2024", a table by name); where it names none, that member
represents all, and the reason says so. Copies and other members are listed with it, as `also`. A
member that a person's notes name takes the place of all others, a slice where no time is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dovetail.domain import Chosen, JoinEdge, TableId, TableSet
from dovetail.families.family import Family, FamilyMember, Role
from dovetail.families.periods import Period, named_by_time, periods
from dovetail.joins.graph import JOINABLE, JoinGraph
from dovetail.names.table_name import MARKERS, Marker
from dovetail.retrieve.match import GENERIC
from dovetail.retrieve.trace import joins_among
from dovetail.search.query import query_words, stems
from dovetail.search.searcher import Searcher

# More slices than this are not listed one by one: one represents them, and the reason says which.
_MOST_SLICES = 31
_WORD = re.compile(r"\w+")


def with_members(chosen: TableSet, searcher: Searcher) -> TableSet:
    """The set with the members of families that its question names."""
    families = searcher.families
    if not searcher.ranks_families or not any(families.of(one.id) for one in chosen.tables):
        return chosen
    tables: dict[TableId, Chosen] = {}
    for one in chosen.tables:
        family = families.of(one.id)
        members = [one] if family is None else _members(one, family, chosen.question, searcher)
        for member in members:
            tables.setdefault(member.id, member)
    if tables.keys() == set(chosen.ids):
        joins = [_own(edge, searcher.member_joins) for edge in chosen.joins]
    else:
        joins = list(joins_among(searcher.member_joins, tables))
    return replace(chosen, tables=tuple(tables.values()), joins=tuple(joins))


def _own(edge: JoinEdge, joins: JoinGraph) -> JoinEdge:
    """The join of the very tables that are named, where another member's was chosen by.

    What is shown of a join is then the same wherever it is shown. Where these tables join surely by
    other columns, that is the join; where nothing is known of them, it stays the member's.
    """
    known = joins.between(edge.left, edge.right)
    alike = [one for one in known if (one.left, one.columns) == (edge.left, edge.columns)]
    sure = [one for one in (*alike, *known) if one.score > JOINABLE]
    return (sure or alike or [edge])[0]


def _members(chosen: Chosen, family: Family, question: str, searcher: Searcher) -> Iterator[Chosen]:
    """What a family comes to for a question, in place of the member that represented it."""
    allowed = [
        member
        for member in family.members
        if member.role is not Role.TWIN and searcher.covers(member.id)
    ]
    noted = [one for one in allowed if one.id in searcher.analyse(question).noted]
    named = (
        _by_name(allowed, question)
        or [one for one in noted if one.role is not Role.PARTITION]
        or _by_history(chosen.id, allowed, question, searcher)
        or _by_time(chosen.id, allowed, question, searcher)
        or noted
    )
    if not named or len(named) > _MOST_SLICES:
        representative = named[-1].id if named else chosen.id
        also = tuple(member.id for member in allowed if member.id != representative)
        slices = named or [member for member in allowed if member.role is Role.PARTITION]
        complete = not named and family.role(chosen.id) is not Role.PARTITION
        reason = chosen.reason if complete else f"{chosen.reason}; {_stands_for(slices, named)}"
        yield replace(chosen, id=representative, reason=reason, also=also)
        return
    taken = {member.id for member in named}
    also = tuple(one.id for one in allowed if one.id not in taken and one.role is Role.COPY)
    part_of = family.name if len(named) > 1 else ""
    for member in named:
        reason = chosen.reason
        if member not in noted and (member.id != chosen.id or part_of):
            reason += f"; the question names {member.label or member.name}"
        yield replace(chosen, id=member.id, reason=reason, also=also, part_of=part_of)
        also = ()


def _by_name(members: Sequence[FamilyMember], question: str) -> list[FamilyMember]:
    """The members that a question calls by their names; one of a plain word is how people speak."""
    asked = _words(question)
    lasts = [re.split(r"[./\\]", member.name)[-1] for member in members]
    return [
        member
        for member, last in zip(members, lasts, strict=True)
        if re.search(r"[^\W_][\W_]+[^\W_]", last) and _words(last) in asked
    ]


def _words(text: str) -> str:
    """A text as words with a blank before and after each; what underscores join is one word."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _by_history(
    table: TableId, members: Sequence[FamilyMember], question: str, searcher: Searcher
) -> list[FamilyMember]:
    """The history where a question asks for it, or names a column that nothing but it has."""
    histories = [member for member in members if member.role is Role.HISTORY]
    if not histories:
        return []
    asked = query_words(question)
    if any(MARKERS.get(word) is Marker.HISTORY for word in asked.values()):
        return histories[:1]
    others = asked.keys() - _column_words(table, searcher) - GENERIC
    return [member for member in histories if others & _column_words(member.id, searcher)][:1]


def _column_words(table: TableId, searcher: Searcher) -> set[str]:
    """The stems of a table's name and of its columns."""
    profile = searcher.catalog[table]
    names = (profile.name, *(column.name for column in profile.columns))
    return {word for name in names for word in stems(name, searcher.lexical.parts)}


def _by_time(
    table: TableId, members: Sequence[FamilyMember], question: str, searcher: Searcher
) -> list[FamilyMember]:
    """The slices of the times that a question names; none where the table itself holds these."""
    slices = [member for member in members if member.role is Role.PARTITION]
    named = sorted(named_by_time(slices, question), key=lambda member: member.label)
    own = next((member for member in members if member.id == table), None)
    if own is None or own.role is Role.PARTITION or not named:
        return named
    dates = dates_of(table, searcher)
    if dates is None:
        return []
    meets = [dates.meets(period) for period in periods(question)]
    if all(meets):
        return []
    return [own, *named] if any(meets) else named


def dates_of(table: TableId, searcher: Searcher) -> Period | None:
    """The time from the first to the last date in a table; None where it has no dates."""
    profiles = [column.profile for column in searcher.catalog[table].columns]
    ranges = [
        (profile.minimum, profile.maximum)
        for profile in profiles
        if profile.time and profile.minimum and profile.maximum
    ]
    if not ranges:
        return None
    return Period(min(low for low, _ in ranges)[:10], max(high for _, high in ranges)[:10])


def _stands_for(members: Sequence[FamilyMember], named: Sequence[FamilyMember]) -> str:
    labels = [member.label for member in members if member.label]
    which = f", {min(labels)} to {max(labels)}" if len(labels) > 1 else ""
    asked = " that the question names" if named else ""
    return f"stands for {len(members)} partitions{asked}{which}"
