"""Excel workbooks: each sheet is a table whose header may stand below titles.

Cells are taken as text, and typed by all values of their column, as in CSV.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.errors import SourceError

# Rows in which a header is looked for, and the share of the widest row that it must fill.
_FIRST_ROWS, _FULL = 60, 0.6
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[%€$£]?\s*|\d{4}-\d{2}-\d{2}.*")
_MIDNIGHT = " 00:00:00"
# A sheet's XML of no more bytes may hold no cell at all, so it is looked into when listed.
_SMALL = 4096
# The largest XML of a sheet in which merged cells are looked for.
_LARGEST = 1 << 28
_MERGED = re.compile(rb'<mergeCell\s+ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_SHEET = re.compile(rb"<sheet\s[^>]*>")


def sheets(path: str) -> list[str]:
    """The names of the sheets that hold something, hidden ones included."""
    book = _open(path)
    small = _small_sheets(path)
    return [
        name
        for name in book.sheet_names
        if (small is not None and name not in small) or _load(book, name).height
    ]


def read_sheet(path: str, name: str) -> pa.Table:
    """A sheet as a table of text; a hidden one is refused, since people were not to see it."""
    book = _open(path)
    if name not in book.sheet_names:
        raise SourceError(f"{os.path.basename(path)} has no sheet {name} any more; index again")
    sheet = _load(book, name)
    if sheet.visible != "visible":
        raise SourceError("is a hidden sheet; show it in Excel to have it indexed")
    cells = [column.combine_chunks() for column in pa.table(sheet.to_arrow()).columns]
    columns = [_filled(column.to_pylist(), spans) for column, spans in _spanned(cells, path, name)]
    return _table(columns)


def _open(path: str) -> Any:
    import fastexcel

    open(path, "rb").close()  # one that is gone or closed to us says so plainly
    try:
        return fastexcel.read_excel(path)
    except fastexcel.FastExcelError as error:
        raise SourceError(f"does not read as a workbook: {_first_line(error)}") from None


def _load(book: Any, name: str) -> Any:
    import fastexcel

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
        rows = [span for span in spans.get(number, ()) if span[1] < len(column)]
        yield column, rows


def _merged(path: str, name: str) -> Iterator[tuple[int, int, int]]:
    """The column, first and last row of cells that were merged downwards, if the file tells."""
    try:
        with zipfile.ZipFile(path) as book:
            part = _parts(book).get(name, "")
            if part not in book.namelist() or book.getinfo(part).file_size > _LARGEST:
                return
            xml = book.read(part)
    except (OSError, ValueError, zipfile.BadZipFile, KeyError):
        return
    for left, top, right, bottom in _MERGED.findall(xml):
        if left == right and top != bottom:
            yield _column(left), int(top) - 1, int(bottom) - 1


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number - 1


def _small_sheets(path: str) -> set[str] | None:
    """The sheets that may be empty, by the size of their XML; None where that does not tell."""
    try:
        with zipfile.ZipFile(path) as book:
            parts = _parts(book)
            sizes = {info.filename: info.file_size for info in book.infolist()}
    except (OSError, ValueError, zipfile.BadZipFile, KeyError):
        return None
    return {name for name, part in parts.items() if sizes.get(part, 0) <= _SMALL}


def _parts(book: zipfile.ZipFile) -> dict[str, str]:
    """The sheets of an .xlsx file with the names of their XML files."""
    links = book.read("xl/_rels/workbook.xml.rels")
    targets = dict(_ids(re.findall(rb"<Relationship\s[^>]*>", links), rb"Id", rb"Target"))
    named = _ids(_SHEET.findall(book.read("xl/workbook.xml")), rb"name", rb"r:id")
    return {
        unescape(name): f"xl/{targets.get(link, '')}".replace("xl//xl/", "xl/")
        for name, link in named
    }


def _ids(elements: Sequence[bytes], *keys: bytes) -> Iterator[tuple[str, str]]:
    for element in elements:
        matches = [re.search(rb"\s" + key + rb'="([^"]*)"', element) for key in keys]
        if all(matches):
            first, second = (match[1].decode("utf-8", "replace") for match in matches if match)
            yield first, second
