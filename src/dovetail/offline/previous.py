"""What was known before an update: the catalog as it is, and records of tables read earlier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.writer import CatalogWriter
from dovetail.domain import TableId
from dovetail.ports import Json, Listing, Source, SourceSpec


@dataclass(frozen=True, slots=True)
class PreviousCatalog:
    """The catalog as it was when the update began; empty if there was none.

    `same_profile` is False where it was profiled in another way: its records then say nothing
    about those to come.
    """

    roots: tuple[SourceSpec, ...]
    records: Records
    segments: Mapping[str, Segment]
    same_profile: bool

    @classmethod
    def of(cls, writer: CatalogWriter, profile: Json) -> PreviousCatalog:
        """The catalog that a writer found, compared with the profile of this update."""
        current = writer.current
        if current is None:
            return cls((), Records.none(), {}, same_profile=True)
        manifest = current.manifest
        segments = {name: current.segment(name) for name in manifest.segments}
        same = manifest.profile == profile
        return cls(manifest.roots, current.records, segments, same_profile=same)


class EarlierRecords:
    """Records of tables read before: the catalog's, and those of interrupted updates."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._tokens: list[str] = records.tables["token"].to_pylist()
        self._places: dict[TableId, list[int]] = {}
        for place, table in enumerate(records.ids):
            self._places.setdefault(table, []).append(place)

    def tokens(self, source: str) -> dict[str, str]:
        """The tokens that tables of a source are compared with first, by the tables' names."""
        return {
            table.name: self._tokens[places[0]]
            for table, places in self._places.items()
            if table.source == source
        }

    def still_valid(
        self, table: TableId, listing: Listing, source: Source
    ) -> tuple[int, str] | None:
        """The place of the record that the source vouches for, and the table's newest token."""
        for place in self._places.get(table, ()):
            found = source.fingerprint(listing, self._tokens[place])
            if found.unchanged:
                return place, found.token
        return None
