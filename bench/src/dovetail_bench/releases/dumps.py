"""What `mysqldump` writes: the columns of CREATE TABLE and the rows of INSERT, without a server.

The file is gone through once for where things stand, and rows are read from there whenever they
are asked for, so a dump may be larger than memory. Comments, views, triggers and routines are
passed over.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dovetail.errors import DatasetError

Value = int | float | str | bytes | None

# Nothing is tried twice: what a piece has taken it keeps.
_TEXT = rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|\"[^\"\\]*+(?:(?:\\.|\"\")[^\"\\]*+)*+\""
_NAME = rb"`(?:[^`]|``)++`|[\w$]++"
_COMMENT = rb"(?>/\*.*?\*/|--(?=\s)[^\n]*+|\#[^\n]*+)"
_BETWEEN = rb"(?>\s|" + _COMMENT + rb")*+"
# Routines have statements of their own, between a DELIMITER and the next.
_PIECE = re.compile(
    rb"(?P<text>" + _TEXT + rb"|`(?:[^`]|``)*`)|(?P<aside>" + _COMMENT + rb"|^DELIMITER\s.*?"
    rb"^DELIMITER ;[ \t\r]*$)|(?P<end>;)|(?P<open>['\"`]|/\*)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_CREATE = re.compile(
    rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:(?:" + _NAME + rb")\s*\.\s*)?(?P<name>" + _NAME
    + rb")\s*\(",
    re.IGNORECASE,
)  # fmt: skip
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+(?:(?:" + _NAME + rb")\s*\.\s*)?(?P<name>" + _NAME
    + rb")\s*(?:\((?P<columns>[^()]*)\)\s*)?VALUES?\b",
    re.IGNORECASE,
)  # fmt: skip
_PART = re.compile(
    rb"(?:" + _TEXT + rb"|`(?:[^`]|``)*`|" + _COMMENT + rb"|[^,()'\"`])+|[,()]", re.S
)
_COLUMN = re.compile(rb"(?P<name>" + _NAME + rb")\s*(?P<kind>\w*)")
_NOT_COLUMN = re.compile(
    rb"(?:PRIMARY|UNIQUE|FULLTEXT|SPATIAL|FOREIGN|KEY|INDEX|CONSTRAINT|CHECK)\b|PERIOD\s+FOR\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    _BETWEEN + rb"(?:(?P<null>NULL)|(?P<truth>TRUE|FALSE)|(?:_\w+\s*|N)?(?P<text>" + _TEXT + rb")"
    rb"|(?:0x|x')(?P<hex>[0-9a-f]*)'?|(?:0b|b')(?P<bits>[01]*)'?"
    rb"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?))" + _BETWEEN + rb"(?P<after>[,)])",
    re.IGNORECASE | re.DOTALL,
)
_ROW = re.compile(_BETWEEN + rb"(?P<again>,)?" + _BETWEEN + rb"\(", re.DOTALL)
_AFTER = re.compile(_BETWEEN + rb"(?:ON\s+DUPLICATE\b.*)?\Z", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(rb"\\(.)|''|\"\"", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}
_MOST = 2**63


@dataclass(frozen=True, slots=True)
class _Insert:
    """Where the rows of one INSERT stand, and of which columns they are."""

    columns: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Dumped:
    """A table of a dump; going through it reads its rows, in the order of its columns.

    `bits` are columns of bits, which are written as bytes or as text of them: numbers, read so.
    """

    dump: Dump
    name: str
    columns: tuple[str, ...]
    bits: frozenset[str]
    inserts: list[_Insert] = field(default_factory=list)

    def of(self, columns: Sequence[str]) -> Dumped:
        """The table with some of its columns, in whatever order and case they are named."""
        known = {name.casefold() for name in self.columns}
        if missing := [name for name in columns if name.casefold() not in known]:
            raise DatasetError(
                f"{self.dump.file.name}: table {self.name} lacks {len(missing)} of "
                f"{len(columns)} columns, {missing[0]} among them"
            )
        return replace(self, columns=tuple(columns))

    def __iter__(self) -> Iterator[list[Value]]:
        with self.dump.bytes() as content:
            for insert in self.inserts:
                place = {name.casefold(): at for at, name in enumerate(insert.columns)}
                order = [place.get(name.casefold()) for name in self.columns]
                bits = [at for at, name in enumerate(insert.columns) if name in self.bits]
                for row in self._rows(content, insert):
                    for at in bits:
                        row[at] = _of_bits(row[at])
                    yield [None if at is None else row[at] for at in order]

    def _rows(self, content: mmap.mmap, insert: _Insert) -> Iterator[list[Value]]:
        at, wanted = insert.start, len(insert.columns)
        while row := _ROW.match(content, at, insert.end):
            if (row["again"] is None) != (at == insert.start):
                break
            values: list[Value] = []
            at = row.end()
            while value := _VALUE.match(content, at, insert.end):
                values.append(_value(value))
                at = value.end()
                if value["after"] == b")":
                    break
            else:
                raise self._wrong(content, at, "has a value that is no literal")
            if len(values) != wanted:
                reason = f"has a row of {len(values)} values for {wanted} columns"
                raise self._wrong(content, at, reason)
            yield values
        if not _AFTER.match(content[at : insert.end]):
            raise self._wrong(content, at, "has rows that cannot be read")

    def _wrong(self, content: mmap.mmap, at: int, reason: str) -> DatasetError:
        line = content[:at].count(b"\n") + 1
        return DatasetError(f"{self.dump.file.name}, line {line}: table {self.name} {reason}")


class Dump:
    """A dump by its tables, under their names in lower case."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.tables: dict[str, Dumped] = {}
        if not file.stat().st_size:
            raise DatasetError(f"{file.name} is empty")
        with self.bytes() as content:
            for start, end in self._statements(content):
                self._read(content, start, end)
        if not self.tables:
            raise DatasetError(f"{file.name} creates no table; it is no dump with CREATE TABLE")

    def bytes(self) -> mmap.mmap:
        """The file as it is."""
        with self.file.open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def _statements(self, content: mmap.mmap) -> Iterator[tuple[int, int]]:
        start = 0
        for piece in _PIECE.finditer(content):
            if piece["open"] is not None:
                line = content[: piece.start()].count(b"\n") + 1
                raise DatasetError(f"{self.file.name}, line {line}: what is opened is not closed")
            if piece["end"] is not None:
                yield start, piece.start()
                start = piece.end()
            elif piece["aside"] is not None and not content[start : piece.start()].strip():
                start = piece.end()
        if content[start:].strip():
            raise DatasetError(f"{self.file.name} ends within a statement; it is not whole")

    def _read(self, content: mmap.mmap, start: int, end: int) -> None:
        while start < end and content[start : start + 1].isspace():
            start += 1
        if created := _CREATE.match(content, start, end):
            name = _named(created["name"])
            kinds = dict(_columns(content, created.end(), end))
            bits = frozenset(column for column, kind in kinds.items() if kind == "bit")
            self.tables[name.casefold()] = Dumped(self, name, tuple(kinds), bits)
        elif insert := _INSERT.match(content, start, end):
            name = _named(insert["name"])
            if name.casefold() not in self.tables:
                raise DatasetError(f"{self.file.name} fills {name} and does not create it")
            table = self.tables[name.casefold()]
            listed = insert["columns"]
            columns = table.columns
            if listed is not None:
                columns = tuple(_named(each) for each in re.findall(_NAME, listed))
            table.inserts.append(_Insert(columns, insert.end(), end))


