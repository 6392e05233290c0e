"""The map of the code names modules that are there, and every package."""

from __future__ import annotations

import re
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
