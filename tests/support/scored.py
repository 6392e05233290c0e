"""Candidates of a question as `graph` scores them."""

from __future__ import annotations

from dovetail.retrieve.ask import CANDIDATES, GraphRetriever
from dovetail.retrieve.scorer import ScoredCandidates
from dovetail.search.searcher import Searcher


def scored_for(searcher: Searcher, question: str, k: int = CANDIDATES) -> ScoredCandidates:
    """The candidates of a question with their probabilities."""
    query = searcher.analyse(question)
    return GraphRetriever(searcher).score(query, searcher.search(query, k))