def _columns(content: mmap.mmap, start: int, end: int) -> Iterator[tuple[str, str]]:
    """The columns that the body of a CREATE TABLE declares, each with its type."""
    depth, part = 1, b""
    for piece in _PART.finditer(content, start, end):
        sign = piece[0]
        depth += (sign == b"(") - (sign == b")")
        if depth == 0 or (depth == 1 and sign == b","):
            declared = re.sub(rb"\A" + _BETWEEN, b"", part, flags=re.DOTALL)
            column = _COLUMN.match(declared)
            if column and not _NOT_COLUMN.match(declared):
                yield _named(column["name"]), column["kind"].decode().lower()
            part = b""
            if depth == 0:
                return
        else:
            part += sign


def _named(name: bytes) -> str:
    plain = name.strip()
    if plain.startswith(b"`"):
        plain = plain[1:-1].replace(b"``", b"`")
    return plain.decode("utf-8", "replace")


def _value(found: re.Match[bytes]) -> Value:
    if found["null"] is not None:
        return None
    if found["number"] is not None:
        return _number(found["number"].decode())
    if found["text"] is not None:
        return _text(found["text"])
    if found["bits"] is not None:
        return int(found["bits"] or b"0", 2)
    if found["hex"] is not None:
        digits = found["hex"].decode()
        return bytes.fromhex("0" * (len(digits) % 2) + digits)
    return int(found["truth"].upper() == b"TRUE")


def _of_bits(value: Value) -> Value:
    raw = value.encode() if isinstance(value, str) else value
    return int.from_bytes(raw, "big") if isinstance(raw, bytes) else value


def _number(text: str) -> int | float | str:
    if not text.lstrip("+-").isdecimal():
        return float(text)
    number = int(text)
    return number if -_MOST <= number < _MOST else text  # SQLite has no larger ones


def _text(quoted: bytes) -> str | bytes:
    """Text, or the bytes where they are none."""
    quote, inner = quoted[:1], quoted[1:-1]
    if b"\\" in inner or quote in inner:
        inner = _ESCAPE.sub(_unescaped, inner)
    try:
        return inner.decode("utf-8")
    except UnicodeDecodeError:
        return inner


def _unescaped(found: re.Match[bytes]) -> bytes:
    sign = found[1]
    if sign is None:
        return found[0][:1]
    if sign in b"%_":
        return found[0]
    return _ESCAPED.get(sign, sign)
