"""Catalogs to be searched with an embedder that needs no model."""

from __future__ import annotations

import shutil
from pathlib import Path

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.search.embeddings import FOLDER as VECTORS
from dovetail.search.embeddings import embed_catalog
from dovetail.search.index import (
    FOLDER,
    IndexInputs,
    has_index,
    make_index,
    remove_other_indexes,
    save_index,
)


def not_yet_searchable(catalog: dovetail.Catalog, into: Path) -> dovetail.Catalog:
    """A copy of a catalog without what search made of it."""
    shutil.copytree(catalog.folder, into, ignore=shutil.ignore_patterns(FOLDER, VECTORS))
    return dovetail.Catalog.open(into)


def bring_up_to_date(catalog: CatalogReader, inputs: IndexInputs) -> None:
    """Make the search index of a catalog as an update does."""
    if not has_index(catalog, inputs):
        embeddings = embed_catalog(catalog, inputs)
        save_index(make_index(catalog, inputs, embeddings), catalog, inputs)
    remove_other_indexes(catalog, inputs)
