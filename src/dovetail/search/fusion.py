"""One score per table from all signals of the search; docs/lab/search.md has what each is worth.

A query has terms: its words, and the values in it that are cells. A table covers a term by its
name, a column's name or a cell. What its joined neighbours cover beyond it counts too, term by
term, so that a table is lifted by what it brings together. The cosines of the embedder are on the
same scale, and are added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Float32s, Ints, Vectors
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.domain import Candidate
from dovetail.search.neighbours import Neighbours
from dovetail.search.query import QueryTerm

Numbers = npt.NDArray[np.int32]
Signals = Mapping[str, Float32s]

# The probability that a table is needed, by its score and by its distance from the best one's: a
# logistic curve fitted on four corpora at once (leaving one out moves no constant by more than a
# tenth).
_BY_SCORE, _BY_DISTANCE, _OFFSET = 1.8, 3.6, -2.2
# Below this logit a probability is 0 to a float; its exponential would be none.
_NEVER = -700.0
# A table of so many rows is a sample; a catalog is one of samples if it has so many tables, and
# most of them are. In smaller ones there is little to find by chance.
_SAMPLE_ROWS, _LEAST_TABLES = 5, 100
# Of so many nearest tables that are as near as this, the best ones count.
_NEAREST, _NEAR, _BEST = 8, 0.5, 3
# Scores of two tables that a question says equally much of: use decides, and hardly more.
_QUERIED, _LOOKED_AT, _FEEDS, _DEPRECATED = 0.08, 0.03, -0.02, -0.08


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """What each signal counts: `DEFAULT`, or `SAMPLES` for a catalog of samples."""

    cover: float = 1.5  # of the question by the table itself: words and values
    gain: float = 1.0  # by its neighbours beyond it: less than to cover it oneself
    dense: float = 0.5  # cosine of question and schema line
    column: float = 0.5  # cosine of question and best header: short texts beside long lines
    name: float = 0.2  # share of its own name that is said: tells look-alikes apart
    alike: float = 0.0  # what the tables most like it score
    one_partner: bool = False  # gain by the one neighbour that adds most, not by all together


DEFAULT = SignalWeights()
# Five rows prove no foreign key: they join by chance, and among hundreds of tables a long question
# always finds some by chance. What each is worth: docs/lab/search.md (4 points of F1 on Spider 2).
SAMPLES = SignalWeights(gain=0.7, dense=0.8, column=0.8, alike=0.3, one_partner=True)


@dataclass(frozen=True, slots=True)
class Covered:
    """What some tables cover of a query: its words, its values, and both by their neighbours.

    `names` is the share of their own names that the query says.
    """

    words: Float32s
    values: Float32s
    names: Float32s
    gain: Float32s


class Coverage:
    """How well the tables of a catalog cover the terms of a query, its words and its values."""

    def __init__(self, words: Sequence[QueryTerm], values: Sequence[QueryTerm], count: int) -> None:
        # Coverage adds up with the length of a question, but not in proportion to it.
        mass = math.sqrt(sum(word.weight for word in words) or 1.0)
        weighted = [(term.weight / mass, term) for term in (*words, *values)]
        self._words, self._values = weighted[: len(words)], weighted[len(words) :]
        self._count = count

    def leaders(self, pool: int, allowed: Flags | None) -> list[Ints]:
        """The allowed tables that cover the words best, and those that cover the values best."""
        rankings = [self._sum(self._words) + self._names(), self._sum(self._values)]
        if allowed is not None:
            rankings = [np.where(allowed, ranking, np.float32(0)) for ranking in rankings]
        return [leading(ranking, pool) for ranking in rankings]

    def _sum(self, terms: Sequence[tuple[float, QueryTerm]]) -> Float32s:
        return _summed([(weight, term.tables, term.match) for weight, term in terms], self._count)

    def _names(self) -> Float32s:
        parts = [(1.0, term.tables, term.name_share) for _, term in self._words]
        return _summed(parts, self._count)

    def of(self, tables: Ints, joined: Neighbours, *, one_partner: bool = False) -> Covered:
        """What some tables cover; `gain` is what their neighbours do beyond them, by the joins.

        With `one_partner` it is what the one that adds most does, and not all of them together.
        """
        begins, others, scores = joined.around(tables)
        there = np.zeros(len(joined), dtype=np.bool_)
        there[others] = True
        every, place = np.flatnonzero(there), np.cumsum(there) - 1
        index, own = place[others], place[tables]  # every table is its own neighbour
        words, values, names = np.zeros((3, len(tables)))
        gain = np.zeros(len(tables), dtype=np.float32)
        owner = np.repeat(own, np.diff(np.append(begins, len(others))))
        added = np.zeros(len(others), dtype=np.float32)
        for terms, total in ((self._words, words), (self._values, values)):
            for weight, term in terms if len(tables) else ():
                if not len(term.tables):
                    continue
                match, name_share = term.look_up(every)
                own_match = match[own]
                total += np.float32(weight) * own_match
                if terms is self._words:
                    names += name_share[own]
                joined_match = match[index] * scores
                if one_partner:
                    added += np.float32(weight) * np.maximum(joined_match - match[owner], 0)
                else:
                    best = np.maximum.reduceat(joined_match, begins)
                    gain += np.float32(weight) * (best - own_match)
        if one_partner and len(tables):
            gain = np.maximum.reduceat(added, begins)
        single = [part.astype(np.float32) for part in (words, values, names)]
        return Covered(single[0], single[1], single[2], gain)


def _summed(parts: Sequence[tuple[float, Numbers, Float32s]], count: int) -> Float32s:
    """For every table the sum of what the parts give it, each by its weight."""
    if not parts:
        return np.zeros(count, dtype=np.float32)
    tables = np.concatenate([tables for _, tables, _ in parts])
    values = np.concatenate([np.float32(weight) * values for weight, _, values in parts])
    return np.bincount(tables, values, minlength=count).astype(np.float32)


def leading(ranking: Float32s, pool: int) -> Ints:
    """The best tables of a ranking of all tables, at most `pool` and none with a value of 0."""
    tables = np.flatnonzero(ranking > 0)
    if len(tables) <= pool:
        return tables
    return tables[np.argpartition(ranking[tables], -pool)[-pool:]]


def pooled(leaders: Sequence[Ints], joined: Neighbours) -> Ints:
    """The tables that lead some ranking and all that join them, in order: the ones to score."""
    chosen = np.zeros(len(joined), dtype=np.bool_)
    for tables in leaders:
        chosen[tables] = True
    chosen[joined.around(np.flatnonzero(chosen))[1]] = True
    return np.flatnonzero(chosen)


def within_reach(signals: Signals, k: int, upper_bound: float) -> Ints:
    """The tables that a signal still to come, of some upper bound, could bring among the best k.

    Two best tables count: with neighbours and without, since the latter stays first.
    """
    total: Float32s = np.asarray(sum(signals.values()), dtype=np.float32)
    by_themselves = by_itself(signals)
    if len(total) <= k:
        return np.arange(len(total))
    minimum = np.partition(total, -k)[-k] - upper_bound
    return np.flatnonzero((total >= minimum) | (by_themselves >= by_themselves.max() - upper_bound))


def by_itself(signals: Signals) -> Float32s:
    """The scores without what other tables add to them."""
    others = ("neighbour", "alike")
    own = [signal for name, signal in signals.items() if name not in others]
    return np.asarray(sum(own), dtype=np.float32)


def fuse(signals: Signals) -> Float32s:
    """The scores: the sum of the signals; the table that is best by itself stays first."""
    total: Float32s = np.asarray(sum(signals.values()), dtype=np.float32)
    by_themselves = by_itself(signals)
    if len(total):
        first = int(np.argmax(by_themselves))
        total[first] = max(total[first], np.nextafter(total.max(), np.float32(np.inf)))
    return total


def relevance(score: float, top: float) -> float:
    """The probability that a table is needed, from its score and the best table's."""
    logit = _BY_SCORE * score + _BY_DISTANCE * (score - top) + _OFFSET
    return 1 / (1 + math.exp(-logit)) if logit > _NEVER else 0.0


