"""Files of every format with changed bytes, indexed among good ones."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.figures import Figures, figures
from tests.support.hostile_files import FORMATS, bombs, index_among_good_ones, variants

# Of every format so many are indexed at once.
_AT_ONCE = 100


def files(seed: int, count: int, processes: int) -> Figures:
    """Variants of files by seed, a hundred of every format in a pile; and the bombs once."""
    del processes
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    piles = max(1, count // (_AT_ONCE * FORMATS))
    for number in range(piles + 1):
        bad = list(variants(_AT_ONCE, seed + number)) if number else list(bombs().items())
        with tempfile.TemporaryDirectory() as folder:
            catalog, missing = index_among_good_ones(Path(folder), bad)
            outcomes["left out in one line"] += (
                lost := sum(len(skip.reason.splitlines()) == 1 for skip in catalog.skipped)
            )
            outcomes["read"] += max(0, len(bad) - lost)
        wrong += [f"seed {seed + number}: lost {', '.join(missing)}"] if missing else []
        print(f"{number} of {piles} piles, {len(wrong)} wrong", file=sys.stderr)
    return figures(outcomes, wrong)
