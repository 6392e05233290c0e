"""The set without a language model: a belief in each candidate, a cut, and bridges between islands.

A belief is a logistic score of ten features (graph_features.py). Chosen are the candidates that are
believed nearly as much as the best one; how nearly, says the recall dial. docs/graph.md has what
all of it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.catalog.reader import Catalog
from dovetail.domain import Candidate, Chosen, TableId, TableSet
from dovetail.errors import UsageError
from dovetail.retrieve.graph.connect import Bridged, Islands
from dovetail.retrieve.graph.features import FEATURES, features
from dovetail.retrieve.graph.query_match import Reader
from dovetail.retrieve.opening import searcher_of
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.fusion import Floats
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

# What a unit of each feature adds to the log odds that a candidate is needed. Fitted by logistic
# regression on the 2,884 questions of MMQA over databases that are not in Spider's dev set, and on
# nothing else: `benchmarks/fit_graph.py` prints them.
WEIGHTS = {
    "gap": 1.54,
    "new_words": 1.06,
    "new_literals": 2.12,
    "best_words": 2.64,
    "name": 0.42,
    "column": 0.48,
    "column_gap": 1.94,
    "gain": 5.42,
    "group_gap": 7.54,
    "lone_literals": 1.30,
}
BIAS = -2.11
RECALL, CANDIDATES = 0.6, 16


@dataclass(frozen=True, slots=True)
class Look:
    """The candidates of a question, with their features and how much each is believed."""

    candidates: Sequence[Candidate]
    features: Floats
    beliefs: Floats

    @property
    def tables(self) -> list[TableId]:
        return [one.table for one in self.candidates]


SCORE = (*(WEIGHTS[name] for name in FEATURES), BIAS)


def believed(found: Floats, score: Sequence[float] = SCORE) -> Floats:
    """How likely each candidate is needed, by its features; the bias is last."""
    odds = found @ np.array(score[:-1]) + score[-1]
    beliefs: Floats = (1 / (1 + np.exp(-odds))).astype(np.float32)
    return beliefs


def cut(recall: float) -> float:
    """How much of the best candidate's belief another one needs: all of it at 0, none at 1."""
    return (1 - recall) ** 2


def pick(beliefs: Floats, recall: float) -> list[int]:
    """The places of those believed enough, the most believed first, ties as they come.

    >>> pick(np.array([0.4, 0.8, 0.1]), recall=0.5)
    [1, 0]
    """
    order: list[int] = np.argsort(-beliefs, kind="stable").tolist()
    return [place for place in order if beliefs[place] >= cut(recall) * beliefs[order[0]]]


def confidence(chosen: Sequence[float], beliefs: Floats) -> float:
    """The F1 to expect of a set, by the beliefs in its tables and in all candidates.

    F1 is twice the right tables over those chosen and those needed; each count is put at what the
    beliefs say. A question that no table fits has small beliefs, and so has a set left to a toss.

    >>> round(confidence([0.9, 0.8], np.array([0.9, 0.8, 0.1])), 2)
    0.89
    """
    return 2 * sum(chosen) / (len(chosen) + float(beliefs.sum())) if chosen else 0.0


class GraphRetriever:
    """The tables that a question needs, by what it says of them and how they join."""

    def __init__(self, searcher: Searcher, *, recall: float = RECALL, k: int = CANDIDATES) -> None:
        require_positive(k=k)
        if not 0 <= recall <= 1:
            raise UsageError(f"recall is {recall}; it must be from 0 (few tables) to 1 (all)")
        self._searcher = searcher
        self._reader = Reader(searcher)
        self._recall = recall
        self._k = k

    def retrieve(self, question: str) -> TableSet:
        """The believed tables, the most believed first, then the bridges between them."""
        look = self.look(question)
        found = self.choose(look, self._recall)
        beliefs = dict(zip(look.tables, look.beliefs.tolist(), strict=True))
        chosen = [
            Chosen(table, beliefs[table], "select", reason)
            for table, reason in zip(found.tables, self._reasons(question, found), strict=True)
        ]
        chosen += [
            Chosen(bridge.table, beliefs.get(bridge.table, 0.0), "bridge", str(bridge))
            for bridge in found.bridges
        ]
        stages = [Stage("search", facts={"k": self._k}), self._stage(look, found)]
        return table_set(question, self._searcher.joins, chosen, stages)

    def look(self, question: str) -> Look:
        """What there is to choose from; the same for every recall."""
        candidates = self._searcher.search(question, self._k)
        if not candidates:
            nothing = np.zeros((0, len(FEATURES)), dtype=np.float32)
            return Look([], nothing, nothing[:, 0])
        found = features(self._reader.evidence(question, candidates))
        return Look(candidates, found, believed(found))

    def choose(self, look: Look, recall: float) -> Bridged:
        """The set at some recall."""
        tables = look.tables
        beliefs = dict(zip(tables, look.beliefs.tolist(), strict=True))
        picked = [tables[place] for place in pick(look.beliefs, recall)] if tables else []
        return self._islands.bridged(picked, beliefs)

    def confidence(self, look: Look, found: Bridged) -> float:
        """The F1 to expect of a set that was chosen; a bridge is believed like any table."""
        beliefs = dict(zip(look.tables, look.beliefs.tolist(), strict=True))
        return confidence([beliefs.get(table, 0.0) for table in found.ids], look.beliefs)

    @cached_property
    def _islands(self) -> Islands:
        return Islands(self._searcher.catalog.ids, self._searcher.partners())

    def _reasons(self, question: str, found: Bridged) -> list[str]:
        """In words, why each table was chosen."""
        said = self._searcher.reasons(question, found.tables)
        return [
            "; ".join(own) or self._joins(table, found) or "it is near in meaning"
            for table, own in zip(found.tables, said, strict=True)
        ]

    def _joins(self, table: TableId, found: Bridged) -> str:
        """The most believed table that it joins."""
        joined = self._islands.joined[table]
        first = next((other.name for other in found.tables if other in joined), "")
        return f"joins {first}" if first else ""

    def _stage(self, look: Look, found: Bridged) -> Stage:
        beliefs = [round(belief, 4) for belief in look.beliefs.tolist()]
        candidates = [
            {"table": str(table), "belief": belief, "features": _named(row)}
            for table, belief, row in zip(look.tables, beliefs, look.features, strict=True)
        ]
        facts = {
            "recall": self._recall,
            "cut": round(cut(self._recall) * max(beliefs, default=0.0), 4),
            "confidence": round(self.confidence(look, found), 4),
            "candidates": candidates,
            "bridges": [str(bridge.table) for bridge in found.bridges],
            "left_out": [str(table) for table in found.left_out],
        }
        return Stage("select", facts=facts)


def open_graph(
    catalog: Catalog, *, k: int, settings: Settings, argument: str = ""
) -> GraphRetriever:
    """The retriever as `dovetail bench` names it: `graph`, or with a recall, `graph:0.8`."""
    try:
        recall = float(argument) if argument else settings.recall
    except ValueError:
        raise UsageError(f"graph:{argument}: the recall must be a number from 0 to 1") from None
    return GraphRetriever(searcher_of(catalog, settings), recall=recall, k=k)


def _named(row: Floats) -> dict[str, float]:
    return {name: round(value, 4) for name, value in zip(FEATURES, row.tolist(), strict=True)}
