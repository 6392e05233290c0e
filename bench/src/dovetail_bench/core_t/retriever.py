"""CORE-T as the paper has it: dense search, one call of a language model, adjustment (Section 4).

Tables are embedded as name, purpose, header and sampled rows, pairs are scored by Equations 1 to 4,
and a reply that cannot be used, or a call that fails, leaves all candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, JoinEdge, TableId, TableSet
from dovetail.errors import ModelError, PendingError, UsageError
from dovetail.joins.graph import JoinGraph
from dovetail.ports import LLM
from dovetail.retrieve.prompt import JoinedPair, joined_pairs
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.core_t.adjust import Addition, AdjustOptions, adjust, compatibility_of
from dovetail_bench.core_t.index import PaperIndex
from dovetail_bench.core_t.select import LLMSelector, Selection
from dovetail_bench.replay import needed_model
from dovetail_bench.retrievers import published_searcher
from dovetail_bench.scorings import joins_by

PAPER = "paper"
# The ablations, by what is left out.
ABLATIONS = ("no-purposes", "no-compatibility", "no-adjustment")


@dataclass(frozen=True, slots=True)
class CoreTOptions:
    """The paper's constants; without `adjust`, the selection is the set.

    `context` is how many tokens the model takes in and writes together. Without `purposes`, neither
    index nor prompt has them; without `compatibility`, no pair of tables has any, so that the model
    is shown none and adjustment adds nothing.
    """

    k: int = 10
    context: int = 16_384
    adjust: AdjustOptions | None = field(default_factory=AdjustOptions)
    purposes: bool = True
    compatibility: bool = True

    def __post_init__(self) -> None:
        require_positive(k=self.k)


def options_of(argument: str, k: int, context: int = 16_384) -> CoreTOptions:
    """The options that an argument stands for: `paper`, and one word for what is different.

    >>> options_of("paper+no-adjustment", 10).adjust
    >>> options_of("paper+0.7", 10).adjust.threshold
    0.7
    """
    paper, _, word = argument.partition("+")
    try:
        threshold = float(word or AdjustOptions().threshold)
    except ValueError:
        threshold = AdjustOptions().threshold if word in ABLATIONS else -1.0
    if paper != PAPER or not 0 <= threshold <= 1:
        words = ", ".join(f"{PAPER}+{each}" for each in ABLATIONS)
        raise UsageError(
            f"core-t does not know {argument!r}; it takes {PAPER}, {words}, or "
            f"{PAPER}+T with the threshold of adjustment, a number from 0 to 1"
        )
    return CoreTOptions(
        k,
        context,
        None if word == "no-adjustment" else AdjustOptions(threshold),
        purposes=word != "no-purposes",
        compatibility=word != "no-compatibility",
    )


@dataclass(frozen=True)
class CoreTRetriever:
    """Has a model select from the top `k` candidates, and adjusts the selection."""

    searcher: Searcher
    llm: LLM
    options: CoreTOptions = field(default_factory=CoreTOptions)

    def retrieve(self, question: str) -> TableSet:
        """Return the selected tables in the model's order, then those that adjustment added."""
        query = self.searcher.analyse(question)
        candidates = self.candidates(query)
        pairs = joined_pairs(self.joins, candidates)
        select = Stage("select", facts={"joins": [_pair_fact(pair) for pair in pairs]})
        stages = [_search_stage(candidates), select]
        selection = self._selection(query, candidates, pairs, select)
        chosen = _chosen(selection, candidates, select)
        if self.options.adjust:
            cosines = [
                replace(one, relevance=one.signals.get("dense", one.relevance))
                for one in candidates
            ]
            seeds = [one.id for one in chosen]
            added = adjust(seeds, cosines, compatibility_of(pairs), self.options.adjust)
            stages.append(_adjust_stage(self.options.adjust, added))
            chosen += _added(added, candidates, pairs)
        return table_set(question, self.joins, chosen, stages)

    @cached_property
    def joins(self) -> JoinGraph:
        """The joins that the model is shown and that adjustment goes by."""
        if not self.options.compatibility:
            return self.searcher.graph_of(())
        return joins_by(self.searcher, PAPER)

    @cached_property
    def index(self) -> PaperIndex:
        """What is searched."""
        return PaperIndex(self.searcher, purposes=self.options.purposes)

    def candidates(self, query: Query) -> list[Candidate]:
        """The top `k` tables by cosine."""
        return self.index.nearest(query, self.options.k)

    def _selection(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """What the model selects; where the call fails, why there is nothing."""
        selector = LLMSelector(self.llm, self.options.context)
        tables = [self.index.shown(self.searcher.catalog[one.id]) for one in candidates]
        try:
            return selector.select(query, candidates, tables, pairs, stage)
        except PendingError:
            raise  # a reply that is still to be recorded is no failure
        except ModelError as error:
            return Selection(reason=f"the call failed: {error}")


def open_core_t(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = PAPER
) -> CoreTRetriever:
    """Open `core-t:paper`, an ablation of it, or with another τ `core-t:paper+0.7`."""
    options = options_of(argument, k, settings.llm_context)
    model = needed_model(catalog.folder, settings, "retriever 'core-t'")
    return CoreTRetriever(published_searcher(catalog, settings), model, options)


def _chosen(selection: Selection, candidates: Sequence[Candidate], stage: Stage) -> list[Chosen]:
    """The selected tables; all candidates where the reply cannot be used."""
    if selection.reason:
        stage.fall_back(f"the reply cannot be used, {selection.reason}: all candidates stay")
        return list(ranked(candidates, "search", "ranking, as the reply cannot be used"))
    return [
        Chosen(
            candidates[number - 1].id,
            candidates[number - 1].relevance,
            "select",
            f"selected by the model; rank {number} of the search",
        )
        for number in selection.tables
    ]


def _search_stage(candidates: Sequence[Candidate]) -> Stage:
    listed = [
        {
            "number": number,
            "table": str(candidate.id),
            "relevance": round(candidate.relevance, 4),
            "signals": {name: round(value, 4) for name, value in candidate.signals.items()},
        }
        for number, candidate in enumerate(candidates, start=1)
    ]
    return Stage("search", facts={"candidates": listed})


def _pair_fact(pair: JoinedPair) -> dict[str, object]:
    return {
        "tables": [pair.left + 1, pair.right + 1],
        "columns": [list(columns) for columns in pair.edge.columns],
        "score": round(pair.edge.score, 4),
    }


def _adjust_stage(options: AdjustOptions, added: Sequence[Addition]) -> Stage:
    listed = [
        {
            "table": str(addition.table),
            "step": addition.step,
            "of": str(addition.of),
            "gain": round(addition.gain, 4),
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
    if addition.step == "partner":
        return f"strongest partner of {addition.of}: {edge}"
    return f"raises the set's mean by {addition.gain:.3f}, joined by {edge}"
