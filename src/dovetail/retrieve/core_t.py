"""CORE-T: search for candidates, one call of a language model, adjustment (Section 4.2).

`adjustment` says which: `paper` is the paper's own, `auto` is applied only where the reply is weak
or the chosen set falls apart, `none` leaves the selection as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dovetail.domain import NOTHING_FITS, Candidate, Chosen, JoinEdge, TableId, TableSet
from dovetail.errors import UsageError
from dovetail.ports import LLM
from dovetail.retrieve.adjust import Addition, AdjustOptions, adjust
from dovetail.retrieve.connectors import CONNECTOR, connectors, weakness
from dovetail.retrieve.join_pairs import Pair, compatibility_of, joinable_pairs
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.parse_reply import Selection
from dovetail.retrieve.registry import FULL
from dovetail.retrieve.select_llm import FORMS, LLMSelector, SelectOptions
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher

FUSED, DENSE = "fused", "dense"
_INDEXES: dict[str, Callable[[Searcher, Query, int], list[Candidate]]] = {
    FUSED: lambda searcher, query, k: searcher.search(query, k),
    DENSE: lambda searcher, query, k: searcher.dense(query, k),
}
PAPER, AUTO, NONE = "paper", "auto", "none"
# Words of a retriever's name, and the adjustment they stand for.
_ADJUSTMENTS = {PAPER: PAPER, AUTO: AUTO, "unadjusted": NONE}
# What an `auto` adjustment says where it does nothing.
_CONNECTED = "the chosen tables join, or no candidate connects them"


@dataclass(frozen=True, slots=True)
class CoreTOptions:
    """The paper's constants, and our search in place of its own.

    `index` is `fused` (every signal) or `dense` (the paper's DR). `adjustment` is `paper`, `auto`
    or `none`, with the constants in `adjust`. With `auto`, a reply that validly selects nothing is
    an answer, and the set is empty; the paper falls back to all candidates.
    """

    k: int = 10
    index: str = FUSED
    select: SelectOptions = field(default_factory=SelectOptions)
    adjustment: str = PAPER
    adjust: AdjustOptions = field(default_factory=AdjustOptions)

    def __post_init__(self) -> None:
        require_positive(k=self.k)
        if self.index not in _INDEXES:
            raise UsageError(f"index {self.index!r} is not known; there are: {', '.join(_INDEXES)}")
        if self.adjustment not in (known := _ADJUSTMENTS.values()):
            raise UsageError(
                f"adjustment {self.adjustment!r} is not known; there are: {', '.join(known)}"
            )


@dataclass(frozen=True, slots=True)
class CoreTRetriever:
    """Has a model select from the top `k` candidates, and adjusts the selection."""

    searcher: Searcher
    llm: LLM
    options: CoreTOptions = field(default_factory=CoreTOptions)

    def retrieve(self, question: str) -> TableSet:
        """Return the selected tables in the model's order, then those that adjustment added."""
        query = self.searcher.analyse(question)
        candidates = _INDEXES[self.options.index](self.searcher, query, self.options.k)
        pairs = joinable_pairs(self.searcher.joins, candidates)
        select = Stage("select", facts={"joins": [_pair_fact(pair) for pair in pairs]})
        stages = [_search_stage(self.options.index, candidates), select]
        selector = LLMSelector(self.searcher, self.llm, self.options.select)
        selection = selector.select(query, candidates, pairs, select)
        if selection.nothing_fits and self.options.adjustment == AUTO:
            reason = "the model says that no candidate answers the question"
            select.facts |= {NOTHING_FITS: True, "reason": reason}
            return table_set(question, self.searcher.joins, [], stages)
        chosen = self._chosen(selection, candidates, select)
        if self.options.adjustment != NONE:
            stage, added = self._adjusted(selection, chosen, candidates, pairs)
            stages.append(stage)
            chosen += _added(added, candidates, pairs)
        return table_set(question, self.searcher.joins, chosen, stages)

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
        pairs: Sequence[Pair],
    ) -> tuple[Stage, list[Addition]]:
        """What adjustment adds, and its line of the trace."""
        options, seeds = self.options.adjust, [one.table for one in chosen]
        compatibility = compatibility_of(pairs)
        if self.options.adjustment == PAPER:
            added = adjust(seeds, candidates, compatibility, options)
            return _adjust_stage(options, added), added
        if weak := weakness(selection, len(candidates)):
            added = adjust(seeds, candidates, compatibility, options)
        else:
            added = connectors(seeds, candidates, compatibility, options.threshold)
        why = weak or ("the chosen tables fall apart" if added else _CONNECTED)
        stage = _adjust_stage(options, added)
        stage.facts = {"adjustment": AUTO, "why": why, **stage.facts}
        return stage, added


