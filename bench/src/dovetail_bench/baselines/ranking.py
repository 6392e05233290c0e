"""Retrievers that take the first K tables of a ranking: `dense` is DR@K, `search` the fused one.

DR embeds a question and every table's text and takes the nearest (Section 5, baselines). The text
of `dense` is ours: the schema line, with the table's purpose where the catalog has one. That of
`dense:paper` is the paper's: name, purpose, header and five sampled rows; `dense:paper+FOLDER` has
an embedder in ONNX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, TableSet
from dovetail.errors import UsageError
from dovetail.ports import Embedder
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.baselines.onnx_model import OnnxEmbedder
from dovetail_bench.core_t.index import PaperIndex
from dovetail_bench.retrievers import MemberRetriever, published_searcher, searcher_of

PAPER = "paper"
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


def words_of(retriever: str, argument: str, *known: str) -> list[str]:
    """The words of a retriever's argument, `paper+other`; one that is not known is refused."""
    words = argument.split("+") if argument else []
    if strange := sorted(set(words) - set(known)):
        listed = ", ".join(known)
        raise UsageError(f"{retriever} does not know {strange[0]!r}; it takes {listed}")
    return words


def nearest_by(searcher: Searcher, *, paper: bool, embedder: Embedder | None = None) -> Ranking:
    """The dense ranking of the paper's systems: over our schema lines, or the paper's index."""
    if not paper:
        return Searcher.dense
    index = PaperIndex(searcher, other=embedder)

    def dense(searcher: Searcher, question: str, k: int) -> list[Candidate]:
        return index.nearest(searcher.analyse(question), k)

    return dense


def cosine(candidate: Candidate) -> float:
    """The cosine of a candidate of the dense search as it is, below 0 as well."""
    return candidate.signals.get("dense", candidate.relevance)


def open_dense(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = ""
) -> RankingRetriever:
    """Open the retriever `dense`, or over the paper's index `dense:paper`, `dense:paper+FOLDER`."""
    first, _, folder = argument.partition("+")
    paper = PAPER in words_of("dense", first, PAPER)
    searcher = published_searcher(catalog, settings)
    embedder = OnnxEmbedder(Path(folder)) if folder else None
    return RankingRetriever(searcher, k, nearest_by(searcher, paper=paper, embedder=embedder))


def open_search(catalog: CatalogReader, *, k: int, settings: Settings) -> MemberRetriever:
    """Open the retriever `search`."""
    searcher = searcher_of(catalog, settings)
    return MemberRetriever(RankingRetriever(searcher, k, Searcher.search), searcher)
