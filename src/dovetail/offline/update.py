"""Merges what an update read with what was known before: the content of the next generation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.writer import Content
from dovetail.domain import Skipped, TableId
from dovetail.errors import SourceError, UsageError
from dovetail.offline.plan import Plan
from dovetail.offline.profile_tables import Profiled
from dovetail.offline.summary import UpdateSummary
from dovetail.offline.written import redeclared, with_declarations


def merged(
    plan: Plan, profiled: Profiled, current: CatalogReader | None, *, pooled: bool
) -> tuple[Content, tuple[TableId, ...]]:
    """The tables from now on as their sources have them, and the ids of those retained because
    they could not be read."""
    plan.skipped += profiled.skipped
    if current is None:
        _refuse_nothing(plan, profiled)
    records, retained = merge_records(plan, Records.concat(profiled.records))
    records = with_declarations(
        records,
        plan.declared,
        plan.declaring,
        untold_keys=plan.untold_keys,
        untold_comments=plan.untold_comments,
    )
    plan.skipped += _still_left_out(current.skipped if current is not None else (), plan, records)
    content = Content(
        records=records,
        segments=plan.segments | profiled.segments,
        profile=plan.profile,
        roots=plan.roots.all,
        skipped=tuple(sorted(plan.skipped, key=lambda skip: (skip.source, skip.table))),
        pooled=pooled,
    )
    return content, retained


def summary_of(
    catalog: CatalogReader,
    before: Records,
    retained: tuple[TableId, ...],
    described: Collection[TableId] = (),
) -> UpdateSummary[CatalogReader]:
    """What a catalog has that the records of before had not. Of the tables in `described`, people
    wrote something else than before, whatever their sources declare."""
    now = catalog.records
    old = dict(zip(before.ids, before.tables["digest"].to_pylist(), strict=True))
    new = dict(zip(now.ids, now.tables["digest"].to_pylist(), strict=True))
    changed = tuple(table for table in new if table in old and old[table] != new[table])
    added = tuple(table for table in new if table not in old)
    retold = {*redeclared(before, now), *described}.intersection(new).difference(changed, added)
    return UpdateSummary(
        catalog=catalog,
        added=added,
        changed=changed,
        dropped=tuple(table for table in old if table not in new),
        retained=retained,
        unchanged=len(new) - len(added) - len(changed) - len(retained),
        skipped=catalog.skipped,
        redeclared=tuple(sorted(retold)),
    )


def merge_records(plan: Plan, read: Records) -> tuple[Records, tuple[TableId, ...]]:
    """The records from now on, and the ids of tables retained because they could not be read.

    A table that was read and has the digest it had keeps its old record with the new token, so that
    nothing is written twice.
    """
    before, visited = plan.before, {root.label for root in plan.visited}
    unchanged = _with_tokens(plan.earlier.records, plan.unchanged)
    known = {table: row for row, table in enumerate(before.ids)} if plan.same_profile else {}
    same, changed = _compare(read, before, known)
    have = {*unchanged.ids, *read.ids}
    missed = {TableId(skip.source, skip.table) for skip in plan.skipped if skip.table}
    staying: list[int] = []
    retained: list[TableId] = []
    root_of = before.tables["root"].to_pylist()
    for table, row in known.items():
        root = root_of[row]
        if table in have or root in plan.roots.forgotten:
            continue
        if root not in visited:
            staying.append(row)
        elif table in missed or root in plan.unreadable or plan.is_unreadable(table):
            staying.append(row)
            retained.append(table)
    merged = [
        unchanged,
        _with_tokens(before, same),
        read.take(changed),
        before.take(staying),
    ]
    return Records.concat(merged).sorted(), tuple(retained)


def _compare(
    read: Records, before: Records, known: dict[TableId, int]
) -> tuple[dict[int, str], list[int]]:
    """Rows of old records that those read now equal, with new tokens; rows of the others."""
    old_digests = before.tables["digest"].to_pylist()
    digests, tokens = read.tables["digest"].to_pylist(), read.tables["token"].to_pylist()
    same: dict[int, str] = {}
    changed: list[int] = []
    for row, table in enumerate(read.ids):
        old = known.get(table)
        if old is not None and old_digests[old] == digests[row]:
            same[old] = tokens[row]
        else:
            changed.append(row)
    return same, changed


def _with_tokens(records: Records, tokens: dict[int, str]) -> Records:
    """Some records, by row, with their newest tokens."""
    return records.take(list(tokens)).with_column("token", list(tokens.values()))


def _still_left_out(before: Sequence[Skipped], plan: Plan, now: Records) -> list[Skipped]:
    """The parts that were left out of tables which did not change, and so were not read again."""
    known = {TableId(skip.source, skip.table) for skip in plan.skipped} | set(now.ids)
    unchanged = {plan.earlier.records.ids[row] for row in plan.unchanged}
    return [
        skip
        for skip in before
        if TableId(skip.source, skip.table) not in known
        and any(TableId(skip.source, above) in unchanged for above in _prefixes(skip.table))
    ]


def _prefixes(name: str) -> list[str]:
    """The names that a part's name begins with, folder by folder."""
    folders = name.split("/")
    return ["/".join(folders[:at]) for at in range(1, len(folders))]


def _refuse_nothing(plan: Plan, profiled: Profiled) -> None:
    """A first run that could read nothing leaves no catalog behind, only its reason."""
    if plan.skipped and not plan.unchanged and not profiled.records:
        more = f" (and {len(plan.skipped) - 1} more)" if len(plan.skipped) > 1 else ""
        raise SourceError(f"{plan.skipped[0]}{more}")
    if not plan.visited:
        raise UsageError("there is nothing to index yet; name a source")
