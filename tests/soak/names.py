"""Hostile names, by every way out."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support.hostile_names import Attack
from tests.support.hostile_names import names as hostile_names

_CHUNK = 40
_WAYS = {"dovetail": "commands", "REST": "REST", "MCP": "MCP", "HTML": "HTML"}


def names(wanted: Wanted) -> Figures:
    """Names in chunks with a seed each; every chunk is a folder of sources and a catalog."""
    done = in_chunks(_chunk, _CHUNK, wanted)
    tried = sum(last + 1 - first for first, last in done["seeds"]) * _CHUNK
    return {
        **done, "cases": min(tried, wanted.cases), "outcomes": by_way(done["outcomes"])
    }  # fmt: skip


def by_way(outcomes: Mapping[str, int]) -> dict[str, int]:
    """What was looked at, counted together for all commands, REST, MCP and HTML each.

    >>> by_way({"REST ask is clean": 2, "REST joins is clean": 1, "asked": 4})
    {'asked': 4, 'looked at of REST': 3}
    """
    ways: Counter[str] = Counter()
    for outcome, times in outcomes.items():
        way = outcome.split()[0]
        ways[f"looked at of {_WAYS[way]}" if way in _WAYS else outcome] += times
    return dict(ways.most_common())


def _chunk(chunk: Chunk) -> Ended:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return Attack(Path(folder) / "here", hostile_names(*chunk)).run()
