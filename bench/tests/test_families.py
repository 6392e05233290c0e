"""Families against the truth of a pile of more than thirty kinds, and the look-alikes."""

from __future__ import annotations

from dovetail_bench.programs.families import quality
from dovetail_bench.programs.family_kinds import KINDS


def test_families_are_found_and_look_alikes_are_not() -> None:
    assert sum(not kind.startswith("look-alike") for kind in KINDS) > 30
    figures = quality(seed=11)
    assert figures["precision"] >= 0.95  # type: ignore[operator]
    assert figures["recall"] >= 0.95  # type: ignore[operator]
    assert figures["roles"] >= 0.95  # type: ignore[operator]
    assert figures["canonical"] >= 0.95  # type: ignore[operator]
    assert figures["twins"] == 1.0
