"""A catalog may come from someone else: it harms no file of the user's and crashes no command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.errors import CatalogError, DamagedError
from tests.support import tampering
from tests.support.files import edit_manifest


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    tampering.build(folder)
    return folder


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a catalog, its source, and files of the user's; the latter must stay."""
    shutil.copytree(whole, tmp_path / "here")
    mine = tmp_path / "mine"
    (mine / "tmpabcdefgh").mkdir(parents=True)
    for file in (mine / "letter.txt", mine / "tmpabcdefgh" / "photo.jpg"):
        file.write_text(tampering.CANARY)
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    yield tmp_path / "here"
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "name",
    ["staging", "segments", "generations", "generations/00000001", "vectors"],
)
def test_a_folder_that_is_a_link_is_refused(place: Path, name: str) -> None:
    catalog = place / "catalog"
    shutil.rmtree(catalog / name)
    (catalog / name).symlink_to(place.parent / "mine", target_is_directory=True)
    with pytest.raises(CatalogError, match="is a symbolic link, and a catalog"):
        dovetail.build(f"shop={place / 'shop.sqlite'}", into=catalog)
    with pytest.raises(CatalogError, match="is a symbolic link, and a catalog"):
        dovetail.open(catalog)


@pytest.mark.parametrize("name", ["lock", "manifest.json.new", "manifest.json", "notes", "a/b/c"])
@pytest.mark.parametrize("hard", [False, True], ids=["symbolic", "hard"])
def test_a_file_that_is_a_link_is_refused_or_left_alone(place: Path, name: str, hard: bool) -> None:
    file = place / "catalog" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    letter = place.parent / "mine" / "letter.txt"
    if hard:
        os.link(letter, file)
    else:
        file.symlink_to(letter)
    tampering.use(place / "catalog", place / "shop.sqlite")


def test_a_manifest_that_is_a_pipe_does_not_make_a_command_wait(place: Path) -> None:
    (place / "catalog" / "manifest.json").unlink()
    os.mkfifo(place / "catalog" / "manifest.json")
    for command in (["tables"], ["index"], ["ask", "x"]):
        done = subprocess.run(
            [sys.executable, "-m", "dovetail", *command, "-C", "catalog"],
            cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "is a pipe, and a catalog is made of plain files" in done.stderr


def test_only_what_dovetail_named_is_removed(place: Path) -> None:
    """A folder with a file named `lock` is no catalog yet, and what stands in it is not ours."""
    other = place / "other"
    for name in ("staging/my work", "segments/mine"):
        (other / name).mkdir(parents=True)
        (other / name / "x").write_text("x")
    (other / "lock").write_text("")
    dovetail.build(f"shop={place / 'shop.sqlite'}", into=other)
    dovetail.build(f"shop={place / 'shop.sqlite'}", into=other)
    assert (other / "staging/my work/x").read_text() == "x"
    assert (other / "segments/mine/x").read_text() == "x"
    (place / "project").mkdir()
    (place / "project" / "lock").write_text("")
    (place / "project" / "thesis.txt").write_text("x")
    with pytest.raises(CatalogError, match="holds other files and no catalog"):
        dovetail.build(f"shop={place / 'shop.sqlite'}", into=place / "project")


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("segments", "../../mine"),
        ("segments", "/etc"),
        ("parts", "../manifest.json"),
        ("parts", "x/y"),
    ],
)
def test_a_manifest_cannot_name_what_lies_outside(place: Path, part: str, name: str) -> None:
    listed = json.loads((place / "catalog" / "manifest.json").read_text())[part]
    edit_manifest(place / "catalog", **{part: {**listed, name: {}}})
    with pytest.raises(DamagedError, match="is no part of a catalog"):
        dovetail.open(place / "catalog")


@pytest.mark.parametrize("part", ["evidence", "search", "values-*", "families"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_what_is_derived_is_refused_where_it_is_cut_off_and_made_again_by_an_update(
    place: Path, part: str, share: float
) -> None:
    catalog = place / "catalog"
    files = [path for path in catalog.glob(f"generations/*/{part}/*") if path.is_file()]
    assert files
    question = "What did customers in city 3 order?"
    expected = dovetail.open(catalog).ask(question).to_dict()
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DamagedError, match=r"dovetail repair -C "):
        opened = dovetail.open(catalog)
        opened.ask(question)
        opened.joins()
    dovetail.build(into=catalog)
    assert dovetail.open(catalog).ask(question).to_dict() == expected


def test_vectors_that_are_cut_off_are_embedded_again(place: Path) -> None:
    files = [path for path in (place / "catalog").glob("vectors/*/*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:-9])
    (place / "new.csv").write_text("city,country\ncity 1,A\ncity 2,B\n")
    dovetail.build(str(place / "new.csv"), into=place / "catalog")
    assert dovetail.open(place / "catalog").ask("country of a city").tables


@pytest.mark.parametrize("seed", range(40))
def test_tampered_catalogs_raise_nothing_but_our_errors(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    done, wrong = tampering.harm(whole, tmp_path, seed)
    assert wrong == "", done


def test_an_array_whose_header_is_bad_python_is_damage(place: Path) -> None:
    catalog = place / "catalog"
    files = [file for file in sorted(catalog.rglob("*.npy")) if file.read_bytes()[8:10] == b"v\0"]
    assert "search" in {file.parent.name for file in files}
    for file in files:
        raw = bytearray(file.read_bytes())
        raw[raw.index(b"}")] = ord("(")  # so the text ends inside a bracket
        file.write_bytes(raw)
    tampering.use(catalog, place / "shop.sqlite")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 65504.0, -65504.0])
def test_vectors_that_are_no_directions_crash_nothing(place: Path, value: float) -> None:
    catalog = place / "catalog"
    (file,) = catalog.rglob("headers.npy")
    vectors = np.load(file)
    vectors[::2] = value
    np.save(file, vectors)
    tampering.use(catalog, place / "shop.sqlite")
    found = dovetail.open(catalog).search("customers", 3)
    assert all(0 <= one.relevance <= 1 for one in found)
