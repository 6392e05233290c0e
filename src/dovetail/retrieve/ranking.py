"""Retrievers that take the first K tables of a ranking: `dense` is DR@K, `search` the fused one.

DR embeds a question and every table's text and takes the nearest (Section 5, baselines). The text
is ours: the schema line, with the table's purpose where the catalog has one; the paper embeds five
sampled rows beside the purpose, which the embedded model reads worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.domain import Candidate, TableSet
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.registry import factory_with
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.searcher import Searcher

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


@factory_with(ranks=True)
def open_dense(context: SelectorContext) -> RankingRetriever:
    """Open the retriever `dense`."""
    return RankingRetriever(context.searcher, context.k)


@factory_with(ranks=True)
def open_search(context: SelectorContext) -> RankingRetriever:
    """Open the retriever `search`."""
    return RankingRetriever(context.searcher, context.k, Searcher.search)
