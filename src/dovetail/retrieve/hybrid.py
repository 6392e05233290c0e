"""A language model, asked only where the graph selector is unsure: most questions cost nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dovetail.catalog.reader import Catalog
from dovetail.domain import TableSet
from dovetail.ports import Retriever
from dovetail.retrieve.core_t import open_core_t
from dovetail.retrieve.graph.selector import CANDIDATES, GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.retrieve.select_llm import FULL
from dovetail.settings import Settings

# About the F1 of the paper's selectors with a model of 7B: where less is to be expected, one helps.
UNSURE = 0.7


@dataclass(frozen=True, slots=True)
class HybridRetriever:
    """The graph's set where its confidence is at least `unsure`, else that of another retriever."""

    graph: GraphRetriever
    other: Retriever
    unsure: float = UNSURE

    def retrieve(self, question: str) -> TableSet:
        found = self.graph.retrieve(question)
        confidence = _confidence(found.trace[-1])
        asked = confidence < self.unsure
        note = {"stage": "hybrid", "confidence": confidence, "unsure": self.unsure, "asked": asked}
        chosen = self.other.retrieve(question) if asked else found
        return replace(chosen, trace=(note, *chosen.trace))


def _confidence(stage: Mapping[str, object]) -> float:
    confidence = stage["confidence"]
    return confidence if isinstance(confidence, float) else 0.0


def open_hybrid(
    catalog: Catalog, *, k: int, settings: Settings, argument: str = FULL
) -> HybridRetriever:
    """The retriever as `dovetail bench` names it: `hybrid`, or with words of `core-t`."""
    other = open_core_t(catalog, k=k, settings=settings, argument=argument)
    searcher = searcher_of(catalog, settings)
    graph = GraphRetriever(searcher, breadth=settings.recall, k=max(k, CANDIDATES))
    return HybridRetriever(graph, other, settings.unsure)
