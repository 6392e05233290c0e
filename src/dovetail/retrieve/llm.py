"""The selector `llm`: a language model says what to look for, and chooses among what is found.

    without   what `graph` chooses without a model: kept where that is sure      ask.py
    look      the model names what to search for, from the catalog's card        look.py
    choose    it reads the candidates in groups with their joins (prompt.py) and replies with the
              numbers of those that the question needs, and what it misses (reply.py)
    again     what it misses is searched for, and it chooses once more, never oftener
    connect   a candidate that joins two parts of a set that falls apart is added

A capable model rarely forgets a table, so nothing is added to a set that joins, or that one system
holds, but what people's notes say the question needs. Where the model cannot be reached, or its
reply not used, the set is the one without a model, and warns of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dovetail.domain import CAUTIONS, NOTHING_FITS, UNCOVERED, Candidate, Chosen, TableId, TableSet
from dovetail.errors import ModelError, PendingError
from dovetail.joins.calendars import calendars_of
from dovetail.models.waiting import within
from dovetail.names.table_name import qualifier
from dovetail.ports import LLM, Json
from dovetail.retrieve.cautions import with_cautions
from dovetail.retrieve.connect import Connector, LinkGraph
from dovetail.retrieve.groups import system_of
from dovetail.retrieve.liveness import Liveness
from dovetail.retrieve.look import card, given_phrases, look, phrases
from dovetail.retrieve.members import with_members
from dovetail.retrieve.prompt import (
    JoinedPair,
    PromptInput,
    defined_terms,
    joined_pairs,
    select_prompt,
    usual_candidates,
    usual_tokens,
    worth_showing,
)
from dovetail.retrieve.reply import Selection, parse_selection
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.fusion import in_turn
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import PromptText, cut, escape

# Of a model's context, what a prompt may take by our estimate: tokens of odd texts are shorter.
_SHARE = 0.75
# Tokens that a model may write, and characters of its reply that the trace keeps.
_REPLY, _REPLY_KEPT = 400, 1_000
_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "tables": {"type": "array", "items": {"type": "integer"}},
        "missing": {"type": "string"},
        "sure": {"type": "number"},
    },
    "required": ["tables", "missing", "sure"],
    "additionalProperties": False,
}
# Where the set without a model is so sure, search has found what there is to find: no look is
# needed (docs/models.md has the figures).
_COVERED = 0.9
# How sure a set is of which the model does not say it, and what is left of it where something is
# still missing.
_NOT_SAID, _LACKING = 0.7, 0.3
# Why a table is in a set that the model did not choose.
_NEEDED = "taught: the question needs it"
# By how much more the model's doubt counts where the search agrees with nothing that it chose.
_UNSUPPORTED = 0.5


@dataclass(frozen=True, slots=True)
class Spending:
    """What a question may cost.

    At most `calls` of the model: one chooses, a second looks before, a third chooses again. They
    are waited for `seconds` at most, all together. A
    prompt that has it choose takes about `tokens` (by the size of the catalog, unless given), and
    no more than fits `context`, the tokens that the model takes in and writes together. Where the
    set without a model has a confidence of `enough`, the model is not asked; above 1, it always is.
    """

    calls: int = 3
    seconds: float = 120.0
    tokens: int | None = None
    context: int = 16_384
    enough: float = 2.0

    @property
    def longest(self) -> int:
        """How many tokens a prompt may have, question and all."""
        return int(_SHARE * self.context) - _REPLY


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the model was shown, and what it chose of it.

    The first candidates, as many as are `needed`, are those that notes say the question needs.
    """

    candidates: Sequence[Candidate]
    pairs: Sequence[JoinedPair]
    selection: Selection
    needed: int = 0

    @property
    def numbers(self) -> list[int]:
        """The numbers of the candidates that it chose, in its order, then of those needed."""
        return list(dict.fromkeys((*self.selection.tables, *range(1, self.needed + 1))))

    @property
    def chosen(self) -> list[Candidate]:
        """The candidates of these numbers."""
        return [self.candidates[number - 1] for number in self.numbers]

    @property
    def usable(self) -> bool:
        """Whether the reply chooses something, or nothing on purpose."""
        return not self.selection.reason or self.selection.nothing_fits


