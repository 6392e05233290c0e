"""The shop, indexed once for all tests that only read it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dovetail.serve.live_catalog import LiveCatalog
from tests.support.served import NO_MODELS, shop_catalog


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop and its catalog; not to be written to."""
    place = tmp_path_factory.mktemp("served")
    shop_catalog(place)
    return place


@pytest.fixture(scope="session")
def live(folder: Path) -> LiveCatalog:
    return LiveCatalog(folder / "catalog", NO_MODELS)


@pytest.fixture
def own_folder(folder: Path, tmp_path: Path) -> Path:
    """A folder with a copy of the catalog, to be written to."""
    shutil.copytree(folder / "catalog", tmp_path / "catalog")
    return tmp_path
