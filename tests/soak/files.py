"""Files of every format with changed bytes, indexed among good ones."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support.hostile_files import FORMATS, bombs, index_among_good_ones, variants

# Of every format so many are indexed at once.
_AT_ONCE = 100


def files(wanted: Wanted) -> Figures:
    """Variants of files by seed, a hundred of every format in a pile; the first has the bombs."""
    return in_chunks(_chunk, _AT_ONCE * FORMATS, wanted)


def _chunk(chunk: Chunk) -> Ended:
    seed, count = chunk
    bad = [*variants(max(1, count // FORMATS), seed), *(bombs().items() if seed == 1 else ())]
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        catalog, missing = index_among_good_ones(Path(folder), bad)
        lost = sum(len(skip.reason.splitlines()) == 1 for skip in catalog.skipped)
    ended = Counter({"left out in one line": lost, "read": max(0, len(bad) - lost)})
    return ended, [f"seed {seed}: lost {', '.join(missing)}"] if missing else []
