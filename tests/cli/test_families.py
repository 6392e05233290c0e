"""The command `families`, and what `tables` and `show` tell of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.pile import PEOPLE, Pile, catalog_of, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = people(80, 1)
    pile: Pile = {
        "people": (PEOPLE, rows),
        "people_bak": (PEOPLE, rows),
        "towns": ("a INT", [(1,)]),
    }
    return str(catalog_of(Path(tmp_path_factory.mktemp("crm")), crm=pile).folder)


def test_families_are_listed_with_their_evidence(folder: str) -> None:
    told = run("families", "-C", folder)
    assert "people_bak" in told.stdout
    assert "all 80 values of email are in people" in " ".join(told.stdout.split())
    document = json.loads(run("families", "people_bak", "-C", folder, "--json").stdout)
    (family,) = document["families"]
    assert family["canonical"] == "crm::people"
    assert [(one["id"], one["role"]) for one in family["members"]] == [
        ("crm::people", "table"),
        ("crm::people_bak", "copy"),
    ]


def test_a_table_alone_has_none(folder: str) -> None:
    assert "crm::towns stands alone" in run("families", "towns", "-C", folder).stdout
    assert json.loads(run("families", "towns", "-C", folder, "--json").stdout)["families"] == []


def test_tables_and_show_tell_the_family(folder: str) -> None:
    listed = run("tables", "-C", folder).stdout
    assert "copy of people" in listed
    assert "1 copy" in listed
    rows = json.loads(run("tables", "-C", folder, "--json").stdout)["tables"]
    assert [row["family"] and row["family"]["role"] for row in rows] == ["table", "copy", None]
    shown = json.loads(run("show", "people_bak", "-C", folder, "--json").stdout)
    assert shown["family"]["canonical"] == "crm::people"
    assert "copy of people" in run("show", "people_bak", "-C", folder).stdout
