"""Columns of a batch by their distinct texts, against the same row by row."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from dovetail.domain import ColumnProfile
from dovetail.ports import ScannedColumn
from dovetail.profile import blocks
from dovetail.profile.blocks import HashedColumn, hash_columns
from dovetail.profile.distinct import HashCounts
from dovetail.profile.profiler import ColumnProfiler

ROWS = 5_000


def _raw(cells: list[bytes | None]) -> pa.Array:
    """Text as a source may have it, valid or not."""
    return pa.array(cells, pa.binary()).view(pa.string())


COLUMNS: dict[str, Callable[[int], bytes | None]] = {
    "few cities": lambda n: [b"Berlin", b"Oslo", b"new york"][n % 3],
    "missing, blank and padded": lambda n: [b"a", b" a ", None, b"", b"  ", b"b"][n % 6],
    "nothing": lambda _: None,
    "blank alone": lambda _: b" ",
    "numbers written otherwise": lambda n: [b"1", b"1.0", b"01", b"-2", b"2024-02-29"][n % 5],
    "beyond ASCII": lambda n: ["Zürich", "Ångström", "東京"][n % 3].encode(),
    "not UTF-8": lambda n: [b"caf\xe9", b"cafe", b"\xff"][n % 3],
    "codes": lambda n: b"AB-%04d" % (n % 40),
    "codes after others": lambda n: b"none" if n < 40 else b"AB-%04d" % (n % 40),
    "mail": lambda n: b"User%d@Example.com" % (n % 25),
    "midnights": lambda n: b"2024-02-%02d 00:00:00" % (1 + n % 28),
    "each once": lambda n: b"text %d" % n,
    "each twice": lambda n: b"text %d" % (n // 2),
}


def _arrays() -> list[pa.Array]:
    return [_raw([make(n) for n in range(ROWS)]) for make in COLUMNS.values()]


def _same(one: HashCounts, other: HashCounts) -> bool:
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def _phrases(column: HashedColumn) -> list[int] | None:
    """What a column is searched by; how often does not count."""
    return None if column.phrases is None else column.phrases[0].tolist()


def _profiled(column: HashedColumn, untyped: bool) -> tuple[ColumnProfile, object]:
    profiler = ColumnProfiler(ScannedColumn("c", "VARCHAR", untyped))
    profiler.add(column, ROWS)
    views = [
        (name, maximum, [(h.tolist(), c.tolist()) for h, c in runs])
        for name, maximum, runs in profiler.forms.forms()
    ]
    distinct = len(column.distinct[0])
    return profiler.profile(distinct, distinct), views


def test_distinct_texts_give_what_all_rows_give() -> None:
    arrays = _arrays()
    quick = hash_columns(arrays)
    with patch.object(blocks, "_MANY", ROWS + 1):
        slow = hash_columns(arrays)
    encoded = [len(one.values) < len(other.values) for one, other in zip(quick, slow, strict=True)]
    assert 8 <= sum(encoded) < len(arrays)
    for kind, one, other in zip(COLUMNS, quick, slow, strict=True):
        assert one.filled == other.filled == len(other.values), kind
        assert one.first.equals(other.first), kind
        assert np.array_equal(one.rows, other.rows), kind
        assert _same(one.distinct, other.distinct), kind
        assert (one.ends, one.lengths) == (other.ends, other.lengths), kind
        assert _phrases(one) == _phrases(other), kind
        for untyped in (False, True):
            assert _profiled(one, untyped) == _profiled(other, untyped), kind
