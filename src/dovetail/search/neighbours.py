"""Who joins whom, as arrays: what a table's neighbours say of a question counts for it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.domain import JoinEdge, TableId

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

# Doubtful joins count by their score, a little; below this they do not.
_DOUBTFUL = 0.05
_STARTS, _OTHER, _SCORE = "joined_starts", "joined", "joined_score"


@dataclass(frozen=True)
class Neighbours:
    """The partners of table `n` stand from `starts[n]` to `starts[n + 1]`, it among them."""

    starts: Ints
    other: npt.NDArray[np.int32]
    score: Floats

    @classmethod
    def build(
        cls,
        places: Mapping[TableId, int],
        edges: Iterable[JoinEdge],
        ties: Mapping[tuple[int, int], float],
    ) -> Neighbours:
        """The partners by the surest edge or tie between them; every table is its own, at 1."""
        best = {(place, place): 1.0 for place in places.values()}
        joined = (
            ((places[edge.left], places[edge.right]), edge.score)
            for edge in edges
            if edge.left != edge.right and edge.score > _DOUBTFUL
        )
        for (one, two), score in (*joined, *ties.items()):
            for pair in ((one, two), (two, one)):
                best[pair] = max(best.get(pair, 0.0), score)
        pairs = np.array(sorted(best), dtype=np.int64).reshape(-1, 2)
        return cls(
            starts=np.searchsorted(pairs[:, 0], np.arange(len(places) + 1)),
            other=pairs[:, 1].astype(np.int32),
            score=np.array([best[one, two] for one, two in pairs.tolist()], dtype=np.float32),
        )

    @classmethod
    def load(cls, folder: Path) -> Neighbours:
        """Those in a folder."""
        names = (_STARTS, _OTHER, _SCORE)
        return cls(*(np.load(folder / f"{name}.npy", allow_pickle=False) for name in names))

    def save(self, folder: Path) -> None:
        """Write them into a folder."""
        for name, array in zip((_STARTS, _OTHER, _SCORE), self._arrays, strict=True):
            np.save(folder / f"{name}.npy", array)

    @property
    def _arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        return self.starts, self.other, self.score

    def __len__(self) -> int:
        return len(self.starts) - 1

    def around(self, tables: Ints) -> tuple[Ints, Ints, Floats]:
        """Where the partners of each table begin, then all of the partners and their scores."""
        counts = self.starts[tables + 1] - self.starts[tables]
        begins = np.cumsum(counts) - counts
        at = np.repeat(self.starts[tables] - begins, counts) + np.arange(int(counts.sum()))
        return begins, self.other[at].astype(np.int64), self.score[at]
