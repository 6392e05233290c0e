"""The map of the code names every module where it is, and the layers of imports as they are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SOURCE = ROOT / "src" / "dovetail"
# What an engineer sees at once.
ONE_SCREEN = 40


def tree() -> list[str]:
    """The lines of the map, without what is said about them."""
    (text,) = re.findall(r"^```\nsrc/dovetail/\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [line.partition("#")[0] for line in text.splitlines()]


def test_the_map_is_one_screen() -> None:
    assert len(tree()) <= ONE_SCREEN
    assert len(PAGE.split()) <= 1800


def test_the_map_lists_each_module_under_its_package() -> None:
    listed: dict[str, list[str]] = {}
    folder = ""
    for line in tree():
        if name := re.match(r"  (\w+/|\.)", line):
            folder = name[1].removesuffix("/").strip(".")
            line = line[name.end() :]
        listed.setdefault(folder, []).extend(line.split())
    packages = {path.parent for path in SOURCE.rglob("__init__.py")}
    assert {folder: sorted(modules) for folder, modules in listed.items()} == {
        package.relative_to(SOURCE).as_posix().strip("."): sorted(
            path.stem for path in package.glob("*.py") if path.stem != "__init__"
        )
        for package in packages
    }


def test_the_files_that_the_page_names_are_there() -> None:
    prose = re.sub(r"^```\n.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    for name in re.findall(r"`(\w+/\w+\.py)`", prose):
        assert (SOURCE / name).exists(), name


def test_the_map_has_the_layers_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    said = " → ".join(re.sub(r"[()]|dovetail\.", "", layer) for layer in layers)
    assert said in " ".join(PAGE.split())
