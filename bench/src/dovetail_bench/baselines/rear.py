"""REAR: retrieve, expand by columns that look alike, refine by fit with question and base.

Published as Agarwal and others, "REaR: Retrieve, Expand and Refine for Effective Multitable
Retrieval" (2025). Base tables are the dense top; every column of theirs looks for its nearest
column headers, and the tables those belong to join the pool; the pool is then scored by relevance
to the question plus joinability to the base, and the first K stay. No language model is asked.

Where this differs. The authors refine with cross-encoders, for (question, table) and (table,
table); so does this when it is given one (`rear:NAME`), and otherwise with the bi-encoder: the
question's cosine, and the cosine of the best two columns of two tables. The trace names which. Both
kinds of score are moved to [0, 1] over the pool, since they need not come out of one model, and a
join counts by the relevance of its partner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from dovetail.arrays import Floats
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, TableId, TableSet
from dovetail.errors import MissingExtraError
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.embeddings import table_text
from dovetail.search.query import clipped
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.baselines.onnx_model import MODEL, OnnxModel
from dovetail_bench.baselines.ranking import PAPER, Ranking, cosine, nearest_by
from dovetail_bench.headers import headers_of
from dovetail_bench.retrievers import published_searcher

Predict = Callable[[list[tuple[str, str]]], Floats]


class PairScorer(Protocol):
    """Scores two texts read together."""

    model_id: str

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """One score per pair, higher for what belongs together."""


class CrossEncoder:
    """A cross-encoder in ONNX, by its folder, or, by name, one of sentence-transformers.

    A pair is scored once: two tables meet in many questions.
    """

    def __init__(self, name: str) -> None:
        self.model_id = f"cross-encoder {Path(name).name}"
        self._predict = _onnx(Path(name)) if (Path(name) / MODEL).is_file() else _named(name)
        self._scores: dict[tuple[str, str], float] = {}

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]
        self._scores |= zip(new, map(float, self._predict(new)), strict=True)
        return np.array([self._scores[pair] for pair in pairs])


def _named(name: str) -> Predict:
    try:
        model = import_module("sentence_transformers").CrossEncoder(name)
    except ImportError:
        raise MissingExtraError(f"the cross-encoder {name}", "st") from None
    return lambda pairs: np.asarray(model.predict(pairs), dtype=np.float64)


def _onnx(folder: Path) -> Predict:
    """The first logit of a model in ONNX for each pair."""
    model = OnnxModel(folder)

    def predict(pairs: list[tuple[str, str]]) -> Floats:
        parts = [logits.reshape(len(logits), -1)[:, 0] for logits, _ in model.outputs(pairs)]
        return np.concatenate(parts) if parts else np.empty(0)

    return predict


@dataclass(frozen=True, slots=True)
class RearRetriever:
    """`k` tables: of the dense top `base` and up to `expansion` more found through columns.

    A column looks at its `nearest` headers; `company` is what joinability counts beside relevance.
    """

    searcher: Searcher
    k: int = 5
    base: int = 5
    expansion: int = 10
    nearest: int = 10
    company: float = 0.5
    scorer: PairScorer | None = None
    ranking: Ranking = Searcher.dense

    def __post_init__(self) -> None:
        require_positive(k=self.k, base=self.base, nearest=self.nearest)

    def retrieve(self, question: str) -> TableSet:
        everything = self.ranking(self.searcher, question, len(self.searcher.tables))
        base = everything[: max(self.base, self.k)]
        retrieve = Stage("retrieve", facts={"tables": len(base)})
        found = self._expanded([candidate.id for candidate in base])
        kept = sorted(found, key=lambda table: (-found[table], table))[: self.expansion]
        expand = Stage("expand", facts={"found": len(found), "kept": len(kept)})
        # A listed index looks into some of its lists alone: what it passed over is far away.
        near = {candidate.id: candidate for candidate in everything}
        pool = [*base, *(near.get(table, Candidate(table, 0.0, {})) for table in kept)]
        refine = Stage("refine", facts={"by": self._by, "pool": len(pool)})
        scores = self._refined(question, pool, len(base))
        order = sorted(range(len(pool)), key=lambda place: (-scores[place], place))[: self.k]
        chosen = [
            Chosen(
                pool[place].id,
                pool[place].relevance,
                "expand" if pool[place].id in found else "search",
                _reason(found, pool[place], scores[place]),
            )
            for place in order
        ]
        return table_set(question, self.searcher.joins, chosen, [retrieve, expand, refine])

    @property
    def _by(self) -> str:
        if self.scorer is not None:
            return self.scorer.model_id
        embedder = self.searcher.embedder
        return f"{embedder.model_id if embedder else 'no embedder'}, no cross-encoder"

    def _expanded(self, base: Sequence[TableId]) -> dict[TableId, float]:
        """Tables outside the base with a header near one of the base's, and how near."""
        found: dict[TableId, float] = {}
        headers = headers_of(self.searcher)
        for table in base:
            for vector in headers.of(table):
                for other, _, near in headers.nearest(vector, self.nearest):
                    if other not in base:
                        found[other] = max(found.get(other, 0.0), near)
        return found

    def _refined(self, question: str, pool: Sequence[Candidate], base: int) -> Floats:
        """Relevance plus the weighted fit with the base, both scaled over the pool.

        Company is the best join with a base table, times how relevant that table is: a column in
        common with a stray member of the base speaks for nothing.
        """
        relevance = _scaled(self._relevance(question, pool))
        joined = _scaled(self._joinability([candidate.id for candidate in pool], base))
        joined[:base][np.eye(base, dtype=np.bool_)] = 0.0
        company = (joined * relevance[:base]).max(axis=1, initial=0.0)
        scores: Floats = relevance + self.company * _scaled(company)
        return scores

    def _relevance(self, question: str, pool: Sequence[Candidate]) -> Floats:
        if self.scorer is None:
            return np.array([cosine(candidate) for candidate in pool])
        asked = clipped(question)
        return self.scorer.score([(asked, self._text(candidate.id)) for candidate in pool])

    def _joinability(self, tables: Sequence[TableId], base: int) -> Floats:
        """A row per table, a column per base table."""
        if self.scorer is not None:
            pairs = [(self._text(a), self._text(b)) for a in tables for b in tables[:base]]
            return self.scorer.score(pairs).reshape(len(tables), base)
        vectors = [headers_of(self.searcher).of(table) for table in tables]
        rows = [[float((a @ b.T).max(initial=-1.0)) for b in vectors[:base]] for a in vectors]
        return np.array(rows).reshape(len(tables), base)

    def _text(self, table: TableId) -> str:
        return table_text(self.searcher.catalog[table])


def _reason(found: Mapping[TableId, float], candidate: Candidate, score: float) -> str:
    if candidate.id in found:
        return f"a column like one of the base ({found[candidate.id]:.2f}), score {score:.2f}"
    return f"base table, score {score:.2f}"


def _scaled(scores: Floats) -> Floats:
    """Scores moved to [0, 1]; all alike are all zero."""
    if not scores.size or np.ptp(scores) == 0:
        return np.zeros(scores.shape)
    scaled: Floats = (scores - scores.min()) / np.ptp(scores)
    return scaled


def open_rear(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = ""
) -> RearRetriever:
    """Open the retriever `rear`, over the paper's index, `rear:paper`, or with a cross-encoder by
    name or folder, `rear:NAME` and `rear:paper+NAME`."""
    first, _, rest = argument.partition("+")
    paper = first == PAPER
    name = rest if paper else argument
    scorer = CrossEncoder(name) if name else None
    searcher = published_searcher(catalog, settings)
    return RearRetriever(searcher, k, scorer=scorer, ranking=nearest_by(searcher, paper=paper))
