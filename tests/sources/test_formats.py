"""Formats beside plain CSV, JSON and Parquet: workbooks, Arrow, Avro, packed and European text."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import fastavro
import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import dovetail
from dovetail.domain import Kind
from tests.support.files import GOOD, names, profiled, put, update

ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "name": ["Ann", "Bo", None],
        "born": [datetime.date(2000, 1, day) for day in (1, 2, 3)],
        "at": [{"x": 1.5, "y": "a"}, None, {"x": 2.5, "y": "b"}],
    }
)


def put_workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    orders = book.active
    orders.title = "Orders & more"
    orders["A1"] = "Orders of the year"
    orders.merge_cells("A1:D1")
    orders["A2"] = "as of 2024-12-31"
    for at, row in enumerate([["id", "when", "amount", None, "ok"]], 4):
        for column, cell in enumerate(row, 1):
            orders.cell(at, column, cell)
    for number in range(5):
        day = datetime.datetime(2024, 1, number + 1)
        orders.append([number, day, number * 1.5, None, number % 2 == 0])
    cities = book.create_sheet("Cities")
    for line in (["region", "city"], ["North", "Oslo"], [None, "Bergen"], ["South", "Rome"]):
        cities.append(line)
    cities.merge_cells("A2:A3")
    hidden = book.create_sheet("Lists")
    hidden.sheet_state = "hidden"
    hidden.append(["code"])
    hidden.append(["x"])
    book.create_sheet("Sheet4")
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path


def test_every_sheet_of_a_workbook(tmp_path: Path) -> None:
    put_workbook(tmp_path / "lake" / "sales.xlsx")
    put(tmp_path / "lake" / "~$sales.xlsx", "who has it open")
    report = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["sales/Cities", "sales/Orders & more"]
    assert [str(skip) for skip in report.skipped] == [
        "lake::sales/Lists: is a hidden sheet; show it in Excel to have it indexed"
    ]
    orders = report.catalog["sales/Orders & more"]
    assert {column.name: (column.type, column.profile.kind) for column in orders.columns} == {
        "id": ("BIGINT", Kind.INTEGER),
        "when": ("DATE", Kind.DATE),
        "amount": ("DOUBLE", Kind.REAL),
        "ok": ("VARCHAR", Kind.TEXT),
    }
    assert orders.rows == 5
    region = report.catalog["sales/Cities"].column("region").profile
    assert (sorted(region.examples), region.nulls) == (["North", "South"], 0)
    with dovetail.open(tmp_path / "catalog") as catalog:
        answer = catalog.sql(
            'SELECT sum(amount) AS total, max("when") AS last FROM "sales/Orders & more"'
        )
    assert answer.to_arrow().to_pylist() == [{"total": 15.0, "last": datetime.date(2024, 1, 5)}]


def test_a_changed_workbook_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "one.xlsx"
    for rows in (2, 3):
        book = openpyxl.Workbook()
        for row in [["a", "b"], *([number, "x"] for number in range(rows))]:
            book.active.append(row)
        book.save(path)
        (table,) = update(path, into=tmp_path / "catalog").catalog
        assert (table.name, table.rows) == ("one", rows)
    assert update(into=tmp_path / "catalog").unchanged == 1


@pytest.mark.parametrize(
    ("rows", "columns", "count"),
    [
        ([["1", "2"], ["3", "4"]], ["column0", "column1"], 2),
        ([["name", "name"], ["a", "b"]], ["name", "name_1"], 1),
        ([["just one"], ["a"], ["b"]], ["just one"], 2),
        ([["Title"], [], ["k", "v", "w"], ["a", None, "b"], [None, "x", None]], ["k", "v", "w"], 2),
    ],
)
def test_headers_of_sheets(
    rows: list[list[str]], columns: list[str], count: int, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    (table,) = update(tmp_path / "t.xlsx", into=tmp_path / "catalog").catalog
    assert ([column.name for column in table.columns], table.rows) == (columns, count)


@pytest.mark.parametrize("kind", ["feather", "arrow", "arrows", "avro"])
def test_arrow_and_avro(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "feather":
        feather.write_feather(ROWS, str(path))
    elif kind == "arrow":
        with pa.ipc.new_file(str(path), ROWS.schema) as writer:
            writer.write_table(ROWS, max_chunksize=2)
    elif kind == "arrows":
        with pa.ipc.new_stream(str(path), ROWS.schema) as stream:
            stream.write_table(ROWS)
    else:
        at = {"type": "record", "name": "at", "fields": [_field("x", "double"), _field("y")]}
        fields = [
            _field("id", "long"),
            _field("name"),
            {"name": "born", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": ["null", at]},
        ]
        schema = {"type": "record", "name": "t", "fields": fields}
        with path.open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), ROWS.to_pylist())
    (table,) = update(path, into=tmp_path / "catalog").catalog
    assert {column.name: (column.type, column.profile.nulls) for column in table.columns} == {
        "id": ("BIGINT", 0),
        "name": ("VARCHAR", 1),
        "born": ("DATE", 0),
        "at.x": ("DOUBLE", 1),
        "at.y": ("VARCHAR", 1),
    }
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql('SELECT "at.y" AS y FROM t WHERE id = 3').to_arrow().to_pylist()
    assert found == [{"y": "b"}]


def _field(name: str, kind: str = "string") -> dict[str, object]:
    return {"name": name, "type": ["null", kind] if kind == "string" else kind}


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.zst", "jsonl.gz", "jsonl.zst"])
def test_packed_text(suffix: str, tmp_path: Path) -> None:
    text = GOOD if suffix.startswith("csv") else '{"id": 1, "city": "Rome"}\n{"id": 2}\n'
    path = tmp_path / f"t.{suffix}"
    if suffix.endswith("gz"):
        put(path, gzip.compress(text.encode()))
    else:
        with pa.output_stream(str(path), compression="zstd") as out:
            out.write(text.encode())
    (table,) = update(path, into=tmp_path / "catalog").catalog
    assert (table.name, table.rows, table.column("id").type) == ("t", 2, "BIGINT")
    put(path, path.read_bytes()[:20])
    assert len(update(path, into=tmp_path / "catalog").skipped) == 1


@pytest.mark.parametrize(
    ("text", "kind", "total"),
    [
        ("k;v\na;1,5\nb;2\nc;\n", "DOUBLE", 3.5),
        ("k;v\na;1.234,50\nb;-2.000.000,25\n", "DOUBLE", -1998765.75),
        ("k\tv\na\t0,25\nb\t10\n", "DOUBLE", 10.25),
        ("k;v\na;1,5\nb;about 2\n", "VARCHAR", None),
        ("k;v\na;1.234\nb;2.345\n", "DOUBLE", 3.579),
        ('k,v\na,"1,234"\nb,"2,345"\n', "VARCHAR", None),
        ("k;v\n" + "a;1,5\n" * 3000 + "b;x\n", "VARCHAR", None),
    ],
)
def test_decimal_commas_are_numbers(
    text: str, kind: str, total: float | None, tmp_path: Path
) -> None:
    suffix = "tsv" if "\t" in text else "csv"
    put(tmp_path / f"t.{suffix}", text)
    (table,) = update(tmp_path / f"t.{suffix}", into=tmp_path / "catalog").catalog
    assert table.column("v").type == kind
    if total is not None:
        with dovetail.open(tmp_path / "catalog") as catalog:
            (row,) = catalog.sql("SELECT sum(v) AS total FROM t").to_arrow().to_pylist()
        assert row["total"] == pytest.approx(total)


def test_a_table_of_many_columns_is_asked_about_in_parts(tmp_path: Path) -> None:
    """Of 700 columns every 99th has decimal commas, and every 100th days with points."""
    cells = ["1,5" if n % 99 == 0 else "31.01.2024" if n % 100 == 0 else "x" for n in range(700)]
    lines = [";".join(f"c{n}" for n in range(700)), *[";".join(cells)] * 3]
    put(tmp_path / "t.csv", "\n".join(lines))
    (table,) = update(tmp_path / "t.csv", into=tmp_path / "catalog").catalog
    kinds = [column.type for column in table.columns]
    assert [n for n, kind in enumerate(kinds) if kind == "DOUBLE"] == list(range(0, 700, 99))
    assert [n for n, kind in enumerate(kinds) if kind == "DATE"] == list(range(100, 700, 100))


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        (b"a,b\n1,2\r\n3,4\n", ["a", "b"], 2),
        (b"a,b\r\n1,2\n3,4\r5,6\r\n", ["a", "b"], 3),
        (b"a,b\r\n" + b"1,2\r\n" * 40_000 + b"3,4\n" * 10, ["a", "b"], 40_010),
        (b"Sales, first quarter\n\nid,name,amount\n1,x,2\n2,y,3\n", ["id", "name", "amount"], 2),
        (b"Report\nmade, by us\nid,name,amount,tax\n1,x,2,3\n2,y,3,4\n",
         ["id", "name", "amount", "tax"], 2),
    ],
)  # fmt: skip
def test_titles_and_mixed_line_ends(
    content: bytes, columns: list[str], rows: int, tmp_path: Path
) -> None:
    table = profiled(put(tmp_path / "t.csv", content), tmp_path / "segment")
    assert ([column.name for column in table.columns], table.rows) == (columns, rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_a_cell_of_forty_megabytes(kind: str, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "t": ["x" * 40_000_000, "y"]})
    path = tmp_path / "lake" / f"big.{kind}"
    put(tmp_path / "lake" / "good.csv", GOOD)
    if kind == "parquet":
        pa.parquet.write_table(rows, path)
    elif kind == "arrow":
        feather.write_feather(rows, str(path))
    else:
        put(path, f'{{"id": 1, "t": "{"x" * 40_000_000}"}}\n{{"id": 2, "t": "y"}}\n')
    report = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog")
    if kind == "jsonl":  # beyond what DuckDB takes for one object: one clear line
        assert names(report.catalog) == ["good"]
        assert "maximum_object_size" in report.skipped[0].reason
        return
    assert report.catalog["big"].column("t").profile.max_length == 40_000_000
