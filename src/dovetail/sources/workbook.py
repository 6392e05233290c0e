"""Excel workbooks: each sheet is a table whose header may stand below titles.

Cells are taken as text, and typed by all values of their column, as in CSV.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import unescape
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.atomic import open_regular
from dovetail.errors import SourceError

# Rows in which a header is looked for, and the share of the widest row that it must fill.
_FIRST_ROWS, _FULL = 60, 0.6
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[%€$£]?\s*|\d{4}-\d{2}-\d{2}.*")
_MIDNIGHT = " 00:00:00"
# A sheet's XML of no more bytes may hold no cell at all, so it is looked into when listed.
_SMALL = 4096
# The largest XML of a sheet in which merged cells are looked for.
_LARGEST = 1 << 28
_MERGED = re.compile(rb'<mergeCell\s+ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_CELL = re.compile(rb'<c\s[^<>]{0,99}?\br="([A-Z]{1,3})(\d{1,7})"')
# Cells between the first and the furthest of a sheet: its reader makes room for all of them.
_MOST_CELLS = 1 << 27
_SHEET = re.compile(rb"<sheet\s[^>]*>")
_VALUE = re.compile(rb"<(?:\w+:)?(?:v|is)[\s>]")
# Of the list of sheets so many bytes are read, and of other formats so many sheets.
_LONGEST_LIST, _MOST_SHEETS = 1 << 24, 10_000
# What it may take to list the sheets of a workbook.
_SECONDS, _MEMORY = 60, 1 << 30
# What a file that is no .xlsx, or a broken one, raises when its parts are looked at.
_NO_PARTS = (
    OSError, ValueError, zipfile.BadZipFile, KeyError, zlib.error, EOFError,
    NotImplementedError, RuntimeError,
)  # fmt: skip


def sheets(path: str) -> list[str]:
    """The names of the sheets that hold something, hidden ones included.

    The parts of an .xlsx file tell them. Of other formats only a reader does that a file might
    end, or fill all memory with: it runs in a process of its own, with limits.
    """
    open_regular(path).close()  # one that is gone, closed to us or a pipe says so plainly
    if (named := _sheets_in_parts(path)) is not None:
        return named
    try:
        listed = subprocess.run(
            [sys.executable, "-P", "-m", "dovetail.sources.workbook", path],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            timeout=2 * _SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError("does not read as a workbook: it takes too long") from None
    if listed.returncode:
        raise SourceError(f"does not read as a workbook: its reader ended ({listed.returncode})")
    told = json.loads(listed.stdout)
    if "error" in told:
        raise SourceError(told["error"])
    return [str(name) for name in told["sheets"]]


def main(path: str) -> None:
    """Write the sheets of a workbook to standard output, within limits of time and memory."""
    signal.alarm(_SECONDS)
    with suppress(OSError, ValueError):  # where the system has no such limit
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, resource.RLIM_INFINITY))
    try:
        book = _open(path)
        names = [name for name in book.sheet_names[:_MOST_SHEETS] if _holds_cells(book, path, name)]
        told: dict[str, object] = {"sheets": names}
    except (SourceError, OSError, MemoryError) as error:
        told = {"error": str(error) or "needs more memory than there is"}
    print(json.dumps(told))  # noqa: T201 - this process is for nothing else


def _holds_cells(book: Any, path: str, name: str) -> bool:
    """Whether a sheet has cells; one that cannot be read says so when it is."""
    try:
        return bool(_load(book, path, name).height)
    except SourceError:
        return True


def read_sheet(path: str, name: str) -> pa.Table:
    """A sheet as a table of text; a hidden one is refused, since people were not to see it."""
    book = _open(path)
    if name not in book.sheet_names:
        raise SourceError(f"{os.path.basename(path)} has no sheet {name} any more; index again")
    sheet = _load(book, path, name)
    if sheet.visible != "visible":
        raise SourceError("is a hidden sheet; show it in Excel to have it indexed")
    cells = [column.combine_chunks() for column in pa.table(sheet.to_arrow()).columns]
    columns = [_filled(column.to_pylist(), spans) for column, spans in _spanned(cells, path, name)]
    return _table(columns)


def _open(path: str) -> Any:
    import fastexcel

    open_regular(path).close()  # one that is gone, closed to us or a pipe says so plainly
    try:
        return fastexcel.read_excel(path)
    except fastexcel.FastExcelError as error:
        raise SourceError(f"does not read as a workbook: {_first_line(error)}") from None


def _load(book: Any, path: str, name: str) -> Any:
    import fastexcel

    _require_compact(path, name)
    try:
        return book.load_sheet(name, header_row=None, dtypes="string")
    except fastexcel.FastExcelError as error:
        raise SourceError(f"its sheet {name} cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _table(columns: list[list[str | None]]) -> pa.Table:
    header, named = _header(columns)
    first = header + 1 if named else header
    last = max((at for column in columns for at, cell in enumerate(column) if cell), default=-1)
    names: list[str] = []
    kept: list[pa.Array] = []
    for number, column in enumerate(columns):
        values = pa.array(column[first : last + 1], pa.string())
        given = " ".join((column[header] or "").split()) if named else ""
        if not given and values.null_count == len(values):
            continue  # a column that only sets others apart
        names.append(_free(given or f"column{number}", names, number))
        kept.append(_dates(values))
    if not kept:
        raise SourceError("holds no cells")
    return pa.table(kept, names=names)


def _header(columns: Sequence[Sequence[str | None]]) -> tuple[int, bool]:
    """The first row that is about as full as the fullest, and whether it holds names."""
    height = min(max(map(len, columns), default=0), _FIRST_ROWS)
    rows = [[column[at] for column in columns] for at in range(height)]
    full = [sum(cell is not None and cell.strip() != "" for cell in row) for row in rows]
    for at, row in enumerate(rows):
        if full[at] and full[at] >= _FULL * max(full):
            return at, not any(_NUMBER.fullmatch(cell) for cell in row if cell)
    return 0, False


def _free(name: str, taken: Sequence[str], number: int) -> str:
    folded = {other.casefold() for other in taken}
    return f"{name}_{number}" if name.casefold() in folded else name


def _dates(values: pa.Array) -> pa.Array:
    """Dates without a time of day, where no value has one."""
    given = values.drop_null()
    if len(given) and pc.all(pc.ends_with(given, _MIDNIGHT)).as_py():
        return pc.utf8_slice_codeunits(values, 0, 10)
    return values


def _filled(cells: list[str | None], spans: list[tuple[int, int]]) -> list[str | None]:
    """The cells of a column; those that are merged with one above have its value."""
    for first, last in spans:
        cells[first : last + 1] = [cells[first]] * (last + 1 - first)
    return cells


def _spanned(
    columns: list[pa.Array], path: str, name: str
) -> Iterator[tuple[pa.Array, list[tuple[int, int]]]]:
    """Columns with the rows that are merged in them, from above to below."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for left, top, bottom in _merged(path, name):
        spans.setdefault(left, []).append((top, bottom))
    for number, column in enumerate(columns):
        rows, free = [], 0
        for first, last in sorted(spans.get(number, ())):
            if free <= first <= last < len(column):  # of what overlaps, no program writes it
                rows.append((first, last))
                free = last + 1
        yield column, rows


