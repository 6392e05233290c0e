"""The paper's dense index: a vector of each table's name, purpose, header and sampled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from dovetail.arrays import Vectors
from dovetail.domain import Candidate, Table
from dovetail.errors import ModelError
from dovetail.models.vectors import VectorStore
from dovetail.ports import Embedder
from dovetail.search.dense import Dense
from dovetail.search.embeddings import FOLDER
from dovetail.search.index import NO_EMBEDDER
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail_bench.markdown import markdown


@dataclass(frozen=True)
class PaperIndex:
    """The tables of a searcher as the paper embeds them (Section 4.1); purposes can be left out.

    Another embedder than the searcher's may be given.
    """

    searcher: Searcher
    purposes: bool = True
    other: Embedder | None = None

    def nearest(self, query: Query, k: int) -> list[Candidate]:
        """The `k` nearest tables by cosine, ties by id."""
        if query.blank or not self.searcher.tables:
            return []
        rows, cosines = self._vectors.nearest(self._vector(query.text), k)
        return [
            Candidate(self.searcher.tables[row].id, max(0.0, cosine), {"dense": cosine})
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]

    def shown(self, table: Table) -> Table:
        """A table as the index has it: with its purpose, or without."""
        return table if self.purposes else replace(table, comment="")

    def _vector(self, text: str) -> Vectors:
        return self.other.embed_queries([text])[0] if self.other else self.searcher.vector(text)

    @cached_property
    def _vectors(self) -> Dense:
        """A vector of each table, kept beside the catalog's own, so that each is made once."""
        embedder = self.other or self.searcher.embedder
        if embedder is None:
            raise ModelError(NO_EMBEDDER)
        texts = [embedded_text(self.shown(table)) for table in self.searcher.tables]
        store = VectorStore(self.searcher.catalog.folder / FOLDER, embedder)
        return Dense(store.documents(texts))


def embedded_text(table: Table) -> str:
    """A table as the paper embeds it: its name, its purpose if it has one, header and sample."""
    name, _, content = markdown(table).partition("\n")
    purpose = table.comment
    return f"{name}\nPurpose: {purpose}\n{content}" if purpose else f"{name}\n{content}"
