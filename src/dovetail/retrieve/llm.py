"""The selector `llm`: one call of a language model chooses among the candidates (Section 4.2.2).

The model reads the candidates in groups with their joins (prompt.py) and replies with the numbers
of those that the question needs (reply.py). A capable model rarely forgets a table, so nothing is
added to a set that joins. Where the chosen tables fall apart, and one candidate joins two of their
connected components, that candidate is what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.domain import NOTHING_FITS, Candidate, Chosen, TableSet
from dovetail.ports import LLM, Json
from dovetail.retrieve.connect import Connector, LinkGraph
from dovetail.retrieve.members import with_members
from dovetail.retrieve.prompt import (
    MOST,
    JoinedPair,
    PromptInput,
    joined_pairs,
    select_prompt,
    worth_showing,
)
from dovetail.retrieve.reply import Selection, parse_selection
from dovetail.retrieve.trace import Stage, ranked, require_positive, table_set
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape

# Of a model's context, what a prompt may take by our estimate: tokens of odd texts are shorter.
_SHARE = 0.75
# Tokens that a model may write, and characters of its reply that the trace keeps.
_REPLY, _REPLY_KEPT = 1_024, 1_000
_SCHEMA: Json = {
    "type": "object",
    "properties": {"tables": {"type": "array", "items": {"type": "integer"}}},
    "required": ["tables"],
    "additionalProperties": False,
}


class LLMRetriever:
    """Has a model choose among candidates, at most `k` of them, and connects what it chose.

    `context` is how many tokens the model takes in and writes together. `use_sources`: the prompt
    may say which tables are of one source.
    """

    def __init__(
        self,
        searcher: Searcher,
        llm: LLM,
        *,
        k: int | None = None,
        context: int = 16_384,
        use_sources: bool = False,
    ) -> None:
        self._searcher = searcher
        self._llm = llm
        self._k = MOST if k is None else k
        self._budget = int(_SHARE * context) - _REPLY
        self._use_sources = use_sources
        require_positive(k=self._k)

    def retrieve(self, question: str) -> TableSet:
        """Return the selected tables in the model's order, then those that connect them."""
        query = self._searcher.analyse(question)
        candidates = worth_showing(self._searcher.search(query, self._k))
        joins = self._searcher.joins
        pairs = joined_pairs(joins, candidates)
        stage = Stage("select", facts={"joins": [_pair_fact(pair) for pair in pairs]})
        stages = [_search_stage(candidates), stage]
        selection = self._select(query, candidates, pairs, stage)
        if selection.nothing_fits:
            reason = "the model says that no candidate answers the question"
            stage.facts |= {NOTHING_FITS: True, "reason": reason}
            return table_set(question, joins, [], stages)
        chosen = _chosen(selection, candidates, stage)
        connectors = _connectors(chosen, candidates, pairs)
        listed = [
            {"table": str(one.table), "between": list(map(str, one.between))} for one in connectors
        ]
        stages.append(Stage("connect", facts={"connectors": listed}))
        chosen += _connecting(connectors, candidates, pairs)
        return with_members(table_set(question, joins, chosen, stages), self._searcher)

    def _select(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """The selection of one call; a reply that cannot be used gives a reason instead."""
        stage.facts["model"] = self._llm.model_id
        if len(candidates) < 2:
            return Selection(tables=tuple(range(1, len(candidates) + 1)))
        given = PromptInput(self._searcher, query, candidates, pairs, self._use_sources)
        prompt = select_prompt(given, self._budget)
        if cuts := prompt.shown.cuts(candidates):
            stage.facts["cut"] = cuts
        if not prompt.shown.count:
            return Selection(reason=f"no candidate fits {prompt.budget} tokens")
        completion = stage.ask(self._llm, prompt.messages, schema=_SCHEMA, max_tokens=_REPLY)
        selection = parse_selection(completion.text, prompt.shown.count)
        stage.facts |= {
            "reply": escape(cut(completion.text, _REPLY_KEPT)),
            "selected": list(selection.tables),
            "dropped": dict(selection.dropped),
        }
        return selection


def _chosen(selection: Selection, candidates: Sequence[Candidate], stage: Stage) -> list[Chosen]:
    """The selected tables; all candidates where the reply cannot be used."""
    if selection.reason:
        stage.fall_back(f"the reply cannot be used: {selection.reason}; all candidates stay")
        return list(ranked(candidates, "search", "search ranking, as the reply cannot be used"))
    return [
        Chosen(
            candidates[number - 1].id,
            candidates[number - 1].relevance,
            "select",
            f"selected by the model; rank {number} of the search",
        )
        for number in selection.tables
    ]


def _connectors(
    chosen: Sequence[Chosen], candidates: Sequence[Candidate], pairs: Sequence[JoinedPair]
) -> list[Connector]:
    """The candidates that connect what was chosen, the most relevant of several."""
    edges = ((pair.edge.left, pair.edge.right, pair.edge.score) for pair in pairs)
    links = LinkGraph([candidate.id for candidate in candidates], edges)
    order = sorted(candidates, key=lambda candidate: (-candidate.relevance, candidate.id))
    return links.connect_singly([one.id for one in chosen], [one.id for one in order])


def _connecting(
    connectors: Sequence[Connector],
    candidates: Sequence[Candidate],
    pairs: Sequence[JoinedPair],
) -> Iterator[Chosen]:
    """The connectors as tables of the set, each with the join that speaks for it."""
    relevance = {candidate.id: candidate.relevance for candidate in candidates}
    edges = {frozenset((pair.edge.left, pair.edge.right)): pair.edge for pair in pairs}
    for one in connectors:
        edge = edges[frozenset((one.table, one.between[0]))]
        yield Chosen(one.table, relevance[one.table], "connect", f"{one}: {edge}")


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


def _connect_stage(connectors: Sequence[Connector]) -> Stage:
    listed = [
        {"table": str(one.table), "between": list(map(str, one.between))} for one in connectors
    ]
    return Stage("connect", facts={"connectors": listed})


def _pair_fact(pair: JoinedPair) -> dict[str, object]:
    return {
        "tables": [pair.left + 1, pair.right + 1],
        "columns": [list(columns) for columns in pair.edge.columns],
        "score": round(pair.edge.score, 4),
    }
