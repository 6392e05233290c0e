"""Families against the truth of a pile of more than thirty kinds, and the look-alikes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.families.detect import find_families
from dovetail.joins.graph import JoinGraph
from dovetail_bench.programs.families import SETTINGS, quality, written
from dovetail_bench.programs.family_kinds import KINDS, Pile, Unit
from dovetail_bench.programs.family_lakes import SHAPES, sketched, tiled


def test_families_are_found_and_look_alikes_are_not() -> None:
    assert sum(not kind.startswith("look-alike") for kind in KINDS) > 30
    figures = quality(seed=11)
    assert figures["precision"] >= 0.95  # type: ignore[operator]
    assert figures["recall"] >= 0.95  # type: ignore[operator]
    assert figures["roles"] >= 0.95  # type: ignore[operator]
    assert figures["canonical"] >= 0.95  # type: ignore[operator]
    assert figures["twins"] == 1.0


@pytest.mark.parametrize(
    ("shape", "families"), [("slices", [30]), ("drifting", [30]), ("strangers", [])]
)
def test_lakes_have_the_families_that_they_are_made_of(
    tmp_path: Path, shape: str, families: list[int]
) -> None:
    catalog = sketched(SHAPES[shape](30, np.random.default_rng(1)), tmp_path)
    found = find_families(catalog, JoinGraph(catalog.ids, ()))
    assert len(catalog) == 30
    assert [len(family.tables) for family in found] == families


def test_a_repeated_catalog_has_the_families_of_each_part(tmp_path: Path) -> None:
    made = Pile()
    for kind in ("backup", "years", "history"):
        KINDS[kind](Unit(made, kind, "bank", random.Random(kind)))
    small = dovetail.update(
        written(made, tmp_path),
        into=tmp_path / "catalog",
        settings=SETTINGS,
    ).catalog
    (tmp_path / "lake").mkdir()
    large = tiled(small, 3 * len(small), tmp_path / "lake")
    parts: dict[str, list[list[str]]] = {
        source: [] for source in sorted({table.source for table in large.ids})
    }
    for family in find_families(large, JoinGraph(large.ids, ())):
        parts[family.canonical.source].append([table.name for table in family.tables])
    one = [
        [table.name for table in family.tables]
        for family in find_families(small, JoinGraph(small.ids, ()))
    ]
    assert len(one) == 3
    assert list(parts.values()) == [one, one, one]
