"""What the tests of search need: the sample corpus, searched without a model."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.search.index import IndexInputs
from dovetail.search.searcher import Searcher
from tests.support.scripted import HashEmbedder
from tests.support.searchers import not_yet_searchable


@pytest.fixture(scope="session")
def searcher(sample: dovetail.Catalog, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """The sample corpus, indexed with hashed words for embeddings."""
    catalog = not_yet_searchable(sample, tmp_path_factory.mktemp("search") / "catalog")
    return Searcher(catalog, IndexInputs(HashEmbedder()))
