"""Joins of a pile whose keys look different in every system: what is asked of any such pile."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.joins.evidence import join_evidence
from dovetail.offline.pipeline import update
from dovetail.settings import Settings
from dovetail_bench.programs.insurer_pile import make_pile, write_pile
from dovetail_bench.programs.piles import measure_joins


@pytest.mark.parametrize("seed", [1, 2])
def test_joins_are_found_where_keys_look_different(tmp_path: Path, seed: int) -> None:
    sources = write_pile(make_pile(seed), tmp_path)
    catalog = update(sources, into=tmp_path / "catalog", settings=Settings(embedder="none")).catalog
    edges = join_evidence(catalog)[0]
    found = measure_joins(edges)
    assert found.precision >= 0.85
    assert found.recall >= 0.95
    through = {edge.transform for edge in edges if edge.score > 0.5}
    assert through == {"", "case", "punctuation", "zeros"}
    assert {wrong.partition(" = ")[2] for wrong in found.wrong} <= {
        "haulage/calendar.day",
        "policies/partner.born",
        "policies/premium.due_on",
    }
