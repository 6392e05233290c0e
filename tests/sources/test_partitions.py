"""Tables in several files: Hive folders and numbered parts, typed, broken, mixed and renamed."""

from __future__ import annotations

import gzip
import json
import shutil
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail import Skipped, TableId
from dovetail.domain import Kind
from dovetail.sources.file_tables import part_of
from tests.support.contents import contents
from tests.support.files import GOOD, names, put, put_parquet, random_bytes, update

SALES = pa.table(
    {
        "id": list(range(60)),
        "amount": [row / 4 for row in range(60)],
        "year": [2022 + row % 3 for row in range(60)],
        "month": [1 + row % 12 for row in range(60)],
        "region": [["São Paulo", "a/b=c", None][row % 3] for row in range(60)],
    }
)


def types(table: dovetail.Table) -> dict[str, tuple[str, str]]:
    return {column.name: (column.type, str(column.profile.kind)) for column in table.columns}


@pytest.mark.parametrize("written", ["pyarrow", "duckdb", "csv", "json"])
def test_a_hive_folder_is_one_table_whoever_wrote_it(written: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    keys = ["year", "month", "region"]
    if written == "pyarrow":
        pads.write_dataset(
            SALES, lake / "sales", format="parquet", partitioning=keys, partitioning_flavor="hive"
        )
    elif written == "json":
        for number, row in enumerate(SALES.to_pylist()):
            region = quote(row["region"] or "__HIVE_DEFAULT_PARTITION__", safe="")
            folder = lake / "sales" / f"year={row['year']}" / f"month={row['month']:02}"
            record = json.dumps({"id": row["id"], "amount": row["amount"]})
            put(
                folder / f"region={region}" / f"part-{number:05}.json.gz",
                gzip.compress(record.encode()),
            )
    else:
        lake.mkdir()
        kind = "parquet" if written == "duckdb" else written
        with closing(duckdb.connect()) as connection:
            connection.register("sales", SALES)
            connection.execute(
                f"COPY sales TO '{lake / 'sales'}' (FORMAT {kind}, PARTITION_BY (year, month, "
                "region))"
            )
    put(lake / "sales" / "_SUCCESS", "")
    put(lake / "sales" / ".part-0.parquet.crc", "x")
    put(lake / "cities.csv", GOOD)
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert report.skipped == ()
    assert names(report.catalog) == ["cities", "sales"]
    sales = report.catalog["sales"]
    assert sales.rows == 60
    assert [column.name for column in sales.columns] == ["id", "amount", *keys]
    assert {name: kind for name, (_, kind) in types(sales).items()} == {
        "id": "integer",
        "amount": "real",
        "year": "integer",
        "month": "integer",
        "region": "text",
    }
    assert types(sales)["year"][0] == "BIGINT"
    regions = sales.column("region").profile
    assert (sorted(regions.examples), regions.nulls) == (["São Paulo", "a/b=c"], 20)


def test_sql_reads_partition_columns_as_their_types(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    pads.write_dataset(
        SALES,
        lake / "sales",
        format="parquet",
        partitioning=["year", "region"],
        partitioning_flavor="hive",
    )
    put(lake / "regions.csv", "region,boss\nSão Paulo,Ana\n")
    catalog = update(f"lake={lake}", into=tmp_path / "catalog").catalog
    with dovetail.open(catalog.folder) as opened:
        answer = opened.sql(
            "SELECT year + 1 AS y, boss, count(*) AS n, sum(amount) AS total FROM sales "
            "JOIN regions USING (region) WHERE year <= 2023 GROUP BY ALL ORDER BY 1"
        )
        rows = SALES.to_pylist()
        wanted = [row for row in rows if row["region"] == "São Paulo" and row["year"] <= 2023]
        assert answer.to_arrow().to_pylist() == [
            {
                "y": 2023,
                "boss": "Ana",
                "n": len(wanted),
                "total": sum(row["amount"] for row in wanted),
            }
        ]
        # The guard is the same for tables in parts.
        with pytest.raises(dovetail.DovetailError, match="READ_PARQUET stands for a table"):
            opened.sql(f"SELECT * FROM read_parquet('{lake}/sales/**/*.parquet')")


@pytest.mark.parametrize(
    ("values", "kind", "sql"),
    [
        (["03", "11"], "integer", "BIGINT"),
        (["-1", "__HIVE_DEFAULT_PARTITION__"], "integer", "BIGINT"),
        (["1.5", "2"], "real", "DOUBLE"),
        (["2024-01-31", "2024-02-29"], "date", "DATE"),
        (["2024-01-31", "2024-02-30"], "text", "VARCHAR"),
        (["2024-01-31 10%3A00%3A00", "2024-01-31%2011%3A30%3A00"], "timestamp", "TIMESTAMP"),
        (["a b", "it's", "%", "日本", "x=y", "[1]", "*"], "text", "VARCHAR"),
        (["12345678901234567890", "1"], "text", "VARCHAR"),
        (["__HIVE_DEFAULT_PARTITION__"], "empty", "VARCHAR"),
        (["", "7"], "integer", "BIGINT"),
    ],
)
def test_partition_values_have_the_type_that_all_fit(
    values: list[str], kind: str, sql: str, tmp_path: Path
) -> None:
    for number, value in enumerate(values):
        put(tmp_path / "t" / f"key={value}" / "data.csv", f"n\n{number}\n")
    (table,) = update(f"t={tmp_path / 't'}", into=tmp_path / "catalog").catalog
    assert (table.rows, table.name) == (len(values), "t")
    assert types(table)["key"] == (sql, kind)
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql("SELECT n, CAST(key AS VARCHAR) AS key FROM t ORDER BY n").to_arrow()
    missing = [value in ("", "__HIVE_DEFAULT_PARTITION__") for value in values]
    assert [key is None for key in found["key"].to_pylist()] == missing


def test_an_added_changed_or_removed_partition_is_noticed(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for day in range(1, 4):
        put_parquet(lake / "logs" / f"day={day}" / "part-0.parquet", n=pa.array([day, day]))
    first = update(f"lake={lake}", into=tmp_path / "catalog")
    assert first.added == (TableId("lake", "logs"),)
    assert update(into=tmp_path / "catalog").unchanged == 1
    put_parquet(lake / "logs" / "day=4" / "part-0.parquet", n=pa.array([9]))
    report = update(into=tmp_path / "catalog")
    assert (report.changed, report.catalog["logs"].rows) == (first.added, 7)
    assert sorted(report.catalog["logs"].column("day").profile.examples) == ["1", "2", "3", "4"]
    put_parquet(lake / "logs" / "day=4" / "part-0.parquet", n=pa.array([9, 10]))
    assert update(into=tmp_path / "catalog").catalog["logs"].rows == 8
    shutil.rmtree(lake / "logs" / "day=1")
    (lake / "logs" / "day=5").mkdir()  # an empty partition is none
    report = update(into=tmp_path / "catalog")
    # An update comes to what a new catalog holds.
    again = update(f"lake={lake}", into=tmp_path / "again")
    assert report.catalog["logs"].rows == 6
    assert contents(report.catalog) == contents(again.catalog)


def test_one_broken_file_of_a_hundred(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for number in range(100):
        path = lake / "t" / f"n={number}" / "part-0.parquet"
        put_parquet(path, i=pa.array([number]), s=pa.array(["x" * 1000]))
    put(lake / "t" / "n=7" / "part-0.parquet", random_bytes(400))
    whole = (lake / "t" / "n=8" / "part-0.parquet").read_bytes()
    put(lake / "t" / "n=8" / "part-0.parquet", whole[: len(whole) // 2])
    put(lake / "t" / "n=9" / "part-0.parquet", b"")
    # Its footer is whole, its pages are not: that shows only midway.
    path = lake / "t" / "n=10" / "part-0.parquet"
    put(path, whole[:4] + random_bytes(40) + whole[44:])
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert report.catalog["t"].rows == 96
    assert [skip.table for skip in report.skipped] == [
        f"t/n={number}/part-0.parquet" for number in (10, 7, 8, 9)
    ]
    assert "too small to be a Parquet file" in report.skipped[3].reason
    assert all(skip.reason.isprintable() for skip in report.skipped)
    # It is said again while it holds, though the table is not read again.
    again = update(into=tmp_path / "catalog")
    assert (again.unchanged, again.skipped) == (1, report.skipped)
    with dovetail.open(tmp_path / "catalog") as catalog:
        answer = catalog.sql("SELECT count(*) AS n, count(s) AS s, max(n) AS last FROM t")
        assert answer.to_arrow().to_pylist() == [{"n": 96, "s": 96, "last": 99}]
        (warning,) = answer.warnings
        assert warning.startswith("t is read without n=10/part-0.parquet (and 3 more): ")
    # Mended, it is read, and nothing is left to say.
    for number in (7, 8, 9, 10):
        put(lake / "t" / f"n={number}" / "part-0.parquet", whole)
    mended = update(into=tmp_path / "catalog")
    assert (mended.catalog["t"].rows, mended.skipped) == (100, ())


def test_nothing_that_can_be_read(tmp_path: Path) -> None:
    put(tmp_path / "lake" / "t" / "n=1" / "a.parquet", random_bytes(400))
    put(tmp_path / "lake" / "t" / "n=2" / "a.parquet", random_bytes(300))
    for number in (1, 2):
        put(tmp_path / "lake" / "u" / f"n={number}" / "a.csv", b"")
    put(tmp_path / "lake" / "good.csv", GOOD)
    report = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    broken, empty = report.skipped
    assert broken.reason.startswith("none of its 2 files can be read; n=1/a.parquet: ")
    assert empty == Skipped("lake", "u", "holds no rows: its 2 files are empty")


def test_parts_of_mixed_schemas_are_united_by_name(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "t"
    put_parquet(lake / "y=1" / "a.parquet", id=pa.array([1, 2], pa.int32()), A=pa.array([1.5, 2]))
    put_parquet(lake / "y=2" / "a.parquet", a=pa.array([3, 4]), ID=pa.array([3, 4]))
    put_parquet(lake / "y=3" / "a.parquet", id=pa.array(["5", "x"]), new=pa.array([True, None]))
    put_parquet(lake / "y=4" / "a.parquet", id=pa.array([6]), y=pa.array([99]))
    put_parquet(lake / "y=5" / "a.parquet", other=pa.array([1]))
    put_parquet(lake / "y=6" / "a.parquet", id=pa.array([b"\x00\xff"]))
    report = update(f"lake={lake.parent}", into=tmp_path / "catalog")
    table = report.catalog["t"]
    assert {column.name: (column.type, column.profile.nulls) for column in table.columns} == {
        "id": ("VARCHAR", 0),
        "A": ("DOUBLE", 3),
        "new": ("BOOLEAN", 6),
        "y": ("BIGINT", 0),
    }
    assert (table.rows, table.column("id").profile.distinct) == (7, 7)
    assert [(skip.table, skip.reason) for skip in report.skipped] == [
        (
            "t/y=5/a.parquet",
            "has no column in common with the other parts; index it apart from them",
        ),
        ("t/y=6/a.parquet", "its column id is BLOB, and INTEGER in other parts"),
    ]
    with dovetail.open(tmp_path / "catalog") as catalog:
        rows = catalog.sql("SELECT y, id, A, new FROM t ORDER BY id").to_arrow().to_pylist()
    assert rows[0] == {"y": 1, "id": "1", "A": 1.5, "new": None}
    assert rows[-1] == {"y": 3, "id": "x", "A": None, "new": None}


def test_csv_parts_of_several_dialects_and_encodings(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "t"
    put(lake / "y=1" / "a.csv", "id,name\n1,Ann\n2,Bo\n")
    put(lake / "y=2" / "a.csv", "name;id\nÅse;3\n")
    put(lake / "y=3" / "a.csv", "id,name,extra\n4,Müller,x\n".encode("latin-1"))
    put(lake / "y=4" / "a.csv", "id,name\n5,Oda\n".encode("utf-16"))
    put(lake / "y=5" / "a.csv", "id,name\n6\n")
    put(lake / "y=6" / "a.csv", "")
    report = update(f"lake={lake.parent}", into=tmp_path / "catalog")
    table = report.catalog["t"]
    assert (table.rows, types(table)["id"]) == (5, ("BIGINT", "integer"))
    with dovetail.open(tmp_path / "catalog") as catalog:
        rows = catalog.sql("SELECT id, name, extra, y FROM t ORDER BY id").to_arrow()
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        (1, "Ann", None, 1),
        (2, "Bo", None, 1),
        (3, "Åse", None, 2),
        (4, "Müller", "x", 3),
        (5, "Oda", None, 4),
    ]
    (skip,) = report.skipped
    assert skip.table == "t/y=5/a.csv"
    assert "1 of 1 lines do not have 2 values" in skip.reason


def test_json_parts_with_keys_of_their_own(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "t"
    put(lake / "part-00000.jsonl", '{"id": 1, "at": {"x": 1}}\n{"id": 2}\n')
    put(lake / "part-00001.jsonl", '{"id": 3, "at": {"x": 2, "y": "b"}, "tag": "q"}\n')
    put(lake / "part-00002.jsonl", "")
    (table,) = update(f"lake={lake.parent}", into=tmp_path / "catalog").catalog
    assert (table.name, table.rows) == ("t", 3)
    assert {column.name: column.profile.nulls for column in table.columns} == {
        "id": 0,
        "at.x": 1,
        "at.y": 2,
        "tag": 2,
    }


@pytest.mark.parametrize(
    ("files", "tables"),
    [
        (["t/part-00000-1c2e.snappy.parquet"], ["t"]),
        (["t/part-0.parquet", "t/part-1.parquet", "t/notes.parquet"], ["t", "t/notes"]),
        (["part.0.parquet", "part.1.parquet"], ["lake"]),
        (["t/data_0.parquet", "t/data_1.parquet"], ["t"]),
        (["t/data_0.parquet"], ["t/data_0"]),
        (["t/data_0.parquet", "t/_SUCCESS"], ["t"]),
        (["t/000000_0.parquet", "t/000001_0.parquet"], ["t"]),
        (["t/orders-00000-of-00002.parquet", "t/orders-00001-of-00002.parquet"], ["t/orders"]),
        (["t/a_part1.parquet", "t/a_part2.parquet", "t/b_part1.parquet"], ["t/a", "t/b_part1"]),
        # Years and months say what is inside.
        (["t/data_2019.parquet", "t/data_2020.parquet"], ["t/data_2019", "t/data_2020"]),
        (["t/2019.parquet", "t/2020.parquet"], ["t/2019", "t/2020"]),
        (["t/01.parquet", "t/02.parquet"], ["t/01", "t/02"]),
        # Files that people named, in folders with values.
        (["t/dt=1/a.parquet", "t/dt=2/b.parquet"], ["t"]),
        (["dt=1/sales.parquet", "dt=2/sales.parquet"], ["sales"]),
        (["t/x=1/deep/er/y=2/0.parquet", "t/x=2/0.parquet"], ["t"]),
        (["t/x=1/0.parquet", "t.parquet"], ["t", "t.parquet"]),
        (["t/_change_data/part-0.parquet", "t/_temporary/0/x.parquet", "a.parquet"], ["a"]),
    ],
)
def test_which_files_are_one_table(files: list[str], tables: list[str], tmp_path: Path) -> None:
    for number, file in enumerate(files):
        if file.endswith(".parquet"):
            put_parquet(tmp_path / "lake" / file, n=pa.array([number]))
        else:
            put(tmp_path / "lake" / file, "")
    report = update(f"here={tmp_path / 'lake'}", into=tmp_path / "catalog")
    assert names(report.catalog) == tables
    assert report.skipped == ()


def test_snapshots_of_several_tables_by_day(tmp_path: Path) -> None:
    for day in (1, 2):
        put(tmp_path / "lake" / "in" / f"day={day}" / "customers.csv", f"id,name\n{day},Ann\n")
        put(tmp_path / "lake" / "in" / f"day={day}" / "orders.csv", f"no,customer\n7,{day}\n")
    catalog = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog
    assert names(catalog) == ["in/customers", "in/orders"]
    assert [column.name for column in catalog["orders"].columns] == ["no", "customer", "day"]
    assert catalog["orders"].column("day").profile.kind is Kind.INTEGER


def test_numbered_files_of_other_columns_stay_apart(tmp_path: Path) -> None:
    put_parquet(tmp_path / "lake" / "t" / "part-0.parquet", a=pa.array([1]), b=pa.array([1]))
    put_parquet(tmp_path / "lake" / "t" / "part-1.parquet", a=pa.array([2]), b=pa.array([1]))
    put_parquet(tmp_path / "lake" / "t" / "part-2.parquet", x=pa.array([1]), y=pa.array([1]))
    catalog = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog
    assert names(catalog) == ["t", "t/part-2"]
    assert catalog["t"].rows == 2


def test_formats_side_by_side_are_tables_of_their_own(tmp_path: Path) -> None:
    for year in (1, 2):
        put_parquet(tmp_path / "lake" / "t" / f"y={year}" / "0.parquet", n=pa.array([1]))
        put(tmp_path / "lake" / "t" / f"y={year}" / "0.csv", "n\n1\n")
    catalog = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog
    assert names(catalog) == ["t.csv", "t.parquet"]


def test_a_glob_and_a_folder_give_the_same_table(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "t"
    for year in (1, 2):
        put_parquet(lake / f"y={year}" / "part-0.parquet", n=pa.array([year]))
    by_folder = update(f"a={lake}", into=tmp_path / "one").catalog["t"]
    by_glob = update(f"a={lake}/*/*.parquet", into=tmp_path / "two").catalog["t"]
    assert by_folder.columns == by_glob.columns
    assert sorted(by_folder.columns[1].profile.examples) == ["1", "2"]


@pytest.mark.parametrize(
    ("stem", "prefix"),
    [
        ("part-00000-8b2d1a9e-0a44-4f7e-9c4b-0d7c5e1d2f3a-c000.snappy", ""),
        ("part-r-00000", None),
        ("0001", ""),
        ("8b2d1a9e-0a44-4f7e-9c4b-0d7c5e1d2f3a", ""),
        ("customers", None),
        ("chunk_12", ""),
        ("00000_5fadd2a7c1", ""),
        ("0001_cafe", None),  # letters that a number may have, but a word
        ("0002_facade", None),
        ("part-0-" + "abcdef" * 60, None),
        ("file20240131", None),
        ("export-part-3", "export"),
        ("partners", None),
        ("data", None),
        ("part-1" + "-1234" * 49 + "-x", None),
        ("a" + "-part-1" * 35 + "-x", None),
    ],
)
def test_names_of_parts(stem: str, prefix: str | None) -> None:
    assert part_of(stem) == prefix


def test_fifteen_hundred_parts_are_one_table(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "t"
    lake.mkdir(parents=True)
    for number in range(1500):
        pq.write_table(pa.table({"n": [number]}), lake / f"part-{number:05}.parquet")
    (table,) = update(f"lake={lake.parent}", into=tmp_path / "catalog").catalog
    assert (table.rows, table.column("n").profile.unique) == (1500, True)
    with dovetail.open(tmp_path / "catalog") as catalog:
        answer = catalog.sql("SELECT sum(n) AS total FROM t")
    assert answer.to_arrow()["total"].to_pylist() == [1500 * 1499 // 2]
