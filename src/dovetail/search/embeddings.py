"""Embeddings of a catalog: a vector of each table's schema line and one of each column's header.

Every distinct text is embedded once, by this process or by the workers of an engine.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.arrays import Encoded, Vectors
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table
from dovetail.engines.passes import UNABLE, Workers
from dovetail.errors import DovetailError
from dovetail.models.vectors import VectorStore, digest
from dovetail.names.words import Parts, Words, spelled
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder, Json, Tick
from dovetail.search.dense import HeaderVectors
from dovetail.search.translations import in_english
from dovetail.text import cut

FOLDER = "vectors"
_TASK, _PART = "dovetail.search.embeddings:embed_part", "vectors.npy"
# Characters of a comment that are embedded: a sentence or two.
_COMMENT = 200
_DIGITS = re.compile(r"\d+")

# Called with the number of texts embedded so far and of all that have to be.
EmbedProgress = Callable[[int, int], None]


def table_text(
    table: Table, parts: Parts | None = None, meanings: Mapping[str, Words] | None = None
) -> str:
    """The schema line: a table's name and its columns in order, then its comment or description.

    The embedded model reads this better than sampled rows (docs/lab/search.md has the figures).
    """
    columns = ", ".join(spelled(column.name, parts) for column in table.columns)
    line, about = f"{spelled(table.name, parts)}: {columns}", cut(table.comment, _COMMENT)
    english = in_english(f"{line} {about}", meanings) if meanings else ""
    return "\n".join(filter(None, (line, about, english)))


def header_text(
    table: str,
    column: str,
    comment: str = "",
    parts: Parts | None = None,
    meanings: Mapping[str, Words] | None = None,
) -> str:
    """The header of a column: the name of its table and its own as separate words, and its comment.

    >>> header_text("customers", "kz_ls", "delivery block")
    'customers kz ls: delivery block'
    """
    header = f"{spelled(table, parts)} {spelled(column, parts)}"
    text = f"{header}: {cut(comment, _COMMENT)}" if comment else header
    english = in_english(text, meanings) if meanings else ""
    return f"{text} ({english})" if english else text


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each table, in the order of the catalog, and those of the columns' headers."""

    tables: Vectors
    headers: HeaderVectors


def embed_catalog(
    catalog: CatalogReader,
    embedder: Embedder | None,
    on_progress: EmbedProgress | None = None,
    *,
    parts: Parts | None = None,
    meanings: Mapping[str, Words] | None = None,
) -> Embeddings | None:
    """Embed what was never embedded before, and return all embeddings; None without an embedder.

    A table is embedded by its name, its columns and its comment, a column by its header. Tables
    that differ by digits in their names share a text; words that names run together stand there as
    their `parts`, words of other languages with their English `meanings`. Vectors of texts that are
    no longer in force are removed. `on_progress` counts the texts that were never embedded before.
    """
    if embedder is None:
        return None
    tables = catalog.records.named_tables()
    representatives = [tables[row] for row in like_tables(tables)]
    lines = Encoded.of([table_text(table, parts, meanings) for table in representatives])
    headers = Encoded.of(
        [
            header_text(like.name, column.name, column.comment, parts, meanings)
            for table, like in zip(tables, representatives, strict=True)
            for column in table.columns
        ]
    )
    texts = [*lines.dictionary, *headers.dictionary]
    store = VectorStore(catalog.folder / FOLDER, embedder)
    vectors = store.documents(texts, on_progress)
    store.prune(set(map(digest, texts)))
    of_tables, of_headers = np.split(vectors, [len(lines.dictionary)])
    own = HeaderVectors(of_headers.astype(np.float16), headers.codes.astype(np.int32))
    return Embeddings(of_tables[lines.codes], own)


def like_tables(tables: Sequence[Table]) -> list[int]:
    """For each table the number of the last one that is like it, which may be itself.

    Tables are like each other if their names differ in digits alone, and their columns, whatever
    the order, and comments not at all. The last is mostly the newest, by which a family of
    tables is searched.
    """
    keys = [
        (
            _DIGITS.sub("0", table.name),
            frozenset(column.name for column in table.columns),
            table.comment,
        )
        for table in tables
    ]
    last = {key: number for number, key in enumerate(keys)}
    return [last[key] for key in keys]


@dataclass(frozen=True, slots=True)
class DistributedEmbedder:
    """Embeds parts of many texts on workers, which open the embedder of the same name.

    A worker whose embedder cannot be opened there, or is another, leaves its part to this process.
    """

    embedder: Embedder
    name: str
    workers: Workers

    @property
    def model_id(self) -> str:
        return self.embedder.model_id

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, embedded here."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per text, embedded here."""
        return self.embedder.embed_queries(texts)

    def embed_parts(self, parts: Sequence[Sequence[str]]) -> Iterator[tuple[int, Vectors]]:
        """The number of each part with the vectors of its texts, as they come."""
        about = {"embedder": self.name, "model_id": self.model_id}
        jobs: list[Json] = [{**about, "texts": list(part)} for part in parts]
        with tempfile.TemporaryDirectory(prefix="dovetail-") as scratch:
            for done in self.workers.map(_TASK, jobs, Path(scratch), self._embed_here):
                yield done.job, np.load(done.folder / _PART, allow_pickle=False)

    def _embed_here(self, job: Json, folder: Path) -> Json:
        return _embed(self.embedder, job, folder)


def embed_part(job: Json, folder: Path, tick: Tick) -> Json:
    """The task: embed the texts of a job with the embedder that it names, into a file."""
    del tick
    try:
        embedder = open_embedder(job["embedder"])
    except DovetailError:
        return UNABLE
    if embedder is None or embedder.model_id != job["model_id"]:
        return UNABLE
    return _embed(embedder, job, folder)


def _embed(embedder: Embedder, job: Json, folder: Path) -> Json:
    np.save(folder / _PART, embedder.embed_documents(job["texts"]))
    return {"texts": len(job["texts"])}
