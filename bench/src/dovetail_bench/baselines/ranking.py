"""Retrievers that take the first K tables of a ranking: `dense` is DR@K, `search` the fused one.

DR embeds a question and every table's text and takes the nearest (Section 5, baselines). The text
is ours: the schema line, with the table's purpose where the catalog has one; the paper embeds five
sampled rows beside the purpose, which the embedded model reads worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, TableSet
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.retrievers import MemberRetriever, searcher_of

Ranking = Callable[[Searcher, str, int], list[Candidate]]


@dataclass(frozen=True, slots=True)
class RankingRetriever:
    """Takes the first `k` tables of one of the searcher's rankings."""

    searcher: Searcher
    k: int = 10
    ranking: Ranking = Searcher.dense

    def __post_init__(self) -> None:
        require_positive(k=self.k)

    def retrieve(self, question: str) -> TableSet:
        name = self.ranking.__name__
        found = self.ranking(self.searcher, question, self.k)
        stage = Stage(name, facts={"k": self.k, "tables": len(found)})
        chosen = ranked(found, "search", f"{name} ranking")
        return table_set(question, self.searcher.joins, chosen, [stage])


def cosine(candidate: Candidate) -> float:
    """The cosine of a candidate of the dense search as it is, below 0 as well."""
    return candidate.signals.get("dense", candidate.relevance)


def open_dense(catalog: CatalogReader, *, k: int, settings: Settings) -> MemberRetriever:
    """Open the retriever `dense`."""
    searcher = searcher_of(catalog, settings)
    return MemberRetriever(RankingRetriever(searcher, k), searcher)


def open_search(catalog: CatalogReader, *, k: int, settings: Settings) -> MemberRetriever:
    """Open the retriever `search`."""
    searcher = searcher_of(catalog, settings)
    return MemberRetriever(RankingRetriever(searcher, k, Searcher.search), searcher)
