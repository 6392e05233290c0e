"""The lake that the driver's memory is measured over has what makes the driver read values."""

from __future__ import annotations

from pathlib import Path

from dovetail.families.stored import read_families
from dovetail.joins.graph import JoinGraph
from dovetail.offline.pipeline import update
from dovetail.settings import Settings
from dovetail_bench.programs.driver_memory import lake


def test_the_lake_has_composite_keys_transforms_and_a_family(tmp_path: Path) -> None:
    source = tmp_path / "lake"
    source.mkdir()
    lake(source, 8_000)
    catalog = update(
        [str(source)], into=tmp_path / "catalog", settings=Settings(embedder="none")
    ).catalog
    assert len(catalog.records.columns) == 18
    assert 1.5 < sum(catalog.records.columns["distinct"].to_pylist()) / 8_000 < 1.8
    edges = JoinGraph.of(catalog).edges
    assert any(len(edge.columns) == 2 for edge in edges)
    assert len({edge.transform for edge in edges}) > 1
    assert [len(family.members) for family in read_families(catalog)] == [2]
