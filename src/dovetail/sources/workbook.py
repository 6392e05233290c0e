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
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.atomic import open_regular
from dovetail.errors import SourceError
from dovetail.sources.workbook_parts import MOST_SHEETS, Extent, sheets_in_parts

# Rows in which a header is looked for, and the share of the widest row that it must fill.
_FIRST_ROWS, _FULL = 60, 0.6
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[%€$£]?\s*|\d{4}-\d{2}-\d{2}.*")
_MIDNIGHT = " 00:00:00"
# What it may take to list the sheets of a workbook.
_SECONDS, _MEMORY = 60, 1 << 30


def sheets(path: str) -> list[str]:
    """The names of the sheets that hold something, hidden ones included.

    The parts of an .xlsx file tell them. Of other formats only a reader does that a file might
    end, or fill all memory with: it runs in a process of its own, with limits.
    """
    open_regular(path).close()  # one that is gone, closed to us or a pipe says so plainly
    if (named := sheets_in_parts(path)) is not None:
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
    reply = json.loads(listed.stdout)
    if "error" in reply:
        raise SourceError(reply["error"])
    return [str(name) for name in reply["sheets"]]


def main(path: str) -> None:
    """Write the sheets of a workbook to standard output, within limits of time and memory."""
    signal.alarm(_SECONDS)
    with suppress(OSError, ValueError):  # where the system has no such limit
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, resource.RLIM_INFINITY))
    try:
        book = _open(path)
        names = [name for name in book.sheet_names[:MOST_SHEETS] if _holds_cells(book, path, name)]
        reply: dict[str, object] = {"sheets": names}
    except (SourceError, OSError, MemoryError) as error:
        reply = {"error": str(error) or "needs more memory than there is"}
    print(json.dumps(reply))  # noqa: T201 - this process is for nothing else


def _holds_cells(book: Any, path: str, name: str) -> bool:
    """Whether a sheet has cells; one that cannot be read says so when it is."""
    try:
        Extent.of(path, name)
        return bool(_load(book, name).height)
    except SourceError:
        return True


def read_sheet(path: str, name: str) -> pa.Table:
    """A sheet as a table of text; a hidden one is refused, since people were not to see it."""
    book = _open(path)
    if name not in book.sheet_names:
        raise SourceError(f"{os.path.basename(path)} has no sheet {name} any more; index again")
    extent = Extent.of(path, name)
    sheet = _load(book, name)
    if sheet.visible != "visible":
        raise SourceError("is a hidden sheet; show it in Excel to have it indexed")
    columns = [column.to_pylist() for column in pa.table(sheet.to_arrow()).columns]
    _fill_merged(columns, extent.merged)
    return _table(columns)


def _open(path: str) -> Any:
    import fastexcel

    open_regular(path).close()  # one that is gone, closed to us or a pipe says so plainly
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
    taken: set[str] = set()
    kept: list[pa.Array] = []
    for number, column in enumerate(columns):
        values = pa.array(column[first : last + 1], pa.string())
        given = " ".join((column[header] or "").split()) if named else ""
        if not given and values.null_count == len(values):
            continue  # a column that only sets others apart
        names.append(_free(given or f"column{number}", taken, number))
        taken.add(names[-1].casefold())
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


def _free(name: str, taken: Container[str], number: int) -> str:
    return f"{name}_{number}" if name.casefold() in taken else name


def _dates(values: pa.Array) -> pa.Array:
    """Dates without a time of day, where no value has one."""
    given = values.drop_null()
    if len(given) and pc.all(pc.ends_with(given, _MIDNIGHT)).as_py():
        return pc.utf8_slice_codeunits(values, 0, 10)
    return values


def _fill_merged(columns: list[list[str | None]], merged: Iterable[tuple[int, int, int]]) -> None:
    """Give cells that are merged with one above its value."""
    free = [0] * len(columns)
    for column, first, last in sorted(merged):
        # What overlaps is left out: no program writes it.
        if column < len(columns) and free[column] <= first <= last < len(columns[column]):
            columns[column][first : last + 1] = [columns[column][first]] * (last + 1 - first)
            free[column] = last + 1


if __name__ == "__main__":
    main(sys.argv[1])
