"""The file of a catalog's joins, and edges that are made when they are looked at: a question needs
few of the thousands there are, and loads none of what works them out.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.catalog.generation import EVIDENCE, JOINS, Part
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.domain.sql import QueryNames

FILE = "edges.parquet"
# How joins are scored: evidence of another version is made again.
SCORING_VERSION = 35
SCHEMA = pa.schema(
    [
        ("left_source", pa.string()),
        ("left_table", pa.string()),
        ("right_source", pa.string()),
        ("right_table", pa.string()),
        ("columns", pa.list_(pa.list_(pa.string()))),
        ("score", pa.float64()),
        ("cardinality", pa.string()),
        ("match_rate", pa.float64()),
        ("evidence", pa.map_(pa.string(), pa.float64())),
        ("transform", pa.string()),
        ("when", pa.list_(pa.string())),
        ("when_right", pa.bool_()),
    ]
)

Ends = tuple[TableId, TableId]


def stored_edges(catalog: CatalogReader) -> StoredEdges:
    """The joins of a catalog, the surest first: the evidence with what declared keys and past
    queries say."""
    part = catalog.parts.get(JOINS) or catalog.part(EVIDENCE)
    return StoredEdges.read(part, catalog.query_names)


def write_edges(edges: Sequence[JoinEdge], folder: Path) -> None:
    """Write edges into the folder of a part."""
    with (folder / FILE).open("wb") as sink:
        pq.write_table(_columns(list(edges)), sink, compression="zstd")


def in_order(edges: list[JoinEdge]) -> list[JoinEdge]:
    """The surest first; ties by ids and columns."""

    def order(edge: JoinEdge) -> tuple[float, TableId, TableId, tuple[tuple[str, str], ...]]:
        return -edge.score, edge.left, edge.right, edge.columns

    return sorted(edges, key=order)


# Scores nearer to 0 or 1 than this weigh as this one does.
_LEAST = 1e-6


def shifted(
    edge: JoinEdge, nats: float, said: Mapping[str, float] | None = None, *, lower: bool = False
) -> JoinEdge:
    """An edge that something more speaks for, which its evidence says.

    It never becomes less sure, unless what speaks against it may `lower` its score.
    """
    score = min(max(edge.score, _LEAST), 1 - _LEAST)
    moved = round(1 / (1 + math.exp(-math.log(score / (1 - score)) - nats)), 6)
    score = moved if lower else max(moved, edge.score)
    return replace(edge, score=score, evidence={**edge.evidence, **(said or {})})


def cardinality(left: bool, right: bool) -> str:
    """How many rows of one side meet how many of the other, given which sides are unique."""
    if right:
        return "1:1" if left else "n:1"
    return "1:n" if left else "n:m"


class LazyEdges(Sequence[JoinEdge]):
    """Edges in order; `ends` tells which two tables each one joins without making it."""

    ends: list[Ends]

    @property
    @abstractmethod
    def scores(self) -> list[float]:
        """The score of each edge, without making it."""

    @abstractmethod
    def edge(self, place: int) -> JoinEdge:
        """The edge at a place, from 0."""

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> JoinEdge: ...

    @overload
    def __getitem__(self, at: slice) -> list[JoinEdge]: ...

    def __getitem__(self, at: int | slice) -> JoinEdge | list[JoinEdge]:
        if isinstance(at, slice):
            return [self.edge(place) for place in range(*at.indices(len(self)))]
        return self.edge(range(len(self))[at])


class EditedEdges(LazyEdges):
    """The `added` edges, then those of `edges` whose places are not in `dropped`, in order."""

    def __init__(
        self, edges: Sequence[JoinEdge], added: Sequence[JoinEdge], dropped: Collection[int]
    ) -> None:
        self._edges, self._added = edges, list(added)
        self._places = [place for place in range(len(edges)) if place not in dropped]
        ends = ends_of(edges)
        self.ends = [*ends_of(self._added), *(ends[place] for place in self._places)]

    @property
    def scores(self) -> list[float]:
        """The scores of those that were added, then of the others."""
        scores = scores_of(self._edges)
        return [*scores_of(self._added), *(scores[place] for place in self._places)]

    def edge(self, place: int) -> JoinEdge:
        """An edge that was added, or one of the others, by its place among both."""
        if place < len(self._added):
            return self._added[place]
        return self._edges[self._places[place - len(self._added)]]


def ends_of(edges: Sequence[JoinEdge]) -> list[Ends]:
    """The two tables of each edge, without making edges that are lazy."""
    if isinstance(edges, LazyEdges):
        return edges.ends
    return [(edge.left, edge.right) for edge in edges]


def scores_of(edges: Sequence[JoinEdge]) -> list[float]:
    """The score of each edge, without making edges that are lazy."""
    return edges.scores if isinstance(edges, LazyEdges) else [edge.score for edge in edges]


class StoredEdges(LazyEdges):
    """The edges of a stored snapshot in their order, each made when it is asked for.

    A question needs a handful of the thousands of edges of a catalog.
    """

    def __init__(self, rows: pa.Table, names: QueryNames | None = None) -> None:
        self._names = names
        column = {name: rows[name].combine_chunks() for name in rows.column_names}
        lefts = map(TableId, *(column[f"left_{part}"].to_pylist() for part in ("source", "table")))
        rights = map(
            TableId, *(column[f"right_{part}"].to_pylist() for part in ("source", "table"))
        )
        self.ends = list(zip(lefts, rights, strict=True))
        self._rest = rows.select(
            [field.name for field in SCHEMA if not field.name.startswith(("left_", "right_"))]
        )
        self._made: dict[int, JoinEdge] = {}

    @classmethod
    def read(cls, part: Part, names: QueryNames | None = None) -> StoredEdges:
        """The edges in a part of a generation, with what queries call their tables, if given."""
        try:
            content = pa.BufferReader(pa.py_buffer(part.content(FILE)))
            rows = pq.ParquetFile(content).read(use_threads=False)
            for field in SCHEMA:  # one that the version which wrote the file did not know
                if field.name not in rows.column_names:
                    rows = rows.append_column(field, pa.nulls(len(rows), field.type))
            return cls(rows, names)
        except pa.ArrowException as error:
            raise part.damaged(FILE, repr(error)) from None

    @property
    def scores(self) -> list[float]:
        """The scores as they are stored."""
        found: list[float] = self._rest["score"].to_pylist()
        return found

    def edge(self, place: int) -> JoinEdge:
        """The edge at a place, made if it was not yet."""
        if place not in self._made:
            self._make(place, place + 1)
        return self._made[place]

    def __iter__(self) -> Iterator[JoinEdge]:
        if len(self._made) < len(self):
            self._make(0, len(self))
        return map(self._made.__getitem__, range(len(self)))

    def _make(self, start: int, end: int) -> None:
        """Make the edges of some rows, column by column: row by row takes three times as long."""
        rows = self._rest.slice(start, end - start)
        listed = {name: rows[name].to_pylist() for name in rows.column_names}
        for place, (pairs, score, cardinality, rate, evidence, transform, *when) in enumerate(
            zip(*listed.values(), strict=True), start
        ):
            columns = tuple((one, other) for one, other in pairs)
            left, right = self.ends[place]
            called = (self._names[left], self._names[right]) if self._names else None
            about = score, cardinality, rate, dict(evidence), transform, called
            condition = tuple(when[0] or ()), bool(when[1])
            self._made[place] = JoinEdge(left, right, columns, *about, *condition)


def _columns(edges: Sequence[JoinEdge]) -> pa.Table:
    """Edges as a table, column by column: row by row takes three times as long."""
    ends = [(edge.left, edge.right) for edge in edges]
    pairs = [pair for edge in edges for pair in edge.columns]
    names = pa.array([name for pair in pairs for name in pair], pa.string())
    in_pairs = pa.ListArray.from_arrays(_offsets([2] * len(pairs)), names)
    columns = {
        "left_source": [left.source for left, _ in ends],
        "left_table": [left.name for left, _ in ends],
        "right_source": [right.source for _, right in ends],
        "right_table": [right.name for _, right in ends],
        "columns": pa.ListArray.from_arrays(_offsets([len(e.columns) for e in edges]), in_pairs),
        "score": [edge.score for edge in edges],
        "cardinality": [edge.cardinality for edge in edges],
        "match_rate": [edge.match_rate for edge in edges],
        "evidence": pa.MapArray.from_arrays(
            _offsets([len(edge.evidence) for edge in edges]),
            pa.array([name for edge in edges for name in edge.evidence], pa.string()),
            pa.array([float(v) for edge in edges for v in edge.evidence.values()], pa.float64()),
        ),
        "transform": [edge.transform for edge in edges],
        "when": [edge.when for edge in edges],
        "when_right": [edge.when_right for edge in edges],
    }
    return pa.table(columns, schema=SCHEMA)


def _offsets(lengths: Sequence[int]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths], dtype=np.int32))
