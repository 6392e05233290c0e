"""Catalogs to be searched with an embedder that needs no model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from dovetail.catalog.descriptions import laid_over, write_part
from dovetail.catalog.generation import DESCRIPTIONS, SEARCH, Part, PartEntry
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Description, TableId
from dovetail.families.family import Families
from dovetail.joins.edges import stored_edges
from dovetail.ports import Embedder
from dovetail.search.embeddings import embed_catalog
from dovetail.search.index import make_index, open_index
from dovetail.search.searcher import Scope, Searcher


def indexed(
    catalog: CatalogReader,
    embedder: Embedder | None,
    descriptions: Mapping[TableId, str | Description] | None = None,
) -> CatalogReader:
    """A catalog with the search index that an update would make of another embedder, and of tables
    that a model described."""
    described = {
        table: Description(each, "a model") if isinstance(each, str) else each
        for table, each in (descriptions or {}).items()
    }
    records, laid = laid_over(catalog.records, described)
    segments = {name: catalog.segment(name) for name in catalog.manifest.segments}
    parts = dict(catalog.parts)
    other = CatalogReader(catalog.folder, catalog.manifest, records, segments, parts)
    other.notes_file = catalog.notes_file
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: Path(scratch) / name for name in (SEARCH, DESCRIPTIONS)}
        for folder in folders.values():
            folder.mkdir()
        embeddings = embed_catalog(other, embedder)
        make_index(other, embedder, stored_edges(catalog), embeddings, {}, folders[SEARCH])
        write_part(laid, folders[DESCRIPTIONS])
        for name, folder in folders.items():
            other.parts[name] = part_of(folder)
    return other


def part_of(folder: Path) -> Part:
    """The files in a folder as a part of a generation."""
    return Part(folder, PartEntry.of(1, "", folder))


def search_over(
    catalog: CatalogReader,
    embedder: Embedder | None,
    descriptions: Mapping[TableId, str | Description] | None = None,
    *,
    families: Families | None = None,
) -> Searcher:
    """Search over a catalog with the index of another embedder and other descriptions."""
    index = open_index(indexed(catalog, embedder, descriptions), embedder)
    return Searcher(index, Scope(families=families or Families()))
