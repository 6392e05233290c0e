"""The online line: from a question to the set of tables that it needs, and how they join.

    analyse   the question: words, values, vector              search/searcher.py
    search    for candidates                                   search/searcher.py
    match     what the question says of each candidate         match.py
    score     how probable it is that each is needed           features.py, scorer.py
    choose    the probable ones, of the groups that are meant  groups.py
    connect   the chosen tables by joins                       connect.py
    doubt     whether there is an answer, and other readings   doubt.py
    members   of a family that are meant                       members.py

The selector `graph` goes this way without a language model; docs/graph.md explains the method and
has its figures. The selector `llm` has a model look and choose (llm.py). `auto` is `graph` where
that is sure or there is no model, else `llm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import NEAREST, NOTHING_FITS, UNCOVERED, Candidate, Chosen, TableId, TableSet
from dovetail.errors import MissingModelError, UsageError
from dovetail.joins.graph import JOINABLE, shared_parent
from dovetail.plugins import RETRIEVERS, load, names
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.connect import ConnectedSet, Connector, LinkGraph, without_needless
from dovetail.retrieve.doubt import Doubt, Doubter, cut
from dovetail.retrieve.explain import explained
from dovetail.retrieve.features import FEATURES
from dovetail.retrieve.groups import Belonging, system_of, within_system
from dovetail.retrieve.look import given_phrases, phrases
from dovetail.retrieve.match import QueryMatcher
from dovetail.retrieve.members import with_members
from dovetail.retrieve.scorer import ScoredCandidates
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

AUTO, GRAPH, MODEL = "auto", "graph", "llm"
# How many tables `graph` takes, and how many candidates it and a retriever of others are given.
BREADTH, CANDIDATES, CANDIDATES_OF_OTHERS = 0.65, 16, 10
# How much likelier tables must be that come in together with connectors: these cost precision too.
_CONNECTED = 2.0
# Tables that are named as the nearest where a question is refused.
_NEAREST = 3


def open_retriever(
    name: str,
    searcher: Searcher,
    settings: Settings,
    *,
    k: int | None = None,
    llm: LLM | None = None,
    explain: bool = False,
) -> Retriever:
    """Open a selector: `graph`, `llm`, `auto`, or a retriever that another package offers.

    `k` is how many candidates are searched for, by default as many as the selector takes. A
    retriever of another package is made as `factory(catalog, k=…, settings=…)`.
    """
    if name in (AUTO, GRAPH, MODEL):
        graph = GraphRetriever(
            searcher,
            breadth=settings.breadth,
            k=CANDIDATES if k is None else k,
            use_sources=settings.use_sources,
            refuse_below=settings.refuse_below,
            explain=explain,
        )
        if name == GRAPH or (name == AUTO and llm is None):
            return graph
        from dovetail.retrieve.llm import LLMRetriever, Spending

        if llm is None:
            raise MissingModelError(f"selector {name!r}")
        spending = Spending(
            calls=settings.llm_calls, tokens=settings.llm_tokens, context=settings.llm_context
        )
        if name == AUTO:
            spending = replace(spending, enough=settings.llm_below)
        use_sources = settings.use_sources
        return LLMRetriever(
            searcher, llm, graph.retrieve, k=k, spending=spending, use_sources=use_sources
        )
    if name not in names(RETRIEVERS):
        offered = ", ".join((AUTO, GRAPH, MODEL, *names(RETRIEVERS)))
        raise UsageError(f"selector {name!r} is not known; there are: {offered}")
    made: Retriever = load(RETRIEVERS, name)(
        searcher.catalog, k=CANDIDATES_OF_OTHERS if k is None else k, settings=settings
    )
    return made


class GraphRetriever:
    """Finds the tables that a question needs, by what it says of them and how they join.

    `breadth` goes from 0 (the best table alone) to 1 (all candidates that join); `k` is the number
    of candidates that the search offers. `use_sources`: that tables are of one source and schema
    counts as evidence that they belong together. Where the probability that the catalog can answer
    is below `refuse_below`, the set is empty. With `explain`, the trace says what decided.
    """

    def __init__(
        self,
        searcher: Searcher,
        *,
        breadth: float = BREADTH,
        k: int = CANDIDATES,
        use_sources: bool = False,
        refuse_below: float = 0.0,
        explain: bool = False,
    ) -> None:
        require_positive(k=k)
        if not 0 <= breadth <= 1:
            raise UsageError(f"breadth is {breadth}; it must be from 0 (few tables) to 1 (all)")
        self._searcher = searcher
        self._matcher = QueryMatcher(searcher)
        self._belonging = Belonging(searcher, use_sources=use_sources)
        self.doubter = Doubter(searcher, breadth=breadth, use_sources=use_sources)
        self._use_sources = use_sources
        self._breadth = breadth
        self._k = k
        self._refuse_below = refuse_below
        self._explain = explain

    def retrieve(self, question: str, looking_for: Sequence[str] = ()) -> TableSet:
        """The chosen tables, the most probable first, then the connectors between them.

        What is found for the phrases of `looking_for` is among the candidates.
        """
        query = self._searcher.analyse(question)
        sought = phrases(looking_for)
        stages = [given_phrases(sought)] if sought else []
        stages.append(Stage("search", facts={"k": self._k}))
        candidates = self._searcher.search(query, self._k, looking_for=sought)
        if not candidates:
            stages.append(self._stage(Doubt(0.0, 0.0)))
            return self._answer(question, [], stages, Doubt(0.0, 0.0))
        scored = self.score(query, candidates)
        chosen = self.choose(scored, self._breadth)
        connected = self.connect(scored, chosen, self._breadth)
        doubt = self.doubter.doubt(query, scored, connected.ids)
        stages.append(self._stage(doubt, scored, connected))
        tables = self._tables(query, scored, connected)
        answer = self._answer(question, tables, stages, doubt, connected)
        return explained(answer, self._searcher, query, scored) if self._explain else answer

    def score(self, query: Query, candidates: Sequence[Candidate]) -> ScoredCandidates:
        """The candidates of a query with their probabilities; the same at every breadth."""
        match = self._matcher.match(query, candidates)
        pairs = self._belonging.pairs([candidate.id for candidate in candidates])
        return ScoredCandidates.of(candidates, match, pairs)

    def choose(self, scored: ScoredCandidates, breadth: float) -> list[int]:
        """The indices of the candidates above the cut that are meant, the most probable first."""
        meant = scored.meant
        chosen = [at for at in pick(scored.probabilities, breadth) if at in meant]
        # What a person's notes name is meant, however improbable.
        chosen += [at for at in _noted(scored) if at not in chosen]
        if not self._use_sources:
            return chosen
        systems = [system_of(table) for table in scored.tables]
        return within_system(chosen, systems, scored.match.covers, scored.probabilities)

    def connect(
        self, scored: ScoredCandidates, chosen: Sequence[int], breadth: float
    ) -> ConnectedSet:
        """The chosen candidates, connected by joins where a short path allows."""
        tables = scored.tables
        # What a narrow cut lets through is sure, and worth connectors that are not.
        best = float(scored.probabilities.max())
        least = _CONNECTED * min(cut(breadth), cut(BREADTH)) * best
        connected = self._links.connect(
            [tables[at] for at in chosen],
            scored.by_table,
            least,
            needed={tables[at] for at in _noted(scored)},
        )
        return without_needless(self._searcher.catalog, self._searcher.joins, connected)

    @cached_property
    def _links(self) -> LinkGraph:
        return LinkGraph(self._searcher.catalog.ids, self._searcher.partners())

    def _tables(
        self, query: Query, scored: ScoredCandidates, connected: ConnectedSet
    ) -> list[Chosen]:
        """The tables of a connected set, each with why it is there."""
        probabilities = scored.by_table
        reasons = self._searcher.reasons(query, connected.tables)
        return [
            *(
                Chosen(table, probabilities[table], "select", self._why(table, own, connected))
                for table, own in zip(connected.tables, reasons, strict=True)
            ),
            *(
                Chosen(one.table, probabilities.get(one.table, 0.0), "connect", self._connects(one))
                for one in connected.connectors
            ),
        ]

    def _why(self, table: TableId, reasons: Sequence[str], connected: ConnectedSet) -> str:
        """What speaks for a table; where no words do, the most probable table that it joins."""
        if reasons:
            return "; ".join(reasons)
        joined = self._links.joined[table]
        first = next((other.name for other in connected.tables if other in joined), "")
        return f"joins {first}" if first else "it is near in meaning"

    def _connects(self, connector: Connector) -> str:
        """Why a connector is there, and how far it can be trusted."""
        joins = self._searcher.joins
        edges = [joins.between(connector.table, table)[:1] for table in connector.between]
        sure = [edge for best in edges for edge in best if edge.score > JOINABLE]
        if len(sure) < len(edges):
            return f"{connector}, by faint evidence: no sure joins"
        if shared_parent(sure, connector.table):
            times = max(edge.fan_out(connector.table) for edge in sure)
            return f"{connector}, which share nothing else: a row meets about {times:,.0f} others"
        return str(connector)

    def _stage(
        self,
        doubt: Doubt,
        scored: ScoredCandidates | None = None,
        connected: ConnectedSet = ConnectedSet(()),  # noqa: B008 - frozen
    ) -> Stage:
        """The line of the trace: what was scored, chosen, connected, and refused."""
        probabilities = [] if scored is None else [*map(_rounded, scored.probabilities.tolist())]
        rows = () if scored is None else zip(scored.tables, scored.features, strict=True)
        facts: dict[str, object] = {
            "breadth": self._breadth,
            "cut": _rounded(cut(self._breadth) * max(probabilities, default=0.0)),
            "confidence": doubt.confidence,
            "candidates": [
                {"table": str(table), "probability": probability, "features": _named(row)}
                for (table, row), probability in zip(rows, probabilities, strict=True)
            ],
            "connectors": [str(connector.table) for connector in connected.connectors],
            "left_out": [str(table) for table in connected.left_out],
            "answerable": doubt.answerable,
        }
        if doubt.answerable < self._refuse_below:
            nearest = [str(table) for table in connected.ids[:_NEAREST]]
            facts |= {NOTHING_FITS: True, NEAREST: nearest, UNCOVERED: list(doubt.uncovered)}
        return Stage("select", facts=facts)

    def _answer(
        self,
        question: str,
        tables: Sequence[Chosen],
        stages: Sequence[Stage],
        doubt: Doubt,
        connected: ConnectedSet = ConnectedSet(()),  # noqa: B008 - frozen
    ) -> TableSet:
        """The set with its joins and doubt; an empty one where the catalog holds no answer."""
        refused = doubt.answerable < self._refuse_below
        made = table_set(question, self._searcher.joins, [] if refused else tables, stages)
        made = replace(
            made,
            joins=made.joins if refused else (*made.joins, *connected.direct),
            confidence=doubt.confidence,
            alternatives=() if refused else doubt.alternatives,
            answerable=doubt.answerable,
        )
        return with_members(made, self._searcher)


def pick(probabilities: Float32s, breadth: float) -> list[int]:
    """The indices of the candidates above the cut, the most probable first, ties as they come.

    >>> pick(np.array([0.4, 0.8, 0.1]), breadth=0.5)
    [1, 0]
    """
    order: list[int] = np.argsort(-probabilities, kind="stable").tolist()
    least = cut(breadth) * probabilities[order[0]]
    return [at for at in order if probabilities[at] >= least]


def _noted(scored: ScoredCandidates) -> list[int]:
    """The indices of the candidates that a person's notes name."""
    noted: list[int] = np.flatnonzero(scored.match.defined).tolist()
    return noted


def _named(row: Float32s) -> dict[str, float]:
    return dict(zip(FEATURES, map(_rounded, row.tolist()), strict=True))


def _rounded(value: float) -> float:
    return round(value, 4)
