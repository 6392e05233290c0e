"""CSV and TSV files: the dialect of a file is detected once, then given to DuckDB as fixed.

Left to detect it, DuckDB answers a row that does not fit by dropping rows, or by reading each line
as one column. With a fixed dialect such a row is an error that names the line.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.errors import SourceError, UsageError
from dovetail.sources import duck
from dovetail.sources.text_encoding import marked_encoding
from dovetail.text import count

_DELIMITERS = ",;\t|"
_FIRST_LOOK = 1 << 16
_EMPTY = "(empty)"  # how DuckDB spells "none"
# Lines up to the size of a buffer; DuckDB's own limit is 2 MB.
_LONG_LINES = "max_line_size = 31000000, buffer_size = 32000000"
# Numbers with a decimal comma, with or without points between the thousands; and with the comma.
_EUROPEAN = r"\s*|\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?\s*"
_COMMA = r".*,\d+\s*"
_FEW_ROWS, _TITLE_LINES = 1000, 12
# Columns that are asked about in one query, and rows and cells that it is shown at most.
_TOGETHER, _ROWS, _CELLS = 100, 2048, 1 << 21
# Columns whose first rows are read at once: DuckDB takes memory for 2,048 rows of each, some times.
_WIDE = 4096
_DOUBLE_QUOTED = "quote = '\"', escape = '\"'"
# Days as they are written with points, the day first, and with a time.
_DAY = r"\s*|\s*\d{1,2}\.\d{1,2}\.\d{4}(\s+\d{1,2}:\d{2}(:\d{2})?)?\s*"
_DAY_FORMATS = "['%d.%m.%Y', '%d.%m.%Y %H:%M', '%d.%m.%Y %H:%M:%S']"
# Of the rows of a file, at most so many may be left out for a wrong number of values; of so few,
# one.
_RAGGED_SHARE, _FEW_LINES = 0.1, 4
LEFT_OUT, _COUNTED = "ignore_errors = true", "store_rejects = true, rejects_limit = 100000"
# What DuckDB says where nothing fits the first rows, or not what it was told of them.
_NOT_SEEN = ("when sniffing", "Sniffer detected value different")
_LINE_END, _MIXED_ENDS = re.compile(rb"\r?\n"), {b"\r\n", b"\n"}
_NUMBER = re.compile(r"\s*+[-+]?\d[\d.,:/ -]*+\s*+")


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


def read_csv(files: Sequence[str], dialect: Dialect, *, long_lines: bool, ragged: str = "") -> str:
    """A read_csv call for files of one dialect, all their values text.

    `long_lines` reads lines beyond DuckDB's limit, which it gets right on one thread only, and
    there it drops a last value whose quote is never closed: so that is looked for here. `ragged`
    says what becomes of lines with another number of values; by itself that is an error.
    """
    options = [*dialect.options(), "hive_partitioning = false", "auto_detect = false"]
    options += [ragged] if ragged else []
    if long_lines:
        _refuse_unclosed(files, dialect.quote)
        options += ["parallel = false", _LONG_LINES]
    columns = ", ".join(f"{duck.literal(name)}: 'VARCHAR'" for name in dialect.columns)
    return f"read_csv({duck.file_list(files)}, {', '.join(options)}, columns = {{{columns}}})"


def ragged_lines(file: str, dialect: Dialect, *, long_lines: bool) -> dict[str, str]:
    """The first line of a file that has more or fewer values than its header, and what to tell.

    A few are left out. A file in which they are many was read in a wrong way: that is an error, as
    is whatever else is wrong with a line.
    """
    relation = read_csv([file], dialect, long_lines=long_lines, ragged=_COUNTED)
    connection = duck.cursor()
    ((rows,),) = duck.run(f"SELECT count(*) FROM {relation}", connection).fetchall()
    rejected = duck.run(  # one for each line, of which every missing value has its own
        "SELECT DISTINCT ON (line) line, CAST(error_type AS VARCHAR), error_message "
        "FROM reject_errors ORDER BY line, column_idx",
        connection,
    ).fetchall()
    connection.close()
    for line, kind, message in rejected:
        if not kind.endswith(" COLUMNS"):
            raise duckdb.InvalidInputException(f"CSV Error on Line: {line}\n{message}")
    if not rejected:
        return {}
    line, _, message = rejected[0]
    wanted, values = re.findall(r"\d+", message)[:2]
    lines = rows + len(rejected)
    if len(rejected) > max(_RAGGED_SHARE * lines, int(lines >= _FEW_LINES)):
        raise SourceError(
            f"{len(rejected):,} of {lines:,} lines do not have {wanted} values (line {line:,} has "
            f"{values}); say which line names the columns: dovetail index FILE --csv header=N"
        )
    more = f"; {count(len(rejected) - 1, 'more line')} left out too" if len(rejected) > 1 else ""
    noun = "value" if values == "1" else "values"
    return {f"line {line:,}": f"has {values} {noun}, not {wanted}{more}"}


def first_line(file: str) -> bytes:
    """The first line of a file as it is written, or all that a first look shows of it."""
    head = _head(file)
    if b"\0" in head:
        raise SourceError("holds NUL bytes, so it is no CSV text; export it again as UTF-8")
    return head.partition(b"\n")[0]


def is_marked(file: str) -> bool:
    """Whether the first bytes of a file announce an encoding other than UTF-8."""
    return marked_encoding(_head(file)) != "utf-8"


def in_plain_spelling(relation: str, dialect: Dialect) -> str:
    """The relation with numbers and days as others write them, where all of a column's values are.

    A decimal comma becomes a point, only where commas do not separate the values: there `1,234` may
    be a whole number. A day with points, which has its day first everywhere, becomes an ISO date.
    """
    spellings: list[tuple[_Spell, str]] = [(_iso_day, ".")]
    if dialect.delimiter != ",":
        spellings.append((_decimal_point, ","))
    changed = [test.change for test in _held(relation, dialect.columns, spellings)]
    return f"(SELECT * REPLACE ({', '.join(changed)}) FROM {relation})" if changed else relation


class _Spelling(NamedTuple):
    """SQL on a column: whether all values are spelled so, whether one shows it, and the change."""

    column: str
    every: str
    some: str
    change: str


_Spell = Callable[[str], _Spelling]


def _decimal_point(column: str) -> _Spelling:
    name = duck.identifier(column)
    change = f"replace(replace({name}, '.', ''), ',', '.') AS {name}"
    return _Spelling(column, _matches(name, _EUROPEAN), _matches(name, _COMMA), change)


def _iso_day(column: str) -> _Spelling:
    name = duck.identifier(column)
    moment = f"try_strptime(trim({name}), {_DAY_FORMATS})"
    blank = f"trim({name}) = ''"
    every = f"({_matches(name, _DAY)} AND ({blank} OR {moment} IS NOT NULL))"
    text = f"coalesce(replace(CAST({moment} AS VARCHAR), ' 00:00:00', ''), {name})"
    return _Spelling(column, every, f"NOT {blank}", f"{text} AS {name}")


def _held(
    relation: str, columns: Sequence[str], spellings: Sequence[tuple[_Spell, str]]
) -> list[_Spelling]:
    """The tests of columns that their first rows show to be spelled so, and that all rows bear out.

    The first rows are read alone: of them those columns are tried that have the sign of a spelling.
    """
    held: list[_Spelling] = []
    rows = 0
    with closing(duck.cursor()) as reading:
        for start in range(0, len(columns), _WIDE):
            part = columns[start : start + _WIDE]
            named = ", ".join(map(duck.identifier, part))
            limited = duck.run(f"SELECT {named} FROM {relation} LIMIT {_FEW_ROWS}", reading)
            first = limited.to_arrow_reader(_FEW_ROWS).read_all()
            tests = [
                spell(name)
                for spell, sign in spellings
                for at, name in enumerate(part)
                if pc.any(pc.match_substring(first.column(at), sign)).as_py()
            ]
            held += _holding(tests, first, first=True)
            rows = first.num_rows
        if not held or rows < _FEW_ROWS:
            return held
        named = ", ".join(duck.identifier(test.column) for test in held)
        duck.run(f"SELECT {named} FROM {relation}", reading)
        for batch in reading.to_arrow_reader(max(_ROWS, _CELLS // len(held))):
            held = _holding(held, pa.Table.from_batches([batch]))
            if not held:
                break
    return held


def _holding(tests: Sequence[_Spelling], rows: pa.Table, *, first: bool = False) -> list[_Spelling]:
    """The tests that hold over some rows; of the `first`, one has to show it.

    A query is planned in time for every column of its relation, and for the square of its tests:
    so it is shown some columns, and asked about these.
    """
    held: list[_Spelling] = []
    with closing(duck.cursor()) as connection:
        for at in range(0, len(tests), _TOGETHER):
            part = tests[at : at + _TOGETHER]
            columns = list(dict.fromkeys(test.column for test in part))
            connection.register("part", rows.select(columns))
            asked = (
                f"bool_and({test.every})" + f" AND bool_or({test.some})" * first for test in part
            )
            ((*answers,),) = duck.run(f"SELECT {', '.join(asked)} FROM part", connection).fetchall()
            held += [test for test, holds in zip(part, answers, strict=True) if holds is not False]
    return held


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


def csv_options(text: str) -> dict[str, int | str]:
    """What somebody says of CSV files: their encoding, and which line names the columns (0: none).

    >>> csv_options("encoding=sjis, header=3"), csv_options("")
    ({'encoding': 'shift_jis', 'header': 3}, {})
    """
    options: dict[str, int | str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        try:
            if name == "encoding":
                options[name] = codecs.lookup(value).name
            elif name == "header" and value.isdecimal():
                options[name] = int(value)
            else:
                raise UsageError(
                    f"csv {part!r} is not understood; give encoding=NAME, header=N, or both"
                )
        except (LookupError, ValueError):
            raise UsageError(
                f"the encoding {value!r} is not known; there are shift_jis, gbk, big5, euc_kr, "
                "cp1251, latin-1 and others that Python has"
            ) from None
    return options


def dialect_of(file: str, *, tab: bool, header: int | None = None, many: bool = False) -> Dialect:
    """How a file is written, by its first rows.

    `header` is the line that names the columns, where somebody says it; 0 is none. Said of `many`
    files, it holds for those that have fewer values in each line above it.
    """
    head = _head(file)
    lines = [line.decode("utf-8", "replace") for line in head.splitlines()]
    delimiters = "\t" if tab else _DELIMITERS
    fixed = f", delim = {duck.literal(delimiters)}" if tab else ""
    if header is not None and header > len(lines) and not many:
        raise SourceError(
            f"has no line {header:,} that could name its columns; say another, counted from 1"
        )
    if header is not None and (not many or _stands_out(lines, header, delimiters)):
        skip = max(header - 1, 0)
        written = f"{fixed}, skip = {skip}, header = {str(header > 0).lower()}"
        dialect = _sniff(file, f", {_DOUBLE_QUOTED}{written}")
        if dialect is None or not dialect.quote:
            _require_one_line_end(head)
            dialect = _of_first_line(lines[skip] if skip < len(lines) else "", delimiters)
        return replace(dialect, skip=skip, header=header > 0)
    # Quotes may begin after the rows that DuckDB looks at, so they are expected at first.
    for options in (f", {_DOUBLE_QUOTED}{fixed}", fixed):
        dialect = _sniff(file, options)
        if dialect and dialect.quote and _plausible(dialect, lines, delimiters):
            below = _header_below_title(dialect, lines)
            return dialect_of(file, tab=tab, header=below) if below else dialect
    _require_one_line_end(head)
    return _of_first_line(lines[0] if lines else "", delimiters)


def _stands_out(lines: Sequence[str], header: int, delimiters: str) -> bool:
    """Whether a line has more values than each line above it."""
    if not 0 < header <= len(lines):
        return header == 0
    delimiter = max(delimiters, key=lines[header - 1].count)
    rows = [next(csv.reader([line], delimiter=delimiter), []) for line in lines[:header]]
    *above, named = map(_filled, rows)
    return all(many < named for many in above)


def _require_one_line_end(head: bytes) -> None:
    """Complain, as DuckDB does, of text of which nothing fits all rows as its lines differ."""
    if _MIXED_ENDS.issubset(_LINE_END.findall(head)):
        raise duckdb.InvalidInputException("when sniffing: lines end in different ways")


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
        if any(sign in str(error) for sign in _NOT_SEEN):
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
    cells = [line.count(dialect.delimiter) + 1 for line in titles]
    if all(2 * number <= len(dialect.columns) for number in cells):
        return True
    return max(cells) < len(dialect.columns) and _names_columns(dialect, lines)


def _names_columns(dialect: Dialect, lines: list[str]) -> bool:
    """Whether the header holds words alone, and the line below it a number: it names columns."""
    below = next(csv.reader(lines[dialect.skip + 1 :][:1], delimiter=dialect.delimiter), [])
    named = not any(map(_NUMBER.fullmatch, dialect.columns))
    return dialect.header and named and any(map(_NUMBER.fullmatch, below))


def _header_below_title(dialect: Dialect, lines: list[str]) -> int:
    """The line that names the columns, where the first is a title that separators fill up; 0 if
    it is none. That is how a worksheet with a title is exported."""
    rows = list(csv.reader(lines[dialect.skip :][:_TITLE_LINES], delimiter=dialect.delimiter))
    filled = [_filled(row) for row in rows]
    if not dialect.header or len(dialect.columns) < 2 or filled[:1] != [1]:
        return 0
    at = next((at for at, many in enumerate(filled) if many == len(dialect.columns)), 0)
    named = replace(dialect, skip=dialect.skip + at, columns=tuple(rows[at]))
    return named.skip + 1 if at and _names_columns(named, lines) else 0


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


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
