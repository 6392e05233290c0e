"""Catalogs to be searched with an embedder that needs no model."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dovetail.catalog.generation import PURPOSES, SEARCH, Part, PartEntry
from dovetail.catalog.purposes import Purpose, as_rows, write_rows
from dovetail.catalog.reader import CatalogReader
from dovetail.families.family import Families
from dovetail.joins.edges import stored_edges
from dovetail.search.embeddings import embed_catalog
from dovetail.search.index import IndexInputs, make_index, open_index
from dovetail.search.searcher import Scope, Searcher


def indexed(catalog: CatalogReader, inputs: IndexInputs) -> CatalogReader:
    """A catalog with the search index that an update would make of other inputs."""
    written = {table: Purpose(text, "", "") for table, text in inputs.purposes.items()}
    parts = dict(catalog.parts)
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: Path(scratch) / name for name in (SEARCH, PURPOSES)}
        for folder in folders.values():
            folder.mkdir()
        embeddings = embed_catalog(catalog, inputs)
        make_index(catalog, inputs, stored_edges(catalog), embeddings, folders[SEARCH])
        write_rows(as_rows(written), folders[PURPOSES])
        for name, folder in folders.items():
            parts[name] = part_of(folder)
    segments = {name: catalog.segment(name) for name in catalog.manifest.segments}
    other = CatalogReader(catalog.folder, catalog.manifest, catalog.records, segments, parts)
    other.notes_file = catalog.notes_file
    return other


def part_of(folder: Path) -> Part:
    """The files in a folder as a part of a generation."""
    return Part(folder, PartEntry.of(1, "", folder))


def search_over(
    catalog: CatalogReader, inputs: IndexInputs, *, families: Families | None = None
) -> Searcher:
    """Search over a catalog with the index of other inputs."""
    index = open_index(indexed(catalog, inputs), inputs.embedder)
    return Searcher(index, Scope(families=families or Families()))
