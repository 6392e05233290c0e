"""Profiles against plain Python over the same values."""

from __future__ import annotations

import datetime as dt
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.domain import Kind
from dovetail.hashing import drop_missing, hash_values
from dovetail.ports import Scan, ScannedColumn
from dovetail.profile import blocks, distinct, profiler
from dovetail.profile.profiler import ProfileOptions, RowSample, TableProfiler

CELLS = st.one_of(
    st.none(), st.text(alphabet="ab 01.-é", max_size=4), st.sampled_from(["1", "2.5", "x", "é"])
)


def scan(batches: list[pa.RecordBatch], *, untyped: bool = False) -> Scan:
    types = ["VARCHAR" if untyped else str(field.type) for field in batches[0].schema]
    names = batches[0].schema.names
    columns = tuple(ScannedColumn(n, t, untyped) for n, t in zip(names, types, strict=True))
    return Scan(columns, iter(batches))


def profiled(
    batches: list[pa.RecordBatch], options: ProfileOptions | None = None, *, untyped: bool = False
) -> tuple[TableProfiler, list[tuple[list[int], list[int]]]]:
    with tempfile.TemporaryDirectory() as scratch:
        profiler = TableProfiler(options or ProfileOptions(), Path(scratch))
        for _ in profiler.read(scan(batches, untyped=untyped)):
            pass
        vectors = []
        for column in profiler.columns:
            runs = list(profiler.runs(column))
            hashes = [int(h) for run in runs for h in run[0]]
            vectors.append((hashes, [int(c) for run in runs for c in run[1]]))
    return profiler, vectors


def by_hand(values: list[Any]) -> tuple[list[int], list[int]]:
    """The slow twin: hash value by value, count in a dict."""
    counts: Counter[int] = Counter()
    for value in values:
        if value is not None:
            kept, _ = drop_missing(pa.array([value]))
            counts.update(int(h) for h in hash_values(kept))
    return sorted(counts), [counts[key] for key in sorted(counts)]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(CELLS, CELLS, st.one_of(st.none(), st.integers(-5, 5))), max_size=30),
    st.integers(1, 7),
)
def test_vectors_are_those_of_python_sets(rows: list[tuple[Any, ...]], height: int) -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("c", pa.int64())])
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    whole = pa.record_batch(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema
    )
    pieces = [whole.slice(at, height) for at in range(0, len(rows), height)] or [whole]
    profiler, vectors = profiled(pieces)
    for column, vector, values in zip(profiler.columns, vectors, columns, strict=True):
        assert vector == by_hand(list(values))
        profile = column.profile(*[len(vector[0])] * 2)
        assert profile.nulls == len(rows) - sum(vector[1])
        assert profile.unique == (0 < len(vector[0]) == sum(vector[1]))


