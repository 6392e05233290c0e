"""The example notebook runs in a kernel of its own, and shows what is kept in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.notebook import executed, read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Jupyter's packages
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def shown(notebook: Any) -> list[str]:
    """What the cells show: HTML where there is some, else text; figures may differ in the last."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts.append(data.get("text/html") or data.get("text/plain") or output.get("text", ""))
    return [re.sub(r"\d+\.\d+", "0.0", text) for text in texts]


def test_the_notebook_runs_and_shows_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    pages = shown(executed(tmp_path))
    assert pages == shown(read()), "run: make docs"
    catalog, found, ddl, answer, path, nothing = pages
    assert "sample/catalog: 16 tables" in catalog
    assert "<svg" in found
    assert found.count("<rect") == ddl.count("CREATE TABLE")
    assert "ordered" in answer
    assert path.count("<tr>") == 1 + 3  # the header, and each join
    assert "<svg" in path
    assert "no table covers" in nothing
