"""CSV and TSV files: the dialect of a file is detected once, then given to DuckDB as fixed.

Left to detect it, DuckDB answers a row that does not fit by dropping rows, or by reading each line
as one column. With a fixed dialect such a row is an error that names the line.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from dovetail.errors import SourceError
from dovetail.sources import duck

_DELIMITERS = ",;\t|"
_FIRST_LOOK = 1 << 16
_EMPTY = "(empty)"  # how DuckDB spells "none"
# Lines up to the size of a buffer; DuckDB's own limit is 2 MB.
_LONG_LINES = "max_line_size = 31000000, buffer_size = 32000000"
# Numbers with a decimal comma, with or without points between the thousands; and with the comma.
_EUROPEAN = r"\s*|\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?\s*"
_COMMA = r".*,\d+\s*"
_FEW_ROWS = 1000
_DOUBLE_QUOTED = "quote = '\"', escape = '\"'"
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file separates and quotes its values, and what its columns are called."""

    delimiter: str
    quote: str
    escape: str
    skip: int
    header: bool
    columns: tuple[str, ...]

    def options(self) -> list[str]:
        """The dialect in the words of read_csv."""
        return [
            f"delim = {duck.literal(self.delimiter)}",
            f"quote = {duck.literal(self.quote)}",
            f"escape = {duck.literal(self.escape)}",
            f"skip = {self.skip}",
            f"header = {str(self.header).lower()}",
        ]


def read_csv(files: Sequence[str], dialect: Dialect, *, long_lines: bool) -> str:
    """A read_csv call for files of one dialect, all their values text.

    `long_lines` reads lines beyond DuckDB's limit, which it gets right on one thread only, and
    there it drops a last value whose quote is never closed: so that is looked for here.
    """
    options = [*dialect.options(), "hive_partitioning = false", "auto_detect = false"]
    if long_lines:
        _refuse_unclosed(files, dialect.quote)
        options += ["parallel = false", _LONG_LINES]
    columns = ", ".join(f"{duck.literal(name)}: 'VARCHAR'" for name in dialect.columns)
    return f"read_csv({duck.file_list(files)}, {', '.join(options)}, columns = {{{columns}}})"


def first_line(file: str) -> bytes:
    """The first line of a file as it is written, or all that a first look shows of it."""
    head = _head(file)
    if b"\0" in head:
        raise SourceError("holds NUL bytes, so it is no CSV text; export it again as UTF-8")
    return head.partition(b"\n")[0]


def encoding_of(file: str) -> str:
    """The encoding that the first bytes announce: 'utf-8' where they do not."""
    head = _head(file)
    return next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")


def as_utf8(file: str, to: str, *, one_line_end: bool = False) -> None:
    """Write a text file again in UTF-8, and if asked to with one kind of line end.

    In UTF-8 with other bytes between, those are Windows-1252, of which Latin-1 is a part.
    """
    encoding = encoding_of(file)
    errors = _WESTERN if encoding == "utf-8" else "strict"
    plain = codecs.getincrementaldecoder(encoding)(errors)
    decode = io.IncrementalNewlineDecoder(plain, translate=True) if one_line_end else plain
    try:
        with pa.input_stream(file) as stream, open(to, "w", encoding="utf-8", newline="") as out:
            while chunk := stream.read(1 << 20):
                out.write(decode.decode(chunk))
            out.write(decode.decode(b"", final=True))
    except OSError as error:
        raise SourceError(f"cannot be written as UTF-8 to {to}: {error}") from None


def with_decimal_points(relation: str, dialect: Dialect) -> str:
    """The relation with points in place of commas in columns whose numbers have those.

    Only where commas do not separate the values: there `1,234` may be a whole number.
    """
    if dialect.delimiter == ",":
        return relation
    names = [duck.identifier(name) for name in dialect.columns]
    tests = [
        f"bool_and({_matches(name, _EUROPEAN)}), bool_or({_matches(name, _COMMA)})"
        for name in names
    ]
    ((*few,),) = duck.fetch(f"SELECT {', '.join(tests)} FROM (FROM {relation} LIMIT {_FEW_ROWS})")
    candidates = [name for at, name in enumerate(names) if few[2 * at] and few[2 * at + 1]]
    if not candidates:
        return relation
    test = ", ".join(f"bool_and({_matches(name, _EUROPEAN)})" for name in candidates)
    ((*all_rows,),) = duck.fetch(f"SELECT {test} FROM {relation}")
    changed = [
        f"replace(replace({name}, '.', ''), ',', '.') AS {name}"
        for name, fits in zip(candidates, all_rows, strict=True)
        if fits
    ]
    return f"(SELECT * REPLACE ({', '.join(changed)}) FROM {relation})" if changed else relation


