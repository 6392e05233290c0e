"""CSV as people have it: other encodings, titles above, a line too short, days with points."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail
from dovetail.errors import SourceError, UsageError
from dovetail.settings import Settings
from tests.support.files import put, update

EAST = {
    "shift_jis": ("番号,名前,住所\n", "{},顧客{},東京都千代田区\n"),
    "gbk": ("编号,姓名,地址\n", "{},客户{},北京市朝阳区\n"),
    "big5": ("編號,姓名,地址\n", "{},客戶{},臺北市中正區\n"),
    "euc_kr": ("번호,이름,주소\n", "{},고객{},서울특별시\n"),
}


def table_of(tmp_path: Path, content: str | bytes, csv: str = "") -> dovetail.Table:
    put(tmp_path / "t.csv", content)
    settings = Settings(embedder="none", csv=csv)
    (table,) = dovetail.build(tmp_path / "t.csv", into=tmp_path / "catalog", settings=settings)
    return table


@pytest.mark.parametrize("encoding", EAST)
def test_encodings_of_east_asia_are_recognised(encoding: str, tmp_path: Path) -> None:
    header, line = EAST[encoding]
    text = header + "".join(line.format(number, number) for number in range(40))
    table = table_of(tmp_path, text.encode(encoding))
    assert [column.name for column in table.columns] == header.strip().split(",")
    assert (table.rows, table.columns[0].type) == (40, "BIGINT")
    assert table.columns[2].profile.examples == (line.format(1, 1).strip().split(",")[2],)


def test_an_encoding_that_its_bytes_do_not_tell_is_asked_for(tmp_path: Path) -> None:
    content = "номер,имя\n1,Клиент\n2,Заказчик\n".encode("cp1251")
    with pytest.raises(SourceError, match=r"neither UTF-8 .* say which .* --csv encoding=NAME"):
        table_of(tmp_path, content)
    table = table_of(tmp_path, content, "encoding=cp1251")
    assert [column.name for column in table.columns] == ["номер", "имя"]
    with pytest.raises(SourceError, match="does not read as ascii"):
        table_of(tmp_path / "other", content, "encoding=ascii")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("encoding=nothing", "the encoding 'nothing' is not known; there are shift_jis, gbk"),
        ("header=first", "csv 'header=first' is not understood; give encoding=NAME, header=N"),
        ("delimiter=;", "csv 'delimiter=;' is not understood"),
    ],
)
def test_what_is_said_of_csv_is_checked(said: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        table_of(tmp_path, "a,b\n1,2\n", said)


@pytest.mark.parametrize(
    ("content", "said", "columns", "rows"),
    [
        ("Sales report, March 2024\nid,name,amount\n1,a,3\n2,b,4\n", "", "id name amount", 2),
        ("Sales report\nby Ann; May\n\nid;name;amount\n1;a;3\n2;b;4\n", "", "id name amount", 2),
        ("Customers 2024,,\n,,\nid,name,city\n1,a,x\n2,b,y\n", "", "id name city", 2),
        ("id,,\nab,cd,ef\ngh,ij,kl\n", "", "id column1 column2", 2),
        ("code,name\nab,Ann\nsku,price\nx1,3\n", "header=3", "sku price", 1),
        ("1,Ann\n2,Bob\n", "header=0", "column0 column1", 2),
    ],
)
def test_titles_above_the_header(
    content: str, said: str, columns: str, rows: int, tmp_path: Path
) -> None:
    table = table_of(tmp_path, content, said)
    assert [column.name for column in table.columns] == columns.split()
    assert table.rows == rows


def test_a_file_that_is_said_to_be_written_otherwise_is_read_again(tmp_path: Path) -> None:
    put(tmp_path / "t.csv", "code,name\nab,Ann\nsku,price\nx1,3\n")
    into = tmp_path / "catalog"
    first = update(tmp_path / "t.csv", into=into)
    assert [column.name for column in first.catalog["t"].columns] == ["code", "name"]
    said = Settings(embedder="none", csv="header=3")
    again = dovetail.update([tmp_path / "t.csv"], into=into, settings=said)
    assert [column.name for column in again.catalog["t"].columns] == ["sku", "price"]
    # What was said is kept with the source.
    put(tmp_path / "t.csv", "code,name\nab,Ann\nsku,price\nx1,3\nx2,4\n")
    later = dovetail.update(into=into, settings=Settings(embedder="none"))
    assert later.catalog["t"].rows == 2


@pytest.mark.parametrize(
    ("line", "reason"), [("9,zz", "has 2 values, not 3"), ("9,a,b,c", "has 4 values, not 3")]
)
def test_a_ragged_line_is_left_out_and_told(line: str, reason: str, tmp_path: Path) -> None:
    rows = "".join(f"{number},n{number},c{number}\n" for number in range(30))
    put(tmp_path / "t.csv", f"id,name,city\n{rows}{line}\n{rows}")
    report = update(tmp_path / "t.csv", into=tmp_path / "catalog")
    assert report.catalog["t"].rows == 60
    (skip,) = report.skipped
    assert (skip.table, skip.reason) == ("t/line 32", reason)
    done = report.catalog.sql("SELECT count(*) AS n FROM t")
    assert done.to_arrow().to_pylist() == [{"n": 60}]
    assert done.warnings == (f"t is read without line 32: {reason}",)
    assert [str(skip) for skip in update(into=tmp_path / "catalog").skipped] == [str(skip)]


def test_of_a_few_lines_one_may_be_too_short(tmp_path: Path) -> None:
    put(tmp_path / "t.csv", "id,name,city\n1,a,b\n2\n3,e,f\n4,g,h\n")
    report = update(tmp_path / "t.csv", into=tmp_path / "catalog")
    assert report.catalog["t"].rows == 3
    assert [skip.reason for skip in report.skipped] == ["has 1 value, not 3"]


def test_many_ragged_lines_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    put(tmp_path / "t.csv", "code,name\n" + "ab,Ann,x\n" * 12)
    told = r"12 of 12 lines do not have 2 values \(line 2 has 3\); say .* --csv header=N"
    with pytest.raises(SourceError, match=told):
        update(tmp_path / "t.csv", into=tmp_path / "catalog")


def test_ragged_lines_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{number},n{number},c{number}\n" for number in range(60))
    put(tmp_path / "t.csv", f"id,name,city\n{rows}1,a\n2\n3,a,b,c\n{rows}")
    (skip,) = update(tmp_path / "t.csv", into=tmp_path / "catalog").skipped
    assert (skip.table, skip.reason) == (
        "t/line 62",
        "has 2 values, not 3; 2 more lines left out too",
    )


def test_what_is_said_of_a_folder_holds_for_the_files_that_do_not_show_it(tmp_path: Path) -> None:
    rows = {
        "russian": "id,name\n" + "".join(f"{n},Клиент {n} Москва\n" for n in range(40)),
        "plain": "id,name\n1,Zürich\n2,Köln\n3,Bern\n4,Chur\n",
        "tokyo": "id,name\n" + "".join(f"{n},東京都の顧客番号\n" for n in range(40)),
        "titled": "Report\nof sales\n\nid,name\n1,a\n2,b\n",
    }
    encodings = {"russian": "cp1251", "tokyo": "shift_jis"}
    for name, text in rows.items():
        put(tmp_path / "lake" / f"{name}.csv", text.encode(encodings.get(name, "utf-8")))
    settings = Settings(embedder="none", csv="encoding=cp1251,header=4")
    result = dovetail.update([tmp_path / "lake"], into=tmp_path / "catalog", settings=settings)
    assert not result.skipped
    with dovetail.open(tmp_path / "catalog") as catalog:
        read = {name: catalog.sql(f"SELECT id, name FROM {name}").tuples() for name in rows}
    told = {
        name: [tuple(line.split(",")) for line in text.splitlines() if "," in line][1:]
        for name, text in rows.items()
    }
    assert {name: [(str(n), v) for n, v in got] for name, got in read.items()} == told


def test_a_file_that_is_named_by_itself_is_one_table(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    put(lake / "a.csv", "id,name\n1,Müller\n".encode("cp1252"))
    put(lake / "b.csv", "id,name\n1,x\n")
    alone = Settings(embedder="none", csv="encoding=cp1252")
    dovetail.update([lake / "a.csv"], into=into, settings=alone)
    plain = Settings(embedder="none")
    dovetail.update([lake], into=into, settings=plain)
    with dovetail.open(into) as catalog:
        assert sorted(table.name for table in catalog.ids) == ["a", "b"]
        short = catalog.reader.source_names[catalog["a"].id.source]
        assert [one.name for one in catalog.tables(sources=[short])] == ["a"]
    dovetail.update(into=into, settings=plain, forget=[short])
    dovetail.update(into=into, settings=plain)
    with dovetail.open(into) as catalog:
        assert {table.source for table in catalog.ids} == {str(lake)}
        assert sorted(table.name for table in catalog.ids) == ["a", "b"]


@pytest.mark.parametrize("header", ["", "header=4"])
def test_a_title_whose_lines_end_in_another_way_is_left_out(header: str, tmp_path: Path) -> None:
    rows = "".join(f"East,{2020 + n % 4},{n}\r\n" for n in range(59))
    table = table_of(
        tmp_path, f"Quarterly report\nGenerated 2024-02-01\n\nregion,year,sales\r\n{rows}", header
    )
    assert ([column.name for column in table.columns], table.rows) == (
        ["region", "year", "sales"],
        59,
    )


@pytest.mark.parametrize("header", [5, 99])
def test_a_header_that_is_not_there_is_told(header: int, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"has no line {header} that could name its columns"):
        table_of(tmp_path, "id,name\n1,a\n2,b\n3,c\n", f"header={header}")


@pytest.mark.parametrize(
    ("values", "kind", "latest"),
    [
        (["2024-01-05 10:11:12", "2024-01-06 00:00:00"], "TIMESTAMP", "2024-01-06 00:00:00"),
        (["2024-01-05 10:11:12", "2024-01-06"], "TIMESTAMP", "2024-01-06 00:00:00"),
        (["2024-01-05 00:00:00", "2024-01-06 00:00:00"], "DATE", "2024-01-06"),
        (["13.05.2023", "1.12.2022", ""], "DATE", "2023-05-13"),
        (["13.05.2023 10:00", "01.12.2022 00:00"], "TIMESTAMP", "2023-05-13 10:00:00"),
        (["31.02.2023", "01.12.2022"], "VARCHAR", "31.02.2023"),
        (["1.2.3000", "1.2.3.4"], "VARCHAR", "1.2.3000"),
    ],
)
def test_days_and_times_have_their_type(
    values: list[str], kind: str, latest: str, tmp_path: Path
) -> None:
    table = table_of(
        tmp_path, "id,at\n" + "".join(f"{n},{text}\n" for n, text in enumerate(values))
    )
    assert table.column("at").type == kind
    with dovetail.open(tmp_path / "catalog") as catalog:
        (row,) = catalog.sql("SELECT CAST(max(at) AS VARCHAR) AS at FROM t").to_arrow().to_pylist()
    assert row == {"at": latest}
