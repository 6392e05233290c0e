"""Families beside the catalog: found once, read again, made anew where damaged, never stale."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

import dovetail
from dovetail.families import detect
from dovetail.families.stored import FOLDER, families_of
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
    (file,) = (catalog.folder / FOLDER).glob("*.json")
    return file


def test_an_update_stores_them_and_a_reader_finds_them_there(
    catalog: dovetail.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored(catalog).name.startswith(catalog.contents)
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
        lambda content: _resealed(lambda stored: stored["families"].append([5, 0, []]), content),
        lambda content: _resealed(lambda stored: stored["tables"].append(["crm", "gone"]), content),
        lambda content: _resealed(
            lambda stored: stored["families"][0][2][0].__setitem__(2, 7), content
        ),
    ],
)
def test_a_damaged_file_is_made_again(catalog: dovetail.Catalog, harm: object) -> None:
    found, file = catalog.families().to_list(), stored(catalog)
    whole = file.read_bytes()
    file.write_bytes(harm(whole))  # type: ignore[operator]
    assert families_of(dovetail.open(catalog.folder, SETTINGS)).to_list() == found
    assert file.read_bytes() == whole


def _resealed(change: object, content: bytes) -> bytes:
    """The content changed, under a checksum that fits: by hand, not by accident."""
    held = json.loads(content.partition(b"\n")[2])
    change(held)  # type: ignore[operator]
    body = json.dumps(held).encode()
    return b"%08x\n" % zlib.crc32(body) + body


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
    assert not (tmp_path / "catalog" / FOLDER).exists()
