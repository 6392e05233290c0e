"""Why `graph` chose a table: the three things that decided, and why the next one stayed out; why
the set suffices, and the two next readings with what would make them right.

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
from dovetail.retrieve.match import by_relevance
from dovetail.retrieve.scorer import (
    PAIR_FEATURES,
    SET_FEATURES,
    WEIGHTS,
    ScoredCandidates,
    SetInput,
    SetScorer,
    shipped,
)
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher

# Things that are named for each table, and the least probability that one must be worth; and how
# many other readings are named.
_NAMED, _READINGS = 3, 2
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
PAIRED: Mapping[str, tuple[str, ...]] = {
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


def effects(scorer: SetScorer, given: SetInput, at: int) -> dict[str, float]:
    """The probability of a candidate without each thing: as if it were average in that."""
    return {
        thing: _rescored(scorer, given, at, thing, scorer.mean, lacks_pairs=True)
        for thing in THINGS
    }


def lacking(scorer: SetScorer, given: SetInput, at: int, taken: int) -> dict[str, float]:
    """The probability of a candidate if it had each thing as another candidate has it."""
    values = given.rows[taken]
    return {
        thing: _rescored(scorer, given, at, thing, values, lacks_pairs=False) for thing in THINGS
    }


def _rescored(
    scorer: SetScorer,
    given: SetInput,
    at: int,
    thing: str,
    values: Float32s,
    *,
    lacks_pairs: bool,
) -> float:
    """The probability of a candidate with other values for the features of a thing."""
    rows, pairs = given.rows.copy(), given.pairs
    for name in THINGS[thing]:
        column = SET_FEATURES.index(name)
        if name in WEIGHTS:
            rows[at, _FIRST] += WEIGHTS[name] * float(values[column] - rows[at, column])
        rows[at, column] = values[column]
    if lacks_pairs and thing in PAIRED:
        pairs = pairs.copy()
        for name in PAIRED[thing]:
            column = PAIR_FEATURES.index(name)
            own = pairs[at, at, column]
            pairs[at, :, column] = pairs[:, at, column] = 0
            pairs[at, at, column] = own
    return float(scorer.probabilities(SetInput(rows, pairs))[at])


def explained(
    chosen: TableSet, searcher: Searcher, query: Query, scored: ScoredCandidates
) -> TableSet:
    """A set that `graph` chose, with what decided in the last entry of its trace."""
    *before, last = chosen.trace
    explainer = _Explainer(searcher, query, scored, shipped())
    left_out: Any = last["left_out"]
    decided = explainer.explain(chosen, set(left_out))
    return replace(chosen, trace=(*before, {**last, EXPLANATION: decided}))


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Says in words what decided over the candidates of a question."""

    searcher: Searcher
    query: Query
    scored: ScoredCandidates
    scorer: SetScorer

    def explain(self, chosen: TableSet, left_out: set[str]) -> Json:
        """The things that decided, for each selected table, and why the next one stayed out."""
        tables = self.scored.tables
        taken = [one for one in chosen.tables if one.stage == "select" and one.id in tables]
        listed = [
            {
                "table": str(one.id),
                "probability": self._probability(tables.index(one.id)),
                "because": self._decided(tables.index(one.id)),
            }
            for one in taken
        ]
        listed += [
            {"table": str(one.id), "because": [{"thing": "connects", "words": one.reason}]}
            for one in chosen.tables
            if one.stage == "connect"
        ]
        inside = {*chosen.ids, *(also for one in chosen.tables for also in one.also)}
        others = [at for at in self.scored.ranked if tables[at] not in inside]
        listed_with = {"tables": listed, **(self._sufficing(chosen, others) if taken else {})}
        if not taken or not others:
            return {**listed_with, "next": None}
        last = min((tables.index(one.id) for one in taken), key=self._probability)
        named = {"table": str(tables[others[0]]), "probability": self._probability(others[0])}
        against = self._against(others[0], last, left_out)
        return {**listed_with, "next": {**named, "because": against}}

    def _sufficing(self, chosen: TableSet, others: Sequence[int]) -> Json:
        """Why the set suffices, and the two next readings with what would make them right."""
        tables = self.scored.tables
        own = [tables.index(one.id) for one in chosen.tables if one.id in tables]
        covered = self._covered(own)
        by_table: dict[str, list[str]] = {}
        for word, at in covered.items():
            by_table.setdefault(tables[at].name, []).append(word)
        parts = [f"{name} covers {', '.join(words)}" for name, words in by_table.items()]
        lacking = [word for word in self._content() if word not in covered]
        parts += [f"nothing in it covers {', '.join(lacking)}"] if lacking else []
        readings = [self._reading(one.tables, one.probability) for one in chosen.alternatives]
        others = [at for at in others if self._covered([at])]
        readings += [self._reading((tables[at],), self._probability(at)) for at in others]
        apart = {one["tables"][0]: one for one in reversed(readings)}
        return {"suffices": "; ".join(parts), "readings": list(apart.values())[::-1][:_READINGS]}

    def _reading(self, tables: Sequence[TableId], probability: float) -> Json:
        """Another set that could be meant, and what the question would have to mean by it."""
        indices = [self.scored.tables.index(one) for one in tables if one in self.scored.tables]
        names = ", ".join(str(one) for one in tables[:_NAMED])
        words = ", ".join(self._covered(indices))
        right = f"right if {names} is what it means by {words or 'all of it'}"
        return {"tables": list(map(str, tables)), "probability": probability, "words": right}

    def _content(self) -> list[str]:
        """The words that say what the question is about."""
        terms, content = self.query.terms, np.flatnonzero(self.scored.match.content)
        return [self.query.words[terms[at].text] for at in content.tolist()]

    def _covered(self, indices: Sequence[int]) -> dict[str, int]:
        """Each content word that some candidates cover, and the one that covers it best."""
        covered = {}
        rows = self.scored.match.content_covers.tolist()
        for word, row in zip(self._content(), rows, strict=True):
            at = max(indices, key=row.__getitem__, default=None)
            if at is not None and row[at] > 0:
                covered[word] = at
        return covered

    def _probability(self, at: int) -> float:
        return round(float(self.scored.probabilities[at]), 4)

    def _decided(self, at: int) -> list[Json]:
        """What speaks most for a candidate, at most three things; `without` is what is left."""
        now = float(self.scored.probabilities[at])
        without = effects(self.scorer, self.scored.given, at)
        return [
            {"thing": thing, "words": self._in_words(thing, at), "without": round(left, 4)}
            for thing, left in sorted(without.items(), key=lambda one: one[1])[:_NAMED]
            if now - left >= _LEAST
        ]

    def _against(self, at: int, last: int, left_out: set[str]) -> str:
        """In words, why a candidate is not in the set; `last` is the least probable one that is."""
        table, taken = self.scored.tables[at], self.scored.tables[last]
        if str(table) in left_out:
            return "no join connects it to the tables that were taken"
        if at not in self.scored.meant:
            return f"it is of another group of tables than {taken.name}: another reading"
        low, high = (self.scored.probabilities[one] for one in (at, last))
        than = f"less probable than {taken.name}, the last one taken ({low:.2f} against {high:.2f})"
        with_its = lacking(self.scorer, self.scored.given, at, last)
        thing = max(with_its, key=lambda name: with_its[name])
        if with_its[thing] - float(low) < _LEAST:
            return than
        has = self._in_words(thing, last)
        return f"{than}; what {taken.name} has and it has not: {has}"

    def _in_words(self, thing: str, at: int) -> str:
        """What a thing is for one candidate, in words."""
        if thing == "meaning":
            return "its schema is near to the question in meaning"
        if thing == "name":
            return f"the question says {self.scored.tables[at].name}, its name"
        in_words: Mapping[str, Callable[[int], str]] = {
            "words": self._words,
            "values": self._values,
            "column": self._column,
            "search": self._search,
            "neighbours": self._neighbours,
            "group": self._group,
        }
        return in_words[thing](at)

    def _words(self, at: int) -> str:
        shares = self.scored.match.words[:, at].tolist()
        matched = [
            self.query.words.get(term.text, term.text)
            for term, share in zip(self.query.terms, shares, strict=True)
            if share > 0
        ]
        return (
            f"its names say {', '.join(matched)}" if matched else "how few of the words it covers"
        )

    def _values(self, at: int) -> str:
        rows = zip(self.query.links, self.scored.match.values, strict=True)
        values = [repr(link.span.text) for link, row in rows if row[at]]
        return f"it holds {', '.join(values)}" if values else "it holds none of the values"

    def _column(self, at: int) -> str:
        table = self.searcher.catalog[self.scored.tables[at]]
        first = by_relevance(self.searcher, self.query, table)[:1]
        return f"its column {table.columns[first[0]].name}" if first else "its columns"

    def _search(self, at: int) -> str:
        signals = self.scored.candidates[at].signals
        ranked = sorted(signals, key=lambda name: -signals[name])
        named = [_SIGNALS[name] for name in ranked if name in _SIGNALS and signals[name] > 0]
        by = f", by {' and '.join(named[:2])}" if named else ""
        return f"it is number {at + 1} of the search{by}"

    def _neighbours(self, at: int) -> str:
        row = self.scored.pairs.joins[at]
        joined = [other for other in self.scored.ranked if other != at and row[other] > 0]
        return f"it joins {self._names(joined)}" if joined else "it joins no other candidate"

    def _group(self, at: int) -> str:
        group = next((one.indices for one in self.scored.groups if at in one.indices), ())
        others = [other for other in group if other != at]
        if not others:
            return "what it covers of the question by itself"
        return f"with {self._names(others)} it covers the question"

    def _names(self, indices: Sequence[int]) -> str:
        return ", ".join(self.scored.tables[at].name for at in indices[:_NAMED])