def _require_compact(path: str, name: str) -> None:
    """Refuse a sheet of few cells that are far apart, before room is made for all between them."""
    width = height = 0
    try:
        with zipfile.ZipFile(path) as book, book.open(_parts(book).get(name, "")) as xml:
            rest = b""
            while chunk := xml.read(1 << 20):
                for letters, row in _CELL.findall(rest + chunk):
                    width, height = max(width, _column(letters) + 1), max(height, int(row))
                rest = chunk[-128:]
                if width * height > _MOST_CELLS:
                    raise SourceError(f"its sheet {name} has cells too far apart: {height:,} rows")
    except _NO_PARTS:
        return  # no .xlsx, which its reader says, or reads


def _merged(path: str, name: str) -> Iterator[tuple[int, int, int]]:
    """The column, first and last row of cells that were merged downwards, if the file tells."""
    try:
        with zipfile.ZipFile(path) as book:
            part = _parts(book).get(name, "")
            if part not in book.namelist() or book.getinfo(part).file_size > _LARGEST:
                return
            xml = book.read(part)
    except _NO_PARTS:
        return
    for left, top, right, bottom in _MERGED.findall(xml):
        if left == right and top != bottom:
            yield _column(left), int(top) - 1, int(bottom) - 1


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number - 1


def _sheets_in_parts(path: str) -> list[str] | None:
    """The sheets of an .xlsx file that hold something; None where its parts do not tell."""
    try:
        with zipfile.ZipFile(path) as book:
            return [name for name, part in _parts(book).items() if _in_part(book, part)] or None
    except _NO_PARTS:
        return None


def _in_part(book: zipfile.ZipFile, part: str) -> bool:
    """Whether the XML of a sheet holds a cell; a large one does."""
    with book.open(part) as xml:
        head = xml.read(_SMALL + 1)
    return len(head) > _SMALL or bool(_VALUE.search(head))


def _parts(book: zipfile.ZipFile) -> dict[str, str]:
    """The sheets of an .xlsx file with the names of their XML files."""
    links = _beginning(book, "xl/_rels/workbook.xml.rels")
    targets = dict(_ids(re.findall(rb"<Relationship\s[^>]*>", links), rb"Id", rb"Target"))
    named = _ids(_SHEET.findall(_beginning(book, "xl/workbook.xml")), rb"name", rb"r:id")
    return {
        unescape(name): f"xl/{targets.get(link, '')}".replace("xl//xl/", "xl/")
        for name, link in named
    }


def _beginning(book: zipfile.ZipFile, part: str) -> bytes:
    with book.open(part) as xml:
        return xml.read(_LONGEST_LIST)


def _ids(elements: Sequence[bytes], *keys: bytes) -> Iterator[tuple[str, str]]:
    for element in elements:
        matches = [re.search(rb"\s" + key + rb'="([^"]*)"', element) for key in keys]
        if all(matches):
            first, second = (match[1].decode("utf-8", "replace") for match in matches if match)
            yield first, second


if __name__ == "__main__":
    main(sys.argv[1])
