"""Table files of every format: one file is one table, and so are the parts of a folder.

CSV is read as text throughout: whether a column holds numbers is decided by all of its values,
so nothing is lost to a guess from the first rows (leading zeros, a late exception).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dovetail.errors import SourceError
from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.declarations import parquet_comments
from dovetail.sources.file_formats import UNTYPED, FileReader, size_of
from dovetail.sources.file_tables import FileTable, file_tables
from dovetail.sources.parts import PartsScan
from dovetail.sources.walk import fingerprint_files


class FilesSource:
    """The table files of one path, folder or glob."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._reader = FileReader()
        # Parts of tables that an attempt has shown to be broken, with the reason.
        self._broken: dict[str, dict[str, str]] = {}

    def tables(self) -> Sequence[Listing]:
        """List tables, each by its path below the source, without the suffix if unambiguous."""
        return [
            Listing(table.name, table.place, size_of(table.files()))
            for table in file_tables(self._spec.location)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        return fingerprint_files(_at(table).files(), previous)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        """The comments in the metadata of Parquet files: of each table's first file."""
        comments = {}
        for table in tables:
            at = FileTable.at(table.place)
            if at.format == "parquet" and at.parts:
                comments[table.name] = parquet_comments(at.path(at.parts[0]))
        return comments

    def scan(self, table: Listing) -> Scan:
        files = _at(table)
        if not files.parts:
            raise SourceError("holds no file of its format")
        if not files.is_one_file:
            broken = self._broken.setdefault(table.name, {})
            return PartsScan(table.name, files, self._reader, broken).scan()
        explain = partial(self._reader.explained, table.name)
        with explain():
            self._reader.shape(table.name, files.format, files.root)
            relation = self._reader.relation(
                table.name, files.format, [files.root], sheet=files.sheet
            )
        return duck.scan(relation, explain, untyped=files.format in UNTYPED)

    def close(self) -> None:
        self._reader.close()


def _at(listing: Listing) -> FileTable:
    table = FileTable.at(listing.place)
    if table.trouble:
        raise SourceError(table.trouble)
    return table
