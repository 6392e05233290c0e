"""Files that lie about themselves: each loses its own table, and never the run."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.errors import SourceError
from dovetail.settings import Settings
from dovetail.sources.file_formats import require_shallow, write_parquet
from dovetail.sources.lake_tables import require_inside
from dovetail.sources.workbook import read_sheet, sheets
from tests.support.hostile_files import (
    FORMATS,
    arrow_file,
    bombs,
    cell,
    index_among_good_ones,
    variants,
    workbook,
)

PLAIN = Settings(embedder="none", use_notes=False)


@pytest.mark.parametrize("offsets", [[0, 3, 900], [0, -5, 3], [3, 2, 6], [0, 3, 2**31 - 1]])
def test_offsets_that_lead_out_of_a_buffer_are_refused(tmp_path: Path, offsets: list[int]) -> None:
    file = arrow_file(tmp_path / "a.arrow", offsets)
    with pytest.raises(SourceError, match="does not read as an Arrow file"):
        write_parquet(str(file), str(tmp_path / "a.parquet"))


def test_good_offsets_are_read(tmp_path: Path) -> None:
    write_parquet(str(arrow_file(tmp_path / "a.arrow", [0, 3, 6])), str(tmp_path / "a.parquet"))
    assert pq.read_table(tmp_path / "a.parquet")["a"].to_pylist() == ["abc", "def"]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"b]":', '{"x\\\\":[', '{"]\\"]":'])
def test_deep_json_is_refused_and_flat_json_is_not(tmp_path: Path, opening: str) -> None:
    file = tmp_path / "deep.json"
    file.write_text(opening * 120_000)
    with pytest.raises(SourceError, match="nested more than"):
        require_shallow(str(file))
    file.write_text("\n".join([json.dumps({"a": "[{" * 600, "b\\": '"[["'})] * 9_000))
    require_shallow(str(file))


def test_two_cells_far_apart_are_refused_before_room_is_made(tmp_path: Path) -> None:
    far = workbook(tmp_path / "far.xlsx", cell("A1", 1) + cell("XFD1048576", 2))
    assert sheets(str(far)) == ["s"]
    with pytest.raises(SourceError, match="too far apart"):
        read_sheet(str(far), "s")


@pytest.mark.parametrize(
    "ref", ["A3:A1", "A0:A2", "A9:A1", "A1:A9999999", f"A{'9' * 5000}:A{'9' * 5000}", "A2:A3"]
)
def test_merged_ranges_that_cannot_be_are_left_out(tmp_path: Path, ref: str) -> None:
    merged = f'<mergeCells><mergeCell ref="{ref}"/><mergeCell ref="A2:A3"/></mergeCells>'
    book = workbook(tmp_path / "m.xlsx", "".join(cell(f"A{n}", n) for n in (1, 2, 3)), merged)
    read = read_sheet(str(book), "s")
    assert read.num_columns == 1
    assert read.column(0).to_pylist()[-2:] == ["2", "2"]


def test_a_link_leads_no_lake_out_of_its_folder(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "in").mkdir(parents=True)
    (tmp_path / "secret.parquet").write_bytes(b"mine")
    (lake / "in" / "a.parquet").write_bytes(b"")
    (lake / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (lake / "out").symlink_to(tmp_path)
    (lake / "within.parquet").symlink_to(lake / "in" / "a.parquet")
    require_inside(str(lake), [f"{lake}/in/a.parquet", f"file://{lake}/within.parquet"])
    for name in ("link.parquet", "out/secret.parquet", "in/../../secret.parquet"):
        with pytest.raises(SourceError, match="outside of its folder"):
            require_inside(str(lake), [f"{lake}/{name}"])


@pytest.mark.timeout(300)
def test_a_run_loses_the_tables_that_lie_and_no_other(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    pile.mkdir()
    (pile / "good.csv").write_text("a,b\n1,2\n3,4\n")
    names = (
        "pipe.parquet",
        "part-00000.parquet",
        "part-00001.parquet",
        "p.csv",
        "p.xlsx",
        "p.json",
    )
    for name in names:
        os.mkfifo(pile / name)
    (pile / "zero.csv").symlink_to("/dev/zero")
    arrow_file(pile / "lies.arrow", [0, 3, 900])
    (pile / "deep.json").write_text('{"a":' + "[" * 120_000)
    workbook(pile / "far.xlsx", cell("A1", 1) + cell("XFD1048576", 2))
    catalog = dovetail.build(pile, into=tmp_path / "catalog", settings=PLAIN)
    assert [table.name for table in catalog.ids] == ["good"]
    assert len(catalog.skipped) >= 7


def delta_table(folder: Path) -> Path:
    """A Delta table of one row."""
    (folder / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), folder / "p.parquet")
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
    about = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    size = (folder / "p.parquet").stat().st_size
    added = {"path": "p.parquet", "partitionValues": {}, "size": size, "modificationTime": 0}
    lines = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": about},
        {"add": {**added, "dataChange": True}},
    ]
    log = folder / "_delta_log" / f"{0:020d}.json"
    log.write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.mark.timeout(300)
def test_a_pipe_among_parts_or_for_descriptions_loses_nothing_else(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    for kind in ("csv", "json", "parquet"):
        folder = pile / f"parts_{kind}.{kind}"
        folder.mkdir(parents=True)
        os.mkfifo(folder / f"2.{kind}")
    (pile / "parts_csv.csv" / "1.csv").write_text("a,b\n1,2\n")
    (pile / "parts_json.json" / "1.json").write_text('{"a": 1}\n')
    pq.write_table(pa.table({"a": [1]}), pile / "parts_parquet.parquet" / "1.parquet")
    os.mkfifo(pile / "descriptions.json")
    catalog = dovetail.build(pile, into=tmp_path / "catalog", settings=PLAIN)
    assert [table.name for table in catalog.ids] == ["parts_csv", "parts_json", "parts_parquet"]
    assert [skip.table for skip in catalog.skipped] == [
        "descriptions", "parts_csv/2.csv", "parts_json/2.json", "parts_parquet/2.parquet",
    ]  # fmt: skip
    assert all("plain file" in skip.reason for skip in catalog.skipped[1:])


@pytest.mark.timeout(300)
def test_pipes_beside_databases_and_in_lakes_hold_nobody_up(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    pile.mkdir()
    for suffix in ("", "-journal", "-wal", "-shm"):
        with closing(sqlite3.connect(pile / f"lite{suffix}.sqlite")) as database:
            database.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        if suffix:
            os.mkfifo(pile / f"lite{suffix}.sqlite{suffix}")
    for at, suffix in enumerate(("", ".wal", ".wal.checkpoint", ".wal.recovery")):
        with closing(duckdb.connect(str(pile / f"duck{at}.duckdb"))) as database:
            database.execute("CREATE TABLE t AS SELECT 1 AS a")
        if suffix:
            os.mkfifo(pile / f"duck{at}.duckdb{suffix}")
    (pile / "link.duckdb").symlink_to(pile / "duck1.duckdb")
    for name in ("pipe.duckdb", "pipe.sqlite", "pipe.db"):
        os.mkfifo(pile / name)
    for name in ("whole", "p.parquet", f"_delta_log/{0:020d}.crc", "deletion_vector_x.bin"):
        lake = delta_table(pile / f"lake_{name.replace('/', '_').replace('.', '_')}")
        if name != "whole":
            (lake / name).unlink(missing_ok=True)
            os.mkfifo(lake / name)
    catalog = dovetail.build(pile, into=tmp_path / "catalog", settings=PLAIN)
    assert sorted(str(table).rpartition("/")[2] for table in catalog.ids) == [
        "duck0.duckdb::t",
        "lite.sqlite::t",
        "pile::lake_whole",
    ]
    assert len(catalog.skipped) == 13
    said = re.compile("is no plain file|is neither a file nor a folder")
    assert all(said.search(skip.reason) for skip in catalog.skipped)


@pytest.mark.timeout(600)
def test_bombs_lose_their_own_table_alone(tmp_path: Path) -> None:
    catalog, missing = index_among_good_ones(tmp_path, bombs().items())
    assert not missing
    assert {skip.table.partition(".")[0] for skip in catalog.skipped} == {"deep", "strings"}
    assert all(len(skip.reason.splitlines()) == 1 for skip in catalog.skipped)


@pytest.mark.timeout(600)
def test_variants_of_every_format_lose_their_own_table_alone(tmp_path: Path) -> None:
    bad = list(variants(4, seed=1))
    assert len(bad) == 4 * FORMATS
    catalog, missing = index_among_good_ones(tmp_path, bad)
    assert not missing
    assert all(len(skip.reason.splitlines()) == 1 for skip in catalog.skipped)


def lists_of(path: Path, book: bytes, links: bytes = b"<Relationships/>") -> Path:
    """An .xlsx file of nothing but its two lists."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", links)
    return path


