"""CORE-T: search, one call of a language model, adjustment (Section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, JoinEdge, TableId, TableSet
from dovetail.errors import UsageError
from dovetail.ports import LLM
from dovetail.retrieve.adjust import Addition, AdjustOptions, adjust
from dovetail.retrieve.join_pairs import Pair, compatibility_of, joinable_pairs
from dovetail.retrieve.opening import needed_model, searcher_of
from dovetail.retrieve.select_llm import FORMS, FULL, LLMSelector, SelectOptions
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

FUSED, DENSE, UNADJUSTED = "fused", "dense", "unadjusted"
_INDEXES: dict[str, Callable[[Searcher, Query, int], list[Candidate]]] = {
    FUSED: lambda searcher, query, k: searcher.search(query, k),
    DENSE: lambda searcher, query, k: searcher.dense(query, k),
}


@dataclass(frozen=True, slots=True)
class CoreTOptions:
    """The paper's constants, and our search in place of its own.

    `index` is `fused` (every signal) or `dense` (the paper's DR). Without an `adjustment` the
    selected tables are the set.
    """

    k: int = 10
    index: str = FUSED
    select: SelectOptions = field(default_factory=SelectOptions)
    adjustment: AdjustOptions | None = field(default_factory=AdjustOptions)

    def __post_init__(self) -> None:
        require_positive(k=self.k)
        if self.index not in _INDEXES:
            raise UsageError(f"index {self.index!r} is not known; there are: {', '.join(_INDEXES)}")


@dataclass(frozen=True, slots=True)
class CoreTRetriever:
    """The set that a model selects from the top `k`, and what adjustment gives back to it."""

    searcher: Searcher
    llm: LLM
    options: CoreTOptions = field(default_factory=CoreTOptions)

    def retrieve(self, question: str) -> TableSet:
        query = self.searcher.analyse(question)
        candidates = _INDEXES[self.options.index](self.searcher, query, self.options.k)
        pairs = joinable_pairs(self.searcher.joins, candidates)
        stages = [_search_stage(self.options.index, candidates)]
        select = Stage("select", facts={"joins": [_pair_fact(pair) for pair in pairs]})
        stages.append(select)
        selector = LLMSelector(self.searcher, self.llm, self.options.select)
        selection = selector.select(query, candidates, pairs, select)
        if selection.reason:
            select.fall_back(f"the reply cannot be used: {selection.reason}; all candidates stay")
            chosen = list(
                ranked(
                    candidates,
                    "search",
                    f"{self.options.index} ranking, as the reply cannot be used",
                )
            )
        else:
            chosen = [
                _selected(number, candidates[number - 1], self.options.index)
                for number in selection.tables
            ]
        if self.options.adjustment is not None:
            added = adjust(
                [one.table for one in chosen],
                candidates,
                compatibility_of(pairs),
                self.options.adjustment,
            )
            stages.append(_adjust_stage(self.options.adjustment, added))
            chosen += _added(added, candidates, pairs)
        return table_set(question, self.searcher.joins, chosen, stages)


def open_core_t(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = FULL
) -> CoreTRetriever:
    """The retriever as `dovetail bench` names it: `core-t`, or `core-t:compact+dense+0.7`."""
    words = core_t_words(argument)
    threshold = words.get("threshold")
    adjustment = AdjustOptions(float(threshold)) if threshold else AdjustOptions()
    options = CoreTOptions(
        k=k,
        index=words.get("index", FUSED),
        select=SelectOptions(words.get("prompt", FULL), settings.llm_context),
        adjustment=None if "adjustment" in words else adjustment,
    )
    model = needed_model(catalog, settings, "retriever 'core-t'")
    return CoreTRetriever(searcher_of(catalog, settings), model, options)


def core_t_words(argument: str) -> dict[str, str]:
    """What the words of an argument, put together with `+`, stand for.

    >>> core_t_words("compact+dense")
    {'prompt': 'compact', 'index': 'dense'}
    >>> core_t_words("compact+0.7")
    {'prompt': 'compact', 'threshold': '0.7'}
    """
    meanings = dict.fromkeys(FORMS, "prompt") | dict.fromkeys(_INDEXES, "index")
    meanings[UNADJUSTED] = "adjustment"
    words = argument.split("+")
    meanings |= {word: "threshold" for word in words if _is_threshold(word)}
    if unknown := [word for word in words if word not in meanings]:
        known = ", ".join((*FORMS, *_INDEXES, UNADJUSTED))
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
    if addition.step == "partner":
        return f"strongest partner of {addition.of}: {edge}"
    return f"raises the set's mean by {addition.gain:.3f}, joined by {edge}"
