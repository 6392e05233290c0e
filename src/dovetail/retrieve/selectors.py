"""Ways to choose a set, by name; `auto` is the best of them that what is at hand allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail.errors import UsageError
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.core_t import CoreTOptions, CoreTRetriever
from dovetail.retrieve.graph.selector import BREADTH, CANDIDATES, GraphRetriever
from dovetail.retrieve.hybrid import UNSURE, HybridRetriever
from dovetail.retrieve.ranking import RankingRetriever
from dovetail.retrieve.select_llm import SelectOptions
from dovetail.search.searcher import Searcher

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Means:
    """What a selector has to go by: a searcher for `k` candidates, and perhaps a model."""

    searcher: Searcher
    llm: LLM | None
    k: int = 10
    recall: float = BREADTH
    unsure: float = UNSURE
    select: SelectOptions = field(default_factory=SelectOptions)


def _llm(means: Means) -> Retriever:
    if means.llm is None:
        raise UsageError(
            "this selector asks a language model and none is set: give --llm NAME, or set llm in "
            "dovetail.toml"
        )
    return CoreTRetriever(means.searcher, means.llm, CoreTOptions(means.k, select=means.select))


def _search(means: Means) -> Retriever:
    return RankingRetriever(means.searcher, means.k, Searcher.search)


def _graph(means: Means) -> GraphRetriever:
    return GraphRetriever(means.searcher, breadth=means.recall, k=max(means.k, CANDIDATES))


def _hybrid(means: Means) -> Retriever:
    return HybridRetriever(_graph(means), _llm(means), means.unsure)


SELECTORS: dict[str, Callable[[Means], Retriever]] = {
    "graph": _graph,
    "llm": _llm,
    "hybrid": _hybrid,
    "search": _search,
}
# What `auto` comes to without a language model.
_FREE = "graph"


def open_selector(name: str, means: Means) -> Retriever:
    """The retriever that a name stands for."""
    if name == AUTO:
        name = "llm" if means.llm is not None else _FREE
    if name not in SELECTORS:
        known = ", ".join([AUTO, *SELECTORS])
        raise UsageError(f"selector {name!r} is not known; there are: {known}")
    return SELECTORS[name](means)
