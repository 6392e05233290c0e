"""Odd input that can be read: encodings, huge values, many columns, mixed types, odd names."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail import Skipped, TableId
from dovetail.domain import Kind
from dovetail.errors import SourceError
from dovetail.ports import SourceSpec
from dovetail.profile.batch import rescanned
from dovetail.settings import Settings
from dovetail.sources.files import FilesSource
from tests.support.files import (
    GOOD,
    MEGABYTE,
    names,
    profiled,
    put,
    put_parquet,
    put_sqlite,
    update,
)

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
    table = profiled(file, tmp_path / "segment")
    assert [column.name for column in table.columns] == ["name", "n"]
    assert sorted(table.columns[0].profile.examples) == ["Müller", "Åse"]
    assert table.columns[1].profile.kind is Kind.INTEGER


def test_the_encoding_may_show_late_and_be_windows(tmp_path: Path) -> None:
    text = "name,n\n" + "plain,1\n" * 150_000 + "“Größe” €,2\n"
    put(tmp_path / "t.csv", text.encode("cp1252"))
    table = profiled(tmp_path / "t.csv", tmp_path / "segment")
    assert table.rows == 150_001
    assert sorted(table.columns[0].profile.examples) == ["plain", "“Größe” €"]
    emoji = "name,n\n" + "".join(f"😀{row},{row}\n" for row in range(30_000))
    put(tmp_path / "u.csv", emoji.encode("utf-16"))
    table = profiled(tmp_path / "u.csv", tmp_path / "other")
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
    table = profiled(put(tmp_path / "t.csv", content), tmp_path / "segment")
    assert table.rows == rows
    assert [column.name for column in table.columns] == columns
    assert sorted(table.columns[0].profile.examples) == examples


@pytest.mark.slow
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
    table = profiled(path, tmp_path / "segment")
    profile = table.column("t").profile
    assert (table.rows, table.column("id").profile.distinct) == (4, 4)
    assert (profile.distinct, profile.unique, profile.nulls) == (3, False, 0)
    assert (profile.min_length, profile.max_length) == (5 * MEGABYTE, 10 * MEGABYTE)
    assert sorted(profile.examples) == [letter * 199 + "…" for letter in "xyé"]
    assert (profile.minimum, profile.maximum) == ("x" * 199 + "…", "é" * 199 + "…")


@pytest.mark.slow
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
    table = profiled(path, tmp_path / "segment")
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
            assert catalog.reader.hashes(table.id, number).tolist() == []


def put_mixed_sqlite(path: Path) -> Path:
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
    path = put_mixed_sqlite(tmp_path / "dirty.sqlite")
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
    path = put_mixed_sqlite(tmp_path / "dirty.sqlite")
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
        hive = name == "a=b"  # the value of a column, by the name of a folder
        column, *more = report.catalog["lake::p" if hive else f"lake::{name}/p"].columns
        assert (column.name, column.profile.examples) == ("n", (str(number),))
        assert [(one.name, one.profile.examples) for one in more] == [("a", ("b",))] * hive
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
    assert names(report.catalog) == ["inner/good", "parts", "sales"]
    assert [str(skip) for skip in report.skipped] == [
        "lake::inner/astray: No such file or directory",
        "lake/inner/astray.db: No such file or directory",
    ]
    # The values in the folders of parts are a column, in place of one of that name.
    parts, sales = report.catalog["parts"], report.catalog["sales"]
    assert sorted(parts.column("year").profile.examples) == ["2020", "2021"]
    assert [column.profile.examples for column in sales.columns] == [("2",), ("2020",)]
    # The catalog in the folder is none of its tables.
    assert update(f"lake={lake}", into=lake / "catalog").added == ()


@pytest.mark.parametrize("bound", ["disk", "ratio"])
def test_a_packed_file_that_would_fill_the_disk_loses_its_own_table(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pile, scratch = tmp_path / "pile", tmp_path / "scratch"
    pile.mkdir()
    scratch.mkdir()
    large = gzip.compress(b"a,b\n" + "größe,1\n".encode("latin-1") * 2_000_000)
    (pile / "large.csv.gz").write_bytes(large)
    (pile / "small.csv").write_bytes("a,b\ngröße,1\n".encode("latin-1"))
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    if bound == "disk":
        usage = shutil.disk_usage(tmp_path)._replace(free=8 << 20)
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    else:
        monkeypatch.setattr("dovetail.sources.text_encoding._LEAST_ROOM", 1 << 20)
    source = FilesSource(SourceSpec("pile", "files", str(pile), "pile"))
    try:
        listed = {table.name: table for table in source.tables()}
        read = rescanned(lambda: list(source.scan(listed["small"]).batches))
        assert pa.Table.from_batches(read).to_pylist() == [{"a": "größe", "b": "1"}]
        with pytest.raises(SourceError, match="too much of the disk"):
            rescanned(lambda: list(source.scan(listed["large"]).batches))
        kept = [file.stat().st_size for file in scratch.rglob("*") if file.is_file()]
        assert sum(kept) < 1 << 10
    finally:
        source.close()


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.execute('CREATE TABLE orders (id INTEGER, "" TEXT, note TEXT, amount NUMERIC)')
        connection.execute("INSERT INTO orders VALUES (1, 'lost', 'kept', 2.5)")
        connection.execute('CREATE TABLE "none" ("" INTEGER)')
        connection.commit()
    catalog = dovetail.build(
        tmp_path / "shop.sqlite", into=tmp_path / "catalog", settings=Settings(embedder="none")
    )
    assert catalog.sql("SELECT * FROM orders").tuples() == [(1, "kept", 2.5)]
    assert [(skip.table, skip.reason) for skip in catalog.skipped] == [
        ("none", "none of its columns has a name"),
        ("orders/column 2", "it has no name, so no query could read it"),
    ]
