"""Retrievers by name: the product's, those of the paper's comparison, and of other packages.

A name has an argument after a colon where the retriever takes one (`graph:0.8`,
`core-t:paper+0.7`). `graph`, `llm` and `auto` are the product's. Any other is opened by a
factory, called as `factory(catalog, k=…, settings=…)`, with `argument=…` where the name has one.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableSet
from dovetail.errors import UsageError
from dovetail.models.cache import open_model
from dovetail.plugins import RETRIEVERS, load, names, resolve
from dovetail.ports import Retriever
from dovetail.retrieve.ask import AUTO, CANDIDATES_OF_OTHERS, GRAPH, MODEL
from dovetail.retrieve.ask import open_retriever as open_selector
from dovetail.retrieve.members import with_members
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings

# The product's.
_SELECTORS = (GRAPH, MODEL)
# Ours; the same are entry points, so that `dovetail ask --selector` knows them.
_OWN = {
    "arm": "dovetail_bench.baselines.arm:open_arm",
    "core-t": "dovetail_bench.core_t.retriever:open_core_t",
    "dense": "dovetail_bench.baselines.ranking:open_dense",
    "jar": "dovetail_bench.baselines.jar:open_jar",
    "react": "dovetail_bench.baselines.react:open_react",
    "rear": "dovetail_bench.baselines.rear:open_rear",
    "search": "dovetail_bench.baselines.ranking:open_search",
}
# Those whose set for a smaller k is the beginning of that for a larger one: one run serves every k.
# The factory of another package says so by an attribute, `ranks`.
_RANKING = frozenset({"dense", "search"})


@lru_cache(maxsize=2)
def searcher_of(catalog: CatalogReader, settings: Settings) -> Searcher:
    """Return the searcher that all retrievers over one open catalog share."""
    return open_searcher(catalog, settings)


def published_searcher(catalog: CatalogReader, settings: Settings) -> Searcher:
    """Return the searcher of the paper's systems, which know nothing of families."""
    return searcher_of(catalog, replace(settings, families=False))


@dataclass(frozen=True, slots=True)
class MemberRetriever:
    """Has another retriever choose logical tables, and takes the members that are meant."""

    inner: Retriever
    searcher: Searcher

    def retrieve(self, question: str) -> TableSet:
        return with_members(self.inner.retrieve(question), self.searcher)


def full_name(name: str, *, has_model: bool) -> str:
    """Replace `auto` by the retriever it stands for.

    >>> full_name("auto", has_model=True), full_name("auto", has_model=False)
    ('llm', 'graph')
    """
    return name if name != AUTO else MODEL if has_model else GRAPH


def open_retriever(
    name: str,
    catalog: CatalogReader,
    *,
    settings: Settings,
    k: int | None = None,
) -> Retriever:
    """Open a retriever over a catalog, for `k` candidates (its own number, unless given)."""
    base, colon, argument = name.partition(":")
    if base in (AUTO, GRAPH, MODEL):
        if colon and base == GRAPH:
            settings = settings.but(breadth=_breadth(argument))
        elif colon:
            raise UsageError(
                f"retriever {base!r} takes no argument; leave out {colon + argument!r}"
            )
        model = None if base == GRAPH else open_model(catalog.folder, settings)
        return open_selector(base, searcher_of(catalog, settings), settings, k=k, llm=model)
    factory = factory_of(name)
    if colon and "argument" not in inspect.signature(factory).parameters:
        raise UsageError(f"retriever {base!r} takes no argument; leave out {colon + argument!r}")
    more = {"argument": argument} if colon else {}
    wanted = CANDIDATES_OF_OTHERS if k is None else k
    return cast(Retriever, factory(catalog, k=wanted, settings=settings, **more))


def retriever_names() -> list[str]:
    """List the retrievers there are: the product's, ours, or those of another package."""
    return sorted({*_SELECTORS, *_OWN, *names(RETRIEVERS)})


def factory_of(name: str) -> Any:
    """The factory of a retriever; of the product's, the class that retrieves."""
    base = name.partition(":")[0]
    if base not in retriever_names():
        known = ", ".join([*retriever_names(), AUTO])
        raise UsageError(f"retriever {base!r} is not known; there are: {known}")
    if base in _SELECTORS:
        return open_selector
    return resolve(_OWN[base]) if base in _OWN else load(RETRIEVERS, base)


def ranks(name: str) -> bool:
    """Whether a retriever's set for a smaller k is the beginning of that for a larger one."""
    factory = factory_of(name)
    return name.partition(":")[0] in _RANKING or bool(getattr(factory, "ranks", False))


def _breadth(argument: str) -> float:
    try:
        return float(argument)
    except ValueError:
        raise UsageError(f"graph:{argument}: the breadth must be a number from 0 to 1") from None
