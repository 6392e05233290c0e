"""What retrievers work with, as the settings name it: a searcher and a language model.

`SelectorContext` hands both to the factory of a retriever (registry.py). Neither is opened before
it is asked for, so a retriever without a model loads none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import MissingModelError
from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import LLM
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings

REPLIES = "replies"


@lru_cache(maxsize=2)
def searcher_of(catalog: CatalogReader, settings: Settings) -> Searcher:
    """Return the searcher that all retrievers over one open catalog share."""
    return open_searcher(catalog, settings)


def open_model(catalog: Path, settings: Settings) -> LLM | None:
    """Open the language model that is set, if any; its replies are kept in the catalog's folder."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    return CachedLLM(model, catalog / REPLIES)


def needed_model(catalog: CatalogReader, settings: Settings, what: str) -> LLM:
    """Open the language model that is set; without one the error says that `what` needs it."""
    model = open_model(catalog.folder, settings)
    if model is None:
        raise MissingModelError(what)
    return model


@dataclass(frozen=True, slots=True)
class SelectorContext:
    """What a retriever is opened with: a catalog, settings, and how many candidates it gets.

    `given_llm` and `given_searcher` are used in place of those that the settings name; `k_is_given`
    says that the caller wants just so many candidates.
    """

    catalog: CatalogReader
    settings: Settings
    k: int
    given_llm: LLM | None = None
    given_searcher: Searcher | None = None
    k_is_given: bool = True

    @property
    def searcher(self) -> Searcher:
        """The searcher over the catalog."""
        return self.given_searcher or searcher_of(self.catalog, self.settings)

    @property
    def llm(self) -> LLM | None:
        """The language model, if there is one."""
        return self.given_llm or open_model(self.catalog.folder, self.settings)

    def needed_llm(self, what: str) -> LLM:
        """Return the language model; without one the error says that `what` needs it."""
        return self.given_llm or needed_model(self.catalog, self.settings, what)
