"""One catalog, ready to be asked: every part of search, over the same numbering of tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from dovetail.catalog.reader import Catalog
from dovetail.domain import Candidate, Table, TableId
from dovetail.joins.graph import JoinGraph
from dovetail.ports import Embedder
from dovetail.search.dense import Dense, Vectors
from dovetail.search.texts import header_text, table_text


class Searcher:
    """Tables by what a question says of them; `joins` is the graph of the same catalog.

    `tables` are those of the catalog, in its order; `column_vectors` and `nearest_columns` speak
    of headers (table and column name), and are what the retrievers that reason by column use.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self.catalog = catalog
        self.embedder = embedder
        self.tables: list[Table] = list(catalog)
        self._dense = Dense.build(
            embedder.embed_documents([table_text(table) for table in self.tables])
        )

    @cached_property
    def joins(self) -> JoinGraph:
        return JoinGraph.of(self.catalog)

    def vector(self, question: str) -> Vectors:
        """The question's vector."""
        vector: Vectors = self.embedder.embed_queries([question])[0]
        return vector

    def dense(self, question: str, k: int) -> list[Candidate]:
        """The paper's DR: the nearest tables by vector alone."""
        places, cosines = self._dense.nearest(self.vector(question), k)
        return [
            Candidate(self.tables[place].id, max(0.0, cosine), {"dense": cosine})
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    def search(self, question: str, k: int) -> list[Candidate]:
        """The fused ranking."""
        return self.dense(question, k)

    def column_vectors(self, table: TableId) -> Vectors:
        """One vector per column of a table, in the table's order."""
        start, stop = self._spans[table]
        return self._headers[start:stop]

    def nearest_columns(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The columns whose headers are nearest to a vector."""
        places, cosines = self._columns.nearest(vector, count)
        return [
            (*self._owners[place], cosine)
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    @cached_property
    def _owners(self) -> Sequence[tuple[TableId, str]]:
        return [(table.id, column.name) for table in self.tables for column in table.columns]

    @cached_property
    def _spans(self) -> dict[TableId, tuple[int, int]]:
        ends = np.cumsum([0, *(len(table.columns) for table in self.tables)]).tolist()
        return dict(zip((table.id for table in self.tables), pairwise(ends), strict=True))

    @cached_property
    def _headers(self) -> Vectors:
        return self.embedder.embed_documents(
            [header_text(table.name, name) for table in self.tables for name in _names(table)]
        )

    @cached_property
    def _columns(self) -> Dense:
        return Dense.build(self._headers)


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]
