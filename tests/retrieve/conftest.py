"""What the tests of several retrievers need: a small corpus that they all are asked about."""

from __future__ import annotations

import pytest

from dovetail.search.searcher import Searcher
from tests.support.scripted import shop_searcher


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """The shop, searched with an embedder that needs no model."""
    return shop_searcher(tmp_path_factory.mktemp("shop"))