def open_core_t(context: SelectorContext, argument: str = FULL) -> CoreTRetriever:
    """Open the retriever `core-t`, or with words after a colon, `core-t:compact+dense+0.7`."""
    words = core_t_words(argument)
    threshold = words.get("threshold")
    options = CoreTOptions(
        k=context.k,
        index=words.get("index", FUSED),
        select=SelectOptions(words.get("prompt", FULL), context.settings.llm_context),
        adjustment=_ADJUSTMENTS[words.get("adjustment", PAPER)],
        adjust=AdjustOptions(float(threshold)) if threshold else AdjustOptions(),
    )
    model = context.needed_llm("retriever 'core-t'")
    return CoreTRetriever(context.searcher, model, options)


def core_t_words(argument: str) -> dict[str, str]:
    """Return what the words of an argument, joined by `+`, stand for.

    >>> core_t_words("compact+dense")
    {'prompt': 'compact', 'index': 'dense'}
    >>> core_t_words("compact+auto+0.7")
    {'prompt': 'compact', 'adjustment': 'auto', 'threshold': '0.7'}
    """
    meanings = dict.fromkeys(FORMS, "prompt") | dict.fromkeys(_INDEXES, "index")
    meanings |= dict.fromkeys(_ADJUSTMENTS, "adjustment")
    words = argument.split("+")
    meanings |= {word: "threshold" for word in words if _is_threshold(word)}
    if unknown := [word for word in words if word not in meanings]:
        known = ", ".join((*FORMS, *_INDEXES, *_ADJUSTMENTS))
        raise UsageError(
            f"core-t does not know {unknown[0]!r}; it takes {known}, or the threshold of "
            "adjustment as a number from 0 to 1, joined by +"
        )
    return {meanings[word]: word for word in words}


def _is_threshold(word: str) -> bool:
    try:
        return 0 <= float(word) <= 1
    except ValueError:
        return False


def _search_stage(index: str, candidates: Sequence[Candidate]) -> Stage:
    listed = [
        {
            "number": number,
            "table": str(candidate.table),
            "relevance": round(candidate.relevance, 4),
            "signals": signals,
            "parts": signals,  # the former name
        }
        for number, candidate in enumerate(candidates, start=1)
        for signals in [{name: round(value, 4) for name, value in candidate.signals.items()}]
    ]
    return Stage("search", facts={"index": index, "candidates": listed})


def _pair_fact(pair: Pair) -> dict[str, object]:
    return {
        "tables": [pair.left + 1, pair.right + 1],
        "columns": [list(columns) for columns in pair.edge.columns],
        "score": round(pair.edge.score, 4),
    }


def _selected(number: int, candidate: Candidate, index: str) -> Chosen:
    reason = f"selected by the model; rank {number} of the {index} search"
    return Chosen(candidate.table, candidate.relevance, "select", reason)


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
    additions: Sequence[Addition], candidates: Sequence[Candidate], pairs: Sequence[Pair]
) -> list[Chosen]:
    relevance = {candidate.table: candidate.relevance for candidate in candidates}
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
