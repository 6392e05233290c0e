"""Dense search over tables as the paper embeds them: name, purpose, header and sampled rows.

The paper's DR (Section 4.1, appendix on serialization). Vectors are kept beside the catalog's own,
so a table is embedded once.
"""

from __future__ import annotations

from dovetail.domain import Candidate, Table
from dovetail.domain.schema import markdown
from dovetail.errors import ModelError
from dovetail.models.vectors import VectorStore
from dovetail.search.dense import Dense
from dovetail.search.embeddings import FOLDER
from dovetail.search.index import NO_EMBEDDER
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher


class MarkdownIndex:
    """The tables that a searcher may find, one vector each."""

    def __init__(self, searcher: Searcher) -> None:
        if searcher.embedder is None:
            raise ModelError(NO_EMBEDDER)
        tables, purposes = searcher.tables, searcher.purposes
        texts = [markdown_text(table, purposes.get(table.id, "")) for table in tables]
        store = VectorStore(searcher.catalog.folder / FOLDER, searcher.embedder)
        self._dense = Dense(store.documents(texts))
        self._ids = [table.id for table in tables]
        self._searcher = searcher

    def nearest(self, query: Query, k: int) -> list[Candidate]:
        """The `k` nearest tables, by cosine, ties by id."""
        if query.blank or not self._ids:
            return []
        places, cosines = self._dense.nearest(self._searcher.vector(query.text), k)
        return [
            Candidate(self._ids[place], max(0.0, cosine), {"dense": cosine})
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]


def markdown_text(table: Table, purpose: str = "") -> str:
    """A table as the paper embeds it: its name, its purpose if it has one, header and sample."""
    name, _, content = markdown(table).partition("\n")
    return f"{name}\nPurpose: {purpose}\n{content}" if purpose else f"{name}\n{content}"
