"""The online line: from a question to the set of tables that it needs, and how they join.

    analyse   the question: words, values, vector              search/searcher.py
    search    for candidates                                   search/searcher.py
    match     what the question says of each candidate         match.py
    score     how probable it is that each is needed           scorer.py, liveness.py
    choose    the probable ones, of the groups that are meant  choose.py, groups.py
    connect   the chosen tables by joins                       connect.py
    doubt     whether there is an answer, and other readings   doubt.py
    members   of a family that are meant                       members.py

The selector `graph` goes this way without a language model; docs/graph.md explains the method and
has its figures. The selector `llm` has a model look and choose (llm.py). `auto` is `graph` where
that is sure or there is no model, else `llm`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import cached_property

from dovetail.arrays import Float32s
from dovetail.domain import (
    EXPLANATION,
    NEAREST,
    NOTHING_FITS,
    UNCOVERED,
    Candidate,
    Chosen,
    TableId,
    TableSet,
)
from dovetail.errors import MissingModelError, UsageError
from dovetail.families.family import Role
from dovetail.joins.calendars import calendars_of
from dovetail.joins.graph import JOINABLE, shared_parent
from dovetail.plugins import RETRIEVERS, load, names
from dovetail.ports import LLM, Retriever
from dovetail.retrieve.cautions import with_cautions
from dovetail.retrieve.choose import (
    choose,
    cut,
    noted_by_people,
    one_of_each,
    taught,
    without_companions,
)
from dovetail.retrieve.connect import ConnectedSet, Connector, LinkGraph, Pair
from dovetail.retrieve.doubt import Doubt, Doubter
from dovetail.retrieve.explain import explained
from dovetail.retrieve.groups import Belonging
from dovetail.retrieve.liveness import Liveness
from dovetail.retrieve.look import given_phrases, phrases
from dovetail.retrieve.match import QueryMatcher
from dovetail.retrieve.members import with_members
from dovetail.retrieve.named_things import NamedThings
from dovetail.retrieve.scorer import FEATURES, ScoredCandidates
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.search.taught import Lesson
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
            calls=settings.llm_calls,
            seconds=settings.llm_seconds,
            tokens=settings.llm_tokens,
            context=settings.llm_context,
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
    counts as evidence that they belong together. A set of which less than `refuse_below` is to be
    expected is refused: it is empty. With `explain`, the trace says what decided.
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
        self._liveness = Liveness(searcher)
        self._named_things = NamedThings(searcher, self._liveness)
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
        if query.lesson is not None and query.lesson.exact:
            return self._taught(query, query.lesson)
        sought = phrases(looking_for)
        stages = [given_phrases(looking_for)] if sought else []
        stages.append(Stage("search", facts={"k": self._k}))
        candidates = self._searcher.search(query, self._k, looking_for=sought)
        if not candidates or (query.says_nothing and not sought):
            stages.append(self._stage(Doubt(0.0, 0.0)))
            return self._answer(question, [], stages, Doubt(0.0, 0.0))
        scored = self.score(query, candidates)
        chosen, *others = self.readings(scored)
        connected = self.connect(scored, chosen)
        doubt = self.doubter.doubt(query, scored, connected.ids, others)
        if (likelier := doubt.likelier) is not None and not query.noted:
            instead = [scored.tables.index(table) for table in likelier.tables]
            doubt = doubt.swapped(connected.tables, scored.groups[0].probability)
            connected = self.connect(scored, instead)
        if doubt.evident:
            doubt = doubt.with_at_least(self._refuse_below)
        stages.append(self._stage(doubt, scored, connected))
        tables = self._tables(query, scored, connected)
        if self._use_sources and self._breadth >= BREADTH and not query.noted:
            tables += [
                Chosen(one.table, scored.by_table.get(one.table, 0.0), "connect", str(one))
                for one in self._named_things.of(query, connected.ids)
            ]
        answer = self._answer(question, tables, stages, doubt)
        return explained(answer, self._searcher, query, scored) if self._explain else answer

    def _taught(self, query: Query, lesson: Lesson) -> TableSet:
        """The set that is known to be right for a question, as it was confirmed."""
        families = self._searcher.families
        slices = {
            table: family.name
            for table in lesson.tables
            if (family := families.of(table)) and family.role(table) is Role.PARTITION
        }
        parts = Counter(slices.values())
        tables = [
            Chosen(table, 1.0, "select", lesson.why, part_of=name if parts[name] > 1 else "")
            for table in lesson.tables
            for name in [slices.get(table, "")]
        ]
        because = [{"thing": "taught", "words": lesson.why}]
        told = [{"table": str(table), "because": because} for table in lesson.tables]
        facts: dict[str, object] = {"taught": lesson.question, "confidence": 1.0}
        facts |= {EXPLANATION: {"tables": told, "next": None}} if self._explain else {}
        stage = Stage("select", facts=facts)
        made = table_set(query.text, self._searcher.member_joins, tables, [stage])
        made = replace(made, confidence=1.0, answerable=1.0)
        return with_cautions(made, self._searcher, self._liveness)

    def score(self, query: Query, candidates: Sequence[Candidate]) -> ScoredCandidates:
        """The candidates of a query with their probabilities; the same at every breadth."""
        match = self._matcher.match(query, candidates)
        pairs = self._belonging.pairs([candidate.id for candidate in candidates])
        return taught(self._liveness.of(query, ScoredCandidates.of(candidates, match, pairs)))

    def readings(self, scored: ScoredCandidates) -> list[list[int]]:
        """The chosen candidates, and behind them what else the same names may mean elsewhere."""
        chosen = choose(scored, self._breadth)
        return one_of_each(scored, chosen) if self._use_sources else [chosen]

    def connect(self, scored: ScoredCandidates, chosen: Sequence[int]) -> ConnectedSet:
        """The chosen candidates, connected by joins where a short path allows."""
        tables = scored.tables
        # What a narrow cut lets through is sure, and worth connectors that are not.
        share = _CONNECTED * min(cut(self._breadth), cut(BREADTH))
        connected = self._links.connect(
            [tables[at] for at in chosen],
            scored.by_table,
            share * float(scored.probabilities.max()),
            needed={tables[at] for at in noted_by_people(scored)},
        )
        if self._use_sources and self._breadth <= BREADTH:
            return without_companions(scored, connected, self._links)
        return connected

    @cached_property
    def _links(self) -> LinkGraph:
        calendars = calendars_of(self._searcher.catalog.records)
        pairs = self._searcher.partners()
        related = (pair for pair in pairs if not self._shares_days(pair, calendars))
        return LinkGraph(self._searcher.catalog.ids, related)

    def _shares_days(self, pair: Pair, calendars: Set[TableId]) -> bool:
        """Whether a pair is a table and the calendar that it refers to: as others do, so that it
        leads from none to another."""
        *ends, score = pair
        if score <= JOINABLE or calendars.isdisjoint(ends):
            return not calendars.isdisjoint(ends)
        return any(edge.right in calendars for edge in self._searcher.joins.between(*ends)[:1])

    def _tables(
        self, query: Query, scored: ScoredCandidates, connected: ConnectedSet
    ) -> list[Chosen]:
        """The tables of a connected set, each with why it is there."""
        probabilities = scored.by_table
        reasons = self._searcher.reasons(query, connected.tables)
        if query.lesson is not None:
            taught = {self._searcher.representative(table) for table in query.lesson.tables}
            why = query.lesson.why
            reasons = [
                [why, *own] if table in taught else own
                for table, own in zip(connected.tables, reasons, strict=True)
            ]
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
            UNCOVERED: list(doubt.uncovered),
        }
        if self._refuses(doubt):
            nearest = [str(table) for table in connected.ids[:_NEAREST]]
            facts |= {NOTHING_FITS: True, NEAREST: nearest}
        return Stage("select", facts=facts)

    def _refuses(self, doubt: Doubt) -> bool:
        """Whether less is to be expected of a set than of one that is worth giving."""
        return doubt.confidence < self._refuse_below

    def _answer(
        self,
        question: str,
        tables: Sequence[Chosen],
        stages: Sequence[Stage],
        doubt: Doubt,
    ) -> TableSet:
        """The set with its joins and doubt; an empty one where the catalog holds no answer."""
        refused = self._refuses(doubt)
        made = table_set(question, self._searcher.joins, [] if refused else tables, stages)
        made = replace(
            made,
            confidence=doubt.confidence,
            alternatives=() if refused else doubt.alternatives,
            answerable=doubt.answerable,
        )
        return with_cautions(with_members(made, self._searcher), self._searcher, self._liveness)


def _named(row: Float32s) -> dict[str, float]:
    return dict(zip(FEATURES, map(_rounded, row.tolist()), strict=True))


def _rounded(value: float) -> float:
    return round(value, 4)
