"""The join graph as arrays: what a table's neighbours cover of a question counts for it too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s, Ints, firsts
from dovetail.catalog.generation import Part
from dovetail.domain import JoinEdge, TableId

# Doubtful joins count by their score, a little; below this they do not.
_DOUBTFUL = 0.05
# Beyond so many ends of two joins only one join is followed: some table joins almost everything.
_MOST_ENDS = 200_000
_STARTS, _OTHER, _SCORE = "joined_starts", "joined", "joined_score"


@dataclass(frozen=True)
class Neighbours:
    """Adjacency lists: the neighbours of table `n` stand from `starts[n]` to `starts[n + 1]`.

    Every table is among its own neighbours; `score` is that of the join or name link.
    """

    starts: Ints
    other: npt.NDArray[np.int32]
    score: Float32s

    @classmethod
    def build(
        cls,
        numbers: Mapping[TableId, int],
        edges: Iterable[JoinEdge],
        name_links: Mapping[tuple[int, int], float],
    ) -> Neighbours:
        """The neighbours by their best edge or name link; every table is its own, at 1."""
        joined = [
            (numbers[edge.left], numbers[edge.right], edge.score)
            for edge in edges
            if edge.left != edge.right and edge.score > _DOUBTFUL
        ]
        joined += [(*pair, score) for pair, score in name_links.items()]
        pairs = np.array([pair[:2] for pair in joined], dtype=np.int64).reshape(-1, 2)
        scores = np.array([pair[2] for pair in joined], dtype=np.float32)
        left, right = pairs.T
        itself = np.arange(len(numbers))
        return cls.of(
            np.concatenate([itself, left, right]),
            np.concatenate([itself, right, left]),
            np.concatenate([np.ones(len(numbers), np.float32), scores, scores]),
            len(numbers),
        )

    @classmethod
    def of(cls, one: Ints, other: Ints, score: Float32s, count: int) -> Neighbours:
        """The lists of so many tables by pairs in any order, of equal ones that of the best score.

        A pair is for the lists of its first table alone.
        """
        order = np.lexsort((-score, other, one))
        one, other, score = one[order], other[order], score[order]
        best = firsts(one * count + other)
        starts = np.searchsorted(one[best], np.arange(count + 1))
        return cls(starts, other[best].astype(np.int32), score[best])

    @classmethod
    def load(cls, part: Part) -> Neighbours:
        """The adjacency lists in a part."""
        names = (_STARTS, _OTHER, _SCORE)
        return cls(*(part.array(f"{name}.npy") for name in names))

    def save(self, folder: Path) -> None:
        """Write the adjacency lists into a folder."""
        np.save(folder / f"{_STARTS}.npy", self.starts)
        np.save(folder / f"{_OTHER}.npy", self.other)
        np.save(folder / f"{_SCORE}.npy", self.score)

    def edited(self, scores: Mapping[tuple[int, int], float]) -> Neighbours:
        """The same lists with other scores between some tables; those of score 0 are none."""
        size = len(self)
        given = {one * size + two: score for (one, two), score in scores.items()}
        given |= {two * size + one: score for (one, two), score in scores.items()}
        ones = np.repeat(np.arange(size), np.diff(self.starts))
        kept = ~np.isin(ones * size + self.other, np.fromiter(given, np.int64, len(given)))
        added = {pair: score for pair, score in given.items() if score > 0}
        pairs = np.fromiter(added, np.int64, len(added))
        return Neighbours.of(
            np.concatenate([ones[kept], pairs // size]),
            np.concatenate([self.other[kept], pairs % size]),
            np.concatenate([self.score[kept], np.fromiter(added.values(), np.float32, len(added))]),
            size,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def around(self, tables: Ints) -> tuple[Ints, Ints, Float32s]:
        """Where the neighbours of each table begin, then all neighbours and their scores."""
        counts = self.starts[tables + 1] - self.starts[tables]
        begins = np.cumsum(counts) - counts
        at = np.repeat(self.starts[tables] - begins, counts) + np.arange(int(counts.sum()))
        return begins, self.other[at].astype(np.int64), self.score[at]

    def among(self, tables: Ints) -> Float32s:
        """The scores between each two of some tables, as a matrix; 0 where none join."""
        matrix = np.zeros((len(tables), len(tables)), dtype=np.float32)
        if not len(tables):
            return matrix
        begins, others, scores = self.around(tables)
        rows = np.repeat(np.arange(len(tables)), np.diff(np.append(begins, len(others))))
        order = np.argsort(tables)
        at = order[np.minimum(np.searchsorted(tables, others, sorter=order), len(tables) - 1)]
        inside = tables[at] == others
        matrix[rows[inside], at[inside]] = scores[inside]
        return matrix

    def paths(self, tables: Ints) -> Float32s:
        """The best product of scores along a path of up to four joins between each two tables.

        Such a path is two paths of two joins that end at the same table.
        """
        if not len(tables):
            return np.zeros((0, 0), dtype=np.float32)
        rows, ends, scores = self._step(
            np.arange(len(tables)), tables, np.ones(len(tables), np.float32)
        )
        if int((self.starts[ends + 1] - self.starts[ends]).sum()) <= _MOST_ENDS:
            rows, ends, scores = self._step(rows, ends, scores)
        there, column = np.unique(ends, return_inverse=True)
        reached = np.zeros((len(tables), len(there)), dtype=np.float32)
        np.maximum.at(reached, (rows, column), scores)
        return np.stack([(reached * one).max(axis=1) for one in reached])

    def _step(self, rows: Ints, ends: Ints, scores: Float32s) -> tuple[Ints, Ints, Float32s]:
        """One join on from the ends of some paths; each table is its own neighbour at 1."""
        begins, others, joined = self.around(ends)
        counts = np.diff(np.append(begins, len(others)))
        return np.repeat(rows, counts), others, np.repeat(scores, counts) * joined
