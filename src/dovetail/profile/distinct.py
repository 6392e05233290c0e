"""Gathers the distinct hashes of a column with their row counts, batch by batch.

It is an external merge sort: what is gathered stays sorted and deduplicated, and goes to disk in
sorted runs when it grows, so that a table larger than memory takes no more memory than a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dovetail.arrays import Counts, firsts
from dovetail.hashing import HashCipher, Hashes
from dovetail.memory import within

HashCounts = tuple[Hashes, Counts]

# Entries that one merge step may hold in memory.
_MERGE_ENTRIES = 1 << 23


def count_distinct(hashes: Hashes, times: Counts | None = None) -> HashCounts:
    """Sort hashes and count equal ones; each stands for so many, where `times` says how many."""
    if times is not None:
        order = np.argsort(hashes)
        return _added_up(hashes[order], times[order])
    ordered = np.sort(hashes)
    if not len(ordered):
        return ordered, np.empty(0, dtype=np.uint32)
    edges = np.append(firsts(ordered), len(ordered))
    if len(edges) > len(ordered):
        return ordered, np.ones(len(ordered), dtype=np.uint32)
    return ordered[edges[:-1]], np.diff(edges).astype(np.uint32)


def merge_counts(runs: list[HashCounts]) -> HashCounts:
    """Merge sorted runs into one."""
    if len(runs) == 1:
        return runs[0]
    hashes = np.concatenate([run[0] for run in runs])
    order = np.argsort(hashes, kind="stable")  # a merge sort: it finds the runs again
    return _added_up(hashes[order], np.concatenate([run[1] for run in runs])[order])


def _added_up(hashes: Hashes, counts: Counts) -> HashCounts:
    """Sorted hashes, each once, with the sum of its counts."""
    starts = firsts(hashes)
    if len(starts) == len(hashes):
        return hashes, counts
    totals = np.add.reduceat(counts, starts, dtype=np.uint64)
    return hashes[starts], np.minimum(totals, np.iinfo(np.uint32).max).astype(np.uint32)


class DistinctHashes:
    """The distinct hashes of one column; keyed, if there is a cipher."""

    def __init__(self, cipher: HashCipher | None = None) -> None:
        self._cipher = cipher
        self._runs: list[HashCounts] = []
        self._spilled: list[tuple[Path, Path]] = []
        self.pending = 0

    @property
    def has_any(self) -> bool:
        """Whether anything was taken in."""
        return bool(self._runs or self._spilled)

    def add(self, run: HashCounts) -> None:
        """Take in what `count_distinct` made of a batch."""
        if not len(run[0]):
            return
        if self._cipher is not None:
            keyed = self._cipher(run[0])
            order = np.argsort(keyed)
            run = keyed[order], run[1][order]
        self._runs.append(run)
        self.pending += len(run[0])
        # Merging whenever the newest runs outweigh the first keeps repeated values from piling up
        # at a cost that stays in proportion to what is added.
        if len(self._runs) > 1 and self.pending > 2 * len(self._runs[0][0]) + (1 << 16):
            self._settle()

    def spill(self, path: Path) -> None:
        """Move what is held in memory to a sorted run on disk, in files named after `path`."""
        if not self._runs:
            return
        self._settle()
        hashes, counts = self._runs[0]
        name = f"{path.name}-{len(self._spilled)}"
        paths = (path.with_name(f"{name}.hashes.npy"), path.with_name(f"{name}.counts.npy"))
        np.save(paths[0], hashes, allow_pickle=False)
        np.save(paths[1], counts, allow_pickle=False)
        self._spilled.append(paths)
        self._runs, self.pending = [], 0

    def merged(self) -> Iterator[HashCounts]:
        """Everything, in ascending order, in pieces that fit into memory."""
        if not self._spilled:
            if self._runs:
                self._settle()
                yield self._runs[0]
            return
        runs = [
            (np.load(hashes, mmap_mode="r"), np.load(counts, mmap_mode="r"))
            for hashes, counts in self._spilled
        ] + self._runs
        # Hashes are evenly spread, so equal ranges of them hold about equally many.
        pieces = max(1, sum(len(run[0]) for run in runs) // within(_MERGE_ENTRIES))
        edges = [(1 << 64) * piece // pieces for piece in range(1, pieces)]
        cuts = [
            [0, *np.searchsorted(run[0], np.array(edges, dtype=np.uint64)).tolist(), len(run[0])]
            for run in runs
        ]
        for piece in range(pieces):
            part = [
                (
                    np.asarray(run[0][cut[piece] : cut[piece + 1]]),
                    run[1][cut[piece] : cut[piece + 1]],
                )
                for run, cut in zip(runs, cuts, strict=True)
            ]
            yield merge_counts([(hashes, np.asarray(counts)) for hashes, counts in part])

    def _settle(self) -> None:
        self._runs = [merge_counts(self._runs)]
        self.pending = len(self._runs[0][0])
