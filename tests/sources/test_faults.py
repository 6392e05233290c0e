"""Bad input: one clear line for what cannot be read, everything else indexed, nothing lost."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail import Progress, Report, Settings, Skipped, TableId
from dovetail.catalog.manifest import VERSION
from dovetail.domain import Kind
from dovetail.engines.local import LocalEngine
from dovetail.errors import (
    CatalogError,
    DamagedError,
    EngineError,
    NotFoundError,
    SourceError,
    VersionError,
)
from dovetail.offline import batch
from dovetail.ports import Json, Tick
from tests.support.contents import contents

GOOD = "id,city\n1,Rome\n2,Oslo\n"
MEGABYTE = 1_000_000


def update(*sources: Path | str, into: Path, **settings: object) -> Report:
    return dovetail.update([str(source) for source in sources], into=into, settings=_but(settings))


def _but(settings: dict[str, object]) -> Settings:
    return Settings().but(**settings)


def run(
    *arguments: object, cwd: Path, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-m", "dovetail", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


Run = Callable[..., subprocess.CompletedProcess[str]]


def names(catalog: dovetail.Catalog) -> list[str]:
    return [table.name for table in catalog.ids]


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def put_sqlite(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def put_parquet(path: Path, **columns: pa.Array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def random_bytes(size: int) -> bytes:
    return bytes((number * 167 + 13) % 251 for number in range(size))


def half_a_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": list(range(1000))}), sink)
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
        "CSV Error on Line: 3: Expected Number of Columns: 3 Found: 2",
    ),
    "a long row": (
        "bad.csv",
        b"a,b\n" + b"1,2\n" * 10 + b"1,2,3\n",
        "CSV Error on Line: 12: Expected Number of Columns: 2 Found: 3",
    ),
    "rows longer than their header": (
        "bad.csv",
        b"a,b\n" + b"1,2,3\n" * 10,
        "CSV Error on Line: 2: Expected Number of Columns: 2 Found: 3",
    ),
    "a short row beyond the first look": (
        "bad.csv",
        b"a,b,c\n" + b"1,2,3\n" * 150_000 + b"4,5\n",
        "CSV Error on Line: 150002: Expected Number of Columns: 3 Found: 2",
    ),
    "a short row with tabs": (
        "bad.tsv",
        b"a\tb\n1\t2\n3\n",
        "CSV Error on Line: 3: Expected Number of Columns: 2 Found: 1",
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
    "lines that end in two ways": ("bad.csv", b"a,b\n1,2\r\n3,4\n", "lines that end in different"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_named_and_the_rest_is_indexed(case: str, tmp_path: Path) -> None:
    file, content, reason = UNREADABLE[case]
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    put(lake / file, content)
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert report.added == (TableId("lake", "good"),)
    (skip,) = report.skipped
    assert str(skip).startswith(("lake::bad: ", f"lake/{file}: "))
    assert re.search(reason, skip.reason)
    assert skip.reason.isprintable()
    assert len(skip.reason) <= 400
    assert dovetail.open(tmp_path / "catalog").skipped == report.skipped
    # On its own it is all there was to read: one line, and no catalog.
    with pytest.raises(SourceError, match=reason) as raised:
        update(lake / file, into=tmp_path / "other")
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
    assert len(report.kept) == len(report.skipped) == 1
    assert {table: after[table] for table in before} == before
    # Once it is gone, it is dropped like any other.
    (lake / file).unlink()
    assert update(f"lake={lake}", into=tmp_path / "catalog").dropped == report.kept


def test_what_is_not_there(here: Path) -> None:
    put(here / "good.csv", GOOD)
    put(here / "notes.txt", "nothing but text")
    (here / "empty").mkdir()
    (here / "parts.csv").mkdir()
    (here / "astray.csv").symlink_to(here / "gone")
    os.mkfifo(here / "pipe")
    os.mkfifo(here / "pipe.csv")
    os.mkfifo(here / "pipe.db")
    expected = "SQLite or DuckDB databases, CSV, TSV, Parquet or JSON files"
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


READABLE_TEXT = "name,n\nMüller,1\nÅse,2\n"


@pytest.mark.parametrize(
    "content",
    [
        READABLE_TEXT.encode("latin-1"),
        READABLE_TEXT.encode("utf-8-sig"),
        READABLE_TEXT.encode("utf-16"),
        b"\xfe\xff" + READABLE_TEXT.encode("utf-16-be"),
        READABLE_TEXT.encode("utf-32"),
        # UTF-8 but for one line
        "name,n\nMüller,1\n".encode() + "Åse,2\n".encode("latin-1"),
    ],
    ids=["latin-1", "utf-8 bom", "utf-16 le", "utf-16 be", "utf-32", "mixed"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_text_in_other_encodings_is_read(content: bytes, packed: bool, tmp_path: Path) -> None:
    file = put(tmp_path / "t.csv.gz", gzip.compress(content)) if packed else tmp_path / "t.csv"
    if not packed:
        put(file, content)
    (table,) = update(file, into=tmp_path / "catalog").catalog
    assert [column.name for column in table.columns] == ["name", "n"]
    assert sorted(table.columns[0].profile.examples) == ["Müller", "Åse"]
    assert table.columns[1].profile.kind is Kind.INTEGER


def test_the_encoding_may_show_late_and_be_windows(tmp_path: Path) -> None:
    text = "name,n\n" + "plain,1\n" * 150_000 + "“Größe” €,2\n"
    put(tmp_path / "t.csv", text.encode("cp1252"))
    (table,) = update(tmp_path / "t.csv", into=tmp_path / "catalog").catalog
    assert table.rows == 150_001
    assert sorted(table.columns[0].profile.examples) == ["plain", "“Größe” €"]
    emoji = "name,n\n" + "".join(f"😀{row},{row}\n" for row in range(30_000))
    put(tmp_path / "u.csv", emoji.encode("utf-16"))
    (table,) = update(tmp_path / "u.csv", into=tmp_path / "other").catalog
    assert (table.rows, table.columns[0].profile.maximum) == (30_000, "😀9999")


@pytest.mark.parametrize(
    ("content", "rows", "columns", "examples"),
    [
        (b"", 0, ["column0"], []),
        (b"a,b\n", 0, ["a", "b"], []),
        (b"a,b", 0, ["a", "b"], []),
        (b"a\n1\n2\n", 2, ["a"], ["1", "2"]),
        (b"a;b\n1;2\n", 1, ["a", "b"], ["1"]),
        (b"a,b\r1,2\r", 1, ["a", "b"], ["1"]),
        (b"a,a,A,\n1,2,3,4\n", 1, ["a", "a_1", "A_2", "column3"], ["1"]),
        (b"Report of 2020\n\na,b\n1,2\n3,4\n", 2, ["a", "b"], ["1", "3"]),
        # What begins with '#' is a value, not a comment.
        (b"a,b\n#1,x\n2,#y\n", 2, ["a", "b"], ["#1", "2"]),
        (b'a,b\n5" pipe,1\n3" pipe,2\n', 2, ["a", "b"], ['3" pipe', '5" pipe']),
        (b"a,b\n'1,5',x\n'2,5',y\n", 2, ["a", "b"], ["1,5", "2,5"]),
        # Quotes may begin after any first look.
        (b"a,b\n" + b"x,y\n" * 50_000 + b'"1,5",y\n', 50_001, ["a", "b"], ["1,5", "x"]),
    ],
)
def test_odd_csv_that_is_still_csv(
    content: bytes, rows: int, columns: list[str], examples: list[str], tmp_path: Path
) -> None:
    (table,) = update(put(tmp_path / "t.csv", content), into=tmp_path / "catalog").catalog
    assert table.rows == rows
    assert [column.name for column in table.columns] == columns
    assert sorted(table.columns[0].profile.examples) == examples


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "sqlite", "duckdb"])
def test_values_of_ten_megabytes(kind: str, tmp_path: Path) -> None:
    big = [letter * 10 * MEGABYTE for letter in ("x", "y", "y")] + ["é" * 5 * MEGABYTE]
    rows = pa.table({"id": [1, 2, 3, 4], "t": big})
    path = tmp_path / f"big.{kind}"
    if kind == "csv":
        put(path, "id,t\n" + "".join(f"{at},{text}\n" for at, text in enumerate(big, 1)))
    elif kind == "json":
        put(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.to_pylist()))
    elif kind == "parquet":
        pq.write_table(rows, path)
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE big (id INT, t TEXT)")
            connection.executemany("INSERT INTO big VALUES (?, ?)", enumerate(big, 1))
            connection.commit()
    else:
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute("CREATE TABLE big (id INT, t TEXT)")
            connection.executemany("INSERT INTO big VALUES (?, ?)", list(enumerate(big, 1)))
    (table,) = update(path, into=tmp_path / "catalog").catalog
    profile = table.column("t").profile
    assert (table.rows, table.column("id").profile.distinct) == (4, 4)
    assert (profile.distinct, profile.unique, profile.nulls) == (3, False, 0)
    assert (profile.min_length, profile.max_length) == (5 * MEGABYTE, 10 * MEGABYTE)
    assert sorted(profile.examples) == [letter * 199 + "…" for letter in "xyé"]
    assert (profile.minimum, profile.maximum) == ("x" * 199 + "…", "é" * 199 + "…")


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite"])
def test_two_thousand_columns(kind: str, tmp_path: Path) -> None:
    columns = {f"c{number}": pa.array([str(number), str(number + 1)]) for number in range(2000)}
    path = tmp_path / f"wide.{kind}"
    if kind == "csv":
        cells = [[str(value) for value in column] for column in columns.values()]
        lines = [",".join(columns), *(",".join(row) for row in zip(*cells, strict=True))]
        put(path, "\n".join(lines) + "\n")
    elif kind == "parquet":
        put_parquet(path, **columns)
    else:
        pairs = [", ".join(f"'{column[row]}'" for column in columns.values()) for row in (0, 1)]
        put_sqlite(
            path,
            f"CREATE TABLE wide ({', '.join(f'{name} TEXT' for name in columns)})",
            *(f"INSERT INTO wide VALUES ({row})" for row in pairs),
        )
    (table,) = update(path, into=tmp_path / "catalog").catalog
    assert (table.rows, len(table.columns)) == (2, 2000)
    assert table.columns[1999].name == "c1999"
    assert sorted(table.columns[1999].profile.examples) == ["1999", "2000"]


def test_tables_without_rows(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "header.csv", "a,b\n")
    put_parquet(lake / "none.parquet", a=pa.array([], pa.int64()), b=pa.array([], pa.string()))
    put_sqlite(lake / "none.sqlite", "CREATE TABLE t (a INT, b TEXT)")
    put(lake / "none.json", "[]")
    catalog = update(lake, into=tmp_path / "catalog").catalog
    assert sorted(names(catalog)) == ["header", "none.json", "none.parquet", "t"]
    for table in catalog:
        assert (table.rows, table.sample) == (0, ())
        for number, column in enumerate(table.columns):
            profile = column.profile
            assert (profile.kind, profile.distinct, profile.unique) == (Kind.EMPTY, 0, False)
            assert (profile.minimum, profile.maximum, profile.examples) == (None, None, ())
            assert catalog.hashes(table.id, number).tolist() == []


def put_dirty_sqlite(path: Path) -> Path:
    fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000) "
    return put_sqlite(
        path,
        "CREATE TABLE mixed (a INTEGER, b TEXT)",
        "INSERT INTO mixed VALUES (1, 'x'), ('two', 'y'), (3.5, 7), (NULL, x'FFFE')",
        "CREATE TABLE late (a INTEGER)",
        f"INSERT INTO late {fill} SELECT i FROM n",
        "INSERT INTO late VALUES ('oops')",
        "CREATE TABLE undeclared (a, b)",
        "INSERT INTO undeclared VALUES (1, 'a'), (2, 2.5), (3, NULL)",
        "CREATE TABLE broken_text (t TEXT)",
        "INSERT INTO broken_text VALUES (CAST(x'636166E9' AS TEXT)), ('café')",
        "CREATE TABLE blobs (b BLOB)",
        "INSERT INTO blobs VALUES (x'0001'), (x'FFFFFF'), (NULL)",
        "CREATE TABLE dates (d DATE)",
        "INSERT INTO dates VALUES ('2020-01-31'), ('soon'), (20200131)",
        "CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, v INT)",
        "INSERT INTO numbered (v) VALUES (5)",
        'CREATE TABLE "odd ""name"" [1] it\'s" ("select" INT, "ü b" INT)',
        "CREATE VIEW names AS SELECT t FROM broken_text",
        "CREATE VIEW broken AS SELECT * FROM nowhere",
    )


def test_sqlite_tables_hold_anything(tmp_path: Path) -> None:
    path = put_dirty_sqlite(tmp_path / "dirty.sqlite")
    report = update(path, into=tmp_path / "catalog")
    assert report.skipped == ()
    catalog = report.catalog
    assert names(catalog) == [
        "blobs",
        "broken_text",
        "dates",
        "late",
        "mixed",
        "numbered",
        'odd "name" [1] it\'s',
        "undeclared",
    ]
    found = {
        f"{table.name}.{column.name}": (
            column.profile.kind,
            column.profile.nulls,
            sorted(column.profile.examples),
        )
        for table in catalog
        for column in table.columns
        if table.rows < 10
    }
    assert found == {
        "blobs.b": (Kind.BINARY, 1, ["0x0001", "0xffffff"]),
        "broken_text.t": (Kind.TEXT, 0, ["caf\\xe9", "café"]),
        "dates.d": (Kind.TEXT, 0, ["2020-01-31", "20200131", "soon"]),
        "mixed.a": (Kind.TEXT, 1, ["1", "3.5", "two"]),
        "mixed.b": (Kind.TEXT, 0, ["7", "\\xff\\xfe", "x", "y"]),
        "numbered.id": (Kind.INTEGER, 0, ["1"]),
        "numbered.v": (Kind.INTEGER, 0, ["5"]),
        'odd "name" [1] it\'s.select': (Kind.EMPTY, 0, []),
        'odd "name" [1] it\'s.ü b': (Kind.EMPTY, 0, []),
        "undeclared.a": (Kind.INTEGER, 0, ["1", "2", "3"]),
        "undeclared.b": (Kind.TEXT, 1, ["2.5", "a"]),
    }
    late = catalog["late"].columns[0].profile
    assert (late.kind, late.distinct, late.unique) == (Kind.TEXT, 150_001, True)


def test_sqlite_views_are_read_when_asked_for(tmp_path: Path) -> None:
    path = put_dirty_sqlite(tmp_path / "dirty.sqlite")
    report = update(f"dirty={path}", into=tmp_path / "catalog", views=True)
    assert len(report.catalog) == 9
    assert report.catalog["names"].rows == 2
    assert report.skipped == (Skipped("dirty", "broken", "no such table: main.nowhere"),)


ODD_NAMES = [
    "a*b", "q?", "[x]", "[!a]", "[]]", "it's", 'say "when"', "sp ace", "tab\tbed", "line\nbreak",
    "back\\slash", "日本", "a=b", "{a,b}", "100%", "#h", "a::b", "-dash", "~tilde", "$HOME", "x;y",
]  # fmt: skip


def test_odd_file_names_in_a_folder(tmp_path: Path) -> None:
    lake = tmp_path / "odd folder it's=1"
    for number, name in enumerate(ODD_NAMES):
        put(lake / f"{name}.csv", f"a,b\n1,{number}\n")
        put_parquet(lake / name / "p.parquet", n=pa.array([number]))
        put_sqlite(lake / name / f"{name}.sqlite", "CREATE TABLE t (i)")
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert report.skipped == ()
    assert len(report.catalog) == 3 * len(ODD_NAMES)
    for number, name in enumerate(ODD_NAMES):
        assert report.catalog[f"lake::{name}"].columns[1].profile.examples == (str(number),)
        (column,) = report.catalog[f"lake::{name}/p"].columns
        assert (column.name, column.profile.examples) == ("n", (str(number),))
        assert report.catalog[TableId(f"lake/{name}/{name}.sqlite", "t")].rows == 0


def test_odd_file_names_one_by_one(here: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        put(here / f"{name}.csv", f"a,b\n1,{number}\n")
    report = update(*(f"{name}.csv" for name in ODD_NAMES), into=here / "catalog")
    assert report.skipped == ()
    assert {table.source for table in report.catalog.ids} == {f"{name}.csv" for name in ODD_NAMES}
    assert sorted(names(report.catalog)) == sorted(ODD_NAMES)
    # The labels find the same places again.
    assert update(into=here / "catalog").unchanged == len(ODD_NAMES)


def test_a_name_that_is_no_text_is_skipped(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    for name in (b"caf\xe9.csv", b"caf\xe9.parquet", b"caf\xe9.sqlite", b"caf\xe9.duckdb"):
        (lake / os.fsdecode(name)).write_bytes(b"SQLite format 3\0\x10\0" + bytes(4078))
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    assert [str(skip) for skip in report.skipped] == [
        f"{name}: its name is not valid UTF-8; rename it"
        for name in (
            "lake::caf\\xe9.csv",
            "lake::caf\\xe9.parquet",
            "lake/caf\\xe9.duckdb",
            "lake/caf\\xe9.sqlite",
        )
    ]


def test_folders_of_links_and_catalogs(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "inner" / "good.csv", GOOD)
    (lake / "inner" / "round").symlink_to(lake)
    (lake / "inner" / "astray.csv").symlink_to(lake / "gone.csv")
    (lake / "inner" / "astray.db").symlink_to(lake / "gone.db")
    (lake / "circle").symlink_to(lake / "circle")
    put(lake / "year=2020" / "sales.csv", "year,n\n1,2\n")
    put_parquet(lake / "parts.parquet" / "year=2020" / "one.parquet", n=pa.array([1]))
    put_parquet(lake / "parts.parquet" / "year=2021" / "two.parquet", n=pa.array([2]))
    report = update(f"lake={lake}", into=lake / "catalog")
    assert names(report.catalog) == ["inner/good", "parts", "year=2020/sales"]
    assert [str(skip) for skip in report.skipped] == [
        "lake::inner/astray: No such file or directory",
        "lake/inner/astray.db: No such file or directory",
    ]
    # The values in the folders of parts are a column; those around a file are no part of it.
    parts, sales = report.catalog["parts"], report.catalog["year=2020/sales"]
    assert sorted(parts.column("year").profile.examples) == ["2020", "2021"]
    assert sales.column("year").profile.examples == ("1",)
    # The catalog in the folder is none of its tables.
    assert update(f"lake={lake}", into=lake / "catalog").added == ()


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
    profile = batch.profile_batch

    def profile_late(job: Json, folder: Path, tick: Tick) -> Json:
        (lake / f"b.{kind}").unlink(missing_ok=True)
        return profile(job, folder, tick)

    monkeypatch.setattr(batch, "profile_batch", profile_late)
    report = update(f"lake={lake}", into=tmp_path / "catalog", workers=1)
    assert names(report.catalog) == ["a", "c"]
    (skip,) = report.skipped
    assert (skip.table, skip.reason) == ("b", "No such file or directory")


def test_a_file_that_disappears_while_others_are_read(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name in ("a", "b", "c"):
        put(lake / f"{name}.csv", GOOD)

    def watch(progress: Progress) -> None:
        if progress.phase == "read":
            (lake / "c.csv").unlink(missing_ok=True)

    report = dovetail.update([f"lake={lake}"], into=tmp_path / "catalog", watch=watch)
    assert names(report.catalog) == ["a", "b"]
    assert report.skipped == (Skipped("lake", "c", "No such file or directory"),)


# Engines


def die_at_bad(job: Json, folder: Path, tick: Tick) -> Json:
    """The work of a worker, but for tables called bad, of which it dies."""
    if any("bad" in item["listing"]["name"] for item in job["tables"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return batch.profile_batch(job, folder, tick)


def die_in_a_word(job: Json, folder: Path, tick: Tick) -> Json:
    """Die in the middle of telling the news."""
    if job.get("die"):
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        while True:
            tick({"news": "x" * 5 * MEGABYTE})
    return job


@pytest.mark.parametrize("workers", [2, None], ids=["two workers", "as many as pay off"])
def test_a_table_that_kills_its_worker_is_the_only_one_lost(
    workers: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    for number in range(10):
        put(lake / f"t{number}.csv", GOOD)
    put(lake / "t_bad.csv", GOOD)
    monkeypatch.setattr("dovetail.offline.build.TASK", "tests.sources.test_faults:die_at_bad")
    if workers is None:  # so much that workers pay off at first, too little for what is left
        monkeypatch.setattr("dovetail.engines.local._WORTH_A_WORKER", 200)
        monkeypatch.setattr("dovetail.engines.local._processors", lambda: 2)
    report = update(f"lake={lake}", into=tmp_path / "catalog", workers=workers)
    assert names(report.catalog) == [f"t{number}" for number in range(10)]
    assert report.skipped == (
        Skipped("lake", "t_bad", "its worker died (signal 9) while reading it"),
    )


def test_a_worker_that_dies_in_the_middle_of_a_word(tmp_path: Path) -> None:
    jobs: list[Json] = [{"die": True}, {"n": 1}]
    task = "tests.sources.test_faults:die_in_a_word"
    replies = list(LocalEngine(workers=2).map(task, jobs, tmp_path, lambda _: None))
    found = {reply.job: (reply.result, reply.lost) for reply in replies}
    assert found == {0: ({}, "its worker died (signal 9)"), 1: ({"n": 1}, "")}


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("/nowhere/python", "No such file or directory: '/nowhere/python'"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\necho Traceback >&2; echo ImportError: x >&2; exit 1\n", "1: ImportError: x"),
    ],
    ids=["no program", "ends at once", "with a traceback"],
)
def test_a_worker_that_cannot_start(
    program: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for number in range(10):
        put(tmp_path / "lake" / f"t{number}.csv", GOOD)
    before = contents(update(tmp_path / "lake", into=tmp_path / "catalog").catalog)
    put(tmp_path / "lake" / "new.csv", GOOD)
    python = Path(program)
    if program.startswith("#!"):
        python = put(tmp_path / "python", program)
        python.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(python))
        with pytest.raises(EngineError) as raised:
            update(tmp_path / "lake", into=tmp_path / "catalog", workers=2, sample_rows=3)
    assert str(raised.value).startswith("cannot start a worker process: ")
    assert str(raised.value).endswith(f"{why}; --workers 1 does without")
    assert capfd.readouterr().err == ""
    assert contents(dovetail.open(tmp_path / "catalog")) == before
    assert len(update(tmp_path / "lake", into=tmp_path / "catalog").catalog) == 11


# Catalogs that are not what they should be


@pytest.fixture
def built(tmp_path: Path) -> Path:
    put(tmp_path / "lake" / "good.csv", GOOD)
    return update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog.path


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def edit_manifest(catalog: Path, **values: object) -> None:
    path = catalog / "manifest.json"
    content = json.loads(path.read_text())
    content |= values
    path.write_text(json.dumps({key: item for key, item in content.items() if item is not None}))


def flip(content: bytes) -> bytes:
    at = len(content) - 5
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def one(catalog: Path, name: str) -> Path:
    found = catalog.glob(f"*/*/{name}")
    (path,) = [path for path in found if path.parts[-3] in ("segments", "generations")]
    return path


AGAIN = r"remove .* and index again"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "manifest cut": (lambda c: rewrite(c / "manifest.json", lambda b: b[:100]), AGAIN),
    "manifest empty": (lambda c: rewrite(c / "manifest.json", lambda _: b""), AGAIN),
    "manifest no JSON": (lambda c: rewrite(c / "manifest.json", lambda _: b"\xff\xfe"), AGAIN),
    "manifest of others": (
        lambda c: rewrite(c / "manifest.json", lambda _: b'{"name": "page"}'),
        "is not a dovetail catalog; choose another folder with -C",
    ),
    "manifest a list": (
        lambda c: rewrite(c / "manifest.json", lambda _: b"[]"),
        "is not a dovetail catalog; choose another folder with -C",
    ),
    **{
        f"manifest without {key}": (lambda c, key=key: edit_manifest(c, **{key: None}), AGAIN)  # type: ignore[misc]
        for key in ("generation", "profile", "roots", "skipped", "files", "segments")
    },
    "no files": (lambda c: edit_manifest(c, files={}), AGAIN),
    "no segments": (lambda c: edit_manifest(c, segments={}), AGAIN),
    "segments of nothing": (lambda c: edit_manifest(c, segments={"x": {}}), AGAIN),
    "roots of nothing": (lambda c: edit_manifest(c, roots=[{}]), AGAIN),
    "roots no roots": (lambda c: edit_manifest(c, roots=[1]), AGAIN),
    "no rows": (lambda c: shutil.rmtree(c / "generations"), "tables.parquet is missing; " + AGAIN),
    "no segment": (lambda c: shutil.rmtree(c / "segments"), "hashes.npy is missing; " + AGAIN),
    "no vectors": (lambda c: one(c, "counts.npy").unlink(), "counts.npy is missing; " + AGAIN),
    "vectors cut": (
        lambda c: rewrite(one(c, "hashes.npy"), lambda b: b[:-8]),
        r"hashes.npy is damaged: it has \d+ bytes, not \d+; " + AGAIN,
    ),
    "rows flipped": (
        lambda c: rewrite(c / "generations/00000001/tables.parquet", flip),
        "tables.parquet is damaged: its checksum does not match; " + AGAIN,
    ),
    "rows cut": (
        lambda c: rewrite(c / "generations/00000001/columns.parquet", lambda b: b[:-1]),
        "columns.parquet is damaged: its checksum does not match; " + AGAIN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_catalog_is_refused(case: str, built: Path, tmp_path: Path) -> None:
    damage, remedy = DAMAGES[case]
    damage(built)
    files = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    for attempt in (
        lambda: dovetail.open(built),
        lambda: update(tmp_path / "lake", into=built),
        lambda: update(into=built),
    ):
        with pytest.raises(DamagedError, match=remedy) as raised:
            attempt()
        assert str(raised.value).isprintable()
    # Nothing was mended or removed behind the user's back.
    lock = built / "lock"
    now = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    assert {**now, lock: b""} == {**files, lock: b""}
    # The remedy works.
    shutil.rmtree(built)
    assert names(update(tmp_path / "lake", into=built).catalog) == ["good"]


def test_flipped_vectors_are_refused_before_the_first_is_given_out(built: Path) -> None:
    rewrite(one(built, "hashes.npy"), flip)
    catalog = dovetail.open(built)
    for table in catalog.ids:
        for column in range(2):
            with pytest.raises(
                DamagedError, match="hashes.npy is damaged: its checksum .*" + AGAIN
            ):
                catalog.hashes(table, column)


def test_a_newer_catalog_is_refused(built: Path, tmp_path: Path) -> None:
    edit_manifest(built, version=VERSION + 1)
    remedy = f"format {VERSION + 1}, .* format {VERSION}; upgrade dovetail, or remove the folder"
    with pytest.raises(VersionError, match=remedy):
        dovetail.open(built)
    with pytest.raises(VersionError, match=remedy):
        update(tmp_path / "lake", into=built)


def test_a_catalog_where_there_is_something_else(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    file = put(lake / "good.csv", GOOD)
    theirs = put(lake / "staging" / "theirs.csv", GOOD)
    with pytest.raises(CatalogError, match=r"good.csv: File exists; choose another folder with -C"):
        update(lake, into=file)
    with pytest.raises(NotFoundError, match="there is no catalog at"):
        dovetail.open(file)
    with pytest.raises(CatalogError, match="Not a directory; choose another folder with -C"):
        update(lake, into=file / "below")
    with pytest.raises(CatalogError, match="holds other files and no catalog; choose a new folder"):
        update(lake, into=lake)
    assert file.read_text() == theirs.read_text() == GOOD
    assert sorted(entry.name for entry in lake.iterdir()) == ["good.csv", "staging"]


def test_a_segment_half_removed_is_written_again(built: Path, tmp_path: Path) -> None:
    before = contents(dovetail.open(built))
    (segment,) = (built / "segments").iterdir()
    half = tmp_path / "half"
    shutil.copytree(segment, half)
    dovetail.update(into=built, forget=["lake"])
    for name in ("tables.parquet", "columns.parquet", "segment.json", "hashes.npy"):
        shutil.copytree(half, segment)
        (segment / name).unlink()
        catalog = update(f"lake={tmp_path / 'lake'}", into=built).catalog
        assert contents(catalog) == contents(dovetail.open(built)) == before
        dovetail.update(into=built, forget=["lake"])
        assert list((built / "segments").iterdir()) == []


# Permissions


@pytest.fixture
def restricted(tmp_path: Path) -> Run:
    """Run the command line so that permissions hold, even for root."""
    without = "-dac_override,-dac_read_search"
    before = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}"]
    if os.geteuid() != 0:
        before = []
    elif not shutil.which("setpriv"):
        pytest.skip("permissions do not hold for root, and there is no setpriv to make them")
    closed = put(tmp_path / "closed", "")
    closed.chmod(0)
    if subprocess.run([*before, "cat", closed], capture_output=True, check=False).returncode == 0:
        pytest.skip("permissions do not hold for root here, not even with setpriv")
    return lambda *arguments: run(*arguments, cwd=tmp_path, before=before)


def test_no_permission_to_read(restricted: Run, tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    put(lake / "good.csv", GOOD)
    put(lake / "closed.csv", GOOD)
    put_parquet(lake / "closed.parquet", n=pa.array([1]))
    put_sqlite(lake / "closed.sqlite", "CREATE TABLE t (i)")
    put(lake / "shut" / "inner.csv", GOOD)
    put_sqlite(lake / "shut" / "inner.sqlite", "CREATE TABLE u (i)")
    first = restricted("index", f"lake={lake}", "-C", into)
    assert (first.returncode, first.stderr) == (0, "")
    before = contents(dovetail.open(into))
    assert len(before) == 6
    for name in ("closed.csv", "closed.parquet", "closed.sqlite", "shut"):
        (lake / name).chmod(0)
    put(lake / "new.csv", GOOD)
    done = restricted("index", "-C", into, "--check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:] == [
        "Skipped lake::closed.csv: Permission denied",
        "Skipped lake::closed.parquet: Permission denied",
        "Skipped lake/closed.sqlite: Permission denied",
        "Skipped lake/shut: Permission denied",
        "5 of these are still in the catalog as they were before.",
    ]
    after = contents(dovetail.open(into))
    assert {table: after[table] for table in before} == before
    assert set(after) - set(before) == {"lake::new"}


def test_no_permission_for_the_catalog(restricted: Run, tmp_path: Path) -> None:
    put(tmp_path / "lake" / "good.csv", GOOD)
    built = update(tmp_path / "lake", into=tmp_path / ".dovetail").catalog.path
    before = contents(dovetail.open(built))
    unwritable = "cannot write a catalog at .dovetail: Permission denied; choose another folder"
    cases = [
        (built, 0o555, "tables", 0, ""),
        (built, 0o000, "tables", 1, "cannot read .dovetail/manifest.json: Permission denied;"),
        (built, 0o000, "index", 1, unwritable),
        (built / "lock", 0o444, "index", 1, unwritable),
        (one(built, "hashes.npy"), 0, "tables", 1, "/hashes.npy: Permission denied; check its"),
        (built / "segments", 0o555, "index", 1, "cannot write to .dovetail: Permission denied;"),
    ]
    put(tmp_path / "lake" / "new.csv", GOOD)
    for path, mode, command, code, line in cases:
        usual = path.stat().st_mode
        path.chmod(mode)
        done = restricted(command)
        path.chmod(usual)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1 if line else 0)
        assert line in done.stderr
        assert contents(dovetail.open(built)) == before


# The command line


def test_the_command_line_names_what_it_skipped(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    put(lake / "ragged.csv", "a,b\n1,2\n3\n")
    put(lake / "bad.sqlite", random_bytes(500))
    ragged = "CSV Error on Line: 3: Expected Number of Columns: 2 Found: 1"
    # A table that cannot be read is told; a source that cannot be read is an error, too.
    done = run("index", "lake", "--exclude", "bad*", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:] == [
        f"Skipped lake::ragged: {ragged}",
        "Skipped lake/bad.sqlite: is not a SQLite database",
    ]
    (lake / "bad.sqlite").unlink()
    done = run("index", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["skipped"] == [{"source": "lake", "table": "ragged", "reason": ragged}]
    done = run("index", "lake", "gone.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Skipped gone.parquet: there is no such file or folder" in done.stdout.splitlines()
    assert names(dovetail.open(tmp_path / ".dovetail")) == ["good"]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("index", "bad.sqlite", "-C", "new"), 1, "bad.sqlite: is not a SQLite database"),
        (("index", "good.csv", "-C", "good.csv"), 1, "cannot write a catalog at good.csv: "),
        (("tables", "-C", "damaged"), 1, "damaged/manifest.json is damaged: "),
        (("index", "good.csv", "-C", "damaged"), 1, "remove damaged and index again"),
        (("tables", "-C", "newer"), 1, "upgrade dovetail, or remove the folder and index again"),
        (("index", "-C", "fine", "--comparison", "loose"), 2, "comparison 'loose' is not known"),
    ],
)
def test_errors_are_one_line_and_never_a_traceback(
    arguments: tuple[str, ...], code: int, line: str, tmp_path: Path
) -> None:
    put(tmp_path / "good.csv", GOOD)
    put(tmp_path / "bad.sqlite", random_bytes(500))
    for name in ("fine", "damaged", "newer"):
        update(tmp_path / "good.csv", into=tmp_path / name)
    rewrite(tmp_path / "damaged" / "manifest.json", lambda content: content[:50])
    edit_manifest(tmp_path / "newer", version=99)
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("dovetail: ")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
