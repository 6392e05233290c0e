"""Files that lie about themselves, made by a generator: mutants of good ones, and bombs."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

import dovetail
from dovetail.settings import Settings

ROWS = 50
# How many formats there are variants of.
FORMATS = 14
# What a length, an offset or a count is replaced by.
NUMBERS = (0, 1, -1, 255, 65_535, 2**30, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63))


def mutant(content: bytes, rng: random.Random) -> bytes:
    """A file with some of its bytes changed, cut out or doubled, or another number in them."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, length = rng.randrange(len(data)), rng.randrange(1, 40)
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                data[at : at + 4] = struct.pack("<q", rng.choice(NUMBERS))[:4]
            case 2:
                data[at : at + 8] = struct.pack("<q", rng.choice(NUMBERS))
            case 3:
                del data[at : at + length]
            case _:
                data[at:at] = data[at : at + length]
        data = data or bytearray(b"x")
    return bytes(data)


def repacked(book: bytes, rng: random.Random) -> bytes:
    """A zip file whose directory is whole, with a mutant for one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        victim = rng.choice(names)
        for name in names:
            part = old.read(name)
            new.writestr(name, mutant(part, rng) if name == victim and part else part)
    return out.getvalue()


@cache
def good_files() -> dict[str, bytes]:
    """A small good file of every format, by its suffix."""
    table = pa.table(
        {
            "id": list(range(ROWS)),
            "name": [f"n{at % 7}" for at in range(ROWS)],
            "list": [[at, at + 1] for at in range(ROWS)],
            "inner": [{"a": at, "b": {"c": str(at)}} for at in range(ROWS)],
        }
    )
    streams = {suffix: io.BytesIO() for suffix in ("parquet", "arrow", "arrows", "xlsx")}
    pq.write_table(table, streams["parquet"])
    with pa.ipc.new_file(streams["arrow"], table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(streams["arrows"], table.schema) as writer:
        writer.write_table(table)
    book = openpyxl.Workbook()
    for at in range(ROWS):
        book.active.append([at, f"x{at}", at / 3])
    book.active.merge_cells("A3:A5")
    book.create_sheet("two").append(["a"])
    book.save(streams["xlsx"])
    rows = [f'{{"id": {at}, "deep": {{"a": [{at}, {{"b": "x"}}]}}}}' for at in range(ROWS)]
    lines = "\n".join(["id,name,city", *(f'{at},"n{at}",ö{at}' for at in range(ROWS))])
    with TemporaryDirectory() as folder:
        sqlite, duck = Path(folder, "good.sqlite"), Path(folder, "good.duckdb")
        with closing(sqlite3.connect(sqlite)) as db, db:
            db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
            db.executemany("INSERT INTO t VALUES (?, ?)", [(at, f"x{at}") for at in range(300)])
        with duckdb.connect(str(duck)) as connection:
            connection.execute("CREATE TABLE t AS SELECT range AS a, [range] AS b FROM range(300)")
        databases = {"sqlite": sqlite.read_bytes(), "duckdb": duck.read_bytes()}
    return {
        **{suffix: stream.getvalue() for suffix, stream in streams.items()},
        "json": "\n".join(rows).encode(),
        "csv": lines.encode(),
        "csv.gz": gzip.compress(lines.encode(), mtime=0),
        "json.gz": gzip.compress("\n".join(rows).encode(), mtime=0),
        "ods": _sheet_of_open_document(),
        "avro": _avro(),
        **databases,
    }


def variants(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many bad files of every format, with their names."""
    rng = random.Random(seed)
    for suffix, content in good_files().items():
        for number in range(count):
            zipped = suffix in ("xlsx", "ods") and number % 4
            name = f"{suffix.replace('.', '_')}_{number}_bad.{suffix}"
            yield name, (repacked if zipped else mutant)(content, rng)
    for suffix, magic in (("xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), ("xlsb", b"PK\3\4")):
        for number in range(count):
            yield f"{suffix}_{number}_bad.{suffix}", magic + rng.randbytes(rng.randrange(4_000))


def bombs() -> dict[str, bytes]:
    """Small files that ask for a stack, a memory or a time without end."""
    zeros = gzip.compress(b"a,b\n" + b"0,0\n" * (1 << 19), 9, mtime=0)
    strings = io.BytesIO()
    with zipfile.ZipFile(strings, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("_rels/.rels", b"<Relationship " * (1 << 20))
        for part in ("workbook.xml", "_rels/workbook.xml.rels", "sharedStrings.xml"):
            book.writestr(f"xl/{part}", b"<sheet" * (1 << 23))
    deep_type = '{"type":"array","items":' * 60_000 + '"int"' + "}" * 60_000
    return {
        "deep.parquet": deep_parquet(120_000),
        "deep.avro": _avro(deep_type),
        "zeros.csv.gz": zeros,
        "deep.json.gz": gzip.compress(b'{"a":' * 120_000, mtime=0),
        "strings.xlsx": strings.getvalue(),
        "wide.json": json.dumps({f"k{at}": at for at in range(3_000)}).encode(),
    }


def deep_parquet(levels: int) -> bytes:
    """A Parquet file without rows, of a column that is nested so deeply."""
    inner = b"\x35\2\x18\1a\x15\2\0"  # optional, called a, with one child
    schema = b"\x48\4root\x15\2\0" + inner * levels + b"\x15\2\x25\2\x18\1z\0"
    return _parquet(b"\x19\xfc" + _varint(levels + 2) + schema + b"\x16\0\x19\x0c\0")


def _parquet(about: bytes) -> bytes:
    about = b"\x15\2" + about
    return b"PAR1" + about + struct.pack("<i", len(about)) + b"PAR1"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _avro(kind: str = '"long"') -> bytes:
    schema = f'{{"type":"record","name":"r","fields":[{{"name":"a","type":{kind}}}]}}'.encode()
    about = b"\2\x16avro.schema" + _zigzag(len(schema)) + schema + b"\0"
    rows = bytes(2 * at % 128 for at in range(ROWS))
    sync = b"0123456789abcdef"
    return b"Obj\1" + about + sync + _zigzag(ROWS) + _zigzag(len(rows)) + rows + sync


def _zigzag(number: int) -> bytes:
    return _varint(2 * number)


def _sheet_of_open_document() -> bytes:
    cells = "".join(
        f'<table:table-row><table:table-cell office:value-type="string"><text:p>x{at}</text:p>'
        "</table:table-cell></table:table-row>"
        for at in range(ROWS)
    )
    space = "urn:oasis:names:tc:opendocument:xmlns"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = f'<manifest:manifest xmlns:manifest="{space}:manifest:1.0"/>'
        book.writestr("META-INF/manifest.xml", manifest)
        book.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{space}:office:1.0" '
            f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0"><office:body>'
            f'<office:spreadsheet><table:table table:name="s">{cells}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return out.getvalue()


def index_among_good_ones(
    folder: Path, bad: Iterable[tuple[str, bytes]]
) -> tuple[dovetail.Catalog, list[str]]:
    """A catalog of bad files with good ones among them, and the good ones that are missing."""
    pile = folder / "pile"
    pile.mkdir()
    good = {f"kept_{suffix.replace('.', '_')}": suffix for suffix in good_files()}
    for name, suffix in good.items():
        (pile / f"{name}.{suffix}").write_bytes(good_files()[suffix])
    for name, content in bad:
        (pile / name).write_bytes(content)
    settings = Settings(embedder="none", use_notes=False, workers=2)
    catalog = dovetail.build(pile, into=folder / "catalog", settings=settings)
    tables = " ".join(map(str, catalog.ids))
    return catalog, [name for name in good if name not in tables]


def arrow_file(path: Path, offsets: list[int]) -> Path:
    """Two texts whose offsets are as given."""
    batch = pa.record_batch([pa.array(["abc", "def"])], names=["a"])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    honest, content = struct.pack("<3i", 0, 3, 6), path.read_bytes()
    assert content.count(honest) == 1
    path.write_bytes(content.replace(honest, struct.pack("<3i", *offsets)))
    return path


def workbook(path: Path, cells: str, merged: str = "") -> Path:
    """A workbook of one sheet `s`, whose cells and merged ranges are as they are written."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    rels = f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/'
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
            f'"/xl/workbook.xml" ContentType="{sheet}.sheet.main+xml"/><Override PartName='
            f'"/xl/worksheets/s.xml" ContentType="{sheet}.worksheet+xml"/></Types>',
        )
        book.writestr(
            "_rels/.rels", f'{rels}officeDocument" Target="xl/workbook.xml"/></Relationships>'
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'{rels}worksheet" Target="worksheets/s.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/s.xml",
            f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData>{merged}</worksheet>',
        )
    return path


def cell(at: str, value: int) -> str:
    """A row of one cell, by its place."""
    row = at.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return f'<row r="{row}"><c r="{at}"><v>{value}</v></c></row>'
