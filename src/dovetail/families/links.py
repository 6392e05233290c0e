"""Which tables of one schema or folder are one logical table, and the sentence that says why.

Their names have the same stem and their columns are alike. Dates and numbers in a name make slices
or versions; a marker (`_bak`, `_hist`, `v_`) makes a copy, a history or a view, if the contents of
the two tables bear it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dovetail.domain import TableId
from dovetail.families.contents import Compared, Contents, FamilyTable, Verdict, alike
from dovetail.families.family import Role
from dovetail.names.table_name import MARKERS, Marker

# Tables of fewer columns are alike by chance.
_MIN_COLUMNS = 2
_HISTORY_ROWS = 1.2


@dataclass(frozen=True, slots=True)
class Link:
    """A table is in the family of another (`of`), in a role; `equal` if both have the same values.

    `label` is the slot of a slice, `evidence` the sentence that a person can check.
    """

    table: FamilyTable
    of: FamilyTable
    role: Role
    label: str = ""
    evidence: str = ""
    equal: bool = False


def schema_links(tables: Sequence[FamilyTable], contents: Contents) -> Iterator[Link]:
    """The links among tables of one schema, one stem and like columns.

    The plain table with most rows is the base; tables with slots are linked to it or to the latest
    of themselves, marked ones to the table of the same slot, else to the base or the latest.
    """
    shared = frozenset.intersection(*(frozenset(table.parts.marks) for table in tables))
    own = {table.id: frozenset(table.parts.marks) - shared for table in tables}
    marked = [table for table in tables if own[table.id]]
    unmarked = [table for table in tables if not own[table.id]]
    slotted = [table for table in unmarked if table.parts.slots]
    plain = [table for table in unmarked if not table.parts.slots]
    base = max(plain, key=lambda table: (table.rows, table.id), default=None)
    if base is not None:
        yield from _spellings(base, plain, contents)
    for group in _one_per_label(slotted):
        yield from _slices(group, base, contents)
    heads = [base] if base else slotted
    if not heads and marked:
        heads = [min(marked, key=lambda table: (len(table.parts.marks), -table.rows, table.id))]
    by_label: dict[str, list[FamilyTable]] = {}
    for table in slotted:
        by_label.setdefault(table.parts.label, []).append(table)
    last = sorted(heads, key=_latest)[-2:]
    for table in marked:
        same = by_label.get(table.parts.label, ()) if table.parts.label else ()
        of = max(same or (head for head in last if head is not table), key=_latest, default=None)
        link = _marked(table, of, own[table.id], contents)
        if link:
            yield link


def narrow_histories(tables: Sequence[FamilyTable], contents: Contents) -> Iterator[Link]:
    """The histories of tables that have too few columns to be alike to them.

    A price list of two columns is in its history with two dates added, which is half of that.
    """
    plain = [one for one in tables if not one.parts.markers and not one.parts.slots]
    for table in tables if plain else ():
        if Marker.HISTORY not in table.parts.markers:
            continue
        within = [
            one
            for one in plain
            if len(one.names) >= _MIN_COLUMNS and one.names < table.names
            if not alike(one.names, table.names)
        ]
        if not within:
            continue
        of = max(within, key=lambda one: (len(one.names), one.rows, one.id))
        compared = contents.compare(table, of)
        overlap = compared.verdict in (Verdict.SAME, Verdict.OVERLAP)
        if overlap and compared.proven and table.rows > of.rows:
            yield Link(table, of, Role.HISTORY, evidence=sentence(table, of, compared))


def _spellings(
    base: FamilyTable, plain: Sequence[FamilyTable], contents: Contents
) -> Iterator[Link]:
    """Tables whose names differ in spelling alone are copies if their contents say so."""
    for table in plain:
        if table is base:
            continue
        compared = contents.compare(table, base)
        if compared.verdict is Verdict.SAME and compared.proven:
            yield Link(table, base, Role.COPY, evidence=sentence(table, base, compared))


def _one_per_label(slotted: Sequence[FamilyTable]) -> list[list[FamilyTable]]:
    """Slotted tables in groups that have each label once: else their spellings mean something."""
    if len({table.parts.label for table in slotted}) == len(slotted):
        return [list(slotted)]
    groups: dict[str, list[FamilyTable]] = {}
    for table in slotted:
        groups.setdefault(table.parts.shape, []).append(table)
    return list(groups.values())


def _slices(
    group: list[FamilyTable], base: FamilyTable | None, contents: Contents
) -> Iterator[Link]:
    """Tables of one name with different dates or numbers: slices, or snapshots that repeat."""
    if len(group) + (base is not None) < 2 or len(group[0].names) < _MIN_COLUMNS:
        return
    if base is not None and len(group) == 1 and not _is_slice(group[0], base, contents):
        return
    labels = _labels(group)
    group = sorted(group, key=lambda table: (labels[table.id], table.id))
    head = base or group[-1]
    chain = [contents.compare(one, other) for one, other in pairwise(group)]
    decided = [compared for compared in chain if compared.verdict is not Verdict.UNKNOWN]
    repeated = [c for c in decided if c.verdict is Verdict.SAME and c.proven and not c.times]
    if decided:
        snapshots = 2 * len(repeated) > len(decided)
    else:  # one slice of a base, or tables too small to tell
        only = contents.compare(group[0], head) if base and len(group) == 1 else None
        snapshots = only is not None and only.verdict is Verdict.SAME and not only.times
    fixed = {tuple(s.text for s in table.parts.slots if not s.version) for table in group}
    versions = len(fixed) == 1 and (base is None or not any(fixed))
    role = Role.COPY if snapshots or versions else Role.PARTITION
    for at, table in enumerate(group):
        if table is head:
            continue
        near = chain[at] if at < len(chain) else chain[at - 1] if chain else None
        if near is None:
            near, other = contents.compare(table, head), head
        else:
            other = group[at + 1] if at < len(chain) else group[at - 1]
        yield Link(table, head, role, labels[table.id], sentence(table, other, near))
    if head is not base:
        other = group[-2]
        yield Link(head, head, role, labels[head.id], sentence(head, other, chain[-1]))


def _is_slice(table: FamilyTable, base: FamilyTable, contents: Contents) -> bool:
    """Whether one numbered table next to a plain one is a slice or copy, not another thing."""
    if any(slot.time or slot.version for slot in table.parts.slots) or table.names == base.names:
        return True
    return contents.compare(table, base).verdict is not Verdict.UNKNOWN


def _labels(group: Sequence[FamilyTable]) -> dict[object, str]:
    """The labels of tables, without the slots that all of them share."""
    slots = [tuple(slot.text for slot in table.parts.slots) for table in group]
    if len(group) > 1 and len({len(one) for one in slots}) == 1:
        varying = [at for at, texts in enumerate(zip(*slots, strict=True)) if len(set(texts)) > 1]
        slots = [tuple(one[at] for at in varying) for one in slots]
    return {table.id: " ".join(one) for table, one in zip(group, slots, strict=True)}


def _latest(table: FamilyTable) -> tuple[str, TableId]:
    """The order in which a marked table is taken for a copy of the last one."""
    return table.parts.label, table.id


def _marked(
    table: FamilyTable, of: FamilyTable | None, marks: frozenset[str], contents: Contents
) -> Link | None:
    """The link of a table whose name marks it, if columns and contents bear the mark out."""
    if of is None or of is table:
        return None
    compared = contents.compare(table, of)
    role = _role(table, of, {MARKERS[mark] for mark in marks}, compared)
    if role is None:
        return None
    label = table.parts.label if role is Role.PARTITION else ""
    return Link(table, of, role, label or _slice_name(role, marks), sentence(table, of, compared))


def _slice_name(role: Role, marks: frozenset[str]) -> str:
    return "-".join(sorted(marks)) if role is Role.PARTITION else ""


def _role(
    table: FamilyTable, of: FamilyTable, markers: set[Marker], compared: Compared
) -> Role | None:
    """The role that a marker and the contents agree on; None where they do not."""
    extra = table.names - of.names
    if Marker.HISTORY in markers and compared.verdict in (Verdict.SAME, Verdict.OVERLAP):
        return Role.HISTORY
    if Marker.VIEW in markers:
        return Role.VIEW if compared.verdict is Verdict.SAME and not extra else None
    if compared.verdict in (Verdict.SAME, Verdict.OVERLAP):
        grown = extra and table.rows > _HISTORY_ROWS * of.rows
        return Role.HISTORY if grown and Marker.ARCHIVE in markers else Role.COPY
    if compared.verdict is Verdict.UNKNOWN:  # then only words that mean nothing else count
        return Role.COPY if markers & {Marker.COPY, Marker.ARCHIVE} else None
    if Marker.HISTORY in markers or Marker.ARCHIVE in markers:
        return Role.PARTITION
    return Role.COPY if Marker.COPY in markers else None


def sentence(table: FamilyTable, other: FamilyTable, compared: Compared) -> str:
    """Why two tables are one logical table: their columns and values in common, in one sentence."""
    return f"{_columns(table, other)}; {_contents(table, other, compared)}"


def _columns(table: FamilyTable, other: FamilyTable) -> str:
    shared, union = len(table.names & other.names), len(table.names | other.names)
    if shared == union:
        return f"same {shared} columns as {other.id.name}"
    return f"{shared} of {union} columns in common with {other.id.name}"


def _contents(table: FamilyTable, other: FamilyTable, compared: Compared) -> str:
    if compared.times:
        return f"their values of {compared.times} are of different times"
    if compared.verdict is Verdict.UNKNOWN:
        few = "an empty table" if not (table.rows and other.rows) else "too few rows to compare"
        return f"{few}, so by names and columns alone"
    if not compared.shared:
        return f"no value of {compared.column} in common"
    small, large = (table, other) if table.rows <= other.rows else (other, table)
    if compared.shared == compared.total:
        return f"all {compared.total:,} values of {compared.column} are in {large.id.name}"
    return (
        f"{compared.shared:,} of the {compared.total:,} values of {compared.column} in "
        f"{small.id.name} are in {large.id.name}"
    )
