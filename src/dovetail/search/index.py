"""The search index of a catalog: a part of its generation, made by the offline line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.arrays import Float32s, Ints, Vectors
from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import SEARCH
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.errors import EmbedderError, ModelError
from dovetail.names.words import Parts, Words
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder, Json
from dovetail.search.dense import Dense, HeaderVectors
from dovetail.search.fusion import SignalWeights, use_prior, weights_for
from dovetail.search.lexical import Lexical
from dovetail.search.neighbours import Neighbours
from dovetail.search.question_words import QuestionWords
from dovetail.search.translations import has_package
from dovetail.search.values import ValueIndex
from dovetail.settings import Settings

if TYPE_CHECKING:
    from dovetail.search.embeddings import Embeddings

NO_EMBEDDER = "this needs an embedder; index with one (the setting embedder)"
# Questions whose vectors are kept: an evaluation asks the same ones of every retriever.
_VECTORS_KEPT = 4096
# Raised whenever the same catalog would give another index.
_VERSION = 24
# The file that says which embedder made the vectors.
_MODEL = "model.json"


@dataclass(frozen=True)
class Index:
    """The index of a catalog, opened; tables, and columns through them, are numbered in order.

    Without an embedder `dense` and `headers` are None, and search goes by words, values and joins.
    """

    catalog: CatalogReader
    embedder: Embedder | None
    lexical: Lexical
    joined: Neighbours
    values: ValueIndex
    dense: Dense | None
    headers: HeaderVectors | None

    @cached_property
    def numbers(self) -> dict[TableId, int]:
        """The number of every table."""
        return {table: number for number, table in enumerate(self.catalog.ids)}

    @cached_property
    def bounds(self) -> Ints:
        """Where the columns of each table begin, and where the last one's end."""
        return np.asarray(self.catalog.records.bounds)

    @cached_property
    def weights(self) -> SignalWeights:
        """How the signals of search count over this catalog."""
        return weights_for(self.catalog)

    @cached_property
    def use(self) -> Float32s | None:
        """What the use of each table adds to its score, where anything is known of it."""
        return use_prior(self.catalog)

    @cached_property
    def question_words(self) -> QuestionWords:
        """Reads the words of questions."""
        return QuestionWords(self.lexical.words)

    @cached_property
    def embed(self) -> Callable[[str], Vectors]:
        """The vector of a question; those of the last questions are kept."""
        embedder = self.embedder

        @lru_cache(maxsize=_VECTORS_KEPT)
        def embed(question: str) -> Vectors:
            vector: Vectors = embedded(embedder, [question])[0]
            return vector

        return embed


def embedded(embedder: Embedder | None, questions: Sequence[str]) -> Vectors:
    """The vectors of questions, one per row."""
    try:
        if embedder is None:
            raise ModelError(NO_EMBEDDER)
        return embedder.embed_queries(questions)
    except ModelError as error:
        raise EmbedderError(str(error)) from None


def chosen_embedder(settings: Settings) -> tuple[Embedder | None, str]:
    """The embedder that the settings name, and a note for the user, or nothing.

    Without the weights of the default embedder there is none, and the note says so. Any other
    embedder that cannot be opened is an error.
    """
    try:
        return open_embedder(settings.embedder), ""
    except ModelError as error:
        if settings.embedder != Settings().embedder:
            raise EmbedderError(str(error)) from None
        return None, f"search goes by words, values and joins alone: {error}"


def open_index(catalog: CatalogReader, embedder: Embedder | None) -> Index:
    """The index of a catalog, whose vectors must be of the same embedder; without any embedder
    they are left out."""
    part = catalog.part(SEARCH)
    if embedder is not None:
        refuse_other_models(catalog, embedder)
    try:
        return Index(
            catalog=catalog,
            embedder=embedder,
            lexical=Lexical.load(part),
            joined=Neighbours.load(part),
            values=ValueIndex.of(catalog),
            dense=Dense.load(part) if embedder else None,
            headers=HeaderVectors.load(part) if embedder else None,
        )
    except DAMAGE as error:
        raise part.damaged(_MODEL, repr(error)) from None


def refuse_other_models(catalog: CatalogReader, embedder: Embedder | None) -> None:
    """Raise an error if the catalog was indexed with another embedder."""
    stored, wanted = catalog.part(SEARCH).json(_MODEL), model_of(embedder)
    if stored != wanted:
        raise ModelError(
            f"{catalog.folder} was indexed with {_named(stored)}, not with {_named(wanted)}; "
            "choose that one (the setting embedder), or index again with this one"
        )


def index_key(embedder: Embedder | None) -> str:
    """A digest of how an index is made, and by which embedder."""
    return hashlib.sha256(f"{_VERSION} {model_of(embedder)} {has_package()}".encode()).hexdigest()[
        :12
    ]


def model_of(embedder: Embedder | None) -> Json:
    """An embedder as it is written beside the vectors that it made."""
    if embedder is None:
        return {"embedder": None}
    try:
        return {"embedder": embedder.model_id, "dimension": embedder.dimension}
    except ModelError as error:  # only an endpoint knows its dimension
        raise EmbedderError(str(error)) from None


def _named(model: Json) -> str:
    if model["embedder"] is None:
        return "no embedder"
    return f"the embedder {model['embedder']} of {model['dimension']} numbers"


def make_index(
    catalog: CatalogReader,
    embedder: Embedder | None,
    edges: Sequence[JoinEdge],
    embeddings: Embeddings | None,
    parts: Parts,
    folder: Path,
    *,
    meanings: Mapping[str, Words] | None = None,
) -> None:
    """Make the index of a catalog from its tables, its joins and its embeddings, in a folder.

    `parts` are those of words that names run together, `meanings` what words mean in English.
    """
    # Only who makes an index needs what works joins out: to load it takes longer than to search.
    from dovetail.names.links import name_links

    tables = catalog.records.named_tables()
    numbers = {table: number for number, table in enumerate(catalog.ids)}
    lexical = Lexical.build(tables, parts).with_meanings(meanings or {})
    joined = Neighbours.build(numbers, edges, name_links(tables))
    lexical.save(folder)
    joined.save(folder)
    if embeddings is not None:
        Dense(embeddings.tables).save(folder)
        embeddings.headers.save(folder)
    (folder / _MODEL).write_text(json.dumps(model_of(embedder)), "utf-8")
