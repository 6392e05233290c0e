"""A little of what `make soak` does at length: seeded statements against the guard and engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fuzz import cases, fuzz


@pytest.mark.slow
def test_no_statement_leaks_hangs_or_ends_in_a_traceback(tmp_path: Path) -> None:
    outcomes, wrong = fuzz(tmp_path, seed=7, count=1_200, run_every=4)
    assert wrong == []
    assert outcomes["refused"] > 500
    assert outcomes["let through"] > 20
    assert outcomes["rows"] > 1


def test_the_same_seed_gives_the_same_statements() -> None:
    assert list(cases(3, 50)) == list(cases(3, 50)) != list(cases(4, 50))