@pytest.mark.parametrize("mark", [b"<sheet ", b"<a>", b"<sheet>", b'<sheet name="', b"<sheet a='b"])
def test_a_list_of_sheets_is_read_in_time_that_grows_with_it(tmp_path: Path, mark: bytes) -> None:
    """A mark that never ends was looked for anew from every place that it might begin at."""

    def seconds(times: int) -> float:
        file = lists_of(tmp_path / "slow.xlsx", mark * times, mark * times)
        before = time.process_time()
        with pytest.raises(SourceError, match="does not read as a workbook"):
            sheets(str(file))
        return time.process_time() - before

    once, fourfold = seconds(100_000), seconds(400_000)
    assert fourfold < 8 * once + 1


@pytest.mark.parametrize(
    ("book", "said"),
    [
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares a document type"),
        (b"<a>" * 300 + b"</a>" * 300, "nested 200 levels deep"),
        (b"<a>" + b" " * (17 << 20) + b"</a>", "has no end"),
        (b"<a>" + b"<sheet name='s' r:id='r'/>" * 10_001 + b"</a>", "more than 10,000 sheets"),
        (b"<a>" + b"<sheet name='s' r:id='r'/>" * 2 + b"</a>", "two sheets s"),
    ],
)
def test_lists_of_sheets_that_no_program_writes_are_refused(
    tmp_path: Path, book: bytes, said: str
) -> None:
    book = book.replace(b"<a>", b"<a xmlns:r='r'>", 1)
    with pytest.raises(SourceError, match=said):
        sheets(str(lists_of(tmp_path / "odd.xlsx", book)))


