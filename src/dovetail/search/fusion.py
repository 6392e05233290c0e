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

from dovetail.search.lexical import Mention
from dovetail.search.neighbours import Neighbours

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
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

    words: Sequence[Mention]
    literals: Sequence[Mention]


class Cover:
    """How well each table of a catalog covers each mention of a question."""

    def __init__(self, mentions: Mentions, count: int) -> None:
        # Evidence adds up with the length of a question, but not in proportion to it.
        mass = math.sqrt(max(sum(word.weight for word in mentions.words), 1e-6))
        self._fits = [
            (np.float32(mention.weight / mass), _fit(mention.tables, mention.match, count))
            for mention in (*mentions.words, *mentions.literals)
        ]
        nothing = np.zeros(count, dtype=np.float32)
        words = len(mentions.words)
        self.words = sum((weight * fit for weight, fit in self._fits[:words]), nothing)
        self.values = sum((weight * fit for weight, fit in self._fits[words:]), nothing)
        self.names = sum(
            (_fit(word.tables, word.name_share, count) for word in mentions.words), nothing
        )

    def gain(self, tables: Ints, joined: Neighbours) -> Floats:
        """What the neighbours of each of some tables cover beyond it, the less sure the less."""
        total = np.zeros(len(tables), dtype=np.float32)
        if not len(tables):
            return total
        begins, others, scores = joined.around(tables)
        for weight, fit in self._fits:
            total += weight * (np.maximum.reduceat(fit[others] * scores, begins) - fit[tables])
        return total


def _fit(tables: npt.NDArray[np.int32], match: Floats, count: int) -> Floats:
    """A value for every table: the best of those given for it, or nothing."""
    fit = np.zeros(count, dtype=np.float32)
    np.maximum.at(fit, tables, match)
    return fit


def offered(rankings: Sequence[Floats], joined: Neighbours, pool: int) -> Ints:
    """The tables that lead some cheap ranking of all tables, and whatever joins them, in order."""
    found = []
    for ranking in rankings:
        size = min(pool, len(ranking))
        leading = np.argpartition(-ranking, size - 1)[:size] if size else np.empty(0, np.int64)
        found.append(leading[ranking[leading] > 0])
    tables = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    return np.unique(joined.around(tables)[1])


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
