"""The page on security: every part of it names the tests that show its claims, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_part_names_tests_that_exist() -> None:
    known = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    for part in PAGE.split("\n## ")[2:]:
        title = part.partition("\n")[0]
        named = re.findall(r"`([\w/]*test_\w+\.py)`", part)
        assert named, f"{title}: no test is named"
        for each in named:
            assert (ROOT / each).exists() if "/" in each else each in known, f"{title}: {each}"


def test_tests_that_are_named_by_function_exist() -> None:
    texts = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", PAGE):
        assert f"def {name}(" in texts
