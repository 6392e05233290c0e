"""What several tests of the laboratory need: the fixtures of dovetail's own, and a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import corpus, here, sample, smollm, state_folder, without_slow
from tests.support.scripted import shop_searcher

from dovetail.search.searcher import Searcher
from dovetail_bench.datasets import Dataset, open_dataset

__all__ = ["corpus", "here", "sample", "smollm", "state_folder"]


@pytest.fixture(scope="session")
def sample_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus with its questions, written into a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return open_dataset("sample")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """The shop, searched with an embedder that needs no model."""
    return shop_searcher(tmp_path_factory.mktemp("shop"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Nothing here is imported by a run that leaves slow tests out."""
    folder = Path(__file__).parent
    return True if without_slow(config) and collection_path.is_relative_to(folder) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The laboratory's tests run whole commands over corpora: `make test-fast` leaves them out."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.slow)