WIDE = f'<row r="1">{"<c><v>1</v></c>" * 16_384}</row>'


@pytest.mark.parametrize(
    "cells",
    [
        cell("A1", 1) + cell("XFD1048576", 2).replace('"', "'"),
        cell("A1", 1) + cell("xfd1048576", 2),
        cell("A1", 1) + '<row><c s="0" x="' + "y>" * 200 + '" r="XFD1048576"><v>2</v></c></row>',
        WIDE + '<row r="1048576"><c><v>2</v></c></row>',
        WIDE + "<row/>" * 20_000 + "<row><c><v>2</v></c></row>",
        cell("A1", 1) + '<row r="99999999999"><c><v>2</v></c></row>',
        cell("A1", 1) + '<row><c r="1048576XFD"><v>2</v></c></row>',
    ],
)
def test_cells_far_apart_are_refused_however_they_are_written(tmp_path: Path, cells: str) -> None:
    far = workbook(tmp_path / "far.xlsx", cells)
    with pytest.raises(SourceError, match=r"too far apart|no place in a sheet"):
        read_sheet(str(far), "s")


def test_cells_that_do_not_say_where_they_are_stand_beside_each_other(tmp_path: Path) -> None:
    cells = "<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c></row>"
    merged = "<mergeCells><mergeCell ref='B1:B2'/></mergeCells>"
    book = workbook(tmp_path / "plain.xlsx", cells, merged)
    read = read_sheet(str(book), "s")
    assert [column.to_pylist() for column in read.columns] == [["1", "3"], ["2", "2"]]


def test_a_sheet_that_the_lists_do_not_lead_to_is_not_read_unseen(tmp_path: Path) -> None:
    far = workbook(tmp_path / "far.xlsx", cell("A1", 1) + cell("XFD1048576", 2))
    for name in ("XL/WorkSheets/S.xml", "xl\\worksheets\\s.xml"):
        again = tmp_path / "again.xlsx"
        with zipfile.ZipFile(far) as old, zipfile.ZipFile(again, "w") as new:
            for part in old.namelist():
                new.writestr(name if part.endswith("s.xml") else part, old.read(part))
        with pytest.raises(SourceError, match="too far apart"):
            read_sheet(str(again), "s")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_takes_all_memory_is_the_only_one_left_out(
    workers: int, tmp_path: Path
) -> None:
    """A text of 20 MB that stands once in the file, and in 100,000 rows."""
    pile = tmp_path / "pile"
    pile.mkdir()
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), ["a" * 20_000_000])
    pq.write_table(pa.table({"text": text}), pile / "bomb.parquet", compression="zstd")
    for name in ("after", "zoo"):
        (pile / f"{name}.csv").write_text("id,word\n1,a\n2,b\n")
    settings = Settings(embedder="none", workers=workers, index_memory_mb=512)
    catalog = dovetail.build(pile, into=tmp_path / "catalog", settings=settings)
    assert sorted(table.id.name for table in catalog) == ["after", "zoo"]
    (skip,) = catalog.skipped
    assert skip.table == "bomb"
    assert "needs more memory than the setting index_memory_mb" in skip.reason
