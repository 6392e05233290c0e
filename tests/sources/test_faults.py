"""Bad input: one clear line for what cannot be read, everything else indexed, nothing lost."""

from __future__ import annotations

import errno
import os
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail import Progress, Skipped, TableId
from dovetail.errors import (
    NotFoundError,
    SourceError,
)
from dovetail.offline.update import profile_tables
from tests.support.contents import contents
from tests.support.files import (
    GOOD,
    MEGABYTE,
    names,
    put,
    put_parquet,
    put_sqlite,
    random_bytes,
    update,
)


def half_a_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": list(range(1000))}), sink)
    whole: bytes = sink.getvalue().to_pybytes()
    return whole[: len(whole) // 2]


def half_an_arrow_file() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"a": list(range(1000))})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    whole: bytes = sink.getvalue().to_pybytes()
    return whole[: len(whole) // 2]


# A file's name and contents, and why it cannot be read.
UNREADABLE = {
    "garbage for SQLite": ("bad.sqlite", random_bytes(5000), "is not a SQLite database"),
    "nothing for SQLite": ("bad.db", b"", "is empty, so no database"),
    "SQLite's first page only in part": (
        "bad.sqlite",
        b"SQLite format 3\0\x10\x00" + bytes(50),
        "is cut off in the middle of a page; copy it again",
    ),
    "garbage for DuckDB": ("bad.duckdb", random_bytes(5000), "not a valid DuckDB database file"),
    "nothing for DuckDB": ("bad.duckdb", b"", "not a valid DuckDB database file"),
    "garbage for Parquet": ("bad.parquet", random_bytes(5000), "No magic bytes found"),
    "half a Parquet file": ("bad.parquet", half_a_parquet(), "No magic bytes found"),
    "nothing for Parquet": ("bad.parquet", b"", "too small to be a Parquet file"),
    "JSON that breaks off": ("bad.json", b'[{"a": 1}, {"a"', "Malformed JSON .* unexpected end"),
    "JSON lines with a bad one": ("bad.jsonl", b'{"a": 1}\n{"a":\n{"a": 3}\n', "Malformed JSON"),
    "garbage for gzip": ("bad.csv.gz", random_bytes(500), "."),
    "a short row": (
        "bad.csv",
        b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n",
        "2 of 3 lines do not have 3 values \\(line 3 has 2\\); say .* --csv header=N",
    ),
    "rows longer than their header": (
        "bad.csv",
        b"a,b\n" + b"1,2,3\n" * 10,
        "10 of 10 lines do not have 2 values",
    ),
    "a short row with tabs": (
        "bad.tsv",
        b"a\tb\n1\t2\n3\n",
        "1 of 2 lines do not have 2 values",
    ),
    "NUL bytes": ("bad.csv", b"a,b\n1,x\0y\n", "holds NUL bytes, .* export it again as UTF-8"),
    "UTF-16 that does not say so": (
        "bad.csv",
        "a,b\n1,2\n".encode("utf-16-le"),
        "holds NUL bytes, .* export it again as UTF-8",
    ),
    "a quote that is never closed": (
        "bad.csv",
        b"a,b\n" + b'1,"x"\n' * 10 + b'2,"y\n3,z\n',
        "CSV Error on Line: 12: Value with unterminated quote found",
    ),
    "a quote that is never closed, much later": (
        "bad.csv",
        b"a,b\n" + b"1,x\n" * 150_000 + b'2,"y\n3,z\n',
        "CSV Error on Line: 150002: Value with unterminated quote found",
    ),
    "a quote that is never closed, among long lines": (
        "bad.csv",
        b"a,b\n1," + b"x" * 3 * MEGABYTE + b'\n2,"y\n3,z\n',
        'has a quote \\("\\) that is never closed',
    ),
    "garbage for Excel": ("bad.xlsx", random_bytes(500), "does not read as a workbook: "),
    "nothing for Excel": ("bad.xls", b"", "does not read as a workbook: "),
    "garbage for Arrow": ("bad.arrow", random_bytes(500), "does not read as an Arrow file: "),
    "half an Arrow file": ("bad.feather", half_an_arrow_file(), "does not read as an Arrow file: "),
    "Feather as it was": ("bad.feather", b"FEA1" + bytes(40), "write it again as version 2"),
    "garbage for Avro": ("bad.avro", random_bytes(500), "."),
    "nothing for Avro": ("bad.avro", b"", "."),
}


@pytest.fixture(scope="module")
def broken_lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder of all that cannot be read, a folder each, and why none of it is in the catalog."""
    lake, into = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("catalog") / "c"
    put(lake / "good.csv", GOOD)
    for number, (file, content, _) in enumerate(UNREADABLE.values()):
        put(lake / str(number) / file, content)
    report = update(f"lake={lake}", into=into)
    assert report.added == (TableId("lake", "good"),)
    assert dovetail.open(into).skipped == report.skipped
    numbers = (re.split(r"\W+", str(skip))[1] for skip in report.skipped)
    return lake, dict(zip(numbers, (skip.reason for skip in report.skipped), strict=True))


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_named_and_the_rest_is_indexed(
    case: str, broken_lake: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    lake, reasons = broken_lake
    number = str(list(UNREADABLE).index(case))
    file, _, reason = UNREADABLE[case]
    assert re.search(reason, reasons[number])
    assert reasons[number].isprintable()
    assert len(reasons[number]) <= 400
    # On its own it is all there was to read: one line, and no catalog.
    with pytest.raises(SourceError, match=reason) as raised:
        update(lake / number / file, into=tmp_path / "other")
    assert str(raised.value).isprintable()
    with pytest.raises(NotFoundError, match="there is no catalog at"):
        dovetail.open(tmp_path / "other")


@pytest.mark.parametrize(
    ("file", "good", "bad"),
    [
        ("victim.csv", GOOD.encode(), b"a,b\n1,2\n3\n"),
        ("victim.parquet", None, random_bytes(100)),
        ("victim.sqlite", None, random_bytes(100)),
        ("victim.json", b'[{"id": 1, "city": "Rome"}]', b'[{"id": 1,'),
    ],
)
def test_a_table_that_went_bad_is_kept_as_it_was(
    file: str, good: bytes | None, bad: bytes, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    put(lake / "other.csv", GOOD)
    if file.endswith(".sqlite"):
        put_sqlite(lake / file, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1), (2)")
    elif file.endswith(".parquet"):
        put_parquet(lake / file, id=pa.array([1, 2]))
    else:
        put(lake / file, good or b"")
    before = contents(update(f"lake={lake}", into=tmp_path / "catalog").catalog)
    put(lake / file, bad)
    put(lake / "new.csv", GOOD)
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    after = contents(report.catalog)
    assert report.added == (TableId("lake", "new"),)
    assert len(report.retained) == len(report.skipped) == 1
    assert {table: after[table] for table in before} == before
    # Once it is gone, it is dropped like any other.
    (lake / file).unlink()
    assert update(f"lake={lake}", into=tmp_path / "catalog").dropped == report.retained


def test_what_is_not_there(here: Path) -> None:
    put(here / "good.csv", GOOD)
    put(here / "notes.txt", "nothing but text")
    (here / "empty").mkdir()
    (here / "parts.csv").mkdir()
    (here / "astray.csv").symlink_to(here / "gone")
    os.mkfifo(here / "pipe")
    os.mkfifo(here / "pipe.csv")
    os.mkfifo(here / "pipe.db")
    expected = "SQLite or DuckDB databases, CSV, Excel, Parquet, JSON, Arrow or Avro files"
    reasons = {
        "gone.csv": "there is no such file or folder",
        "gone.sqlite": "there is no such file or folder",
        "gone*.csv": f"holds no tables: expected {expected}",
        "empty": f"holds no tables: expected {expected}",
        "notes.txt": "is neither a SQLite nor a DuckDB database, nor a known table file",
        "parts.csv::parts": "holds no file of its format",
        "astray.csv::astray": "No such file or directory",
        "pipe": "is neither a file nor a folder",
        "pipe.csv::pipe": f"{here}/pipe.csv is no regular file",
        "pipe.db": "is neither a file nor a folder",
    }
    sources = [name.partition("::")[0] for name in reasons]
    report = update("good.csv", *sources, into=here / "catalog")
    assert names(report.catalog) == ["good"]
    skipped = [str(skip) for skip in report.skipped]
    assert sorted(skipped) == sorted(f"{name}: {why}" for name, why in reasons.items())


def test_half_a_database_crashes_nothing(tmp_path: Path) -> None:
    fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    whole = put_sqlite(
        tmp_path / "whole.sqlite",
        "CREATE TABLE a (i INT, t TEXT)",
        "CREATE TABLE b (i INT, t TEXT)",
        f"INSERT INTO a {fill} SELECT i, 'text ' || i FROM n",
        f"INSERT INTO b {fill} SELECT i, 'text ' || i FROM n",
    ).read_bytes()
    with closing(duckdb.connect(str(tmp_path / "whole.duckdb"))) as connection:
        connection.execute(
            "CREATE TABLE a AS SELECT range AS i, 'text ' || range AS t FROM range(50000)"
        )
    duck = (tmp_path / "whole.duckdb").read_bytes()
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    for cut in range(1, 8):
        put(lake / f"{cut}.sqlite", whole[: len(whole) * cut // 8])
        put(lake / f"page{cut}.sqlite", whole[: len(whole) * cut // 8 // 4096 * 4096])
        put(lake / f"{cut}.duckdb", duck[: len(duck) * cut // 8])
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert "good" in names(report.catalog)
    # A table is whole or left out.
    assert {table.rows for table in report.catalog if table.name != "good"} <= {5000, 50000}
    assert len({skip.source for skip in report.skipped}) + len(report.catalog) >= 15
    assert all(skip.reason.isprintable() for skip in report.skipped)


def test_a_source_that_cannot_be_read_to_the_end_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    memory = Path("/proc/self/mem")
    if not memory.exists():
        pytest.skip("needs a file that fails to be read: /proc/self/mem, of Linux")
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    (lake / "bad.csv").symlink_to(memory)
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    assert report.skipped == (Skipped("lake", "bad", os.strerror(errno.EIO)),)


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite"])
def test_a_table_that_disappears_meanwhile(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    for name in ("a", "b", "c"):
        if kind == "sqlite":
            put_sqlite(lake / f"{name}.sqlite", f"CREATE TABLE {name} (i)")
        elif kind == "parquet":
            put_parquet(lake / f"{name}.parquet", n=pa.array([1]))
        else:
            put(lake / f"{name}.csv", GOOD)

    def profile_late(*given: Any, **more: Any) -> Any:
        (lake / f"b.{kind}").unlink(missing_ok=True)
        return profile_tables(*given, **more)

    monkeypatch.setattr("dovetail.offline.pipeline.profile_tables", profile_late)
    report = update(f"lake={lake}", into=tmp_path / "catalog", workers=1)
    assert names(report.catalog) == ["a", "c"]
    (skip,) = report.skipped
    assert (skip.table, skip.reason) == ("b", "No such file or directory")


def test_a_file_that_disappears_while_others_are_read(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name in ("a", "b", "c"):
        put(lake / f"{name}.csv", GOOD)

    def on_progress(progress: Progress) -> None:
        if progress.phase == "read":
            (lake / "c.csv").unlink(missing_ok=True)

    report = dovetail.update([f"lake={lake}"], into=tmp_path / "catalog", on_progress=on_progress)
    assert names(report.catalog) == ["a", "b"]
    assert report.skipped == (Skipped("lake", "c", "No such file or directory"),)