def _matches(name: str, pattern: str) -> str:
    return f"regexp_full_match({name}, {duck.literal(pattern)})"


def complaint(message: str) -> str:
    """DuckDB says what is wrong with a CSV over several lines: the position and the cause."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("Expected", "Value", "Invalid u", "Max"))]
    position = duck.one_line(message)
    if "sniffing" in position or "state machine" in position:
        return (
            "does not read as CSV: rows of different lengths, lines that end in different ways, "
            "or a misplaced quote; export it again"
        )
    return f"{position}: {causes[0]}" if causes else position


def dialect_of(file: str, *, tab: bool) -> Dialect:
    """How a file is written, by its first rows."""
    lines = [line.decode("utf-8", "replace") for line in _head(file).splitlines()]
    delimiters = "\t" if tab else _DELIMITERS
    fixed = f", delim = {duck.literal(delimiters)}" if tab else ""
    # Quotes may begin after the rows that DuckDB looks at, so they are expected at first.
    for options in (f", {_DOUBLE_QUOTED}{fixed}", fixed):
        dialect = _sniff(file, options)
        if dialect and dialect.quote and _plausible(dialect, lines, delimiters):
            return dialect
    return _of_first_line(lines[0] if lines else "", delimiters)


def _head(file: str) -> bytes:
    with pa.input_stream(file) as stream:
        return bytes(stream.read(_FIRST_LOOK))


def _sniff(file: str, options: str) -> Dialect | None:
    """What DuckDB makes of the first rows; None when it finds nothing that fits them all."""
    try:
        ((delimiter, quote, escape, skip, header, columns),) = duck.fetch(
            "SELECT Delimiter, Quote, Escape, SkipRows, HasHeader, [c.name FOR c IN Columns] "
            f"FROM sniff_csv({duck.file_pattern(file)}, all_varchar = true, comment = '', "
            f"{_LONG_LINES}{options})"
        )
    except duckdb.InvalidInputException as error:
        if "when sniffing" in str(error):
            return None
        raise
    quote = "" if quote == _EMPTY else quote
    escape = quote if escape == _EMPTY else escape
    return Dialect(delimiter, quote, escape, skip, header, tuple(columns))


def _plausible(dialect: Dialect, lines: list[str], delimiters: str) -> bool:
    """Whether nothing that was left out, or read as one column, looks like a row of several.

    Titles may hold a separator, if they are much shorter than rows or an empty line follows them.
    """
    if len(dialect.columns) == 1:
        suspects = [*lines[: dialect.skip], *dialect.columns]
        return not any(mark in text for text in suspects for mark in delimiters)
    titles = lines[: dialect.skip]
    if titles and not titles[-1].strip(f" {dialect.delimiter}"):
        return True
    return all(2 * (line.count(dialect.delimiter) + 1) <= len(dialect.columns) for line in titles)


def _of_first_line(line: str, delimiters: str) -> Dialect:
    delimiter = max(delimiters, key=line.count)
    names: list[str] = []
    for number, given in enumerate(next(csv.reader([line], delimiter=delimiter), [""])):
        name = given.strip() or f"column{number}"
        taken = {other.casefold() for other in names}
        names.append(f"{name}_{number}" if name.casefold() in taken else name)
    return Dialect(delimiter, '"', '"', 0, True, tuple(names))


def _refuse_unclosed(files: Sequence[str], quote: str) -> None:
    for file in files:
        quotes = 0
        with pa.input_stream(file) as stream:
            while quote and (chunk := stream.read(1 << 20)):
                quotes += chunk.count(quote.encode())
        if quotes % 2:
            raise SourceError(f"has a quote ({quote}) that is never closed")


def _read_western(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    raw = error.object[error.start : error.end]
    try:
        return raw.decode("cp1252"), error.end
    except UnicodeDecodeError:  # five bytes have no character there
        return raw.decode("latin-1"), error.end


_WESTERN = "dovetail-western"
codecs.register_error(_WESTERN, _read_western)
