"""What retrievers are made of, as the settings name it: a searcher, a language model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import UsageError
from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import LLM
from dovetail.search.opening import open_searcher
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

REPLIES = "replies"


@lru_cache(maxsize=2)
def searcher_of(catalog: CatalogReader, settings: Settings) -> Searcher:
    """The searcher that all retrievers over one open catalog share."""
    return open_searcher(catalog, settings)


def open_model(catalog: Path, settings: Settings) -> LLM | None:
    """The language model that is set, if any; its replies are kept in the catalog's folder."""
    if not settings.llm:
        return None
    model = open_llm(settings.llm, workers=settings.llm_workers)
    return CachedLLM(model, catalog / REPLIES)


def needed_model(catalog: CatalogReader, settings: Settings, what: str) -> LLM:
    """The language model, or an error that says who needs it."""
    model = open_model(catalog.path, settings)
    if model is None:
        raise UsageError(
            f"{what} asks a language model and none is set: give --llm NAME, or set llm in "
            "dovetail.toml"
        )
    return model
