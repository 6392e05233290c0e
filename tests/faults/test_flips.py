"""Damage that leaves sizes alone is noticed, named and mended, in every part of a catalog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import DamagedError, SourceError
from dovetail.offline.repair import MANIFEST
from tests.faults.flips import SETTINGS, answers, flips, part_of, restored
from tests.faults.place import flip, whole
from tests.support.command_line import run
from tests.support.files import tree


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("flips")
    whole(place)
    return place


def test_every_flip_of_a_byte_is_noticed_and_its_file_named(folder: Path) -> None:
    assert dovetail.check(folder / "catalog") == []
    outcomes, wrong = flips(folder / "catalog", seed=1, count=120)
    assert wrong == []
    assert outcomes.keys() >= {
        MANIFEST, "records", "evidence", "search", "values", "queries", "descriptions",
        "segments", "vectors", "replies", "memory",
    }  # fmt: skip


def test_how_a_segment_was_made_is_checked_with_its_records(folder: Path) -> None:
    file = next((folder / "catalog").glob("segments/*/segment.json"))
    content = file.read_bytes()
    at = content.index(b'"profile"')
    at += next(place for place, sign in enumerate(content[at:]) if chr(sign).isdigit())
    flip(file, at)  # another digit: JSON as before
    named = [str(damage.file) for damage in dovetail.check(folder / "catalog")]
    flip(file, at)
    assert len(named) == 1
    assert named[0].endswith("/segment.json, tables.parquet or columns.parquet")


def test_what_is_damaged_is_made_again_and_nothing_else(folder: Path) -> None:
    expected = answers(folder / "catalog")
    one_of_each = {part_of(name): name for name in sorted(tree(folder / "catalog"))}
    for part, name in one_of_each.items():
        middle = (folder / "catalog" / name).stat().st_size // 2
        assert restored(folder, name, middle, expected) == "", part


def test_the_command_line_names_damage_and_mends_it(folder: Path) -> None:
    (file,) = (folder / "catalog").glob("generations/*/families/*.json")
    flip(file, 3)
    found = run("check", "-C", "catalog", cwd=folder)
    assert found.returncode == 1
    assert f"families: {file.relative_to(folder / 'catalog')} is damaged" in found.stdout
    done = run("repair", "-C", "catalog", "--json", cwd=folder, DOVETAIL_WORKERS="1")
    assert [each["part"] for each in json.loads(done.stdout)["repaired"]] == ["families"]
    assert run("check", "-C", "catalog", cwd=folder).stdout == "catalog: nothing is damaged\n"


def test_tables_that_cannot_be_read_again_are_not_given_up(tmp_path: Path) -> None:
    catalog = whole(tmp_path)
    (tmp_path / "shop.sqlite").rename(tmp_path / "away.sqlite")
    for file in catalog.glob("segments/*/hashes.npy"):
        flip(file, file.stat().st_size - 1)
    before = tree(catalog)
    with pytest.raises(SourceError, match="the catalog is as it was"):
        dovetail.repair(catalog, SETTINGS)
    assert {name for name, content in before.items() if tree(catalog).get(name) != content} == set()
    (tmp_path / "away.sqlite").rename(tmp_path / "shop.sqlite")
    assert dovetail.repair(catalog, SETTINGS).left == ()


def test_a_manifest_damaged_twice_is_told(tmp_path: Path) -> None:
    catalog = whole(tmp_path)
    for name in ("manifest.json", "manifest.copy.json"):
        flip(catalog / name, 99)
    with pytest.raises(DamagedError, match=r"and so is its copy; remove .* and index again"):
        dovetail.repair(catalog, SETTINGS)