class LLMRetriever:
    """Has a model look and choose among at most `k` candidates, and connects what it chose.

    `without` retrieves without a model. `use_sources`: the prompts may say which source tables are
    of.
    """

    def __init__(
        self,
        searcher: Searcher,
        llm: LLM,
        without: Callable[[str, Sequence[str]], TableSet],
        *,
        k: int | None = None,
        spending: Spending = Spending(),
        use_sources: bool = False,
    ) -> None:
        self._searcher = searcher
        self._llm = llm
        self._without = without
        tables = len(searcher.ids)
        self._k = usual_candidates(tables) if k is None else k
        self._tokens = usual_tokens(tables) if spending.tokens is None else spending.tokens
        self._spending = spending
        self._use_sources = use_sources
        self._liveness = Liveness(searcher)
        require_positive(k=self._k)

    def retrieve(self, question: str, looking_for: Sequence[str] = ()) -> TableSet:
        """The selected tables in the model's order, then those that connect them."""
        without = self._without(question, looking_for)
        query = self._searcher.analyse(question)
        taught = query.lesson is not None and query.lesson.exact
        if taught or (without.confidence or 0.0) >= self._spending.enough:
            return without
        with within(self._spending.seconds):
            return self._by_model(query, without, looking_for)

    def _by_model(self, query: Query, without: TableSet, looking_for: Sequence[str]) -> TableSet:
        """The set that a model chooses; the one without, where it cannot."""
        question = query.text
        stages: list[Stage] = []
        sought = phrases(looking_for)
        try:
            if sought:
                stages.append(given_phrases(looking_for))
            elif (without.confidence or 0.0) < _COVERED and self._spending.calls > 1:
                stages.append(Stage("look", facts={"model": self._llm.model_id}))
                shown = PromptText(self._card + defined_terms(self._searcher, question))
                longest = self._spending.longest
                sought = look(self._llm, question, shown, stages[-1], longest)
            choice = self._choose(query, sought, self._candidates(query, sought), stages)
        except PendingError:
            raise
        except ModelError as error:
            return _without_model(without, stages, str(error))
        if not choice.usable:
            reason = f"the reply cannot be used: {choice.selection.reason}"
            return _without_model(without, stages, reason)
        if choice.selection.missing and self._calls(stages) < self._spending.calls:
            sought = (*sought, choice.selection.missing)
            choice = self._again(query, sought, choice, stages)
        if choice.needed and choice.selection.nothing_fits:
            return _without_model(without, stages, "the model refuses what your notes define")
        return self._answer(query, choice, without, sought, stages)

    def _again(
        self, query: Query, sought: Sequence[str], choice: _Choice, stages: list[Stage]
    ) -> _Choice:
        """A choice among what is found for what the first one lacks; that, where none comes."""
        try:
            again = self._choose(query, sought, self._wider(query, choice), stages)
        except PendingError:
            raise
        except ModelError as error:
            stages[-1].fall_back(f"{error}; the model did not choose again", warn=True)
            return choice
        if again.usable:
            return again
        why = f"the reply cannot be used: {again.selection.reason}; the first choice stays"
        stages[-1].fall_back(why, warn=True)
        return choice

    @cached_property
    def _card(self) -> str:
        return card(self._searcher, use_sources=self._use_sources)

    @staticmethod
    def _calls(stages: Sequence[Stage]) -> int:
        return sum(stage.llm_calls for stage in stages)

    def _candidates(self, query: Query, sought: Sequence[str]) -> list[Candidate]:
        """What the model chooses among: as much as search offers for the question and phrases."""
        found = self._searcher.search(query, self._k, looking_for=sought)
        return self._with_needed(query, found if sought else worth_showing(found))

    def _wider(self, query: Query, choice: _Choice) -> list[Candidate]:
        """What was chosen, then what is found for what is missing, in turn with the others."""
        missing = self._searcher.search(choice.selection.missing, self._k)
        others = in_turn([missing, self._searcher.search(query, self._k), choice.candidates])
        return self._with_needed(query, in_turn([[*choice.chosen, *others]])[: self._k])

    def _with_needed(self, query: Query, candidates: list[Candidate]) -> list[Candidate]:
        """Candidates with those in front that notes say the question needs."""
        needed = self._searcher.needed(query)
        if not needed:
            return candidates
        first = [one for one in self._searcher.search(query, self._k) if one.id in needed]
        return in_turn([[*first, *candidates]])[: max(self._k, len(first))]

    def _choose(
        self,
        query: Query,
        sought: Sequence[str],
        candidates: Sequence[Candidate],
        stages: list[Stage],
    ) -> _Choice:
        """The choice of one call; a reply that cannot be used gives a reason instead."""
        pairs = joined_pairs(self._searcher.joins, candidates)
        stage = Stage("select", facts={"model": self._llm.model_id, "joins": len(pairs)})
        stages += [_search_stage(candidates), stage]
        if not candidates:
            raise ModelError("nothing was found to choose among")
        given = PromptInput(self._searcher, query, candidates, pairs, self._use_sources, sought)
        prompt = select_prompt(given, self._tokens, self._spending.longest)
        if cuts := prompt.shown.cuts(candidates):
            stage.facts["cut"] = cuts
        if not prompt.shown.count:
            context = self._spending.context
            raise ModelError(
                f"no candidate fits {context:,} tokens (llm_context); nobody was asked"
            )
        if prompt.over and self._spending.tokens is not None:
            over = f"the choice takes about {prompt.over:,} tokens more than llm_tokens"
            stage.facts[CAUTIONS] = [f"{over} ({self._tokens:,}): no candidate is left out for it"]
        completion = stage.ask(self._llm, prompt.messages, schema=_SCHEMA, max_tokens=_REPLY)
        selection = parse_selection(completion.text, prompt.shown.count)
        stage.facts |= {
            "reply": escape(cut(completion.text, _REPLY_KEPT)),
            "selected": list(selection.tables),
            **({"missing": selection.missing} if selection.missing else {}),
            "dropped": dict(selection.dropped),
        }
        choice = _Choice(candidates, pairs, selection, len(self._searcher.needed(query)))
        if not choice.usable:
            completion.forget()
        return choice

    def _answer(
        self,
        query: Query,
        choice: _Choice,
        without: TableSet,
        sought: Sequence[str],
        stages: list[Stage],
    ) -> TableSet:
        """The set of a choice, connected, with how sure it is and what else may be meant."""
        facts = stages[-1].facts
        if choice.selection.missing:
            facts[UNCOVERED] = [choice.selection.missing]
        if choice.selection.nothing_fits:
            reason = "the model says that no candidate answers the question"
            facts |= {NOTHING_FITS: True, "reason": reason}
        connectors = self._connectors(choice)
        listed = [
            {"table": str(one.table), "between": list(map(str, one.between))} for one in connectors
        ]
        stages.append(Stage("connect", facts={"connectors": listed}))
        tables = [*self._chosen(query, choice), *_connecting(connectors, choice)]
        made = table_set(query.text, self._searcher.joins, tables, stages)
        others = [one for one in without.alternatives if set(one.tables) != set(made.ids)]
        made = replace(
            made,
            confidence=self._confidence(choice, made, without, sought),
            alternatives=tuple(others) if made else (),
            answerable=without.answerable,
        )
        return with_cautions(with_members(made, self._searcher), self._searcher, self._liveness)

    def _confidence(
        self, choice: _Choice, made: TableSet, without: TableSet, sought: Sequence[str]
    ) -> float:
        """How probable it is that a choice is right: the model's word, held against the search.

        The model's doubt counts half as much again at most: more, the fewer tables are in the set
        without a model or are the first hit of the question or of a phrase; for a refusal, the more
        answerable the question seems without a model. Its word counts in full where the
        search agrees with each table or with what that joins, and no more than one that it did not
        say where it agrees with none. Little is left where something is missing: a table, or where
        the search agrees with none, a join.
        """
        selection = choice.selection
        sure = _NOT_SAID if selection.sure is None else selection.sure
        if selection.tables:
            canonical = self._searcher.families.canonical
            expected = {canonical(table) for table in without.ids}
            agreed = {
                candidate.id
                for number, candidate in zip(choice.numbers, choice.chosen, strict=True)
                if number <= 1 + len(sought) or canonical(candidate.id) in expected
            }
            borne_out = {
                table for part in made.components if not agreed.isdisjoint(part) for table in part
            }
            chosen = [candidate.id for candidate in choice.chosen]
            agreement = len(agreed) / len(chosen)
            support = sum(table in borne_out for table in chosen) / len(chosen)
            lacks = bool(selection.missing) or not (agreed or made.connected)
        else:
            agreement = support = 1 - (without.answerable or 0.0)
            lacks = False
        sure = min(sure, _NOT_SAID + (1 - _NOT_SAID) * support)
        supported: float = sure ** (1 + _UNSUPPORTED * (1 - agreement))
        return round((_LACKING if lacks else 1.0) * supported, 4)

    def _chosen(self, query: Query, choice: _Choice) -> Iterator[Chosen]:
        """The chosen tables, each with what speaks for it."""
        chosen = choice.chosen
        reasons = self._searcher.reasons(query, [one.id for one in chosen])
        for number, one, own in zip(choice.numbers, chosen, reasons, strict=True):
            by_model = number in choice.selection.tables
            first = f"selected by the model, candidate {number}" if by_model else _NEEDED
            yield Chosen(one.id, one.relevance, "select", "; ".join((first, *own)))

    def _connectors(self, choice: _Choice) -> list[Connector]:
        """The candidates that connect what was chosen, the most relevant of several.

        What one system holds stays as it was chosen; a connector is of the systems of the others.
        """
        chosen = [one.id for one in choice.chosen]
        systems = {self._system(table) for table in chosen}
        if len(systems) == 1 and "" not in systems:
            return []
        edges = ((pair.edge.left, pair.edge.right, pair.edge.score) for pair in choice.pairs)
        links = LinkGraph([candidate.id for candidate in choice.candidates], edges)
        calendars = calendars_of(self._searcher.catalog.records)  # have the days of all tables
        order = sorted(choice.candidates, key=lambda one: (-one.relevance, one.id))
        return links.connect_singly(
            chosen,
            [
                one.id
                for one in order
                if self._system(one.id) in systems and one.id not in calendars
            ],
        )

    def _system(self, table: TableId) -> str:
        """The system that keeps a table, as far as that may be known; empty where it may not."""
        return system_of(table) if self._use_sources else qualifier(table.name)


def _without_model(without: TableSet, stages: Sequence[Stage], reason: str) -> TableSet:
    """The set without a model, with what the model was asked, and why it did not choose."""
    stages[-1].fall_back(f"{reason}; chosen without a model", warn=True)
    return replace(without, trace=(*(one.entry for one in stages), *without.trace))


def _connecting(connectors: Sequence[Connector], choice: _Choice) -> Iterator[Chosen]:
    """The connectors as tables of the set, each with the join that speaks for it."""
    relevance = {candidate.id: candidate.relevance for candidate in choice.candidates}
    edges = {frozenset((pair.edge.left, pair.edge.right)): pair.edge for pair in choice.pairs}
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
