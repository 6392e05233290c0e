"""Merges what an update read with what was known before into the catalog's new records."""

from __future__ import annotations

from collections.abc import Collection

from dovetail.catalog.records import Records
from dovetail.domain import TableId
from dovetail.offline.plan import Plan
from dovetail.offline.previous import EarlierRecords, PreviousCatalog


def merge_records(
    plan: Plan,
    earlier: EarlierRecords,
    fresh: Records,
    previous: PreviousCatalog,
    *,
    visited: Collection[str],
    forgotten: Collection[str],
) -> tuple[Records, tuple[TableId, ...]]:
    """The records from now on, and the ids of tables retained because they could not be read.

    A table that was read and has the digest it had keeps its old record with the new token, so that
    nothing is written twice. `visited` and `forgotten` are labels of roots.
    """
    unchanged = _with_tokens(earlier.records, plan.unchanged)
    known = {table: place for place, table in enumerate(previous.records.ids)}
    if not previous.same_profile:
        known = {}
    same, changed = _compare(fresh, previous.records, known)
    have = {*unchanged.ids, *fresh.ids}
    missed = {TableId(skip.source, skip.table) for skip in plan.skipped if skip.table}
    staying: list[int] = []
    retained: list[TableId] = []
    root_of = previous.records.tables["root"].to_pylist()
    for table, place in known.items():
        root = root_of[place]
        if table in have or root in forgotten:
            continue
        if root not in visited:
            staying.append(place)
        elif table in missed or root in plan.unreadable or plan.is_unreadable(table):
            staying.append(place)
            retained.append(table)
    merged = [
        unchanged,
        _with_tokens(previous.records, same),
        fresh.take(changed),
        previous.records.take(staying),
    ]
    return Records.concat(merged).sorted(), tuple(retained)


def _compare(
    fresh: Records, before: Records, known: dict[TableId, int]
) -> tuple[dict[int, str], list[int]]:
    """Places of old records that fresh ones equal, with new tokens; places of the other fresh."""
    old_digests = before.tables["digest"].to_pylist()
    digests, tokens = fresh.tables["digest"].to_pylist(), fresh.tables["token"].to_pylist()
    same: dict[int, str] = {}
    changed: list[int] = []
    for place, table in enumerate(fresh.ids):
        old = known.get(table)
        if old is not None and old_digests[old] == digests[place]:
            same[old] = tokens[place]
        else:
            changed.append(place)
    return same, changed


def _with_tokens(records: Records, tokens: dict[int, str]) -> Records:
    """Some records, by place, with their newest tokens."""
    return records.take(list(tokens)).with_column("token", list(tokens.values()))
