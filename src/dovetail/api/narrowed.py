"""A catalog narrowed to some of its tables: no other is found, joined, sampled or queried."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cached_property

from dovetail.api.catalog import Catalog
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import NotFoundError
from dovetail.families.family import Families, Family
from dovetail.joins.graph import JoinGraph
from dovetail.search.searcher import Searcher


class NarrowedCatalog(Catalog):
    """Some tables of a catalog, with its search, joins and SQL over them alone."""

    def __init__(self, whole: Catalog, tables: Iterable[TableId]) -> None:
        allowed = set(tables)
        rows = [row for row, table in enumerate(whole.ids) if table in allowed]
        segments = {name: whole.segment(name) for name in whole.manifest.segments}
        some = CatalogReader(whole.folder, whole.manifest, whole.records.take(rows), segments)
        super().__init__(some, whole.settings)
        self._whole = whole
        # The views of the whole catalog, which change with its notes, and what is left of them.
        self._searchers: tuple[Searcher, Searcher] | None = None
        self._graphs: tuple[JoinGraph, JoinGraph] | None = None

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

    @cached_property
    def _families(self) -> Families:
        """The families of what is left; the first member stands where the canonical one is gone."""
        left = set(self.ids)
        found = []
        for family in self._whole.families():
            members = tuple(one for one in family.members if one.table in left)
            if len(members) > 1:
                canonical = family.canonical if family.canonical in left else members[0].table
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
