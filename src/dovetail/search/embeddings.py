"""Embeddings of a catalog: one of each table and one of each header, for search to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.models.vectors import VectorStore
from dovetail.ports import Embedder
from dovetail.search.dense import Vectors
from dovetail.search.embedding_text import MARKDOWN, markdown_text, table_text
from dovetail.search.headers import HeaderVectors, header_texts

FOLDER = "vectors"

# Called with the number of texts embedded so far and of all that have to be.
EmbedProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each table, in the order of the catalog, and those of the columns' headers."""

    tables: Vectors
    headers: HeaderVectors


class EmbeddingInputs(Protocol):
    """What embeddings depend on besides the catalog."""

    @property
    def embedder(self) -> Embedder | None: ...

    @property
    def purposes(self) -> Mapping[TableId, str]: ...

    @property
    def text(self) -> str: ...


def embed_catalog(
    catalog: CatalogReader,
    inputs: EmbeddingInputs,
    on_progress: EmbedProgress | None = None,
) -> Embeddings | None:
    """Embed what was never embedded before, and return all embeddings; None without an embedder.

    A table is embedded by its name, its columns and its purpose, or by a sample of its rows where
    the inputs say so; a column by its header.
    `on_progress` counts the texts that were never embedded before.
    """
    embedder, purposes = inputs.embedder, inputs.purposes
    if embedder is None:
        return None
    tables = list(catalog)
    written = markdown_text if inputs.text == MARKDOWN else table_text
    lines = [written(table, purposes.get(table.id, "")) for table in tables]
    headers = header_texts(tables)
    store = VectorStore(catalog.folder / FOLDER, embedder)
    vectors: Vectors = store.documents([*lines, *headers.every], on_progress)
    return Embeddings(vectors[: len(lines)], headers.vectors(vectors[len(lines) :]))
