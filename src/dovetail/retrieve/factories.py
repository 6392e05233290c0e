"""Retrievers by name for whoever has a catalog and settings: the evaluation, above all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dovetail.catalog.reader import Catalog
from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.baselines import baseline
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
PPR = BaselineFactory("ppr", ranks=True)
