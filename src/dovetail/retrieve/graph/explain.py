"""Why `graph` chose a table: the three things that decided, and why the next one stayed out.

What a thing contributed is found by leaving it out: its features are set to those of an average
candidate and the set is scored again. The probability that is lost is what it was worth. For the
best candidate that stayed out, each thing is replaced by that of the last table taken: what then
raises its probability most is what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import EXPLANATION, TableId, TableSet
from dovetail.ports import Json
from dovetail.retrieve.column_relevance import by_relevance
from dovetail.retrieve.graph.features import FEATURES
from dovetail.retrieve.graph.scored_candidates import COEFFICIENTS, ScoredCandidates
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.graph.set_features import PAIR_FEATURES, SET_FEATURES, SetInput
from dovetail.retrieve.graph.set_scorer import SetScorer, shipped
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

# Things that are named for each table, and the least probability that one must be worth.
_NAMED = 3
_LEAST = 0.005

# The features that speak of one thing, so that none stands in for another that is left out.
THINGS: Mapping[str, tuple[str, ...]] = {
    "words": ("new_words", "best_words", "cover", "cover_gap"),
    "name": ("name",),
    "values": ("new_values", "plain_values", "value"),
    "column": ("column", "column_gap"),
    "meaning": ("dense", "dense_gap"),
    "search": ("gap",),
    "neighbours": ("gain", "neighbour", "joined"),
    "group": ("group_gap", "group_cover", "group_cover_gap", "group_share", "group_probability"),
}
# The features of two candidates that go with a thing.
_PAIRED: Mapping[str, tuple[str, ...]] = {
    "neighbours": ("join", "path"),
    "words": ("adds", "lacks"),
    "group": ("together",),
}
# What the signals of the search are, in words.
_SIGNALS = {
    "lexical": "words",
    "value": "values",
    "dense": "meaning",
    "name": "its name",
    "neighbour": "what its neighbours cover",
    "column": "a header",
    "alike": "tables like it",
}
_FIRST = SET_FEATURES.index("first_logit")


@dataclass(frozen=True, slots=True)
class Decided:
    """A thing that decided over a table, in words; `without` is the probability without it."""

    thing: str
    words: str
    without: float

    def to_dict(self) -> Json:
        return {"thing": self.thing, "words": self.words, "without": round(self.without, 4)}


def effects(scorer: SetScorer, given: SetInput, place: int) -> dict[str, float]:
    """The probability of a candidate without each thing: as if it were average in that."""
    neutral = scorer.mean
    return {
        thing: _rescored(scorer, given, place, thing, neutral, lacks_pairs=True) for thing in THINGS
    }


def lacking(scorer: SetScorer, given: SetInput, place: int, taken: int) -> dict[str, float]:
    """The probability of a candidate if it had each thing as another candidate has it."""
    other = given.rows[taken]
    return {
        thing: _rescored(scorer, given, place, thing, other, lacks_pairs=False) for thing in THINGS
    }


def _rescored(
    scorer: SetScorer,
    given: SetInput,
    place: int,
    thing: str,
    values: Float32s,
    *,
    lacks_pairs: bool,
) -> float:
    """The probability of a candidate with other values for the features of a thing."""
    rows, pairs = given.rows.copy(), given.pairs
    for name in THINGS[thing]:
        at = SET_FEATURES.index(name)
        if name in FEATURES:
            weight = COEFFICIENTS[FEATURES.index(name)]
            rows[place, _FIRST] += weight * float(values[at] - rows[place, at])
        rows[place, at] = values[at]
    if lacks_pairs and thing in _PAIRED:
        pairs = pairs.copy()
        for name in _PAIRED[thing]:
            at = PAIR_FEATURES.index(name)
            own = pairs[place, place, at]
            pairs[place, :, at] = pairs[:, place, at] = 0
            pairs[place, place, at] = own
    return float(scorer.probabilities(SetInput(rows, pairs))[place])


def explained(found: TableSet, searcher: Searcher, settings: Settings) -> TableSet:
    """A set that `graph` chose with an explanation in its trace; another's set stays as it is."""
    trace = [dict(entry) for entry in found.trace]
    if not trace or not {"stage", "breadth", "candidates"} <= trace[-1].keys():
        return found
    candidates: Any = trace[-1]["candidates"]
    k = max(len(candidates), 1)
    graph = GraphRetriever(searcher, k=k, use_sources=settings.use_sources)
    query = searcher.analyse(found.question)
    left_out: Any = trace[-1].get("left_out", ())
    told = _Explainer(searcher, query, graph.score(query), shipped()).explain(found, set(left_out))
    trace[-1][EXPLANATION] = told
    return replace(found, trace=tuple(trace))


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Says in words what decided over the candidates of a question."""

    searcher: Searcher
    query: Query
    scored: ScoredCandidates
    scorer: SetScorer

    def explain(self, found: TableSet, left_out: set[str]) -> Json:
        """The things that decided, for each selected table, and why the next one stayed out."""
        tables = self.scored.tables
        taken = [one for one in found.tables if one.stage == "select" and one.id in tables]
        listed = [
            {
                "table": str(one.id),
                "probability": round(self.scored.by_table[one.id], 4),
                "because": [thing.to_dict() for thing in self._decided(tables.index(one.id))],
            }
            for one in taken
        ]
        listed += [
            {"table": str(one.id), "because": [{"thing": "connects", "words": one.reason}]}
            for one in found.tables
            if one.stage == "connect"
        ]
        inside = {*found.ids, *(also for one in found.tables for also in one.also)}
        order: list[int] = np.argsort(-self.scored.probabilities, kind="stable").tolist()
        others = [place for place in order if tables[place] not in inside]
        if not taken or not others:
            return {"tables": listed, "next": None}
        last = min((tables.index(one.id) for one in taken), key=self._probability)
        told = self._against(others[0], last, left_out)
        named = {"table": str(tables[others[0]]), "probability": self._probability(others[0])}
        return {"tables": listed, "next": {**named, "because": told}}

    def _probability(self, place: int) -> float:
        return round(float(self.scored.probabilities[place]), 4)

    def _decided(self, place: int) -> list[Decided]:
        """What speaks most for a candidate, at most three things."""
        if self.scored.given is None:
            return []
        now = float(self.scored.probabilities[place])
        without = effects(self.scorer, self.scored.given, place)
        ranked = sorted(without, key=lambda thing: without[thing])
        words = _Words(self.searcher, self.query, self.scored, place)
        return [
            Decided(thing, words.of(thing), without[thing])
            for thing in ranked[:_NAMED]
            if now - without[thing] >= _LEAST
        ]

    def _against(self, place: int, last: int, left_out: set[str]) -> str:
        """In words, why a candidate is not in the set; `last` is the least probable one that is."""
        table, taken = self.scored.tables[place], self.scored.tables[last]
        if str(table) in left_out:
            return "no join connects it to the tables that were taken"
        if place not in self.scored.meant:
            return f"it is of another group of tables than {taken.name}: another reading"
        low, high = (self.scored.probabilities[one] for one in (place, last))
        than = f"less probable than {taken.name}, the last one taken ({low:.2f} against {high:.2f})"
        if self.scored.given is None:
            return than
        had = lacking(self.scorer, self.scored.given, place, last)
        thing = max(had, key=lambda name: had[name])
        if had[thing] - float(low) < _LEAST:
            return than
        has = _Words(self.searcher, self.query, self.scored, last).of(thing)
        return f"{than}; what {taken.name} has and it has not: {has}"


@dataclass(frozen=True, slots=True)
class _Words:
    """What a thing is for one candidate of a question, in words."""

    searcher: Searcher
    query: Query
    scored: ScoredCandidates
    place: int

    def of(self, thing: str) -> str:
        said: Mapping[str, Callable[[], str]] = {
            "words": self._words,
            "name": self._name,
            "values": self._values,
            "column": self._column,
            "meaning": lambda: "its schema is near to the question in meaning",
            "search": self._search,
            "neighbours": self._neighbours,
            "group": self._group,
        }
        return said[thing]()

    @property
    def _table(self) -> TableId:
        return self.scored.tables[self.place]

    def _matched(self) -> list[str]:
        """The words of the question that the table matches, as they were written."""
        match = self.scored.match
        if match is None:
            return []
        rows = match.words[:, self.place].tolist()
        return [
            self.query.words.get(term.text, term.text)
            for term, share in zip(self.query.terms, rows, strict=True)
            if share > 0
        ]

    def _words(self) -> str:
        found = self._matched()
        return f"its names say {', '.join(found)}" if found else "how few of the words it covers"

    def _name(self) -> str:
        return f"the question says {self._table.name}, its name"

    def _values(self) -> str:
        held = [
            link.span.text
            for link, row in zip(self.query.links, self._held, strict=True)
            if row[self.place]
        ]
        return f"it holds {', '.join(map(repr, held))}" if held else "it holds none of the values"

    @property
    def _held(self) -> Sequence[Float32s]:
        match = self.scored.match
        return [] if match is None else list(match.values)

    def _column(self) -> str:
        table = self.searcher.catalog[self._table]
        first = by_relevance(self.searcher, self.query, table)[:1]
        return f"its column {table.columns[first[0]].name}" if first else "its columns"

    def _search(self) -> str:
        signals = self.scored.candidates[self.place].signals
        ranked = sorted(signals, key=lambda name: -signals[name])
        made = [_SIGNALS[name] for name in ranked if name in _SIGNALS and signals[name] > 0]
        by = f", by {' and '.join(made[:2])}" if made else ""
        return f"it is number {self.place + 1} of the search{by}"

    def _neighbours(self) -> str:
        joined = self._joined()
        return f"it joins {', '.join(joined)}" if joined else "it joins no other candidate"

    def _joined(self) -> list[str]:
        """The candidates that the table joins, the most probable first."""
        if self.scored.pairs is None:
            return []
        row = self.scored.pairs.joins[self.place]
        order: list[int] = np.argsort(-self.scored.probabilities, kind="stable").tolist()
        near = [one for one in order if one != self.place and row[one] > 0]
        return [self.scored.tables[one].name for one in near[:_NAMED]]

    def _group(self) -> str:
        group = next((one for one in self.scored.groups if self.place in one.places), None)
        others = [one for one in (group.places if group else ()) if one != self.place]
        if not others:
            return "what it covers of the question by itself"
        names = ", ".join(self.scored.tables[one].name for one in others[:_NAMED])
        return f"with {names} it covers the question"
