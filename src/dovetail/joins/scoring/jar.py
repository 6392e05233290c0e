"""Scoring `jar`: JAR's as published. Every pair of columns of one type counts, valid or not:

    (jaccard + name) / 2 * the larger share of distinct values

Nulls are taken for a value. This is the formula of the publication. JAR's released code multiplies
by the uniqueness too, but divides the values in common by those of the second column, not of both,
and its headers name the database.
"""

from __future__ import annotations

import numpy as np

from dovetail.arrays import Floats, Ints, firsts
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.counting import count_shared
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.naming.header_tokens import HeaderTokens
from dovetail.joins.scoring.scored_pairs import (
    ScoredPairs,
    header_evidence,
    no_pairs,
)

# Pairs of tables up to which each has its place in an array.
_DENSE = 1 << 26


def jar(
    arrays: ColumnArrays,
    similarity: HeaderSimilarity | None = None,
    before: CountedPairs | None = None,
) -> ScoredPairs:
    """The best pair of columns of every two tables with rows."""
    del before
    tokens = HeaderTokens(arrays)
    null = (arrays.rows[arrays.table] > arrays.filled).astype(np.int64)
    size = arrays.distinct + null
    uniqueness = size / np.maximum(arrays.rows[arrays.table], 1)
    live = arrays.rows[arrays.table] > 0
    blocks: list[tuple[Ints, Ints, Ints, Floats]] = []
    for column in np.flatnonzero(live).tolist():
        first = arrays.table < arrays.table[column]
        alike = arrays.number == arrays.number[column]  # numbers with numbers, text with text
        others = np.flatnonzero(live & ~first & alike & (arrays.table != arrays.table[column]))
        if not len(others):
            continue
        mine = np.full(len(others), column)
        held, _ = count_shared(arrays.values, mine, arrays.values, others)
        both = held + (null[column] & null[others])
        jaccard = both / np.maximum(size[column] + size[others] - both, 1)
        name = tokens.overlap(mine, others)
        if similarity is not None:
            name = (name + similarity(mine, others)) / 2
        score = (jaccard + name) / 2 * np.maximum(uniqueness[column], uniqueness[others])
        best = _best(arrays, mine, others, score)
        left, right = np.minimum(mine, others)[best], np.maximum(mine, others)[best]
        blocks.append((left, right, held[best], score[best]))
    if not blocks:
        return no_pairs()
    left, right, held, score = (np.concatenate(part) for part in zip(*blocks, strict=True))
    best = _best(arrays, left, right, score)
    found = Candidates(left[best], right[best], held[best], np.zeros(len(best), dtype=np.int64))
    return ScoredPairs(found, score[best], score[best], header_evidence(found, similarity))


def _best(arrays: ColumnArrays, left: Ints, right: Ints, score: Floats) -> Ints:
    """The places of the best pair of columns for each pair of tables; ties to the first columns."""
    one, other = arrays.table[left], arrays.table[right]
    pair = np.minimum(one, other) * len(arrays.ids) + np.maximum(one, other)
    if len(arrays.ids) ** 2 <= _DENSE:
        top = np.full(len(arrays.ids) ** 2, -np.inf)
        np.maximum.at(top, pair, score)
        tied = np.flatnonzero(score == top[pair])
    else:
        tied = np.arange(len(pair))
    low, high = np.minimum(left[tied], right[tied]), np.maximum(left[tied], right[tied])
    order = tied[np.lexsort((high, low, -score[tied], pair[tied]))]
    found: Ints = order[firsts(pair[order])]
    return found
