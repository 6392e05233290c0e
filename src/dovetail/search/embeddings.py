"""Embeddings of a catalog: one of each table and one of each header, for search to compare with.

Up to 20,000 distinct headers every table and every header has a text of its own. Beyond, that would
take hours: tables that differ by digits in their names share a text, vectors of headers are put
together from those of names, and the embedder may work at less cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dovetail.arrays import Vectors
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table, TableId
from dovetail.models.vectors import VectorStore
from dovetail.ports import Embedder, QuantizableEmbedder
from dovetail.search.composed_headers import ComposedHeaders, composed_headers
from dovetail.search.embedding_text import MARKDOWN, markdown_text, table_text
from dovetail.search.headers import HeaderTexts, HeaderVectors, distinct, header_texts

FOLDER = "vectors"
# Distinct headers up to which each is embedded as it is: `graph` has an F1 of 83.2 on Spider dev
# then; 80.4 to 81.7 of 82.2 on its first 300 questions with sums and with composed headers.
MOST_WITH_TABLE = 20_000
_DIGITS = re.compile(r"\d+")

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
    most_with_table: int = MOST_WITH_TABLE,
) -> Embeddings | None:
    """Embed what was never embedded before, and return all embeddings; None without an embedder.

    A table is embedded by its name, its columns and its purpose, or by a sample of its rows where
    the inputs say so; a column by its header.
    `on_progress` counts the texts that were never embedded before.
    """
    embedder, purposes = inputs.embedder, inputs.purposes
    if embedder is None:
        return None
    # Only the text with rows needs more of the tables than their names.
    tables = list(catalog) if inputs.text == MARKDOWN else catalog.records.named_tables()
    like: Sequence[int] = range(len(tables))
    headers: HeaderTexts | ComposedHeaders = header_texts(tables)
    if len(headers.texts) > most_with_table:
        like = like_tables(tables, purposes)
        headers = composed_headers(tables, like)
        embedder = embedder.quantized() if isinstance(embedder, QuantizableEmbedder) else embedder
    written = markdown_text if inputs.text == MARKDOWN else table_text
    lines, place = distinct(written(tables[at], purposes.get(tables[at].id, "")) for at in like)
    store = VectorStore(catalog.folder / FOLDER, embedder)
    vectors: Vectors = store.documents([*lines, *headers.texts], on_progress)
    return Embeddings(vectors[: len(lines)][place], headers.vectors(vectors[len(lines) :]))


def like_tables(tables: Sequence[Table], purposes: Mapping[TableId, str]) -> list[int]:
    """The place of the first table that is like each: it shares the text of that one.

    Tables are like each other if their names differ in digits alone, and their columns, whatever
    the order, and purposes not at all.
    """
    first: dict[tuple[str, frozenset[str], str], int] = {}
    return [
        first.setdefault(
            (
                _DIGITS.sub("0", table.name),
                frozenset(column.name for column in table.columns),
                purposes.get(table.id, ""),
            ),
            place,
        )
        for place, table in enumerate(tables)
    ]
