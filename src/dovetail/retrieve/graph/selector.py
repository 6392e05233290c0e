"""The selector `graph`: the set of tables a question needs, without a language model.

Each candidate of the search gets a first probability of being needed, by a logistic regression over
ten features (features.py), and then its probability in the light of the others, by a small network
(set_scorer.py). Selected are the candidates whose probability is near the best one's; how near,
`breadth` decides. Groups that only compete with the likeliest one are left to the alternatives
(groups.py), and the selected tables are connected (connect.py). docs/graph.md explains the method
and has its figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import (
    NEAREST,
    NOTHING_FITS,
    UNCOVERED,
    Alternative,
    Chosen,
    TableId,
    TableSet,
)
from dovetail.errors import UsageError
from dovetail.joins.graph import JOINABLE, shared_parent
from dovetail.retrieve.graph.alternatives import Reading, Reasons, alternatives
from dovetail.retrieve.graph.answerable import (
    DOUBT,
    Evidence,
    answerable,
    evidence,
    mostly_nowhere,
    uncovered_words,
)
from dovetail.retrieve.graph.belonging import Belonging
from dovetail.retrieve.graph.connect import ConnectedSet, Connector, LinkGraph
from dovetail.retrieve.graph.direct import without_needless
from dovetail.retrieve.graph.features import FEATURES, features
from dovetail.retrieve.graph.home import apart, stay_home, system_of
from dovetail.retrieve.graph.query_match import QueryMatcher
from dovetail.retrieve.graph.scored_candidates import ScoredCandidates, predict
from dovetail.retrieve.graph.set_features import set_input
from dovetail.retrieve.graph.set_scorer import shipped
from dovetail.retrieve.graph.word_meaning import WordMeaning
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.registry import factory_with
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher

BREADTH, CANDIDATES = 0.65, 16
# How much likelier tables must be that come in together with connectors: these cost precision too.
_CONNECTED = 2.0
# Tables that are named as the nearest where a question is refused.
_NEAREST = 3


def cut(breadth: float) -> float:
    """The share of the best probability that a candidate needs: all at breadth 0, none at 1."""
    return (1 - breadth) ** 2


def pick(probabilities: Float32s, breadth: float) -> list[int]:
    """The places of the candidates above the cut, the most probable first, ties as they come.

    >>> pick(np.array([0.4, 0.8, 0.1]), breadth=0.5)
    [1, 0]
    """
    order: list[int] = np.argsort(-probabilities, kind="stable").tolist()
    least = cut(breadth) * probabilities[order[0]]
    return [place for place in order if probabilities[place] >= least]


def confidence(chosen: Sequence[float], probabilities: Float32s) -> float:
    """The expected F1 of a set, from the probabilities of its tables and of all candidates.

    F1 is twice the number of right tables, over the number chosen and the number needed; the
    probabilities give the expectation of each count. A question that no table fits has small
    probabilities, and so has a set that is left to a toss.

    >>> round(confidence([0.9, 0.8], np.array([0.9, 0.8, 0.1])), 2)
    0.89
    """
    return 2 * sum(chosen) / (len(chosen) + float(probabilities.sum())) if chosen else 0.0


class GraphRetriever:
    """Finds the tables that a question needs, by what it says of them and how they join.

    `breadth` goes from 0 (the best table alone) to 1 (all candidates that join); `k` is the number
    of candidates that the search offers. `use_sources`: that tables are of one source and schema
    counts as evidence that they belong together. Where the probability that the catalog can answer
    is below `refuse_below`, the set is empty.
    """

    def __init__(
        self,
        searcher: Searcher,
        *,
        breadth: float = BREADTH,
        k: int = CANDIDATES,
        use_sources: bool = False,
        refuse_below: float = 0.0,
    ) -> None:
        require_positive(k=k)
        if not 0 <= breadth <= 1:
            raise UsageError(f"breadth is {breadth}; it must be from 0 (few tables) to 1 (all)")
        self._searcher = searcher
        self._matcher = QueryMatcher(searcher)
        self._meaning = WordMeaning(searcher)
        self._belonging = Belonging(searcher, use_sources=use_sources)
        self._use_sources = use_sources
        self._breadth = breadth
        self._k = k
        self._refuse_below = refuse_below

    def retrieve(self, question: str) -> TableSet:
        """The selected tables, the most probable first, then the connectors between them."""
        query = self._searcher.analyse(question)
        scored = self.score(query)
        found = self.select(scored, self._breadth)
        probabilities = scored.by_table
        chosen = [
            Chosen(table, probabilities[table], "select", reason)
            for table, reason in zip(found.tables, self._reasons(query, found), strict=True)
        ]
        chosen += [
            Chosen(one.table, probabilities.get(one.table, 0.0), "connect", self._connects(one))
            for one in found.connectors
        ]
        stages = [Stage("search", facts={"k": self._k}), self._stage(scored, found)]
        sure = round(self.confidence(scored, found), 4)
        others = self._alternatives(query, scored)
        likely = round(self.answerable(query, scored), 4)
        stages[1].facts["answerable"] = likely
        if likely < self._refuse_below:
            stages[1].facts |= {
                NOTHING_FITS: True,
                NEAREST: [str(table) for table in found.ids[:_NEAREST]],
                UNCOVERED: self._uncovered(query, scored),
            }
            chosen, others = [], ()
        made = table_set(question, self._searcher.joins, chosen, stages)
        return replace(
            made,
            joins=(*made.joins, *(found.direct if chosen else ())),
            confidence=sure,
            alternatives=others,
            answerable=likely,
        )

    def _connects(self, one: Connector) -> str:
        """Why a connector is there, and how far it can be trusted."""
        joins = self._searcher.joins
        edges = [joins.between(one.table, other)[:1] for other in one.between]
        known = [edge for found in edges for edge in found if edge.score > JOINABLE]
        if len(known) < len(edges):
            return f"{one}, by faint evidence: no sure joins"
        if shared_parent(known, one.table):
            times = max(edge.fan_out(one.table) for edge in known)
            return f"{one}, which share nothing else: a row meets about {times:,.0f} others"
        return str(one)

    def answerable(self, question: Query | str, scored: ScoredCandidates) -> float:
        """The probability that the catalog can answer a question, given its candidates."""
        if scored.match is None:
            return 0.0
        query, match = self._searcher.analyse(question), scored.match
        likely = answerable(self.evidence(query, scored, by_meaning=False))
        if query.vector is None or (likely > DOUBT and not mostly_nowhere(query, match, {})):
            return likely
        return answerable(self.evidence(query, scored), nowhere=self.nowhere(query, scored))

    def nowhere(self, question: Query | str, scored: ScoredCandidates) -> bool:
        """Whether most words of a question are nowhere in the catalog, and near nothing in it."""
        query = self._searcher.analyse(question)
        near = self._near(query, scored)
        return scored.match is None or mostly_nowhere(query, scored.match, near)

    def evidence(
        self, question: Query | str, scored: ScoredCandidates, *, by_meaning: bool = True
    ) -> Evidence:
        """What speaks for and against an answer; nothing where there are no candidates."""
        if scored.match is None:
            return ()
        query = self._searcher.analyse(question)
        usual = None if query.vector is None else self._searcher.usual_cosine(query)
        near = self._near(query, scored) if by_meaning else {}
        best = float(scored.first.max()), float(scored.probabilities.max())
        group = scored.groups[0].places if scored.groups else range(len(scored.candidates))
        return evidence(query, scored.match, best, group, usual, near)

    def _uncovered(self, query: Query, scored: ScoredCandidates) -> list[str]:
        """The words of a question that no candidate covers."""
        if scored.match is None:
            return []
        return uncovered_words(query, scored.match, self._near(query, scored))

    def _near(self, query: Query, scored: ScoredCandidates) -> Mapping[str, float]:
        """How near the words that no candidate says are in meaning to words of their names."""
        if query.vector is None or scored.match is None:
            return {}
        words = uncovered_words(query, scored.match, {}, most=1.0)
        return self._meaning.nearest(words, scored.tables)

    def score(self, question: Query | str) -> ScoredCandidates:
        """The candidates of a question with their probabilities; the same at every breadth."""
        query = self._searcher.analyse(question)
        candidates = self._searcher.search(query, self._k)
        if not candidates:
            nothing = np.zeros((0, len(FEATURES)), dtype=np.float32)
            return ScoredCandidates([], nothing, nothing[:, 0])
        match = self._matcher.match(query, candidates)
        pairs = self._belonging.pairs([one.id for one in candidates])
        rows = features(match)
        first = predict(rows)
        given = set_input(match, pairs, first)
        return ScoredCandidates(candidates, rows, first, match, pairs, given).by(shipped())

    def select(self, scored: ScoredCandidates, breadth: float) -> ConnectedSet:
        """The set at some breadth: the candidates above the cut that are meant, connected."""
        tables, meant = scored.tables, scored.meant
        places = pick(scored.probabilities, breadth) if tables else []
        places = [place for place in places if place in meant]
        # What a person's notes name is meant, however unlikely.
        noted = [] if scored.match is None else np.flatnonzero(scored.match.defined).tolist()
        places += [place for place in noted if place not in places]
        if self._use_sources and scored.match is not None:
            systems = [system_of(table) for table in tables]
            places = stay_home(places, systems, scored.match.covers, scored.probabilities)
        chosen = [tables[place] for place in places]
        best = float(scored.probabilities.max(initial=0))
        # What a narrow cut lets through is sure, and worth connectors that are not.
        least = _CONNECTED * min(cut(breadth), cut(BREADTH)) * best
        needed = {tables[place] for place in noted}
        found = self._links.connect(chosen, scored.by_table, least, needed=needed)
        return without_needless(self._searcher.catalog, self._searcher.joins, found)

    def confidence(self, scored: ScoredCandidates, found: ConnectedSet) -> float:
        """The expected F1 of a selected set; connectors count by their probability as well."""
        probabilities = scored.by_table
        known = [probabilities.get(table, 0.0) for table in found.ids]
        return confidence(known, scored.probabilities)

    def _alternatives(self, query: Query, scored: ScoredCandidates) -> tuple[Alternative, ...]:
        """The other readings of a question, each with what speaks for it; they stay home too."""
        systems = [system_of(table) for table in scored.tables] if self._use_sources else []
        readings = []
        for group in scored.groups[1:]:
            parts: Iterable[tuple[Sequence[int], float]] = [(group.places, 1.0)]
            if systems and scored.match is not None:
                parts = apart(group.places, systems, scored.match.covers, scored.probabilities)
            for places, share in () if group.meant else parts:
                tables = tuple(scored.tables[place] for place in places)
                readings.append(Reading(tables, round(group.probability * share, 4)))
        return alternatives(readings, scored.by_table, cut(self._breadth), self._why(query))

    def _why(self, query: Query) -> Reasons:
        """What speaks for tables, in words."""
        return lambda tables: self._searcher.reasons(query, tables)

    @cached_property
    def _links(self) -> LinkGraph:
        return LinkGraph(self._searcher.catalog.ids, self._searcher.partners())

    def _reasons(self, query: Query, found: ConnectedSet) -> list[str]:
        """In words, why each table was selected."""
        reasons = self._searcher.reasons(query, found.tables)
        return [
            "; ".join(own) or self._joins(table, found) or "it is near in meaning"
            for table, own in zip(found.tables, reasons, strict=True)
        ]

    def _joins(self, table: TableId, found: ConnectedSet) -> str:
        """The most probable table that it joins, in words."""
        joined = self._links.joined[table]
        first = next((other.name for other in found.tables if other in joined), "")
        return f"joins {first}" if first else ""

    def _stage(self, scored: ScoredCandidates, found: ConnectedSet) -> Stage:
        """The line of the trace."""
        probabilities = [round(one, 4) for one in scored.probabilities.tolist()]
        candidates = [
            {
                "table": str(table),
                "probability": probability,
                "features": _named(row),
            }
            for table, probability, row in zip(
                scored.tables, probabilities, scored.features, strict=True
            )
        ]
        facts = {
            "breadth": self._breadth,
            "cut": round(cut(self._breadth) * max(probabilities, default=0.0), 4),
            "confidence": round(self.confidence(scored, found), 4),
            "candidates": candidates,
            "connectors": [str(connector.table) for connector in found.connectors],
            "left_out": [str(table) for table in found.left_out],
        }
        return Stage("select", facts=facts)


@factory_with(candidates=CANDIDATES)
def open_graph(context: SelectorContext, argument: str = "") -> GraphRetriever:
    """Open the retriever `graph`, or with another breadth than the setting's, `graph:0.8`."""
    try:
        breadth = float(argument) if argument else context.settings.breadth
    except ValueError:
        raise UsageError(f"graph:{argument}: the breadth must be a number from 0 to 1") from None
    return GraphRetriever(
        context.searcher,
        breadth=breadth,
        k=context.k,
        use_sources=context.settings.use_sources,
        refuse_below=context.settings.refuse_below,
    )


def _named(row: Float32s) -> dict[str, float]:
    return {name: round(value, 4) for name, value in zip(FEATURES, row.tolist(), strict=True)}
