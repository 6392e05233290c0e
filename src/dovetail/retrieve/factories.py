"""Retrievers by name for whoever has a catalog and settings: the evaluation, above all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dovetail.catalog.reader import Catalog
from dovetail.errors import UsageError
from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.baselines import baseline
from dovetail.retrieve.graph import GraphRetriever
from dovetail.search.opening import open_searcher
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

REPLIES = "replies"


@dataclass(frozen=True, slots=True)
class BaselineFactory:
    """Makes a system by name; `ranks` says that its set for a smaller k is the beginning."""

    name: str
    ranks: bool = False

    def __call__(self, catalog: Catalog, *, k: int, settings: Settings) -> Retriever:
        searcher = searcher_of(catalog, settings)
        return baseline(self.name, searcher, k=k, llm=llm_of(catalog, settings))


@dataclass(frozen=True, slots=True)
class GraphFactory:
    """Makes the selector that asks no model; its argument is the recall, as in `graph:0.8`."""

    def __call__(
        self, catalog: Catalog, *, k: int, settings: Settings, argument: str = ""
    ) -> Retriever:
        recall = recall_of(argument) if argument else settings.recall
        return GraphRetriever(searcher_of(catalog, settings), recall=recall, k=k)


def recall_of(text: str) -> float:
    """The recall that is written as an argument."""
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"graph:{text}: the recall must be a number from 0 to 1") from None


@lru_cache(maxsize=2)
def searcher_of(catalog: Catalog, settings: Settings) -> Searcher:
    """The searcher that all retrievers over one open catalog share."""
    return open_searcher(catalog, settings)


def llm_of(catalog: Catalog, settings: Settings) -> LLM | None:
    """The language model that is set, if any; its replies are kept in the catalog."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    return CachedLLM(model, catalog.path / REPLIES)


DENSE = BaselineFactory("dense", ranks=True)
SEARCH = BaselineFactory("search", ranks=True)
REACT = BaselineFactory("react")
JAR = BaselineFactory("jar")
ARM = BaselineFactory("arm")
REAR = BaselineFactory("rear")
STEINER = BaselineFactory("steiner")
GRAPH = GraphFactory()
PPR = BaselineFactory("ppr", ranks=True)
