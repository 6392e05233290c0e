"""The reference pages are what the docstrings say, and every exported name has an example."""

from __future__ import annotations

import inspect

import pytest

import dovetail
from tests.docs.reference import FOLDER, PAGES, pages


def test_the_reference_is_current() -> None:
    found = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert found == pages(), "run: make docs"


def test_every_exported_name_is_on_one_page() -> None:
    listed = [name for _, names in PAGES.values() for name in names]
    assert sorted(listed) == sorted(dovetail.__all__)


@pytest.mark.parametrize("name", sorted(dovetail.__all__))
def test_every_exported_name_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(getattr(dovetail, name)) or ""), name
