"""An open catalog: one consistent view of its tables, however many updates land meanwhile."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.arrays import Counts
from dovetail.catalog.dbt import NO_PROJECT, DbtProject
from dovetail.catalog.files import SEGMENTS, require_plain
from dovetail.catalog.generation import (
    DATA_DICTIONARY,
    DBT,
    DICTIONARY_FILE,
    FILE,
    QUERIES,
    RECORDS,
    Manifest,
    Part,
    read_manifest,
    remedy,
)
from dovetail.catalog.lookup import TableNames
from dovetail.catalog.records import COLUMNS_FILE, Records, numbers
from dovetail.catalog.segment import LEADS_OUT, Segment
from dovetail.catalog.usage import NO_USAGE, Usage
from dovetail.catalog.values import StoredValues
from dovetail.domain import Skipped, Table, TableId
from dovetail.domain.sql import QueryNames
from dovetail.domain.tables import short_sources
from dovetail.errors import CatalogError, DamagedError, NotFoundError
from dovetail.hashing import HashCipher, Hashes
from dovetail.settings import Settings

# What the file of notes beside a catalog is called.
NOTES = "dovetail.notes.toml"
_ATTEMPTS = 20
_CHUNK = 512
# Tables that stay as objects: making one takes as long as most of what is done with it.
_TABLES_KEPT = 1024


class CatalogReader:
    """The tables of a catalog, in the order of their ids.

    Iterating gives every `Table`; `catalog["orders"]` finds one by its name, the end of its name,
    `source::name` or `TableId`.
    Everything it will ever read is open from the start, so it stays as it is when the catalog
    is updated or even removed.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        records: Records,
        segments: dict[str, Segment],
        parts: dict[str, Part] | None = None,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.records = records
        self._segments = segments
        self.parts = parts or {}
        # The manifest that another process opens the same generation by.
        self.manifest_file = FILE
        # Of the records alone: a cache that held the reader would keep it alive.
        self._table_at = lru_cache(maxsize=_TABLES_KEPT)(partial(_table_at, records))
        # Where a person's notes on the catalog stand, if they are to be used.
        self.notes_file: Path | None = None

    @classmethod
    def open(cls, path: str | Path, settings: Settings | None = None) -> CatalogReader:
        """Open the newest generation of the catalog in a folder.

        The settings say whose notes on it are to be used; without any, none are.
        """
        opened = cls.open_by(Path(path), FILE)
        opened.notes_file = notes_file(opened.folder, settings) if settings else None
        return opened

    @classmethod
    def open_by(cls, folder: Path, manifest_file: str) -> CatalogReader:
        """Open the generation that a manifest names, be it in force or not."""
        require_plain(folder)
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(folder, manifest_file)
            last = attempt == _ATTEMPTS - 1
            try:
                opened = cls._load(folder, manifest)
                # A part that is not there is damage, unless an update took it away just now.
                missing = not all(part.complete for part in opened.parts.values())
                if last or not missing or not _is_outdated(folder, manifest_file, manifest):
                    opened.manifest_file = manifest_file
                    return opened
            except (FileNotFoundError, DamagedError) as error:
                # An update landed between the manifest and its files: take the new manifest.
                if not last and _is_outdated(folder, manifest_file, manifest):
                    continue
                if isinstance(error, DamagedError):
                    raise
                raise DamagedError(f"{error.filename} is missing; {remedy(folder)}") from None
            except OSError as error:
                raise CatalogError(
                    f"cannot read {error.filename}: {error.strerror}; check its permissions"
                ) from None
            except (KeyError, TypeError) as error:
                raise DamagedError(
                    f"the manifest of {folder} is damaged: {error!r}; {remedy(folder)}"
                ) from None
        raise AssertionError("unreachable")

    @classmethod
    def without(cls, folder: Path, damaged: Collection[str]) -> CatalogReader:
        """What is left of a catalog without the segments, by name, and records that are damaged."""
        manifest = read_manifest(folder)
        kept = {
            name: files
            for name, files in manifest.segments.items()
            if not {name, RECORDS}.intersection(damaged)
        }
        parts = {
            name: manifest.open_part(folder, name) for name in manifest.parts if name not in damaged
        }
        records = Records.read(parts[RECORDS]) if RECORDS in parts else Records.none()
        names = records.tables["segment"].to_pylist()
        records = records.take([row for row, name in enumerate(names) if name in kept])
        manifest = replace(manifest, segments=kept)
        return cls(folder, manifest, records, _segments(folder, manifest), parts)

    @classmethod
    def _load(cls, folder: Path, manifest: Manifest) -> CatalogReader:
        parts = {name: manifest.open_part(folder, name) for name in manifest.parts}
        records = Records.read(parts[RECORDS])
        # Reading takes twice what is read; Arrow would hold on to it as long as the process lives.
        pa.default_memory_pool().release_unused()
        segments = _segments(folder, manifest)
        if not records.lie_in({name: segment.lengths for name, segment in segments.items()}):
            raise parts[RECORDS].damaged(COLUMNS_FILE, LEADS_OUT)
        return cls(folder, manifest, records, segments, parts)

    def part(self, name: str) -> Part:
        """A part that the generation must have; that it has none is an error with the remedy."""
        if name not in self.parts:
            raise DamagedError(
                f"{self.folder} has no {name}; dovetail index -C {self.folder} makes it"
            )
        return self.parts[name]

    @cached_property
    def dbt(self) -> DbtProject:
        """What a dbt project says of the tables; its keys and descriptions are in the records."""
        return DbtProject.read(self.parts[DBT]) if DBT in self.parts else NO_PROJECT

    @cached_property
    def dictionaries(self) -> frozenset[TableId]:
        """The tables that were read as data dictionaries: their cells are names of others."""
        part = self.parts.get(DATA_DICTIONARY)
        listed = part.json(DICTIONARY_FILE)["read_from"] if part is not None else ()
        return frozenset(TableId(source, name) for source, name in listed)

    @cached_property
    def usage(self) -> Usage:
        """How past queries use the tables."""
        return Usage.read(self.parts[QUERIES]) if QUERIES in self.parts else NO_USAGE

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Table]:
        for start in range(0, len(self), _CHUNK):
            yield from self.records.domain_tables(start, min(start + _CHUNK, len(self)))

    def __getitem__(self, table: TableId | str) -> Table:
        table = self.names.find(table, self.folder) if isinstance(table, str) else table
        return self._table_at(self._row(table))

    def __contains__(self, table: object) -> bool:
        """Whether some table is called that; by a name that several have, too."""
        if isinstance(table, Table):
            table = table.id
        if isinstance(table, TableId):
            row = bisect_left(self.ids, table)
            return row < len(self.ids) and self.ids[row] == table
        return isinstance(table, str) and bool(self.names.matches(table))

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in order."""
        return self.records.ids

    @cached_property
    def source_names(self) -> dict[str, str]:
        """The short name of each source, by its label."""
        return short_sources({table.source for table in self.ids})

    @property
    def sketched_columns(self) -> int:
        """How many columns are kept by a sketch of their values."""
        kept, distinct = (numbers(self.records.columns[name]) for name in ("kept", "distinct"))
        return int(np.count_nonzero(kept < distinct))

    @cached_property
    def names(self) -> TableNames:
        """The tables by what people and other systems call them."""
        return TableNames(self.ids)

    @cached_property
    def query_names(self) -> QueryNames:
        """What queries call the tables."""
        return QueryNames(self.ids)

    @property
    def no_values(self) -> bool:
        """Whether every value stays in its source: the catalog has keyed hashes of them alone."""
        return bool(self.manifest.profile.get("key_id"))

    def keyed(self, hashes: Hashes) -> Hashes:
        """Hashes of values as this catalog has them."""
        return hashes if self._cipher is None else self._cipher(hashes)

    @cached_property
    def _cipher(self) -> HashCipher | None:
        if not self.no_values:
            return None
        from dovetail.catalog.key import open_cipher

        return open_cipher(self.folder, str(self.manifest.profile["key_id"]))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What the last update could not read."""
        return self.manifest.skipped

    def segment(self, name: str) -> Segment:
        """A segment by name."""
        return self._segments[name]

    @cached_property
    def values(self) -> StoredValues:
        """The value sets of the columns."""
        return StoredValues(self.records, self._segments)

    def hashes(self, table: TableId, column: int) -> Hashes:
        """The value hashes of a column, sorted; `column` counts from 0."""
        return self.values.hashes(self._number(table, column))

    def counts(self, table: TableId, column: int) -> Counts:
        """In how many rows each of the column's distinct values stands, in the same order."""
        return self.values.counts(self._number(table, column))

    def _number(self, table: TableId, column: int) -> int:
        start, end = self.records.bounds[(row := self._row(table)) : row + 2].tolist()
        if not 0 <= column < end - start:
            raise NotFoundError(
                f"{table} has {end - start} columns, so there is no column {column}"
            )
        return int(start) + column

    def _row(self, table: TableId) -> int:
        row = bisect_left(self.ids, table)
        if row == len(self.ids) or self.ids[row] != table:
            self.names.find(table, self.folder)  # raises, with names that are near
        return row


def notes_file(folder: Path, settings: Settings) -> Path | None:
    """The file of a person's notes on the catalog in a folder; None where they are not used."""
    if not settings.use_notes:
        return None
    return Path(settings.notes) if settings.notes else folder.absolute().parent / NOTES


def _segments(folder: Path, manifest: Manifest) -> dict[str, Segment]:
    """The segments that a manifest names, opened."""
    return {
        name: Segment(folder / SEGMENTS / name, files) for name, files in manifest.segments.items()
    }


def _is_outdated(folder: Path, file: str, manifest: Manifest) -> bool:
    """Whether another manifest is in force by now."""
    return read_manifest(folder, file).generation != manifest.generation


def _table_at(records: Records, row: int) -> Table:
    return records.domain_tables(row, row + 1)[0]
