"""The bundled sample: what is in it, and that writing it loads no engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dovetail
from dovetail.sample import write_company


def test_importing_the_sample_loads_no_engine() -> None:
    command = (
        "import sys, dovetail; before = set(sys.modules); import dovetail.sample;"
        "print({'duckdb', 'pyarrow', 'numpy'} & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "set()"


def test_the_company_is_written_twice_alike_and_joins_across_its_sources(tmp_path: Path) -> None:
    sources = write_company(tmp_path / "company")
    assert write_company(tmp_path / "company") == sources
    assert [source.name for source in sources] == [
        "brewery.sqlite", "civic.sqlite", "events.jsonl", "exports", "shop.sqlite",
        "taprooms.duckdb", "warehouse.duckdb",
    ]  # fmt: skip
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(*sources, into=tmp_path / "catalog", settings=settings)
    assert len(catalog) == 70
    (to_schools,) = [edge for edge in catalog.joins() if edge.columns == (("school_id",) * 2,)
                     and edge.left.name == "orders"]  # fmt: skip
    assert to_schools.right.name == "schools"
    assert to_schools.left.source != to_schools.right.source


def test_a_database_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "brewery.sqlite").mkdir()
    with pytest.raises(OSError, match=r"brewery\.sqlite"):
        write_company(tmp_path)
