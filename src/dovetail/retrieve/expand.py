"""From logical tables to tables: the members of a family that a question means, and the others.

Search and selection work with one member of each family. Afterwards the slices that the question
names take its place ("in 2022", "2019 to 2024", a table by name); where it names none, that member
stands for all, and the reason says so. Copies and other members are told beside it, as `also`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dovetail.domain import Chosen, TableId, TableSet
from dovetail.families.family import Family, FamilyMember, Role
from dovetail.families.periods import Period, named_by_time, periods
from dovetail.names.table_name import MARKERS, Marker
from dovetail.ports import Retriever
from dovetail.retrieve.graph.generic_words import GENERIC
from dovetail.retrieve.trace import joins_among
from dovetail.search.query import query_words, stems
from dovetail.search.searcher import Searcher

# More slices than this are not listed one by one: one stands for them, and the reason tells which.
_MOST_SLICES = 31
_TIMES = ("date", "timestamp")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LogicalRetriever:
    """Has another retriever choose logical tables, and puts in their place what is meant."""

    inner: Retriever
    searcher: Searcher

    def retrieve(self, question: str) -> TableSet:
        return expanded(self.inner.retrieve(question), self.searcher)


def logical(retriever: Retriever, searcher: Searcher) -> Retriever:
    """The retriever over logical tables, where the catalog has families; else as it is."""
    return LogicalRetriever(retriever, searcher) if searcher.ranks_families else retriever


def expanded(found: TableSet, searcher: Searcher) -> TableSet:
    """The set with the members of families that its question names."""
    families = searcher.families
    if not any(families.of(one.id) for one in found.tables):
        return found
    tables: dict[TableId, Chosen] = {}
    for chosen in found.tables:
        family = families.of(chosen.id)
        for one in (
            [chosen] if family is None else _members(chosen, family, found.question, searcher)
        ):
            tables.setdefault(one.id, one)
    if tables.keys() == set(found.ids):
        return replace(found, tables=tuple(tables.values()))
    joins = joins_among(searcher.member_joins, tables)
    return replace(found, tables=tuple(tables.values()), joins=tuple(joins))


def _members(chosen: Chosen, family: Family, question: str, searcher: Searcher) -> Iterator[Chosen]:
    """What a family comes to for a question, in place of the member that stood for it."""
    allowed = [
        one for one in family.members if one.role is not Role.TWIN and searcher.covers(one.id)
    ]
    named = (
        _by_name(allowed, question)
        or _by_history(chosen.id, allowed, question, searcher)
        or _by_time(chosen.id, allowed, question, searcher)
    )
    if not named or len(named) > _MOST_SLICES:
        standing = named[-1].id if named else chosen.id
        also = tuple(one.id for one in allowed if one.id != standing)
        note = _stands_for(named or [one for one in allowed if one.role is Role.PARTITION], named)
        whole = not named and family.role(chosen.id) is not Role.PARTITION
        reason = chosen.reason if whole else f"{chosen.reason}; {note}"
        yield replace(chosen, id=standing, reason=reason, also=also)
        return
    taken = {one.id for one in named}
    also = tuple(one.id for one in allowed if one.id not in taken and one.role is Role.COPY)
    part_of = family.name if len(named) > 1 else ""
    for member in named:
        reason = chosen.reason
        if member.id != chosen.id or part_of:
            reason += f"; the question names {member.label or member.id.name}"
        yield replace(chosen, id=member.id, reason=reason, also=also, part_of=part_of)
        also = ()


def _by_name(members: Sequence[FamilyMember], question: str) -> list[FamilyMember]:
    """The members that a question calls by their names; one of a plain word is how people speak."""
    asked = _words(question)
    lasts = [re.split(r"[./\\]", member.id.name)[-1] for member in members]
    return [
        member
        for member, last in zip(members, lasts, strict=True)
        if re.search(r"[^\W_][\W_]+[^\W_]", last) and _words(last) in asked
    ]


def _by_history(
    table: TableId, members: Sequence[FamilyMember], question: str, searcher: Searcher
) -> list[FamilyMember]:
    """The history where a question asks for it, or names a column that nothing but it has."""
    told = [one for one in members if one.role is Role.HISTORY]
    if not told:
        return []
    asked = query_words(question)
    if any(MARKERS.get(word) is Marker.HISTORY for word in asked.values()):
        return told[:1]
    own = _column_words(table, searcher)
    said = asked.keys() - own - GENERIC
    return [one for one in told if said & _column_words(one.id, searcher)][:1]


def _column_words(table: TableId, searcher: Searcher) -> set[str]:
    """The stems of a table's name and of its columns."""
    known = searcher.catalog[table]
    return {
        word for name in (known.name, *(one.name for one in known.columns)) for word in stems(name)
    }


def _words(text: str) -> str:
    """A text as words with a blank before and after each; what underscores join is one word."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _by_time(
    table: TableId, members: Sequence[FamilyMember], question: str, searcher: Searcher
) -> list[FamilyMember]:
    """The slices of the times that a question names; none where the table itself holds these."""
    named = named_by_time([one for one in members if one.role is Role.PARTITION], question)
    own = next((one for one in members if one.id == table), None)
    named.sort(key=lambda one: one.label)
    if own is None or own.role is Role.PARTITION or not named:
        return named
    held = _held(table, searcher)
    if held is None or all(held.meets(period) for period in periods(question)):
        return []
    partly = any(held.meets(period) for period in periods(question))
    return [own, *named] if partly else named


def _held(table: TableId, searcher: Searcher) -> Period | None:
    """The time from the first to the last date in a table; None where it has no dates."""
    ranges = [
        (column.profile.minimum, column.profile.maximum)
        for column in searcher.catalog[table].columns
        if column.profile.kind.value in _TIMES
    ]
    told = [(low, high) for low, high in ranges if low and high]
    if not told:
        return None
    return Period(min(low for low, _ in told)[:10], max(high for _, high in told)[:10])


def _stands_for(members: Sequence[FamilyMember], named: Sequence[FamilyMember]) -> str:
    labels = [one.label for one in members if one.label]
    which = f", {min(labels)} to {max(labels)}" if len(labels) > 1 else ""
    said = " that the question names" if named else ""
    return f"stands for {len(members)} partitions{said}{which}"
