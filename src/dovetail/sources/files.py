"""CSV, TSV, Parquet and JSON files: one file is one table, and so is a folder of parts.

CSV is read as text throughout: whether a column holds numbers is decided by all of its values,
so nothing is lost to a guess from the first rows (leading zeros, a late exception).
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb

from dovetail.errors import RescanError, SourceError
from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import delimited, duck
from dovetail.sources.descriptions import is_descriptions, parquet_comments
from dovetail.sources.file_fingerprint import fingerprint_files
from dovetail.sources.walk import parts, table_format, table_suffix, walk


class FilesSource:
    """The table files of one path, folder or glob."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        # Tables that must be read another way, as a first attempt has shown.
        self._other_encoding: set[str] = set()
        self._long_lines: set[str] = set()
        self._rewritten: tempfile.TemporaryDirectory[str] | None = None

    def tables(self) -> Sequence[Listing]:
        """List tables, each by its path below the source, without the suffix if unambiguous."""
        found = [
            file
            for file in walk(self._spec.location)
            if file.is_table and not is_descriptions(file.path)
        ]
        brief = [file.below.removesuffix(table_suffix(file.below)) for file in found]
        times = Counter(brief)
        return [
            Listing(short if times[short] == 1 else file.below, file.path, _weight(file.path))
            for short, file in zip(brief, found, strict=True)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        return fingerprint_files(parts(table.place), previous)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        """The comments in the metadata of Parquet files: of each table's first file."""
        found = {}
        for table in tables:
            if table_format(table.place) == "parquet" and (files := parts(table.place)):
                found[table.name] = parquet_comments(files[0])
        return found

    def scan(self, table: Listing) -> Scan:
        kind = table_format(table.place)
        explain = partial(self._explained, table.name)
        with explain():
            files = parts(table.place)
            if not files:
                raise SourceError("holds no file of its format")
            names = duck.file_list(files)
            for file in files:  # one that is gone or closed to us says so plainly
                open(file, "rb").close()
            hive = _is_partitioned(table.place, files)
            if kind in ("csv", "tsv"):
                relation = self._csv(table.name, files, tab=kind == "tsv", hive=hive)
                return duck.scan(relation, explain, untyped=True)
        options = f", hive_partitioning = {str(hive).lower()}"
        options += ", sample_size = -1" if kind == "json" else ""
        options += ", union_by_name = true" if len(files) > 1 else ""
        return duck.scan(f"read_{kind}({names}{options})", explain)

    def close(self) -> None:
        if self._rewritten is not None:
            self._rewritten.cleanup()

    def _csv(self, table: str, files: list[str], *, tab: bool, hive: bool) -> str:
        if table in self._other_encoding or delimited.encoding_of(files[0]) != "utf-8":
            self._rewritten = self._rewritten or tempfile.TemporaryDirectory(prefix="dovetail-")
            folder = tempfile.mkdtemp(dir=self._rewritten.name)
            files = [delimited.as_utf8(file, folder, at) for at, file in enumerate(files)]
            hive = False
        return delimited.read_csv(files, tab=tab, hive=hive, long_lines=table in self._long_lines)

    @contextmanager
    def _explained(self, table: str) -> Iterator[None]:
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


def _weight(path: str) -> int:
    """The size of a table's files; what cannot be looked at is found out when it is read."""
    try:
        return sum(os.stat(part).st_size for part in parts(path))
    except (OSError, SourceError):
        return 0


def _is_partitioned(place: str, files: list[str]) -> bool:
    """Whether the folders of the parts hold values (`year=2020`), as Hive writes them.

    DuckDB would take such folders above the table for columns too, so there it is left alone.
    """
    inside = (os.path.dirname(os.path.relpath(file, place)) for file in files)
    return "=" not in os.path.dirname(place) and any("=" in folder for folder in inside)