def test_blocks_of_columns_give_what_single_columns_give(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    arrays = [
        pa.array(rng.integers(0, 9, 50), mask=rng.random(50) < share) for share in (0, 0, 0.5, 1)
    ] + [pa.array(rng.choice(np.array(["a", " b", "7", "", None]), 50)) for _ in range(3)]
    batch = pa.record_batch(arrays, names=[f"c{i}" for i in range(len(arrays))])
    together, vectors = profiled([batch])
    monkeypatch.setattr(blocks, "_MOST_VALUES", 1)
    alone, same = profiled([batch])
    assert vectors == same
    for one, other, vector in zip(together.columns, alone.columns, vectors, strict=True):
        assert one.profile(*[len(vector[0])] * 2) == other.profile(*[len(vector[0])] * 2)
    assert together.digest() == alone.digest()


def test_spilled_runs_merge_to_what_memory_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    columns = {
        "id": np.arange(5_000),
        "ref": rng.integers(0, 40, 5_000),
        "n": rng.integers(0, 3000, 5_000),
    }
    batches = pa.table(columns).to_batches(max_chunksize=512)
    held, vectors = profiled(batches)
    monkeypatch.setattr(profiler, "_SPILL_ENTRIES", 1_000)
    monkeypatch.setattr(distinct, "_MERGE_ENTRIES", 700)
    spilled, same = profiled(batches)
    assert vectors == same
    assert spilled.digest() == held.digest()
    assert len(vectors[0][0]) == 5_000
    assert sum(vectors[1][1]) == 5_000


@pytest.mark.parametrize(
    ("texts", "kind", "type_name", "low", "high"),
    [
        (["3", "20", None], Kind.INTEGER, "BIGINT", "3", "20"),
        (["3", "20.5", "-1"], Kind.REAL, "DOUBLE", "-1", "20.5"),
        (["007", "012"], Kind.TEXT, "VARCHAR", "007", "012"),
        (["1", "2", "n/a"], Kind.TEXT, "VARCHAR", "1", "n/a"),
        (["2024-01-31", "2023-12-01"], Kind.DATE, "DATE", "2023-12-01", "2024-01-31"),
        (["2024-01-31 10:00"], Kind.TIMESTAMP, "TIMESTAMP", "2024-01-31 10:00", "2024-01-31 10:00"),
        (["2024-01-31", "soon"], Kind.TEXT, "VARCHAR", "2024-01-31", "soon"),
        (["soon", "2024-01-31"], Kind.TEXT, "VARCHAR", "2024-01-31", "soon"),
        ([None, ""], Kind.EMPTY, "VARCHAR", None, None),
    ],
)  # fmt: skip
def test_text_without_types_gets_the_kind_of_all_its_values(
    texts: list[str | None], kind: Kind, type_name: str, low: str | None, high: str | None
) -> None:
    batches = [pa.record_batch([pa.array([text], pa.string())], names=["c"]) for text in texts]
    profiler, vectors = profiled(batches, untyped=True)
    profile = profiler.columns[0].profile(*[len(vectors[0][0])] * 2)
    assert (profile.kind, profiler.columns[0].type) == (kind, type_name)
    assert (profile.minimum, profile.maximum) == (low, high)


def test_typed_columns_are_described_in_full() -> None:
    noon = dt.datetime(2024, 5, 1, 12)
    columns = {
        "n": pa.array([5, 5, None]),
        "r": pa.array([0.5, float("nan"), -2.0]),
        "t": pa.array(["ä", "bcd", "bcd"]),
        "b": pa.array([True, False, None]),
        "d": pa.array([dt.date(2024, 5, 1), None, None]),
        "s": pa.array([noon, noon, None]),
        "x": pa.array([b"\x00\x01", b"", None]),
    }
    profiler, vectors = profiled(pa.table(columns).to_batches())
    profiles = {
        column.name: column.profile(*[len(vector[0])] * 2)
        for column, vector in zip(profiler.columns, vectors, strict=True)
    }
    assert [(p.kind.value, p.nulls, p.distinct, p.unique) for p in profiles.values()] == [
        ("integer", 1, 1, False),
        ("real", 1, 2, True),
        ("text", 0, 2, False),
        ("boolean", 1, 2, True),
        ("date", 2, 1, True),
        ("timestamp", 1, 1, False),
        ("binary", 1, 2, True),
    ]
    assert (profiles["r"].minimum, profiles["r"].maximum) == ("-2.0", "0.5")
    assert (profiles["t"].min_length, profiles["t"].max_length) == (1, 3)
    assert (profiles["x"].min_length, profiles["x"].max_length) == (0, 2)
    assert profiles["s"].examples == ("2024-05-01 12:00:00",)
    assert profiles["x"].maximum == "0x0001"
    assert profiles["n"].min_length is None


def test_examples_are_distinct_values_whatever_the_order_of_rows() -> None:
    words = [f"w{number}" for number in range(40)] * 3
    random.Random(0).shuffle(words)
    batches = pa.table({"w": words}).to_batches(max_chunksize=17)
    profiler, _ = profiled(batches)
    examples = profiler.columns[0].profile(40, 40).examples
    backwards, _ = profiled(pa.table({"w": words[::-1]}).to_batches())
    assert len(set(examples)) == 5
    assert set(examples) <= set(words)
    assert backwards.columns[0].profile(40, 40).examples == examples


def test_digest_knows_how_rows_pair_values_but_not_their_order() -> None:
    def digest(rows: list[tuple[int, str]]) -> str:
        table = pa.table({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
        profiler, _ = profiled(table.to_batches())
        return profiler.digest()

    assert digest([(1, "x"), (2, "y")]) == digest([(2, "y"), (1, "x")])
    assert digest([(1, "x"), (2, "y")]) != digest([(1, "y"), (2, "x")])
    assert digest([(1, "x"), (2, "y")]) != digest([(1, "x"), (2, "y"), (2, "y")])


def test_sample_is_uniform_seeded_and_in_row_order() -> None:
    column = pa.array(np.arange(100))

    def draw(seed: int, height: int) -> list[int]:
        sample = RowSample(5, seed)
        for at in range(0, 100, height):
            sample.add([column.slice(at, height)], height)
        return [int(row[0] or 0) for row in sample.rows()]

    assert draw(42, 100) == draw(42, 10) == draw(42, 1)
    assert draw(42, 100) == sorted(draw(42, 100))
    assert draw(42, 100) != draw(43, 100)
    times = Counter(row for seed in range(2_000) for row in draw(seed, 50))
    assert len(times) == 100
    assert 60 < min(times.values()) <= max(times.values()) < 145  # 100 expected of each


def test_a_sample_of_fewer_rows_is_all_of_them() -> None:
    sample = RowSample(5, 42)
    sample.add([pa.array([7, None])], 2)
    assert sample.rows() == (("7",), (None,))


@pytest.fixture
def same_table(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """One table in three formats."""
    rows = [
        (1, "1.5", "2024-01-31", "RIV-01"),
        (2, "2", "2024-02-01", None),
        (3, "0.25", None, "x"),
    ]
    paths = {name: tmp_path / f"t.{name}" for name in ("csv", "parquet", "sqlite")}
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    paths["csv"].write_text("id,price,day,code\n" + "\n".join(lines) + "\n")
    days = [dt.date.fromisoformat(row[2]) if row[2] else None for row in rows]
    columns = {
        "id": [row[0] for row in rows],
        "price": [float(row[1]) for row in rows],
        "day": days,
        "code": [row[3] for row in rows],
    }
    pq.write_table(pa.table(columns), paths["parquet"])
    with closing(sqlite3.connect(paths["sqlite"])) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, price REAL, day DATE, code TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    yield paths


def test_a_table_has_the_same_vectors_in_every_format(
    same_table: dict[str, Path], tmp_path: Path
) -> None:
    catalog = dovetail.build(*map(str, same_table.values()), into=tmp_path / "catalog")
    assert len(catalog) == 3
    vectors = [
        [catalog.reader.hashes(table.id, column).tolist() for column in range(4)]
        for table in catalog
    ]
    assert vectors[0] == vectors[1] == vectors[2]
    kinds = {tuple(column.profile.kind.value for column in table.columns) for table in catalog}
    assert kinds == {("integer", "real", "date", "text")}
