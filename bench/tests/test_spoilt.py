"""Bad rows cost joins what their share is: none is lost at one in twenty."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_bench.programs.insurer_pile import make_pile
from dovetail_bench.programs.spoilt import KINDS, found, match_rates, measure, spoilt


@pytest.mark.parametrize("kind", KINDS)
def test_a_twentieth_of_bad_rows_costs_a_twentieth_of_the_matches(
    kind: str, tmp_path: Path
) -> None:
    pile = make_pile()
    clean = match_rates(found(pile, tmp_path / "clean"))
    step = measure(kind, 0.05, clean, found(spoilt(pile, kind, 0.05), tmp_path / kind))
    assert (step.recall, step.precision, step.missed) == (1.0, 1.0, ())
    assert 0.93 < step.match_rate <= 1.0


def test_a_share_of_the_references_is_spoilt_and_nothing_else() -> None:
    pile = make_pile()
    worse = spoilt(pile, "orphans", 0.1)
    holder, before = (each["policies"]["policy"]["holder_id"] for each in (worse, pile))
    changed = sum(one != other for one, other in zip(holder, before, strict=True))
    assert 0.07 < changed / len(before) < 0.13
    assert worse["policies"]["partner"] == pile["policies"]["partner"]
