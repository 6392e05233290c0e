"""Families as a part of a generation: detected once, read again, never stale."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail
from dovetail.errors import DamagedError
from dovetail.families import detect
from tests.support.pile import EVENTS, PEOPLE, SETTINGS, catalog_of, events, people, write_sqlite


@pytest.fixture
def catalog(tmp_path: Path) -> dovetail.Catalog:
    rows = people(80, 1)
    return catalog_of(
        tmp_path,
        crm={
            "people": (PEOPLE, rows),
            "people_bak": (PEOPLE, rows[:60]),
            "events_2022": (EVENTS, events(2022)),
            "events_2023": (EVENTS, events(2023)),
        },
    )


def stored(catalog: dovetail.Catalog) -> Path:
    (file,) = catalog.folder.glob("generations/*/families/families.json")
    return file


def test_an_update_stores_them_and_a_reader_finds_them_there(
    catalog: dovetail.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = catalog.families().to_list()

    def refuse(*_: object) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr(detect, "find_families", refuse)
    again = dovetail.open(catalog.folder, SETTINGS).families()
    assert again.to_list() == found
    assert [family.name for family in again] == ["events_*", "people"]
    assert found[1]["members"][1] == {
        "id": "crm::people_bak",
        "name": "people_bak",
        "source": "crm",
        "role": "copy",
        "label": "",
        "evidence": "same 4 columns as people; all 60 values of email are in people",
    }


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"people", b"poeple"),
        lambda _: b"",
    ],
)
def test_a_damaged_file_is_an_error_until_the_next_update(
    catalog: dovetail.Catalog, harm: object
) -> None:
    found, file = catalog.families().to_list(), stored(catalog)
    whole = file.read_bytes()
    file.unlink()
    file.write_bytes(harm(whole))  # type: ignore[operator]
    with pytest.raises(DamagedError, match=r"families\.json is damaged.* dovetail repair -C"):
        dovetail.open(catalog.folder, SETTINGS).families()
    assert dovetail.build(into=catalog.folder, settings=SETTINGS).families().to_list() == found
    assert stored(catalog).read_bytes() == whole


def test_an_update_equals_a_rebuild_and_leaves_no_old_families(
    catalog: dovetail.Catalog, tmp_path: Path
) -> None:
    before = stored(catalog)
    more = {"people_old": (PEOPLE, people(80, 1)[:30]), "events_2024": (EVENTS, events(2024))}
    write_sqlite(tmp_path / "crm.sqlite", more)
    catalog.refresh()
    assert stored(catalog) != before
    fresh = dovetail.build(
        f"crm={tmp_path / 'crm.sqlite'}", into=tmp_path / "fresh", settings=SETTINGS
    )
    assert catalog.families().to_list() == fresh.families().to_list()
    assert stored(catalog).read_bytes() == stored(fresh).read_bytes()
    assert [len(family.tables) for family in catalog.families()] == [3, 3]


def test_the_setting_leaves_them_out(tmp_path: Path) -> None:
    source = write_sqlite(tmp_path / "crm.sqlite", {"people": (PEOPLE, people(9, 1))})
    done = dovetail.update(
        [source], into=tmp_path / "catalog", settings=SETTINGS.but(families=False)
    )
    assert "families" not in [stage.stage for stage in done.stages]
    assert not list((tmp_path / "catalog").glob("generations/*/families"))
