"""CORE-T: search for candidates, one call of a language model, adjustment (Section 4.2).

Which search, compatibility, prompt and adjustment, its options say (options.py): ours, or
the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import NOTHING_FITS, Candidate, Chosen, JoinEdge, TableId, TableSet
from dovetail.errors import ModelError, PendingError
from dovetail.joins.graph import JoinGraph
from dovetail.models.cache import needed_model
from dovetail.ports import LLM
from dovetail.retrieve.prompt import JoinedPair, joined_pairs, worth_showing
from dovetail.retrieve.trace import Stage, ranked, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.core_t.adjust import (
    CONNECTOR,
    Addition,
    AdjustOptions,
    adjust,
    compatibility_of,
    connectors,
    weakness,
)
from dovetail_bench.core_t.markdown_index import MarkdownIndex
from dovetail_bench.core_t.options import (
    ADDITIVE,
    AUTO,
    DENSE,
    EQUATIONS,
    MARKDOWN,
    NONE,
    CoreTOptions,
    options_of,
)
from dovetail_bench.core_t.reply import Selection
from dovetail_bench.core_t.select_llm import FULL, LLMSelector
from dovetail_bench.retrievers import MemberRetriever, searcher_of
from dovetail_bench.scorings import joins_by

# What an `auto` adjustment says where it does nothing.
_CONNECTED = "the chosen tables join, or no candidate connects them"


@dataclass(frozen=True)
class CoreTRetriever:
    """Has a model select from the top `k` candidates, and adjusts the selection."""

    searcher: Searcher
    llm: LLM
    options: CoreTOptions = field(default_factory=CoreTOptions)

    def retrieve(self, question: str) -> TableSet:
        """Return the selected tables in the model's order, then those that adjustment added."""
        query = self.searcher.analyse(question)
        candidates = self._candidates(query)
        pairs = joined_pairs(self._joins, candidates)
        select = Stage("select", facts={"joins": [_pair_fact(pair) for pair in pairs]})
        stages = [_search_stage(self.options.index, candidates), select]
        selection = self._selection(query, candidates, pairs, select)
        if selection.nothing_fits and self.options.adjustment == AUTO:
            reason = "the model says that no candidate answers the question"
            select.facts |= {NOTHING_FITS: True, "reason": reason}
            return table_set(question, self._joins, [], stages)
        chosen = self._chosen(selection, candidates, select)
        if self.options.adjustment != NONE:
            stage, added = self._adjusted(selection, chosen, candidates, pairs)
            stages.append(stage)
            chosen += _added(added, candidates, pairs)
        return table_set(question, self._joins, chosen, stages)

    @cached_property
    def _joins(self) -> JoinGraph:
        """The joins that the model is shown and that adjustment goes by."""
        if self.options.compatibility == EQUATIONS:
            return joins_by(self.searcher, "paper")
        return self.searcher.joins

    @cached_property
    def _markdown(self) -> MarkdownIndex:
        return MarkdownIndex(self.searcher)

    def _candidates(self, query: Query) -> list[Candidate]:
        """The top `k` tables by the chosen search; fewer where the grouped prompt needs fewer."""
        index, k = self.options.index, self.options.k
        if index == MARKDOWN:
            return self._markdown.nearest(query, k)
        if index == DENSE:
            return self.searcher.dense(query, k)
        found = self.searcher.search(query, k)
        return worth_showing(found) if self.options.by_budget else found

    def _selection(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """What the model selects; where a failed call may be passed over, why there is none."""
        selector = LLMSelector(self.searcher, self.llm, self.options.select)
        try:
            return selector.select(query, candidates, pairs, stage)
        except PendingError:
            raise  # a reply that is still to be recorded is no failure
        except ModelError as error:
            if not self.options.pass_over_failure:
                raise
            return Selection(reason=f"the call failed: {error}")

    def _chosen(
        self, selection: Selection, candidates: Sequence[Candidate], stage: Stage
    ) -> list[Chosen]:
        """The selected tables; all candidates where the reply cannot be used."""
        index = self.options.index
        if not selection.reason:
            return [_selected(number, candidates[number - 1], index) for number in selection.tables]
        stage.fall_back(f"the reply cannot be used: {selection.reason}; all candidates stay")
        return list(ranked(candidates, "search", f"{index} ranking, as the reply cannot be used"))

    def _adjusted(
        self,
        selection: Selection,
        chosen: Sequence[Chosen],
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
    ) -> tuple[Stage, list[Addition]]:
        """What adjustment adds, and its line of the trace."""
        options, seeds = self.options.adjust, [one.id for one in chosen]
        compatibility = compatibility_of(pairs)
        if self.options.adjustment == ADDITIVE:
            added = adjust(seeds, _by_cosine(candidates), compatibility, options)
            return _adjust_stage(options, added), added
        if weak := weakness(selection, len(candidates)):
            added = adjust(seeds, candidates, compatibility, options)
        else:
            added = connectors(seeds, candidates, compatibility, options.threshold)
        why = weak or ("the chosen tables fall apart" if added else _CONNECTED)
        stage = _adjust_stage(options, added)
        stage.facts = {"adjustment": AUTO, "why": why, **stage.facts}
        return stage, added


def open_core_t(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = FULL
) -> MemberRetriever:
    """Open the retriever `core-t`, or with words after a colon, `core-t:compact+dense+0.7`."""
    options = options_of(argument, k, settings.llm_context, use_sources=settings.use_sources)
    model = needed_model(catalog.folder, settings, "retriever 'core-t'")
    searcher = searcher_of(catalog, settings)
    return MemberRetriever(CoreTRetriever(searcher, model, options), searcher)


def _by_cosine(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of a dense search with their cosines as they are, which may be below 0."""
    return [
        replace(one, relevance=one.signals["dense"]) if set(one.signals) == {"dense"} else one
        for one in candidates
    ]


def _search_stage(index: str, candidates: Sequence[Candidate]) -> Stage:
    listed = [
        {
            "number": number,
            "table": str(candidate.id),
            "relevance": round(candidate.relevance, 4),
            "signals": {name: round(value, 4) for name, value in candidate.signals.items()},
        }
        for number, candidate in enumerate(candidates, start=1)
    ]
    return Stage("search", facts={"index": index, "candidates": listed})


def _pair_fact(pair: JoinedPair) -> dict[str, object]:
    return {
        "tables": [pair.left + 1, pair.right + 1],
        "columns": [list(columns) for columns in pair.edge.columns],
        "score": round(pair.edge.score, 4),
    }


def _selected(number: int, candidate: Candidate, index: str) -> Chosen:
    reason = f"selected by the model; rank {number} of the {index} search"
    return Chosen(candidate.id, candidate.relevance, "select", reason)


def _adjust_stage(options: AdjustOptions, added: Sequence[Addition]) -> Stage:
    listed = [
        {
            "table": str(addition.table),
            "step": addition.step,
            "of": str(addition.of),
            "gain": round(addition.gain, 4),
            **({"to": str(addition.to)} if addition.to else {}),
        }
        for addition in added
    ]
    weights = {"coherence": options.coherence, "relevance": options.relevance}
    facts = {"threshold": options.threshold, "weights": weights, "added": listed}
    return Stage("adjust", facts=facts)


def _added(
    additions: Sequence[Addition], candidates: Sequence[Candidate], pairs: Sequence[JoinedPair]
) -> list[Chosen]:
    relevance = {candidate.id: candidate.relevance for candidate in candidates}
    edges: dict[frozenset[TableId], JoinEdge] = {
        frozenset((pair.edge.left, pair.edge.right)): pair.edge for pair in pairs
    }
    return [
        Chosen(
            addition.table,
            relevance[addition.table],
            "adjust",
            _why(addition, edges[frozenset((addition.table, addition.of))]),
        )
        for addition in additions
    ]


def _why(addition: Addition, edge: JoinEdge) -> str:
    if addition.step == CONNECTOR:
        return f"connects {addition.of} and {addition.to}: {edge}"
    if addition.step == "partner":
        return f"strongest partner of {addition.of}: {edge}"
    return f"raises the set's mean by {addition.gain:.3f}, joined by {edge}"
