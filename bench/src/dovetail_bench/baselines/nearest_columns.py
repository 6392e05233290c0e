"""The columns of a catalog whose headers are nearest to a vector."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dovetail.arrays import Vectors
from dovetail.domain import TableId
from dovetail.errors import ModelError
from dovetail.search.dense import Dense
from dovetail.search.index import NO_EMBEDDER
from dovetail.search.searcher import Searcher


class NearestColumns:
    """Exact search over the vectors of all headers."""

    def __init__(self, searcher: Searcher) -> None:
        self._index = searcher.index

    @cached_property
    def _headers(self) -> Dense:
        if self._index.headers is None:
            raise ModelError(NO_EMBEDDER)
        return Dense(self._index.headers.of(slice(None)))

    def to(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The table, the name and the cosine of each of the nearest columns."""
        columns, cosines = self._headers.nearest(vector, count)
        tables = np.searchsorted(self._index.bounds, columns, side="right") - 1
        names = self._index.catalog.records.columns["name"]
        return [
            (self._index.catalog.ids[table], names[column].as_py(), cosine)
            for table, column, cosine in zip(
                tables.tolist(), columns.tolist(), cosines.tolist(), strict=True
            )
        ]
