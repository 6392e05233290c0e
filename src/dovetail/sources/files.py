"""Table files of every format: one file is one table, and so are the parts of a folder.

CSV is read as text throughout: whether a column holds numbers is decided by all of its values,
so nothing is lost to a guess from the first rows (leading zeros, a late exception).

Parts may differ in columns, types and dialect, or be broken. Columns are held against each other by
name. A part that cannot be read, or has nothing in common with the others, is left out, and the
scan says so. What folders say of the rows in them (`year=2024/month=03`) are columns too.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial

import pyarrow as pa

from dovetail.domain.sql import literal
from dovetail.errors import RescanError, SourceError
from dovetail.ports import Declaration, Fingerprint, Listing, Scan, ScannedColumn, SourceSpec
from dovetail.sources import duck
from dovetail.sources.declarations import parquet_comments
from dovetail.sources.file_formats import UNTYPED, FileReader, size_of
from dovetail.sources.file_tables import FileTable, Values, file_tables
from dovetail.sources.projection import Columns, Field, common_type, fields_of, plain_type
from dovetail.sources.walk import fingerprint_files

_WHOLE = re.compile(r"-?\d{1,18}")
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,15}")


class FilesSource:
    """The table files of one path, folder or glob."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._reader = FileReader(spec.options, many=not os.path.isfile(spec.location))

    def tables(self) -> Sequence[Listing]:
        """List tables, each by its path below the source, without the suffix if unambiguous."""
        return [
            Listing(table.name, table.location, size_of(table.files()), apart=not table.is_plain)
            for table in file_tables(self._spec.location)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        at = FileTable.at(table.place).readable()
        return fingerprint_files(at.files(), previous, parts=not at.is_one_file)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        """The comments in the metadata of Parquet files: of each table's first file."""
        comments = {}
        for table in tables:
            at = FileTable.at(table.place)
            if at.format == "parquet" and at.parts:
                comments[table.name] = parquet_comments(at.path(at.parts[0]))
        return comments

    def scan(self, table: Listing) -> Scan:
        return scan_files(table.name, FileTable.at(table.place).readable(), self._reader)

    def close(self) -> None:
        self._reader.close()


def scan_files(name: str, table: FileTable, reader: FileReader) -> Scan:
    """Stream a table in files under the name that the catalog has for it."""
    if not table.is_one_file:
        return PartsScan(name, table, reader).scan()
    explain = partial(reader.explained, name)
    with explain():
        reader.shape(name, table.format, table.root)
        relation = reader.relation(name, table.format, [table.root], sheet=table.sheet)
    scan = duck.scan(relation, explain, untyped=table.format in UNTYPED)
    return replace(scan, left_out=_lines_left_out(name, table, reader))


def _lines_left_out(name: str, table: FileTable, reader: FileReader) -> dict[str, str]:
    """The lines that are left out, each after the part that it is in."""
    lines = reader.ragged.get(name, {})
    return {
        f"{part}/{line}" if part else line: reason
        for part in table.parts
        for line, reason in lines.get(table.path(part), {}).items()
    }


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Parts that one relation reads: of one shape, and with the same partition values."""

    parts: tuple[str, ...]
    relation: str
    values: Values
    fields: dict[str, Field]  # by name, in lower case


class PartsScan:
    """One reading of a table in parts, under the name that the catalog has for it."""

    def __init__(self, name: str, table: FileTable, reader: FileReader) -> None:
        self._table = table
        self._explain = partial(reader.explained, name)
        self._is_blank = partial(reader.is_blank, table.format)
        self._shape = partial(reader.shape, name, table.format)
        self._relation = partial(reader.relation, name, table.format)
        self._lines_left_out = partial(_lines_left_out, name, table, reader)
        self._broken = reader.broken.setdefault(name, {})
        self._fields: dict[Hashable, dict[str, Field]] = {}

    def scan(self) -> Scan:
        """Start reading; a table of which nothing can be read raises the first reason."""
        chunks = self._fitting(
            [chunk for group in self._groups() for chunk in self._chunks(*group)]
        )
        if not chunks:
            raise SourceError(self._nothing_left())
        constants = partition_types(map(self._table.values, self._table.parts))
        own = _united(chunks, constants, untyped=self._table.format in UNTYPED)
        columns = (*own, *(ScannedColumn(name, kind) for name, kind in constants.items()))
        left_out = self._broken | self._lines_left_out()
        return Scan(columns, self._batches(chunks, own, constants), left_out)

    def _groups(self) -> list[tuple[Hashable, list[str]]]:
        """The parts that look alike, by shape and partition values."""
        groups: dict[tuple[Hashable, Hashable], list[str]] = {}
        for part in self._table.parts:
            with self._leaving_out(part):
                path = self._table.path(part)
                if part in self._broken or self._is_blank(path):
                    continue
                with self._explain():
                    shape = self._shape(path)
                values = tuple(self._table.values(part).items())
                groups.setdefault((shape, values), []).append(part)
        return [(shape, parts) for (shape, _), parts in groups.items()]

    def _chunks(self, shape: Hashable, parts: list[str]) -> Iterator[_Chunk]:
        """What to read of parts that look alike; one by one, if they cannot be read together."""
        try:
            yield self._chunk(parts, shape)
        except RescanError:
            raise
        except (SourceError, OSError):
            for part in parts:
                with self._leaving_out(part):
                    yield self._chunk([part])

    def _chunk(self, parts: list[str], shape: Hashable = None) -> _Chunk:
        with self._explain():
            relation = self._relation([self._table.path(part) for part in parts])
            fields = self._fields.get(shape) or _by_name(duck.describe(relation))
        if shape is not None:
            self._fields[shape] = fields
        return _Chunk(tuple(parts), relation, self._table.values(parts[0]), fields)

    def _fitting(self, chunks: list[_Chunk]) -> list[_Chunk]:
        """The chunks that have columns in common with the one of the most parts."""
        if not chunks:
            return []
        model = max(chunks, key=lambda chunk: len(chunk.parts))
        fitting = []
        for chunk in chunks:
            reason = _misfit(chunk.fields, model.fields)
            if reason:
                self._broken |= dict.fromkeys(chunk.parts, reason)
            else:
                fitting.append(chunk)
        return fitting

    def _batches(
        self, chunks: list[_Chunk], columns: Sequence[ScannedColumn], constants: dict[str, str]
    ) -> Iterator[pa.RecordBatch]:
        for chunk in chunks:
            fields = [_field(chunk, column) for column in columns]
            fields += partition_fields(chunk.values, constants)
            try:
                yield from duck.stream(chunk.relation, fields, self._explain)
            except RescanError:
                raise
            except (SourceError, OSError) as error:
                if self._find_broken(chunks):
                    raise RescanError(str(error)) from None
                raise

    def _find_broken(self, chunks: Sequence[_Chunk]) -> bool:
        """Read every part by itself, to its end, and note those that cannot be."""
        before = len(self._broken)
        for part in (part for chunk in chunks for part in chunk.parts):
            with self._leaving_out(part):
                chunk = self._chunk([part])
                fields = list(chunk.fields.values())
                for _ in duck.stream(chunk.relation, fields, self._explain):
                    pass
        return len(self._broken) > before

    @contextmanager
    def _leaving_out(self, part: str) -> Iterator[None]:
        try:
            yield
        except RescanError:
            raise
        except SourceError as error:
            self._broken[part] = str(error)
        except OSError as error:
            self._broken[part] = error.strerror or str(error)

    def _nothing_left(self) -> str:
        if not self._broken:
            return f"holds no rows: its {len(self._table.parts)} files are empty"
        part, reason = min(self._broken.items())
        return f"none of its {len(self._table.parts)} files can be read; {part}: {reason}"


def _by_name(columns: Columns) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for field in fields_of(columns):
        fields.setdefault(field.name.casefold(), field)
    return fields


def _misfit(fields: dict[str, Field], model: dict[str, Field]) -> str:
    """Why a part cannot be a part of the same table; '' if it can."""
    shared = fields.keys() & model.keys()
    if not shared:
        return "has no column in common with the other parts; index it apart from them"
    for name in sorted(shared):
        kinds = [plain_type(fields[name].type), plain_type(model[name].type)]
        if common_type(kinds) is None:
            return f"its column {name} is {kinds[0]}, and {kinds[1]} in other parts"
    return ""


def _united(
    chunks: Sequence[_Chunk], constants: dict[str, str], *, untyped: bool
) -> tuple[ScannedColumn, ...]:
    """The columns of all chunks by name; a partition column hides one of a file."""
    hidden = {name.casefold() for name in constants}
    names = Counter(name for chunk in chunks for name in chunk.fields if name not in hidden)
    columns = []
    for name in names:
        fields = [chunk.fields[name] for chunk in chunks if name in chunk.fields]
        kinds = {field.type for field in fields}
        kind = common_type(map(plain_type, kinds)) or "VARCHAR"
        declared = fields[0].type if len(kinds) == 1 else kind
        text = untyped or fields[0].written_number or (len(kinds) > 1 and kind == "VARCHAR")
        columns.append(ScannedColumn(fields[0].name, declared, text))
    return tuple(columns)


def _field(chunk: _Chunk, column: ScannedColumn) -> Field:
    """A column of the table as a chunk has it: in the common type, or missing."""
    field = chunk.fields.get(column.name.casefold())
    kind = plain_type(column.type)
    if field is None:
        return Field(column.name, kind, f"CAST(NULL AS {kind})")
    if plain_type(field.type) == kind:
        return field
    return Field(column.name, kind, f"CAST({field.expression} AS {kind})")


def partition_types(parts: Iterable[Values]) -> dict[str, str]:
    """The partition columns of a table with the type that all their values fit."""
    values: dict[str, list[str]] = {}
    for part in parts:
        for name, value in part.items():
            values.setdefault(name, []).extend([value] if value is not None else [])
    return {name: _type(texts) for name, texts in values.items()}


def partition_fields(values: Values, types: dict[str, str]) -> list[Field]:
    """The partition columns of a part, as constants."""
    return [
        Field(name, kind, f"CAST({'NULL' if value is None else literal(value)} AS {kind})")
        for name, kind in types.items()
        for value in (values.get(name),)
    ]


def _type(values: list[str]) -> str:
    if not values:
        return "VARCHAR"
    if all(_WHOLE.fullmatch(value) for value in values):
        return "BIGINT"
    if all(_WHOLE.fullmatch(value) or _DECIMAL.fullmatch(value) for value in values):
        return "DOUBLE"
    if all(_reads_as(date, value) and len(value) == 10 for value in values):
        return "DATE"
    return "TIMESTAMP" if all(_is_moment(value) for value in values) else "VARCHAR"


def _is_moment(value: str) -> bool:
    return len(value) >= 16 and not value.endswith("Z") and _reads_as(datetime, value)


def _reads_as(kind: type[date], value: str) -> bool:
    try:
        kind.fromisoformat(value)
    except ValueError:
        return False
    return True
