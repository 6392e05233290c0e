"""A catalog narrowed to some of its tables: no other is found, joined, sampled or queried."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from dovetail.api.catalog import Catalog
from dovetail.catalog.generation import PURPOSES
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import NotFoundError
from dovetail.families.family import Families, Family
from dovetail.joins.graph import JoinGraph
from dovetail.notes.notes import Notes
from dovetail.search.searcher import Searcher


class NarrowedCatalog(Catalog):
    """Some tables of a catalog, with its search, joins and SQL over them alone."""

    def __init__(self, whole: Catalog, tables: Iterable[TableId]) -> None:
        allowed = set(tables)
        rows = [row for row, table in enumerate(whole.ids) if table in allowed]
        segments = {name: whole.segment(name) for name in whole.manifest.segments}
        # Of what is derived, only purposes are of one table each.
        parts = {name: part for name, part in whole.parts.items() if name == PURPOSES}
        records = whole.records.take(rows)
        some = CatalogReader(whole.folder, whole.manifest, records, segments, parts)
        super().__init__(some, whole.settings)
        self._whole = whole
        # The views of the whole catalog, which change with its notes, and what is left of them.
        self._searchers: tuple[Searcher, Searcher] | None = None
        self._graphs: tuple[JoinGraph, JoinGraph] | None = None
        self._known_families: tuple[JoinGraph, Families] | None = None

    @property
    def whole(self) -> Catalog:
        """The catalog that these tables are of."""
        return self._whole

    @property
    def notes(self) -> Notes:
        """What a person says of these tables alone; search, joins and families know the rest."""
        noted, own = self._whole.notes, set(self.ids)
        return Notes(
            remarks=tuple(one for one in noted.remarks if one.table in own),
            answered=tuple(one for one in noted.answered if one.tables and set(one.tables) <= own),
        )

    @property
    def searcher(self) -> Searcher:
        """Search over the tables that are left."""
        whole = self._whole.searcher
        if self._searchers is None or self._searchers[0] is not whole:
            self._searchers = (whole, whole.among(self.ids))
        return self._searchers[1]

    @property
    def _graph(self) -> JoinGraph:
        whole = self._whole.join_graph()
        if self._graphs is None or self._graphs[0] is not whole:
            self._graphs = (whole, whole.among(self.ids))
        return self._graphs[1]

    def families(self) -> Families:
        """The families of what is left; the first member stands where the canonical one is gone."""
        whole = self._whole.join_graph()  # as notes change it, they change the families
        if self._known_families is None or self._known_families[0] is not whole:
            self._known_families = (whole, self._families_left())
        return self._known_families[1]

    def _families_left(self) -> Families:
        left = set(self.ids)
        found = []
        for family in self._whole.families():
            members = tuple(one for one in family.members if one.id in left)
            if len(members) > 1:
                canonical = family.canonical if family.canonical in left else members[0].id
                found.append(Family(family.name, canonical, members))
        return Families(found)


def narrowed(catalog: Catalog, patterns: Iterable[str]) -> Catalog:
    """The tables of a catalog whose name or `source::name` fits one of some patterns (`sales.*`).

    Without a pattern it is the whole catalog; a pattern that fits nothing is an error.
    """
    wanted = tuple(patterns)
    if not wanted:
        return catalog
    found = set()
    for pattern in wanted:
        fits = {
            table
            for table in catalog.ids
            if fnmatchcase(table.name, pattern) or fnmatchcase(str(table), pattern)
        }
        if not fits:
            raise NotFoundError(
                f"no table of {catalog.folder} fits {pattern!r}; `dovetail tables` lists them"
            )
        found |= fits
    return NarrowedCatalog(catalog, found)
