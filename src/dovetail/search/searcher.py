"""One catalog, ready to be asked: from a question to a ranked list of its tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from dovetail.catalog.reader import Catalog
from dovetail.domain import Candidate, Table, TableId
from dovetail.errors import ModelError
from dovetail.joins.graph import JoinGraph
from dovetail.phrases import cell_phrases
from dovetail.search.dense import Dense, Vectors
from dovetail.search.fusion import DEFAULT, Cover, Floats, Ints, Mentions, Weights, fuse, offered
from dovetail.search.index import Done, Makings, open_index
from dovetail.search.lexical import Mention
from dovetail.search.literals import Span, spans
from dovetail.search.words import asked

# Tables that each cheap ranking puts forward for a closer look.
_POOL = 200
# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _LONE = 0.2, 0.2
# How likely a table is needed, by its score and by its distance from the best one's: a logistic
# curve fitted on four corpora at once (leaving one out moves no constant by more than a tenth).
_BY_SCORE, _BY_DISTANCE, _OFFSET = 1.8, 3.6, -2.2


class Searcher:
    """Tables by what a question says of them; `joins` is the graph of the same catalog.

    Without an embedder search goes by words, values and joins alone.
    """

    def __init__(
        self,
        catalog: Catalog,
        makings: Makings,
        *,
        weights: Weights = DEFAULT,
        done: Done | None = None,
    ) -> None:
        self.catalog = catalog
        self.embedder = makings.embedder
        self.purposes = makings.purposes
        self._thresholds = makings.thresholds
        self._weights = weights
        self._index = open_index(catalog, makings, done)
        self._bounds = np.asarray(catalog.rows.bounds)
        rows = catalog.rows.tables["rows"].to_numpy()
        self._filled = int(np.count_nonzero(rows))
        self._embed = lru_cache(maxsize=64)(self._embedded)

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

    def _embedded(self, question: str) -> Vectors:
        if self.embedder is None:
            raise ModelError("this needs an embedder; index with one: dovetail index --embedder")
        vector: Vectors = self.embedder.embed_queries([question])[0]
        return vector

    def dense(self, question: str, k: int) -> list[Candidate]:
        """The paper's DR: the nearest tables by vector alone."""
        vector = self.vector(question)
        if self._index.dense is None:
            return []
        places, cosines = self._index.dense.nearest(vector, k)
        return [
            Candidate(self.catalog.ids[place], max(0.0, cosine), {"dense": cosine})
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    def search(self, question: str, k: int) -> list[Candidate]:
        """The `k` tables that all parts together put first, ties by id."""
        tables, parts = self.parts(question)
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

    def parts(self, question: str) -> tuple[Ints, dict[str, Floats]]:
        """The tables that come into question, and the parts of their scores."""
        count = len(self.catalog)
        cover = Cover(self.mentions(question), count)
        cosines = np.zeros(count, dtype=np.float32)
        if self._index.dense is not None and self.embedder is not None:
            nearest, found = self._index.dense.nearest(self.vector(question), _POOL)
            cosines[nearest] = found
        cheap = (cosines, cover.words + cover.names, cover.values)
        tables = offered(cheap, self._index.joined, _POOL)
        weights = self._weights
        dense, column = self._cosines(question, tables)
        return tables, {
            "lexical": weights.cover * cover.words[tables],
            "value": weights.cover * cover.values[tables],
            "dense": weights.dense * dense,
            "column": weights.column * column,
            "name": weights.name * cover.names[tables],
            "neighbour": weights.gain * cover.gain(tables, self._index.joined),
        }

    def mentions(self, question: str) -> Mentions:
        """What the question mentions that the catalog knows of."""
        words = [self._index.lexical.mention(word) for word in asked(question)]
        return Mentions(words, self._literals(question))

    def _literals(self, question: str) -> list[Mention]:
        """The longest spans that are cells somewhere, none overlapping another."""
        every = list(spans(question))
        if not every:
            return []
        holders = self._holders(every)
        found: list[Mention] = []
        used: set[int] = set()
        for span, tables in zip(every, holders, strict=True):
            taken = range(span.start, span.end)
            if not len(tables) or not used.isdisjoint(taken):
                continue
            used.update(taken)
            ones = np.ones(len(tables), dtype=np.float32)
            found.append(Mention(self._worth(span, len(tables)), tables, ones, 0 * ones))
        return found

    def _worth(self, span: Span, holders: int) -> float:
        weight = math.log((self._filled + 1) / holders) / math.log(len(self.catalog) + 1)
        if span.number:
            return weight * _NUMBER
        return weight * _LONE if span.end - span.start == 1 and not span.named else weight

    def _holders(self, every: Sequence[Span]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
        """The tables that hold each span as a cell."""
        place, column = self._index.values.columns_holding(
            cell_phrases([span.text for span in every])
        )
        table = np.searchsorted(self._bounds, column, side="right") - 1
        pairs = np.unique(np.stack([place, table]), axis=1)
        cuts = np.searchsorted(pairs[0], np.arange(1, len(every)))
        return np.split(pairs[1].astype(np.int32), cuts)

    def _cosines(self, question: str, tables: Ints) -> tuple[Floats, Floats]:
        """For each of some tables the cosine of its line, and that of its best header."""
        if not len(tables) or self._index.dense is None or self._index.headers is None:
            nothing = np.zeros(len(tables), dtype=np.float32)
            return nothing, nothing
        vector = self.vector(question)
        lines = self._index.dense.vectors(tables) @ vector
        starts, ends = self._bounds[tables], self._bounds[tables + 1]
        at = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
        headers = self._index.headers[at].astype(np.float32) @ vector
        column = np.maximum.reduceat(headers, np.cumsum(ends - starts) - (ends - starts))
        return lines, column

    def column_vectors(self, table: TableId) -> Vectors:
        """One vector per column of a table, in the table's order."""
        if self._index.headers is None:
            raise ModelError("this needs an embedder; index with one: dovetail index --embedder")
        place = self._places[table]
        headers = self._index.headers[self._bounds[place] : self._bounds[place + 1]]
        vectors: Vectors = headers.astype(np.float32)
        return vectors

    def nearest_columns(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The columns whose headers are nearest to a vector."""
        places, cosines = self._columns.nearest(vector, count)
        tables = np.searchsorted(self._bounds, places, side="right") - 1
        names = self.catalog.rows.columns["name"]
        return [
            (self.catalog.ids[table], names[place].as_py(), cosine)
            for table, place, cosine in zip(
                tables.tolist(), places.tolist(), cosines.tolist(), strict=True
            )
        ]

    @cached_property
    def _places(self) -> dict[TableId, int]:
        return {table: place for place, table in enumerate(self.catalog.ids)}

    @cached_property
    def _columns(self) -> Dense:
        if self._index.headers is None:
            raise ModelError("this needs an embedder; index with one: dovetail index --embedder")
        return Dense.build(self._index.headers.astype(np.float32))


def relevance(score: float, top: float) -> float:
    """How likely a table is needed."""
    odds = _BY_SCORE * score + _BY_DISTANCE * (score - top) + _OFFSET
    return 1 / (1 + math.exp(-odds))
