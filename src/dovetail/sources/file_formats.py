"""How a file of each format is read: the DuckDB relation of files that are alike."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import RescanError, SourceError
from dovetail.sources import delimited, duck

# Formats whose values are all text, of a kind that is for us to find out.
UNTYPED = ("csv", "tsv")


class FileReader:
    """Reads the files of one source; it remembers which tables must be read another way."""

    def __init__(self) -> None:
        self._other_encoding: set[str] = set()
        self._long_lines: set[str] = set()
        self._written_again: dict[str, str] = {}
        self._rewritten: tempfile.TemporaryDirectory[str] | None = None
        self._dialects: dict[tuple[str, bytes], delimited.Dialect] = {}

    def shape(self, table: str, kind: str, file: str) -> Hashable:
        """What files of a table must have in common to be read by one relation."""
        duck.literal(file)
        open(file, "rb").close()  # one that is gone or closed to us says so plainly
        if kind in UNTYPED:
            return self._dialect(kind, self._in_utf8(table, file))
        if kind == "parquet":
            try:
                return tuple((field.name, str(field.type)) for field in pq.read_schema(file))
            except (OSError, pa.ArrowException):
                return file  # which DuckDB explains, or reads
        return file

    def relation(self, table: str, kind: str, files: Sequence[str]) -> str:
        """A call of DuckDB that gives the rows of files of one shape."""
        if kind in UNTYPED:
            files = [self._in_utf8(table, file) for file in files]
            dialect = self._dialect(kind, files[0])
            return delimited.read_csv(files, dialect, long_lines=table in self._long_lines)
        options = ", sample_size = -1" if kind == "json" else ""
        return f"read_{kind}({duck.file_list(files)}, hive_partitioning = false{options})"

    def close(self) -> None:
        if self._rewritten is not None:
            self._rewritten.cleanup()

    @contextmanager
    def explained(self, table: str) -> Iterator[None]:
        """Turn DuckDB's errors into one line, or into news that a table reads another way."""
        try:
            yield
        except duckdb.InvalidInputException as error:
            reason = str(error)
            for sign, another_way in (
                ("not utf-8 encoded", self._other_encoding),
                ("Maximum line size", self._long_lines),
            ):
                if sign in reason and table not in another_way:
                    another_way.add(table)
                    raise RescanError(delimited.complaint(reason)) from None
            raise SourceError(delimited.complaint(reason)) from None
        except duck.ENGINE_ERRORS as error:
            raise SourceError(duck.one_line(str(error))) from None

    def _dialect(self, kind: str, file: str) -> delimited.Dialect:
        """The dialect of a file; of files that begin with the same header, that of the first."""
        key = (kind, delimited.first_line(file))
        if key not in self._dialects:
            found = delimited.dialect_of(file, tab=kind == "tsv")
            if not found.header or found.skip:
                return found
            self._dialects[key] = found
        return self._dialects[key]

    def _in_utf8(self, table: str, file: str) -> str:
        """The file itself, or if it is in another encoding, where it is written again."""
        if table not in self._other_encoding and delimited.encoding_of(file) == "utf-8":
            return file
        if file not in self._written_again:
            self._rewritten = self._rewritten or tempfile.TemporaryDirectory(prefix="dovetail-")
            folder, number = self._rewritten.name, len(self._written_again)
            self._written_again[file] = delimited.as_utf8(file, folder, number)
        return self._written_again[file]


def size_of(files: Sequence[str]) -> int:
    """The size of files; what cannot be looked at is found out when it is read."""
    total = 0
    for file in files:
        try:
            total += os.stat(file).st_size
        except OSError:
            continue
    return total
