"""What the tests of search need: the sample corpus, searched without a model."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.search.searcher import Searcher
from tests.support.scripted import HashEmbedder
from tests.support.searchers import search_over


@pytest.fixture(scope="session")
def searcher(sample: dovetail.Catalog) -> Searcher:
    """The sample corpus, indexed with hashed words for embeddings."""
    return search_over(sample.reader, HashEmbedder())
