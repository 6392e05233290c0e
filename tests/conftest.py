"""What several test files need: the sample corpus, written once, and a look at whole catalogs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import dovetail
from dovetail.sample import write_corpus

# How long an example takes says more about the machine than about the code.
settings.register_profile("dovetail", deadline=None)
settings.load_profile("dovetail")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The sources of the sample corpus; not to be written to."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def sample(corpus: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """The sample corpus, indexed."""
    into = tmp_path_factory.mktemp("sample") / "catalog"
    return dovetail.build(*(f"{path.name}={path}" for path in corpus), into=into)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """An empty folder to work in."""
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        yield tmp_path
    finally:
        os.chdir(before)
