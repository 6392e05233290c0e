"""What is remembered between runs is the user's own, or it counts as forgotten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dovetail.state import keep, recall


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "dovetail"


def test_what_is_kept_is_recalled_and_for_the_user_alone(folder: Path) -> None:
    assert recall("a.json") == {}
    assert not folder.exists()
    keep("a.json", {"b": 1})
    keep("a.json", {"b": [2, "ü"]})
    assert recall("a.json") == {"b": [2, "ü"]}
    assert [path.name for path in folder.iterdir()] == ["a.json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, "\x80"])
def test_a_damaged_file_is_forgotten(content: str, folder: Path) -> None:
    keep("a.json", {"b": 1})
    (folder / "a.json").write_text(content, "latin-1")
    assert recall("a.json") == {}
    keep("a.json", {"b": 2})
    assert recall("a.json") == {"b": 2}


def test_a_linked_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    keep("a.json", {"b": 1})
    (folder / "a.json").rename(tmp_path / "theirs.json")
    (folder / "a.json").symlink_to(tmp_path / "theirs.json")
    assert recall("a.json") == {}
    keep("a.json", {"b": 2})
    assert recall("a.json") == {"b": 2}
    assert (tmp_path / "theirs.json").read_text() == '{\n "b": 1\n}\n'


def test_a_linked_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    keep("a.json", {"b": 1})
    folder.rename(tmp_path / "theirs")
    folder.symlink_to(tmp_path / "theirs")
    assert recall("a.json") == {}
    keep("c.json", {"b": 2})
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", ["", "a.json"])
def test_what_others_may_write_is_not_trusted(name: str, folder: Path) -> None:
    keep("a.json", {"b": 1})
    (folder / name).chmod(0o777)
    assert recall("a.json") == {}


def test_what_belongs_to_somebody_else_is_not_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("a.json", {"b": 1})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert recall("a.json") == {}
    keep("a.json", {"b": 2})
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
    assert recall("a.json") == {"b": 1}


def test_without_a_place_nothing_is_kept(folder: Path) -> None:
    folder.parent.write_text("no folder")
    keep("a.json", {"b": 1})
    assert recall("a.json") == {}
