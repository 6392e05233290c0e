"""Declared keys and comments in a catalog's records, beside what was read from the rows.

They change by themselves: a changed declaration replaces the old one in the record, and neither
the contents' digest nor anything derived from the rows is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dovetail.catalog.records import Records
from dovetail.domain import TableId
from dovetail.ports import Declaration

_NOTHING = Declaration()


def with_declarations(
    records: Records,
    declared: Mapping[TableId, Declaration],
    asked: Collection[TableId],
    *,
    untold_keys: Collection[TableId] = (),
    untold_comments: Collection[TableId] = (),
) -> Records:
    """The records with what their sources declare of the tables that were asked about.

    The declarations of other tables stay. Of some tables keys or comments could not be read in
    full: where nothing is declared of these now, what was declared before stays.
    """
    keys = records.tables["source_keys"].to_pylist()
    comments = records.tables["source_comment"].to_pylist()
    names = records.columns["name"].to_pylist()
    on_columns = records.columns["source_comment"].to_pylist()
    bounds = records.bounds.tolist()
    for row, table in enumerate(records.ids):
        if table not in asked:
            continue
        now = declared.get(table, _NOTHING)
        start, end = bounds[row], bounds[row + 1]
        new = [_encodable(now.column_comments.get(name, "")) for name in names[start:end]]
        if table in untold_comments:
            old = on_columns[start:end]
            new = [one or before for one, before in zip(new, old, strict=True)]
        on_columns[start:end] = new
        keys[row] = now.keys.to_text() or (keys[row] if table in untold_keys else "")
        before = comments[row] if table in untold_comments else ""
        comments[row] = _encodable(now.comment) or before
    changed = records.with_column("source_keys", keys).with_column("source_comment", comments)
    return changed.with_column_comments("source_comment", on_columns)


def in_force(
    records: Records,
    added: Mapping[TableId, Declaration],
    *,
    use_keys: bool,
    use_comments: bool,
) -> Records:
    """The records with the keys and comments that count from now on: those that `added` has of a
    table, else those of its source, and none of a kind that is not to be used."""
    keys, comment = records.tables["source_keys"], records.tables["source_comment"]
    on_columns = records.columns["source_comment"]
    if added:
        keys, comment, on_columns = keys.to_pylist(), comment.to_pylist(), on_columns.to_pylist()
        names, bounds = records.columns["name"].to_pylist(), records.bounds.tolist()
        for row, table in enumerate(records.ids):
            if table not in added:
                continue
            new, start, end = added[table], bounds[row], bounds[row + 1]
            keys[row], comment[row] = new.keys.to_text(), _encodable(new.comment)
            on_columns[start:end] = [
                _encodable(new.column_comments.get(name, "")) for name in names[start:end]
            ]
    if not use_keys:
        keys = [""] * len(records)
    if not use_comments:
        comment, on_columns = [""] * len(records), [""] * records.columns.num_rows
    changed = records.with_column("keys", keys).with_column("comment", comment)
    return changed.with_column_comments("comment", on_columns)


def redeclared(before: Records, now: Records) -> set[TableId]:
    """The tables of both of which the sources declare other keys or comments than before."""
    old, new = _declared(before), _declared(now)
    return {table for table in old.keys() & new.keys() if old[table] != new[table]}


def _declared(records: Records) -> dict[TableId, tuple[object, ...]]:
    comments = np.array(records.columns["source_comment"].to_pylist(), dtype=object)
    names = ("source_keys", "source_comment")
    on_tables = zip(*(records.tables[name].to_pylist() for name in names), strict=True)
    return {
        table: (*on_table, *comments[start:end])
        for table, on_table, start, end in zip(
            records.ids, on_tables, records.bounds.tolist(), records.bounds[1:].tolist(),
            strict=False,
        )
    }  # fmt: skip


def _encodable(text: str) -> str:
    """A text that can be stored: what is no character of Unicode is replaced."""
    return text.encode(errors="replace").decode()
