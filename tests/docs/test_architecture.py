"""The map of the code names modules that are there, and every package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SOURCE = ROOT / "src" / "dovetail"


def test_the_map_names_what_is_there() -> None:
    (tree,) = re.findall(r"^```\nsrc/dovetail/\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    modules = {path.name for path in SOURCE.rglob("*.py")}
    assert not set(re.findall(r"\b\w+\.py\b", tree)) - modules
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert set(re.findall(r"^  (\w+)/", tree, re.MULTILINE)) == packages


# Packages whose modules the map does not list one by one.
WHOLE = {"cli", "sample", "prompts"}


def test_the_map_lists_each_module_under_its_package() -> None:
    (tree,) = re.findall(r"^```\nsrc/dovetail/\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    parts = re.split(r"^  (?=\S)", tree, flags=re.MULTILINE)
    by_package = {name[1]: part for part in parts if (name := re.match(r"(\w+)/", part))}
    for package in sorted(by_package.keys() - WHOLE):
        modules = {path.name for path in (SOURCE / package).rglob("*.py")}
        listed = set(re.findall(r"\b\w+\.py\b", by_package[package]))
        own = {path.name for path in (SOURCE / package).glob("*.py")} - {"__init__.py"}
        assert listed <= modules, package
        assert own <= listed, package
    top = set(re.findall(r"\b\w+\.py\b", "".join(p for p in parts if not re.match(r"\w+/", p))))
    assert top == {path.name for path in SOURCE.glob("*.py")}


def test_the_map_has_the_layers_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    said = " → ".join(re.sub(r"[()]|dovetail\.", "", layer) for layer in layers)
    assert said in " ".join(PAGE.split())
