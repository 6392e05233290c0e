"""`hybrid`: the graph selector, and a language model only where its confidence is low.

Most questions then cost no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dovetail.domain import TableSet
from dovetail.ports import Retriever
from dovetail.retrieve.core_t import open_core_t
from dovetail.retrieve.graph.selector import CANDIDATES, GraphRetriever
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.registry import FULL

# A capable model chooses better than the graph below this (programs/hybrid.py); above, their sets
# are about as good. A model that chooses worse should be asked less.
ASK_BELOW = 0.95


@dataclass(frozen=True, slots=True)
class HybridRetriever:
    """Returns the graph selector's set, or another's where its confidence is below a bound."""

    graph: GraphRetriever
    other: Retriever
    ask_below: float = ASK_BELOW

    def retrieve(self, question: str) -> TableSet:
        found = self.graph.retrieve(question)
        confidence = _confidence(found.trace[-1])
        asked = confidence < self.ask_below
        note = {
            "stage": "hybrid",
            "confidence": confidence,
            "ask_below": self.ask_below,
            "asked": asked,
        }
        chosen = self.other.retrieve(question) if asked else found
        return replace(chosen, trace=(note, *chosen.trace))


def _confidence(stage: Mapping[str, object]) -> float:
    confidence = stage["confidence"]
    return confidence if isinstance(confidence, float) else 0.0


def open_hybrid(context: SelectorContext, argument: str = FULL) -> HybridRetriever:
    """Open the retriever `hybrid`, or with words of `core-t`, `hybrid:compact+auto`.

    `graph` is given at least as many candidates as it takes by itself: more of them cost nothing.
    """
    graph = GraphRetriever(
        context.searcher,
        breadth=context.settings.breadth,
        k=max(context.k, CANDIDATES),
        use_sources=context.settings.use_sources,
    )
    return HybridRetriever(graph, open_core_t(context, argument), context.settings.ask_below)
