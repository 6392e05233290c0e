"""Catalogs to be searched with an embedder that needs no model."""

from __future__ import annotations

import shutil
from pathlib import Path

import dovetail
from dovetail.search.index import FOLDER, VECTORS


def not_yet_searchable(catalog: dovetail.Catalog, into: Path) -> dovetail.Catalog:
    """A copy of a catalog without what search made of it."""
    shutil.copytree(catalog.path, into, ignore=shutil.ignore_patterns(FOLDER, VECTORS))
    return dovetail.Catalog.open(into)
