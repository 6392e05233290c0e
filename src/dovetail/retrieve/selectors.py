"""Ways to choose a set, by name; `auto` is the best of them that what is at hand allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail.errors import UsageError
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.core_t import CoreTOptions, CoreTRetriever
from dovetail.retrieve.graph.selector import BREADTH, CANDIDATES, GraphRetriever
from dovetail.retrieve.hybrid import ASK_BELOW, HybridRetriever
from dovetail.retrieve.ranking import RankingRetriever
from dovetail.retrieve.select_llm import SelectOptions
from dovetail.search.searcher import Searcher

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class SelectorContext:
    """What a selector has to go by: a searcher for `k` candidates, and perhaps a model."""

    searcher: Searcher
    llm: LLM | None
    k: int = 10
    breadth: float = BREADTH
    ask_below: float = ASK_BELOW
    select: SelectOptions = field(default_factory=SelectOptions)


def _llm(context: SelectorContext) -> Retriever:
    if context.llm is None:
        raise UsageError(
            "this selector asks a language model and none is set: give --llm NAME, or set llm in "
            "dovetail.toml"
        )
    return CoreTRetriever(
        context.searcher, context.llm, CoreTOptions(context.k, select=context.select)
    )


def _search(context: SelectorContext) -> Retriever:
    return RankingRetriever(context.searcher, context.k, Searcher.search)


def _graph(context: SelectorContext) -> GraphRetriever:
    return GraphRetriever(context.searcher, breadth=context.breadth, k=max(context.k, CANDIDATES))


def _hybrid(context: SelectorContext) -> Retriever:
    return HybridRetriever(_graph(context), _llm(context), context.ask_below)


SELECTORS: dict[str, Callable[[SelectorContext], Retriever]] = {
    "graph": _graph,
    "llm": _llm,
    "hybrid": _hybrid,
    "search": _search,
}
# What `auto` comes to without a language model.
_FREE = "graph"


def open_selector(name: str, context: SelectorContext) -> Retriever:
    """The retriever that a name stands for."""
    if name == AUTO:
        name = "llm" if context.llm is not None else _FREE
    if name not in SELECTORS:
        known = ", ".join([AUTO, *SELECTORS])
        raise UsageError(f"selector {name!r} is not known; there are: {known}")
    return SELECTORS[name](context)
