"""Runs the example notebook and keeps what it shows: python -m tests.docs.notebook (make docs)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "ask_the_sample.ipynb"
_SECONDS = 240  # a start of the kernel, and a cell; only an end to what hangs


def read() -> Any:
    """The notebook as it is kept."""
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def executed(folder: Path) -> Any:
    """The notebook as a reader's Jupyter runs it: by a kernel of its own, in some folder."""
    notebook = read()
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        startup_timeout=_SECONDS,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        made = executed(Path(name))
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(made, NOTEBOOK)  # type: ignore[no-untyped-call]
