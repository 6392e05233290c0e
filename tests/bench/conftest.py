"""What the tests of several benchmarks need: the sample corpus as a dataset."""

from __future__ import annotations

import pytest

from dovetail.bench.datasets import Dataset, open_dataset


@pytest.fixture(scope="session")
def sample_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus with its questions, written into a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return open_dataset("sample")
