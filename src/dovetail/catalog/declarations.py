"""Declared keys and comments in a catalog's records, beside what was read from the rows.

They change by themselves: a changed declaration replaces the old one in the record, and neither
the contents' digest nor anything derived from the rows is touched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from dovetail.catalog.records import COLUMNS, Records
from dovetail.domain import TableId
from dovetail.ports import Declaration

_NOTHING = Declaration()


def with_declarations(
    records: Records,
    said: Mapping[TableId, Declaration],
    asked: Collection[TableId],
    *,
    untold_keys: Collection[TableId] = (),
    untold_comments: Collection[TableId] = (),
) -> Records:
    """The records with what is said of the tables that were asked about; the others stay.

    Of some tables keys or comments could not be told in full: where nothing is said of these now,
    what was said before stays.
    """
    keys, comments = (records.tables[name].to_pylist() for name in ("keys", "comment"))
    names = records.columns["name"].to_pylist()
    on_columns = records.columns["comment"].to_pylist()
    bounds = records.bounds.tolist()
    for row, table in enumerate(records.ids):
        if table not in asked:
            continue
        now = said.get(table, _NOTHING)
        start, end = bounds[row], bounds[row + 1]
        told = [_encodable(now.column_comments.get(name, "")) for name in names[start:end]]
        if table in untold_comments:
            told = [new or old for new, old in zip(told, on_columns[start:end], strict=True)]
        on_columns[start:end] = told
        keys[row] = now.keys.to_text() or (keys[row] if table in untold_keys else "")
        before = comments[row] if table in untold_comments else ""
        comments[row] = _encodable(now.comment) or before
    found = records.with_column("keys", keys).with_column("comment", comments)
    return Records(found.tables, _with_comments(records.columns, on_columns))


def without_declarations(records: Records, *, keys: bool, comments: bool) -> Records:
    """The records as if their sources declared no keys, or had no comments."""
    blank = [""] * len(records)
    if keys:
        records = records.with_column("keys", blank)
    if comments:
        records = records.with_column("comment", blank)
        columns = _with_comments(records.columns, [""] * records.columns.num_rows)
        records = Records(records.tables, columns)
    return records


def redeclared(before: Records, now: Records) -> set[TableId]:
    """The tables of both whose keys or comments differ."""
    old, new = _told(before), _told(now)
    return {table for table in old.keys() & new.keys() if old[table] != new[table]}


def digest_of(texts: pa.ChunkedArray) -> str:
    """A digest of texts, in order; empty if all of them are."""
    listed = texts.to_pylist()
    if not any(listed):
        return ""
    digest = hashlib.sha256()
    for text in listed:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:12]


def _told(records: Records) -> dict[TableId, tuple[object, ...]]:
    comments = np.array(records.columns["comment"].to_pylist(), dtype=object)
    said = zip(*(records.tables[name].to_pylist() for name in ("keys", "comment")), strict=True)
    return {
        table: (*told, *comments[start:end])
        for table, told, start, end in zip(
            records.ids, said, records.bounds.tolist(), records.bounds[1:].tolist(), strict=False
        )
    }


def _with_comments(columns: pa.Table, comments: list[str]) -> pa.Table:
    place = COLUMNS.get_field_index("comment")
    return columns.set_column(place, COLUMNS.field(place), pa.array(comments, pa.string()))


def _encodable(text: str) -> str:
    """A text that can be stored: what is no character of Unicode is replaced."""
    return text.encode(errors="replace").decode()
