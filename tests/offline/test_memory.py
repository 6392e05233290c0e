"""The ceiling of memory: sizes shrink under it, results stay, and the error names the setting."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import dovetail
from dovetail import memory
from dovetail.errors import CatalogError
from dovetail.settings import Settings
from tests.support.files import tree
from tests.support.scripted import write_shop

SETTINGS = Settings(embedder="none", workers=1, index_memory_mb=256)


def test_a_process_takes_no_more_than_its_ceiling() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory.bounded(64 << 20):
        assert len(np.ones(16 << 20, np.uint8)) == 16 << 20
        with pytest.raises(MemoryError) as caught:
            np.ones(128 << 20, np.uint8)
        assert memory.ran_out(caught.value)
        assert memory.too_little().endswith("index_memory_mb of 64 MB allows")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(np.ones(128 << 20, np.uint8)) == 128 << 20


def test_less_is_held_at_a_time_under_a_lower_ceiling() -> None:
    assert memory.within(1 << 25) == 1 << 25
    with memory.bounded(1 << 40):
        assert memory.within(1 << 25) == 1 << 25
        with memory.bounded(256 << 20):
            assert memory.within(1 << 25) == 1 << 21
            assert memory.within(3) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("std::bad_alloc"), True),
        (Exception("Failed to allocate memory for requested buffer of size 9"), True),
        (RuntimeError("can't start new thread"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (OSError(28, "No space left on device"), False),
        (RuntimeError("no such thing"), False),
    ],
)
def test_how_libraries_say_that_there_is_no_more(error: Exception, *, expected: bool) -> None:
    assert memory.ran_out(error) == expected


def test_what_goes_to_disk_in_pieces_gives_the_same_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = f"shop={write_shop(tmp_path / 'shop.sqlite')}"
    dovetail.build(shop, into=tmp_path / "held", settings=SETTINGS.but(index_memory_mb=4096))
    monkeypatch.setattr(memory, "_USUAL", 1 << 42)
    dovetail.build(shop, into=tmp_path / "pieces", settings=SETTINGS)
    assert tree(tmp_path / "pieces") == tree(tmp_path / "held")


def test_an_update_beyond_the_ceiling_names_the_setting_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, into = write_shop(tmp_path / "shop.sqlite"), tmp_path / "catalog"
    dovetail.build(f"shop={shop}", into=into, settings=SETTINGS)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "cities.csv").write_text("city,country\nUlm,Germany\n")

    def greedy(*_: object) -> NoReturn:
        raise AssertionError(len(bytearray(1 << 30)))

    with monkeypatch.context() as patched:
        patched.setattr("dovetail.offline.pipeline.join_stage", greedy)
        with pytest.raises(CatalogError, match="more memory than the setting index_memory_mb"):
            dovetail.build(str(tmp_path / "more"), into=into, settings=SETTINGS)
    assert "cities" not in dovetail.open(into, SETTINGS)
    assert "cities" in dovetail.build(str(tmp_path / "more"), into=into, settings=SETTINGS)


class _FailError(Exception):
    """As onnxruntime has errors: of no kind that Python knows."""


def test_what_a_library_raises_of_its_own_kind_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = f"shop={write_shop(tmp_path / 'shop.sqlite')}"

    def failing(*_: object) -> NoReturn:
        raise _FailError("[ONNXRuntimeError] : 6 : Exception during initialization: std::bad_alloc")

    monkeypatch.setattr("dovetail.offline.pipeline.search_stage", failing)
    with pytest.raises(CatalogError, match="more memory than the setting index_memory_mb"):
        dovetail.build(shop, into=tmp_path / "catalog", settings=SETTINGS)


def test_what_is_loaded_of_our_own_does_not_count() -> None:
    with memory.bounded(64 << 20):
        with memory.uncounted(), memory.uncounted():
            loaded = np.ones(256 << 20, np.uint8)
        assert len(np.ones(16 << 20, np.uint8)) == 16 << 20
        with pytest.raises(MemoryError):
            np.ones(128 << 20, np.uint8)
    assert len(loaded) == 256 << 20


@pytest.mark.slow
def test_a_catalog_under_a_low_ceiling_is_the_one_without(tmp_path: Path) -> None:
    """Extensions of DuckDB and the embedder are loaded under it, in a process of their own: they
    take more while they load than the ceiling is, and would end the process."""
    write_shop(tmp_path / "shop.sqlite")
    environ = {**os.environ, "DOVETAIL_WORKERS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for ceiling in ("4096", "256"):
        command = [sys.executable, "-m", "dovetail", "index", "shop.sqlite", "-C", ceiling]
        environ["DOVETAIL_INDEX_MEMORY_MB"] = ceiling
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert tree(tmp_path / "256") == tree(tmp_path / "4096")
