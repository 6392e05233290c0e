"""The ceiling of memory: sizes shrink under it, results stay, and the error names the setting."""

from __future__ import annotations

import resource
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
