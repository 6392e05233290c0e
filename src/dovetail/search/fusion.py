"""One score per table from all that search knows of it; docs/search.md has what each is worth.

A question is cut into mentions: its words, and the literals in it that are cells somewhere. A table
covers a mention by its name, a column's name or a cell; what its joined neighbours cover beyond it
counts too, mention by mention, so that a table is lifted by what it brings together. The cosines of
the embedder are on the same scale, and are added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.search.lexical import QueryTerm
from dovetail.search.neighbours import Neighbours

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int32]
Parts = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Weights:
    """What a part counts; the same for every corpus."""

    cover: float = 1.5  # of the question by the table itself: words and values
    gain: float = 1.0  # by its neighbours beyond it: less than to cover it oneself
    dense: float = 0.5  # cosine of question and schema line
    column: float = 0.5  # cosine of question and best header: short texts beside long lines
    name: float = 0.2  # share of its own name that is said: tells look-alikes apart


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a question mentions: words and literals."""

    words: Sequence[QueryTerm]
    literals: Sequence[QueryTerm]


class Cover:
    """How well each table of a catalog covers the mentions of a question."""

    def __init__(self, mentions: Mentions, count: int) -> None:
        # Evidence adds up with the length of a question, but not in proportion to it.
        mass = math.sqrt(max(sum(word.weight for word in mentions.words), 1e-6))
        self._mentions = [
            (mention.weight / mass, mention) for mention in (*mentions.words, *mentions.literals)
        ]
        words = len(mentions.words)
        self.words = _summed([(w, m.tables, m.match) for w, m in self._mentions[:words]], count)
        self.values = _summed([(w, m.tables, m.match) for w, m in self._mentions[words:]], count)
        self.names = _summed([(1.0, m.tables, m.name_share) for m in mentions.words], count)

    def gain(self, tables: Ints, joined: Neighbours) -> Floats:
        """What the neighbours of each of some tables cover beyond it, the less sure the less."""
        total = np.zeros(len(tables), dtype=np.float32)
        if not len(tables):
            return total
        begins, others, scores = joined.around(tables)
        for weight, mention in self._mentions:
            best = np.maximum.reduceat(mention.fit(others) * scores, begins)
            total += np.float32(weight) * (best - mention.fit(tables))
        return total


def _summed(parts: Sequence[tuple[float, Places, Floats]], count: int) -> Floats:
    """For every table the sum of what the parts give it, each by its weight."""
    if not parts:
        return np.zeros(count, dtype=np.float32)
    tables = np.concatenate([tables for _, tables, _ in parts])
    values = np.concatenate([np.float32(weight) * values for weight, _, values in parts])
    return np.bincount(tables, values, minlength=count).astype(np.float32)


def leading(ranking: Floats, pool: int) -> Ints:
    """The best tables of a ranking of all tables, at most so many and none without a value."""
    found = np.flatnonzero(ranking > 0)
    if len(found) <= pool:
        return found
    return found[np.argpartition(ranking[found], -pool)[-pool:]]


def offered(leaders: Sequence[Ints], joined: Neighbours) -> Ints:
    """The tables that lead some ranking, and whatever joins them, in order."""
    chosen = np.zeros(len(joined), dtype=np.bool_)
    for tables in leaders:
        chosen[tables] = True
    chosen[joined.around(np.flatnonzero(chosen))[1]] = True
    return np.flatnonzero(chosen)


def within_reach(parts: Parts, k: int, most: float) -> Ints:
    """The tables that a part still to come, worth `most` at best, could bring among the best k.

    Two best tables count: with neighbours and without, since the latter stays first.
    """
    total: Floats = np.asarray(sum(parts.values()), dtype=np.float32)
    alone = total - parts["neighbour"]
    if len(total) <= k:
        return np.arange(len(total))
    least = np.partition(total, -k)[-k] - most
    return np.flatnonzero((total >= least) | (alone >= alone.max() - most))


def fuse(parts: Parts) -> Floats:
    """The scores; the table that is best without its neighbours stays first."""
    total: Floats = np.asarray(sum(parts.values()), dtype=np.float32)
    alone = total - parts["neighbour"]
    if len(total):
        first = int(np.argmax(alone))
        total[first] = max(total[first], np.nextafter(total.max(), np.float32(np.inf)))
    return total
