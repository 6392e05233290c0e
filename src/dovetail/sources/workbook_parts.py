"""What the parts of an .xlsx file say of its sheets, before a reader makes room for them.

An .xlsx file is a ZIP of XML. Every part is read by a parser that goes through it once and keeps
no tree; one that declares a document type (and so might have entities), is nested deeply or holds
a mark without end is refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO
from xml.parsers import expat

from dovetail.errors import SourceError

# What a file that is no .xlsx, or a broken one, raises when its parts are looked at.
_NO_PARTS = (
    OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
_BOOK, _LINKS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
# A sheet's XML of no more bytes may hold no cell at all, so it is looked into when listed.
_SMALL = 4096
_VALUE = re.compile(rb"<(?:\w+:)?(?:v|is)[\s>]")
# A list of sheets, or one mark of any part, has no more bytes; a list no more sheets.
_LONGEST, MOST_SHEETS = 1 << 24, 10_000
_DEEPEST, _CHUNK = 200, 1 << 20
# Cells between the first and the furthest of a sheet: its reader makes room for all of them.
_MOST_CELLS = 1 << 27
_MOST_MERGED = 1 << 20
_AT = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_MERGED = re.compile(rf"{_AT.pattern}:{_AT.pattern}")
# What a mark is called, without its prefix, and its attributes by their whole names.
_Started = Callable[[str, dict[str, str]], object]


def sheets_in_parts(path: str) -> list[str] | None:
    """The sheets of an .xlsx file that hold something; None where its parts do not tell."""
    try:
        with zipfile.ZipFile(path) as archive:
            book = _Book(archive)
            if not book.is_xlsx:
                return None
            return [name for name, part in book.sheets().items() if book.holds_cells(part)] or None
    except _NO_PARTS:
        return None


class Extent:
    """How far the cells of a sheet lie apart, and which were merged downwards.

    A cell that does not say where it is stands beside the one before it, as readers take it.
    """

    def __init__(self) -> None:
        self.width = self.height = 0
        # The column, first and last row of merged cells.
        self.merged: list[tuple[int, int, int]] = []
        self._row = self._column = 0

    @classmethod
    def of(cls, path: str, name: str) -> Extent:
        """That of a sheet of an .xlsx file; nothing is known of one in another format.

        A sheet of few cells that are far apart is refused, before room is made for all between.
        """
        extent = cls()
        try:
            with zipfile.ZipFile(path) as archive:
                book = _Book(archive)
                if book.is_xlsx:
                    extent._look_through(book, name)
        except _NO_PARTS:  # no .xlsx, which its reader says, or reads
            return cls()
        return extent

    def _look_through(self, book: _Book, name: str) -> None:
        part = book.sheets().get(name, "")
        if part not in book:
            raise SourceError(f"does not read as a workbook: its sheet {name} is nowhere in it")
        with book.open(part) as xml:
            for _ in _read(xml, self._start, self._end):
                if self.width * self.height > _MOST_CELLS:
                    raise SourceError(
                        f"its sheet {name} has cells too far apart: {self.height:,} rows"
                    )

    def _start(self, mark: str, about: dict[str, str]) -> None:
        if mark == "c":
            if "r" in about:
                self._column, self._row = _place(about["r"])
            self.width = max(self.width, self._column + 1)
            self.height = max(self.height, self._row + 1)
            self._column += 1
        elif mark == "row" and "r" in about:
            self._row = _number(about["r"]) - 1
        elif mark == "mergeCell" and (at := _MERGED.fullmatch(about.get("ref", ""))):
            left, top, right, bottom = at.groups()
            if left == right and top != bottom and len(self.merged) < _MOST_MERGED:
                self.merged.append((_column(left), int(top) - 1, int(bottom) - 1))

    def _end(self, mark: str) -> None:
        if mark == "row":
            self._row, self._column = self._row + 1, 0


def _place(at: str) -> tuple[int, int]:
    """The column and row of a cell: A1 is 0, 0."""
    if match := _AT.fullmatch(at):
        return _column(match[1]), int(match[2]) - 1
    raise SourceError(f"has a cell at {at[:20]!a}, which is no place in a sheet")


def _number(row: str) -> int:
    if row.isdecimal() and len(row) < 8:
        return int(row)
    raise SourceError(f"has a row {row[:20]!a}, which is no place in a sheet")


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


class _Book:
    """The parts of an .xlsx file, looked up as readers do: in any case of letters."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.replace("\\", "/").lower(): name for name in archive.namelist()}
        self.is_xlsx = _BOOK in self

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._names

    def open(self, part: str) -> IO[bytes]:
        return self._archive.open(self._names.get(part.lower(), ""))

    def holds_cells(self, part: str) -> bool:
        """Whether the XML of a sheet holds a cell; a large one does."""
        with self.open(part) as xml:
            head = xml.read(_SMALL + 1)
        return len(head) > _SMALL or bool(_VALUE.search(head))

    def sheets(self) -> dict[str, str]:
        """The sheets with the names of their XML files."""
        targets = dict(self._pairs(_LINKS, "Relationship", ("Id",), "Target"))
        parts: dict[str, str] = {}
        for link, name in self._pairs(_BOOK, "sheet", ("r:id", "relationships:id"), "name"):
            if name in parts:
                raise SourceError(f"does not read as a workbook: it has two sheets {name}")
            target = targets.get(link, "").removeprefix("/")
            parts[name] = target if target.startswith("xl/") else f"xl/{target}"
        return parts

    def _pairs(
        self, part: str, mark: str, keys: Sequence[str], value: str
    ) -> list[tuple[str, str]]:
        """Two attributes of every mark of a name in a list."""
        pairs: list[tuple[str, str]] = []

        def start(name: str, about: dict[str, str]) -> None:
            key = next((about[key] for key in keys if key in about), None)
            if name == mark and key is not None and value in about:
                pairs.append((key, about[value]))
                if len(pairs) > MOST_SHEETS:
                    raise SourceError(f"lists more than {MOST_SHEETS:,} sheets")

        with self.open(part) as xml:
            for read in _read(xml, start):
                if read > _LONGEST:
                    raise SourceError("does not read as a workbook: its list of sheets has no end")
        return pairs


def _read(
    xml: IO[bytes], start: _Started, end: Callable[[str], object] | None = None
) -> Iterator[int]:
    """Go through XML once; how many bytes were read is told now and then."""
    parser, depth, read = expat.ParserCreate(), 0, 0

    def started(name: str, about: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise SourceError(f"does not read as a workbook: it is nested {_DEEPEST} levels deep")
        start(name.rpartition(":")[2], about)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name.rpartition(":")[2])

    parser.StartElementHandler, parser.EndElementHandler = started, ended
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        while chunk := xml.read(_CHUNK):
            parser.Parse(chunk, False)
            read += len(chunk)
            if read - max(parser.CurrentByteIndex, 0) > _LONGEST:
                raise SourceError("does not read as a workbook: it holds a mark without end")
            yield read
        parser.Parse(b"", True)
        yield read
    except expat.ExpatError as error:
        raise SourceError(f"does not read as a workbook: {error}") from None


def _refuse_doctype(*_: object) -> None:
    raise SourceError("does not read as a workbook: it declares a document type")
