"""Scorings: how sure is a join, from 0 to 1, above 0.5 "joinable". Chosen by name.

`keylike` is ours and the default; `paper` is CORE-T's (appendix on compatibility, equations 1-4);
`jar` is JAR's as published: every pair of columns counts, (jaccard + name) / 2 times the larger
share of distinct values, nulls taken for a value. (The released code of JAR divides by another set
and leaves the uniqueness out; this is the formula of the publication.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from dovetail.errors import UsageError
from dovetail.joins.column_arrays import Flags, Floats, Ints, Lake, firsts
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.inclusion.exact import pairs, pairs_of
from dovetail.joins.naming.header_tokens import Headers
from dovetail.joins.scoring import foreign_key
from dovetail.joins.scoring.best_pair import Best
from dovetail.joins.scoring.features import DEFAULT as CONSTANTS
from dovetail.joins.scoring.features import Semantic
from dovetail.joins.scoring.foreign_key import Kept
from dovetail.joins.value_index.postings import Postings

DEFAULT = "keylike"
# Pairs of tables up to which each has its place in an array.
_DENSE = 1 << 26


@dataclass(frozen=True, slots=True)
class Scored:
    """Scored pairs of columns, with the evidence for each by name; `rank` breaks ties.

    `kept` is what makes the next time cheaper.
    """

    candidates: Candidates
    score: Floats
    rank: Floats
    evidence: dict[str, Floats]
    kept: Kept | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """What there is from before: an index of all values, the tables that are new to the evidence,
    and what `keylike` kept.

    A pairwise scoring then scores only the pairs of tables one of which is fresh.
    """

    postings: Postings
    fresh: Flags
    kept: Kept | None = None


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score, with the version that is stored beside its results.

    `pairwise`: the score of two tables depends on no other.
    """

    name: str
    version: int
    pairwise: bool
    run: Callable[[Lake, Semantic | None, Since | None], Scored]


def scoring(name: str) -> Scoring:
    """A scoring by name."""
    for known in SCORINGS:
        if known.name == name:
            return known
    there = ", ".join(known.name for known in SCORINGS)
    raise UsageError(f"scoring {name!r} is not known; there are: {there}")


def _keylike(lake: Lake, semantic: Semantic | None, since: Since | None) -> Scored:
    known = (since.postings, since.kept) if since else (None, None)
    edges, kept = foreign_key.keylike(lake, CONSTANTS, semantic, *known)
    evidence = {f.name: getattr(edges.features, f.name) for f in fields(edges.features)}
    evidence |= {"odds": edges.odds, "rivals": edges.rivals, "blocked": edges.blocked * 1.0}
    return Scored(edges.candidates, edges.score, edges.rank, evidence, kept)


def _paper(lake: Lake, semantic: Semantic | None, since: Since | None) -> Scored:
    """Valid pairs (one set inside the other, one column unique): half jaccard, half name."""
    headers = Headers(lake)

    def measured(inner: Ints, outer: Ints) -> tuple[Floats, Floats]:
        name = headers.overlap(inner, outer)
        if semantic is not None:
            name = (name + semantic(inner, outer)) / 2
        return lake.distinct[inner] / lake.distinct[outer], name

    best = Best(lake)
    for inner, outer in pairs_of(lake, since.postings, since.fresh) if since else pairs(lake):
        jaccard, name = measured(inner, outer)
        best.add(inner, outer, (jaccard + name) / 2)
    inner, outer, score = best.found()
    if not len(score):
        return _nothing()
    jaccard, name = measured(inner, outer)
    found = Candidates(inner, outer, lake.distinct[inner], lake.filled[inner])
    evidence = {"name": name, "jaccard": jaccard, **_said(found, semantic)}
    return Scored(found, score, score, evidence)


def _jar(lake: Lake, semantic: Semantic | None, since: Since | None) -> Scored:
    headers = Headers(lake)
    postings = since.postings if since else Postings.of_lake(lake)
    fresh = since.fresh[lake.table] if since else np.ones(len(lake), dtype=np.bool_)
    null = (lake.rows[lake.table] > lake.filled).astype(np.int64)
    size = lake.distinct + null
    uniqueness = size / np.maximum(lake.rows[lake.table], 1)
    live = lake.rows[lake.table] > 0
    blocks: list[tuple[Ints, Ints, Ints, Floats]] = []
    for column in np.flatnonzero(live & fresh).tolist():
        # Of two fresh tables the first takes the pair.
        before = fresh & (lake.table < lake.table[column])
        others = np.flatnonzero(live & ~before & (lake.table != lake.table[column]))
        if not len(others):
            continue
        mine = np.full(len(others), column)
        held = postings.counts(lake.vectors[column])[others]
        both = held + (null[column] & null[others])
        jaccard = both / np.maximum(size[column] + size[others] - both, 1)
        name = headers.overlap(mine, others)
        if semantic is not None:
            name = (name + semantic(mine, others)) / 2
        score = (jaccard + name) / 2 * np.maximum(uniqueness[column], uniqueness[others])
        best = _best(lake, mine, others, score)
        left, right = np.minimum(mine, others)[best], np.maximum(mine, others)[best]
        blocks.append((left, right, held[best], score[best]))
    if not blocks:
        return _nothing()
    left, right, held, score = (np.concatenate(part) for part in zip(*blocks, strict=True))
    best = _best(lake, left, right, score)
    found = Candidates(left[best], right[best], held[best], np.zeros(len(best), dtype=np.int64))
    return Scored(found, score[best], score[best], _said(found, semantic))


def _said(found: Candidates, semantic: Semantic | None) -> dict[str, Floats]:
    """The cosine of the headers; or that names were compared by their words alone."""
    if semantic is None:
        return {"lexical_only": np.ones(len(found))}
    return {"semantic": semantic(found.child, found.parent)}


def _best(lake: Lake, left: Ints, right: Ints, score: Floats) -> Ints:
    """The places of the best pair of columns for each pair of tables; ties to the first columns."""
    one, other = lake.table[left], lake.table[right]
    pair = np.minimum(one, other) * len(lake.ids) + np.maximum(one, other)
    if len(lake.ids) ** 2 <= _DENSE:
        top = np.full(len(lake.ids) ** 2, -np.inf)
        np.maximum.at(top, pair, score)
        tied = np.flatnonzero(score == top[pair])
    else:
        tied = np.arange(len(pair))
    low, high = np.minimum(left[tied], right[tied]), np.maximum(left[tied], right[tied])
    order = tied[np.lexsort((high, low, -score[tied], pair[tied]))]
    found: Ints = order[firsts(pair[order])]
    return found


def _nothing() -> Scored:
    none = np.empty(0, dtype=np.int64)
    empty = np.empty(0, dtype=np.float64)
    return Scored(Candidates(none, none, none, none), empty, empty, {})


SCORINGS = (
    Scoring(foreign_key.NAME, foreign_key.VERSION, pairwise=False, run=_keylike),
    Scoring("paper", 1, pairwise=True, run=_paper),
    Scoring("jar", 1, pairwise=True, run=_jar),
)