def weights_for(catalog: CatalogReader) -> SignalWeights:
    """How the signals of search count over a catalog: as usual, or as over samples of tables."""
    rows = numbers(catalog.records.tables.column("rows"))
    samples = int(np.count_nonzero(rows <= _SAMPLE_ROWS))
    return SAMPLES if len(rows) >= _LEAST_TABLES and 2 * samples > len(rows) else DEFAULT


def alike(vectors: Vectors, scores: Float32s) -> Float32s:
    """The mean score of each table and the best of those most like it, less the highest such mean.

    So it is 0 for the tables of the likeliest system, and below 0 for all others: a question is
    mostly about one system, and the tables of a system resemble each other.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.float32)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    count = min(_NEAREST, len(scores))
    nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    near = np.take_along_axis(cosines, nearest, axis=1) > _NEAR
    nearest_scores = -np.sort(-np.where(near, scores[nearest], -np.inf), axis=1)[:, :_BEST]
    counted = np.isfinite(nearest_scores)
    total = scores + np.where(counted, nearest_scores, 0).sum(axis=1)
    mean: Float32s = (total / (1 + counted.sum(axis=1))).astype(np.float32)
    below: Float32s = mean - mean.max()
    return below


def use_prior(catalog: CatalogReader) -> npt.NDArray[np.float32] | None:
    """What is added to the score of each table for its use; None where nothing is known of it.

    Tables that stand in past queries gain by how often they do, those that people look at (an
    exposure of dbt reads them) a little; tables that only feed others and deprecated ones lose.
    """
    if not catalog.usage.tables and not catalog.dbt.tables:
        return None
    prior = np.zeros(len(catalog), dtype=np.float32)
    for number, table in enumerate(catalog.ids):
        about = catalog.dbt.tables.get(table)
        if about is not None:
            prior[number] += _LOOKED_AT * bool(about.exposures) + _FEEDS * about.only_feeds
            prior[number] += _DEPRECATED * about.deprecated
        prior[number] += _QUERIED * catalog.usage.share(table)
    return prior


def in_turn(rankings: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The candidates of rankings in turn, each once, with the highest relevance that it has.

    Where a question needs several tables, each ranking is for another of them. Turns keep the best
    of each near the top; sums of scores put tables first that are a little of everything.

    >>> from dovetail.domain import TableId
    >>> one, two, three = (Candidate(TableId("s", name), 0.5, {}) for name in "abc")
    >>> [candidate.name for candidate in in_turn([[one, two], [three, one]])]
    ['a', 'c', 'b']
    """
    best: dict[object, Candidate] = {}
    for turn in zip_longest(*rankings):
        for candidate in turn:
            if candidate is None:
                continue
            first = best.setdefault(candidate.id, candidate)
            if first.relevance < candidate.relevance:
                best[candidate.id] = replace(first, relevance=candidate.relevance)
    return list(best.values())
