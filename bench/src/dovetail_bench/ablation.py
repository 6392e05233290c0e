"""Ablation of search: each signal alone and left out, over the questions of a dataset.

A signal that is left out is gone altogether: words and values that do not count for a table do not
count for its neighbours either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dovetail.domain import TableId
from dovetail.offline.summary import Progress
from dovetail.ports import Json
from dovetail.search.fusion import Weights
from dovetail.search.query import Query, QueryTerm
from dovetail.search.searcher import Searcher, open_searcher
from dovetail_bench.datasets import Dataset
from dovetail_bench.measures import score
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run_config import RunConfig
from dovetail_bench.stats import holm, sign_flip

SIGNALS = ("lexical", "value", "dense", "column", "name", "neighbour")
FULL = "all"


@dataclass(frozen=True, slots=True)
class Variant:
    """Search with some of its signals."""

    name: str
    signals: frozenset[str]

    def weights(self, usual: Weights) -> Weights:
        """The usual weights of these signals, and zero for the others."""
        return replace(
            usual,
            cover=usual.cover if self.signals & {"lexical", "value"} else 0.0,
            gain=usual.gain if "neighbour" in self.signals else 0.0,
            dense=usual.dense if "dense" in self.signals else 0.0,
            column=usual.column if "column" in self.signals else 0.0,
            name=usual.name if "name" in self.signals else 0.0,
            alike=usual.alike if {"dense", "neighbour"} <= self.signals else 0.0,
        )

    def restrict(self, query: Query) -> Query:
        """The query with the terms of these signals alone; the others match no table."""
        terms, links = query.terms, query.links
        if "lexical" not in self.signals:
            terms = tuple(map(unmatched, terms))
        if "value" not in self.signals:
            links = tuple(replace(link, term=unmatched(link.term)) for link in links)
        return replace(query, terms=terms, links=links)


def unmatched(term: QueryTerm) -> QueryTerm:
    """The same term, matching no table: it still weighs in the length of the question."""
    return replace(term, match=0 * term.match)


VARIANTS = (
    Variant(FULL, frozenset(SIGNALS)),
    *(Variant(f"without {signal}", frozenset(SIGNALS) - {signal}) for signal in SIGNALS),
    Variant("without vectors", frozenset(SIGNALS) - {"dense", "column"}),
    # Neighbours have nothing of their own: what they bring is words and values.
    *(
        Variant(f"only {signal}", frozenset({signal}))
        for signal in SIGNALS
        if signal != "neighbour"
    ),
)


def bench_ablation(
    dataset: Dataset, ks: Sequence[int], question_filter: QuestionFilter, config: RunConfig
) -> Json:
    """Perfect recall of every variant at every k, and how likely chance made it differ from all.

    The p-values are of the paired sign-flip test, adjusted for the number of variants at that k.
    """
    experiment = Experiment.of(dataset, question_filter, config)
    searcher = open_searcher(experiment.catalog, config.settings)
    perfect: dict[tuple[str, int], list[bool]] = {
        (variant.name, k): [] for variant in VARIANTS for k in ks
    }
    for done, question in enumerate(experiment.questions, start=1):
        for variant, found in zip(VARIANTS, _ranked(searcher, question.text, max(ks)), strict=True):
            for k in ks:
                perfect[variant.name, k].append(score(found[:k], question.gold).perfect)
        if config.on_progress:
            config.on_progress(Progress("ask", done, len(experiment.questions), question.id))
    return {
        "dataset": dataset.name,
        "questions": len(experiment.questions),
        "tables": len(experiment.catalog),
        "results": [row for k in ks for row in _rows(perfect, k)],
    }


def _ranked(searcher: Searcher, question: str, k: int) -> list[list[TableId]]:
    """The best k tables by every variant; the question is analysed once."""
    query = searcher.analyse(question)
    usual = searcher.weights
    return [
        [one.id for one in searcher.rank(variant.restrict(query), variant.weights(usual), k)]
        for variant in VARIANTS
    ]


def _rows(perfect: Mapping[tuple[str, int], Sequence[bool]], k: int) -> list[Json]:
    flips = {
        variant.name: sign_flip(perfect[variant.name, k], perfect[FULL, k])
        for variant in VARIANTS
        if variant.name != FULL
    }
    adjusted = holm(flips)
    return [
        {
            "variant": variant.name,
            "k": k,
            "pr": round(sum(perfect[variant.name, k]) / len(perfect[variant.name, k]), 6),
            "p": round(adjusted[variant.name], 6) if variant.name != FULL else None,
        }
        for variant in VARIANTS
    ]
