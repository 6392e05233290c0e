"""One catalog, ready to be asked: from a question to a ranked list of its tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Table, TableId
from dovetail.errors import ModelError
from dovetail.joins.column_arrays import spans
from dovetail.joins.graph import JoinGraph
from dovetail.ports import Embedder
from dovetail.search.dense import Dense, Vectors
from dovetail.search.embedding_text import spelled
from dovetail.search.fusion import (
    DEFAULT,
    Cover,
    Floats,
    Ints,
    Mentions,
    Weights,
    fuse,
    leading,
    offered,
    within_reach,
)
from dovetail.search.index import Done, IndexInputs, open_index
from dovetail.search.lexical import Lexical
from dovetail.search.query_terms import asked, stem
from dovetail.search.value_linking import Literals

_NO_EMBEDDER = "this needs an embedder; index with one: dovetail index --embedder NAME"
# Tables that each cheap ranking puts forward for a closer look.
_POOL = 50
# Questions whose vectors are kept: an evaluation asks the same ones of every retriever.
_KEPT = 4096
# How likely a table is needed, by its score and by its distance from the best one's: a logistic
# curve fitted on four corpora at once (leaving one out moves no constant by more than a tenth).
_BY_SCORE, _BY_DISTANCE, _OFFSET = 1.8, 3.6, -2.2


class Searcher:
    """Tables by what a question says of them; `joins` is the graph of the same catalog.

    Without an embedder search goes by words, values and joins alone.
    """

    def __init__(
        self,
        catalog: CatalogReader,
        inputs: IndexInputs,
        *,
        done: Done | None = None,
    ) -> None:
        self.catalog = catalog
        self.embedder = inputs.embedder
        self.purposes = inputs.purposes
        self._thresholds = inputs.thresholds
        self._index = open_index(catalog, inputs, done)
        self._bounds = np.asarray(catalog.records.bounds)
        self._embed = lru_cache(maxsize=_KEPT)(self._embedded)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables of the catalog, in its order."""
        return list(self.catalog)

    @cached_property
    def joins(self) -> JoinGraph:
        return JoinGraph.of(self.catalog, thresholds=self._thresholds)

    def vector(self, question: str) -> Vectors:
        """The question's vector."""
        return self._embed(question)

    def vectors(self, questions: Sequence[str]) -> Vectors:
        """The vectors of several questions, one per row."""
        return self._needed.embed_queries(questions)

    def _embedded(self, question: str) -> Vectors:
        vector: Vectors = self.vectors([question])[0]
        return vector

    @property
    def _needed(self) -> Embedder:
        """The embedder, where nothing goes without one."""
        if self.embedder is None:
            raise ModelError(_NO_EMBEDDER)
        return self.embedder

    def dense(self, question: str, k: int) -> list[Candidate]:
        """The paper's DR: the nearest tables by vector alone."""
        vector = self.vector(question)
        if self._index.dense is None or not question.strip():
            return []
        places, cosines = self._index.dense.nearest(vector, k)
        return [
            Candidate(self.catalog.ids[place], max(0.0, cosine), {"dense": cosine})
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    def search(self, question: str, k: int) -> list[Candidate]:
        """The `k` tables that all parts together put first, ties by id; none for no question."""
        if not question.strip():
            return []
        return self.weigh(question, self.mentions(question), DEFAULT, k)

    def weigh(self, question: str, mentions: Mentions, weights: Weights, k: int) -> list[Candidate]:
        """The `k` tables that come first by some weights and by what is known to be mentioned."""
        tables, parts = self._parts(question, mentions, weights, k)
        scores = fuse(parts)
        best = np.lexsort((tables, -scores))[:k]
        top = float(scores[best[0]]) if len(best) else 0.0
        return [
            Candidate(
                self.catalog.ids[int(tables[place])],
                relevance(float(scores[place]), top),
                {name: float(part[place]) for name, part in parts.items()},
            )
            for place in best.tolist()
        ]

    def _parts(
        self, question: str, mentions: Mentions, weights: Weights, k: int
    ) -> tuple[Ints, dict[str, Floats]]:
        """The tables that may be among the best `k`, and the parts of their scores."""
        cover = Cover(mentions, len(self.catalog))
        rankings = (cover.words + cover.names, cover.values)
        leaders = [leading(ranking, _POOL) for ranking in rankings]
        if self._index.dense is not None and self.embedder is not None:
            leaders.append(self._index.dense.nearest(self.vector(question), _POOL)[0])
        tables = offered(leaders, self._index.joined)
        parts = {
            "lexical": weights.cover * cover.words[tables],
            "value": weights.cover * cover.values[tables],
            "dense": weights.dense * self._lines(question, tables),
            "name": weights.name * cover.names[tables],
            "neighbour": weights.gain * cover.gain(tables, self._index.joined),
        }
        near = within_reach(parts, k, weights.column)
        parts = {name: part[near] for name, part in parts.items()}
        tables = tables[near]
        return tables, parts | {"column": weights.column * self._headers(question, tables)}

    def mentions(self, question: str) -> Mentions:
        """What the question mentions that the catalog knows of."""
        words = [self._index.lexical.mention(word) for word in asked(question)]
        literals = [self.literals.mention(found) for found in self.literals.find(question)]
        return Mentions(words, literals)

    @property
    def lexical(self) -> Lexical:
        return self._index.lexical

    @cached_property
    def literals(self) -> Literals:
        return Literals(self.catalog, self._index.values)

    def reasons(self, question: str, tables: Sequence[TableId]) -> list[list[str]]:
        """In words, what each of some tables has to do with a question."""
        names = self.catalog.records.columns["name"]
        mentions = self.mentions(question)
        found: list[list[str]] = []
        literals = self.literals.find(question)
        written = {stem(word): word for word in reversed(spelled(question).split())}
        for table in tables:
            place = self.places[table]
            start, end = self._bounds[place], self._bounds[place + 1]
            own = [
                f"holds {literal.span.text!r} in {names[int(column)].as_py()}"
                for literal in literals
                for column in literal.columns.tolist()
                if start <= column < end
            ]
            said = [written[word.text] for word in mentions.words if place in word.tables]
            if said:
                own.append(f"its names say {', '.join(said)}")
            found.append(own)
        return found

    def partners(self) -> Iterator[tuple[TableId, TableId, float]]:
        """All pairs of tables that join or are tied by name, each once, and how surely."""
        ids, joined = self.catalog.ids, self._index.joined
        ones = np.repeat(np.arange(len(ids)), np.diff(joined.starts))
        once = ones < joined.other
        pairs = (ones[once].tolist(), joined.other[once].tolist(), joined.score[once].tolist())
        for one, other, score in zip(*pairs, strict=True):
            yield ids[one], ids[other], score

    def joined(self, tables: Sequence[TableId]) -> Floats:
        """How surely each of some tables joins each other, every one itself at 1."""
        places = np.array([self.places[table] for table in tables], dtype=np.int64)
        found = np.zeros((len(places), len(places)), dtype=np.float32)
        if not len(places):
            return found
        begins, others, scores = self._index.joined.around(places)
        rows = np.repeat(np.arange(len(places)), np.diff(np.append(begins, len(others))))
        order = np.argsort(places)
        at = order[np.minimum(np.searchsorted(places, others, sorter=order), len(places) - 1)]
        inside = places[at] == others
        found[rows[inside], at[inside]] = scores[inside]
        return found

    def _lines(self, question: str, tables: Ints) -> Floats:
        """The cosine of each of some tables' lines."""
        if self._index.dense is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        cosines: Floats = self._index.dense.vectors(tables) @ self.vector(question)
        return cosines

    def _headers(self, question: str, tables: Ints) -> Floats:
        """The cosine of each of some tables' best header, nothing if it is below nothing."""
        if self._index.headers is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        starts, ends = self._bounds[tables], self._bounds[tables + 1]
        headers = self._index.headers[spans(starts, ends)].astype(np.float32)
        cosines = np.append(headers @ self.vector(question), np.float32(0))
        best = np.maximum.reduceat(cosines, np.cumsum(ends - starts) - (ends - starts))
        found: Floats = np.where(ends > starts, np.maximum(best, 0), np.float32(0))
        return found

    def column_vectors(self, table: TableId) -> Vectors:
        """One vector per column of a table, in the table's order."""
        if self._index.headers is None:
            raise ModelError(_NO_EMBEDDER)
        place = self.places[table]
        headers = self._index.headers[self._bounds[place] : self._bounds[place + 1]]
        vectors: Vectors = headers.astype(np.float32)
        return vectors

    def nearest_columns(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The columns whose headers are nearest to a vector."""
        places, cosines = self._columns.nearest(vector, count)
        tables = np.searchsorted(self._bounds, places, side="right") - 1
        names = self.catalog.records.columns["name"]
        return [
            (self.catalog.ids[table], names[place].as_py(), cosine)
            for table, place, cosine in zip(
                tables.tolist(), places.tolist(), cosines.tolist(), strict=True
            )
        ]

    @cached_property
    def places(self) -> dict[TableId, int]:
        """The number of every table in the catalog's order."""
        return {table: place for place, table in enumerate(self.catalog.ids)}

    @cached_property
    def _columns(self) -> Dense:
        if self._index.headers is None:
            raise ModelError(_NO_EMBEDDER)
        return Dense.build(self._index.headers.astype(np.float32))


def relevance(score: float, top: float) -> float:
    """How likely a table is needed."""
    odds = _BY_SCORE * score + _BY_DISTANCE * (score - top) + _OFFSET
    return 1 / (1 + math.exp(-odds))
