"""Notes over what was computed: pinned and banned joins, key domains, canonical tables and copies,
and what tables and columns are.

A person's word counts; the edges and families of the catalog stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import PERSON, Description, JoinEdge, KeyDomain, Table, TableId
from dovetail.families.family import Families, Family, FamilyMember, Role, family_with, represent
from dovetail.joins.edges import EditedEdges, ends_of, stored_edges
from dovetail.joins.graph import JoinGraph
from dovetail.notes.notes import CANONICAL, COPY, PINNED, Ban, Notes

_WHY = "your notes say so"
Pairs = frozenset[frozenset[tuple[TableId, str]]]


def noted_graph(catalog: CatalogReader, notes: Notes) -> JoinGraph:
    """The join graph of a catalog with what notes pin and ban."""
    return JoinGraph(catalog.ids, noted_edges(stored_edges(catalog), notes))


def noted_edges(edges: Sequence[JoinEdge], notes: Notes) -> Sequence[JoinEdge]:
    """The edges without the banned ones, and the pinned ones before them.

    Only edges between tables that the notes name are looked at, however many there are.
    """
    notes = _with_bans(edges, notes)
    if not notes.pins and not notes.bans:
        return edges
    pinned = {_columns(edge): edge for edge in notes.pins}
    dropped: set[int] = set()
    for at in _touched(edges, notes):
        edge = edges[at]
        if notes.forbids(edge):
            dropped.add(at)
        elif (key := _columns(edge)) in pinned:
            dropped.add(at)
            evidence = {**edge.evidence, **pinned[key].evidence, PINNED: 1.0}
            pinned[key] = replace(edge, score=1.0, evidence=evidence)
    return EditedEdges(edges, [*pinned.values()], dropped)


def noted_scores(edges: Sequence[JoinEdge], notes: Notes) -> dict[tuple[TableId, TableId], float]:
    """The best score that is left between each two tables that are pinned or banned; 0 for none."""
    notes = _with_bans(edges, notes)
    best = dict.fromkeys(_pairs(notes), 0.0)
    for at in _touched(edges, notes):
        edge = edges[at]
        if not notes.forbids(edge):
            pair = frozenset((edge.left, edge.right))
            best[pair] = max(best[pair], edge.score)
    best |= {frozenset((edge.left, edge.right)): edge.score for edge in notes.pins}
    ends = {tuple(sorted(pair)): score for pair, score in best.items() if len(pair) > 1}
    return {(one, two): score for (one, two), score in ends.items()}


def _with_bans(edges: Sequence[JoinEdge], notes: Notes) -> Notes:
    """The notes, with a ban of every join by a column that they take out of its domain."""
    out = {(each.table, each.column) for each in notes.domains if not each.name}
    tables = {table for table, _ in out}
    candidates = (
        edges[at] for at, ends in enumerate(ends_of(edges)) if out and not tables.isdisjoint(ends)
    )
    pinned = {_columns(edge) for edge in notes.pins}
    bans = tuple(
        Ban(frozenset((edge.left, edge.right)), _columns(edge))
        for edge in candidates
        if not out.isdisjoint(end for pair in _columns(edge) for end in pair)
        and _columns(edge) not in pinned
    )
    return replace(notes, bans=(*notes.bans, *bans))


def noted_domains(domains: Sequence[KeyDomain], notes: Notes) -> list[KeyDomain]:
    """The key domains with the names and masters that notes give to them."""
    named = {(each.table, each.column): each.name for each in notes.domains if each.name}
    noted = []
    for domain in domains:
        for column in domain.columns:
            if name := named.get((column.table, column.name)):
                masters = {**domain.masters, column.table.source: column}
                domain = replace(domain, name=name, master=column, masters=masters)
        noted.append(domain)
    return noted


def noted_table(table: Table, notes: Notes, description: Description | None) -> Table:
    """A table with what notes say of it and of its columns as comments, wherever it is shown.

    They stand before the comment of another person, and in place of what else the `description`
    of the table says.
    """
    remarks = _remarks(notes, table.id)
    if not remarks:
        return table
    about = description or Description(table.comment, PERSON)
    own = {each.name: "" if each.name in about.glosses else each.comment for each in table.columns}
    columns = tuple(
        replace(each, comment=_first(remarks[each.name], own[each.name]))
        if each.name in remarks
        else each
        for each in table.columns
    )
    noted = noted_description(about, notes, table.id)
    comment = noted.text if noted and "" in remarks else table.comment
    return replace(table, comment=comment, columns=columns)


def noted_description(
    description: Description | None, notes: Notes, table: TableId
) -> Description | None:
    """What is said of a table, with the word of notes first; no column that they speak of has a
    gloss."""
    remarks = _remarks(notes, table)
    if not remarks:
        return description
    about = description or Description("", PERSON)
    kept = {name: gloss for name, gloss in about.glosses.items() if name not in remarks}
    if text := remarks.get("", ""):
        text = _first(text, about.text if about.author == PERSON else "")
        return Description(text, PERSON, kept)
    return replace(about, glosses=kept) or None


def _remarks(notes: Notes, table: TableId) -> dict[str, str]:
    """What notes say of the columns of a table, by their names, and of itself, by none."""
    remarks: dict[str, str] = {}
    for remark in notes.remarks_on(table):
        remarks[remark.column] = _first(remarks.get(remark.column, ""), remark.text)
    return remarks


def _first(text: str, more: str) -> str:
    """A text with another behind it, unless that says the same or nothing."""
    return "; ".join(dict.fromkeys(filter(None, (text, more))))


def _pairs(notes: Notes) -> set[frozenset[TableId]]:
    """The tables that notes pin or ban a join of."""
    pinned = {frozenset((edge.left, edge.right)) for edge in notes.pins}
    return pinned | {ban.tables for ban in notes.bans}


def _touched(edges: Sequence[JoinEdge], notes: Notes) -> Iterator[int]:
    """The indices of the edges between such tables."""
    pairs = _pairs(notes)
    # Texts keep their hashes: the names alone pass over nearly all edges in a third of the time.
    names = {table.name for pair in pairs for table in pair}
    for at, (left, right) in enumerate(ends_of(edges)):
        if left.name in names and right.name in names and {left, right} in pairs:
            yield at


def _columns(edge: JoinEdge) -> Pairs:
    return frozenset(frozenset(((edge.left, a), (edge.right, b))) for a, b in edge.columns)


def marked_families(families: Families, notes: Notes) -> Families:
    """The families with the tables that notes call canonical, or copies of others.

    A canonical table represents its family. A copy joins the family of the table it is a copy of.
    """
    marks = [mark for mark in notes.marks if mark.role in (CANONICAL, COPY)]
    if not marks:
        return families
    by_canonical = {family.canonical: family for family in families}
    for mark in marks:
        if mark.role == CANONICAL:
            represent(by_canonical, mark.table, _WHY)
    for mark in marks:
        if mark.role == COPY and mark.of is not None and mark.of != mark.table:
            _copy_of(by_canonical, mark.table, mark.of)
    return Families(by_canonical[key] for key in sorted(by_canonical))


def _copy_of(by_canonical: dict[TableId, Family], table: TableId, of: TableId) -> None:
    old = family_with(by_canonical, table)
    if old is not None:
        del by_canonical[old.canonical]
        left = tuple(one for one in old.members if one.id != table)
        if len([one for one in left if one.role is not Role.TWIN]) > 1 and old.canonical != table:
            by_canonical[old.canonical] = replace(old, members=left)
        elif old.canonical == table and len(left) > 1:
            by_canonical[left[0].id] = Family(old.name, left[0].id, left)
    family = family_with(by_canonical, of)
    if family is None:
        family = Family(of.name, of, (FamilyMember(of, Role.TABLE),))
    member = FamilyMember(table, Role.COPY, evidence=_WHY)
    by_canonical[family.canonical] = replace(family, members=(*family.members, member))
