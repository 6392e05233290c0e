"""The join scorings of two papers, over all columns of a catalog; above 0.5 is "joinable".

`paper` is CORE-T's table compatibility (appendix on compatibility, equations 1-4): a pair of
columns is valid if one is unique and one value set is contained in the other; it scores half the
Jaccard similarity of the values, half the similarity of the headers.

`jar` is JAR's as the paper states it (appendix C): headers and values alone, (jaccard + name) / 2,
of every pair of columns of one type, valid or not, with nulls taken for a value. JAR's released
code multiplies by uniqueness besides, divides the values in common by those of the second column,
and its headers name the database.

In both, two tables are as compatible as their best pair of columns, and the similarity of headers
is the share of words in common or, with an embedder, its mean with their cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Encoded, Floats, Ints, Vectors, firsts, spans
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.errors import UsageError
from dovetail.joins.columns import DEFAULT_THRESHOLDS, ColumnArrays, Thresholds
from dovetail.joins.edges import cardinality, in_order
from dovetail.joins.evidence import join_evidence
from dovetail.joins.graph import JoinGraph
from dovetail.search.searcher import Searcher
from dovetail_bench.headers import header_text, words

FOREIGN_KEY = "foreign_key"
# Makes a vector of each text.
Embed = Callable[[Sequence[str]], Vectors]


def score_joins(
    catalog: CatalogReader,
    scoring: str = FOREIGN_KEY,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    embed: Embed | None = None,
) -> list[JoinEdge]:
    """The joins of a catalog by a scoring, the surest first; `foreign_key` is dovetail's own."""
    if scoring == FOREIGN_KEY:
        return join_evidence(catalog, thresholds)[0]
    if scoring not in _SCORINGS:
        there = ", ".join((FOREIGN_KEY, *_SCORINGS))
        raise UsageError(f"scoring {scoring!r} is not known; there are: {there}")
    columns = Columns(ColumnArrays.of(catalog, thresholds), embed)
    return in_order(list(columns.edges(_SCORINGS[scoring](columns))))


def joins_by(searcher: Searcher, scoring: str) -> JoinGraph:
    """The join graph of a searcher's tables by a scoring; its embedder compares headers."""
    catalog, embedder = searcher.catalog, searcher.embedder
    key = (
        str(catalog.folder),
        catalog.records.contents,
        scoring,
        embedder.model_id if embedder else "",
    )
    if key not in _SCORED:
        embed = embedder.embed_documents if embedder else None
        _SCORED[key] = score_joins(catalog, scoring, embed=embed)
    return searcher.graph_of(_SCORED[key])


# What was scored in this process: a run opens a retriever for each of its `k`.
_SCORED: dict[tuple[str, ...], list[JoinEdge]] = {}


# Pairs of columns of two tables each: the one, the other, how many values both have, their score.
Pairs = tuple[Ints, Ints, Ints, Floats]


class Columns:
    """The columns of a catalog, with what two of them have in common."""

    def __init__(self, arrays: ColumnArrays, embed: Embed | None = None) -> None:
        self.arrays = arrays
        self._embed = embed
        names = [words(table.name) for table in arrays.ids]
        headers = [
            sorted(names[table] | words(name))
            for table, name in zip(arrays.table.tolist(), arrays.name, strict=True)
        ]
        codes = {word: code for code, word in enumerate({w for each in headers for w in each})}
        coded = [np.array([codes[word] for word in header], dtype=np.int64) for header in headers]
        self._headers = coded
        self._words = SharedCounts(coded)
        self._hashes = [arrays.values[column] for column in range(len(arrays))]
        self._values = SharedCounts(self._hashes)

    def shared(self, column: int) -> Ints:
        """How many distinct values of a column each column has."""
        return self._values.counts(self._hashes[column])

    def name(self, column: int, others: Ints) -> Floats:
        """How alike the headers of a column and of others are, from 0 to 1."""
        both = self._words.counts(self._headers[column])[others]
        shorter = np.minimum(len(self._headers[column]), self._words.sizes[others])
        overlap: Floats = both / np.maximum(shorter, 1)
        if self.cosine is None:
            return overlap
        return (overlap + self.cosine(np.full(len(others), column), others)) / 2

    @cached_property
    def cosine(self) -> Callable[[Ints, Ints], Floats] | None:
        """The cosine of the headers of two columns, no less than 0; None without an embedder."""
        if self._embed is None or not len(self.arrays):
            return None
        tables = [self.arrays.ids[table].name for table in self.arrays.table.tolist()]
        names = zip(tables, self.arrays.name, strict=True)
        texts = Encoded.of([header_text(table, name) for table, name in names])
        vectors = self._embed(texts.dictionary)

        def cosine(left: Ints, right: Ints) -> Floats:
            one, other = vectors[texts.codes[left]], vectors[texts.codes[right]]
            found: Floats = np.einsum("ij,ij->i", one, other).astype(np.float64)
            return np.clip(found, 0.0, 1.0)

        return cosine

    def best(self, pairs: Iterator[Pairs]) -> Pairs:
        """The best pair of columns of every two tables; ties go to the first columns."""
        none = np.empty(0, dtype=np.int64)
        blocks = [(none, none, none, np.empty(0)), *map(self._best, pairs)]
        left, right, shared, score = (np.concatenate(part) for part in zip(*blocks, strict=True))
        return self._best((left, right, shared, score))

    def _best(self, pairs: Pairs) -> Pairs:
        left, right, shared, score = pairs
        low, high = np.minimum(left, right), np.maximum(left, right)
        tables = self.arrays.table[low] * len(self.arrays.ids) + self.arrays.table[high]
        order = np.lexsort((high, low, -score, tables))
        chosen = order[firsts(tables[order])]
        return low[chosen], high[chosen], shared[chosen], score[chosen]

    def edges(self, pairs: Pairs) -> Iterator[JoinEdge]:
        """An edge for each pair, from the column with fewer values to the other."""
        arrays = self.arrays
        distinct, unique = arrays.distinct, arrays.unique
        low, high, shared, score = pairs
        turned = distinct[low] > distinct[high]
        turned |= (distinct[low] == distinct[high]) & unique[low] & ~unique[high]
        child, parent = np.where(turned, high, low), np.where(turned, low, high)
        evidence = {
            "jaccard": shared / np.maximum(distinct[low] + distinct[high] - shared, 1),
            **self._compared(child, parent),
        }
        match_rate = shared / np.maximum(distinct[child], 1)
        for number, (left, right) in enumerate(zip(child.tolist(), parent.tolist(), strict=True)):
            yield JoinEdge(
                left=self._table(left),
                right=self._table(right),
                columns=((arrays.name[left], arrays.name[right]),),
                score=round(float(score[number]), 6),
                cardinality=cardinality(bool(unique[left]), bool(unique[right])),
                match_rate=round(float(match_rate[number]), 6),
                evidence={name: round(float(all_[number]), 6) for name, all_ in evidence.items()},
            )

    def _compared(self, left: Ints, right: Ints) -> dict[str, Floats]:
        """The cosine of the headers; or that names were compared by their words alone."""
        if self.cosine is None:
            return {"lexical_only": np.ones(len(left))}
        return {"semantic": self.cosine(left, right)}

    def _table(self, column: int) -> TableId:
        return self.arrays.ids[int(self.arrays.table[column])]


class SharedCounts:
    """How many elements each of many sets has in common with another, by an inverted index."""

    def __init__(self, sets: Sequence[npt.NDArray[Any]]) -> None:
        self.sizes: Ints = np.array([len(each) for each in sets], dtype=np.int64)
        every = np.concatenate(sets) if len(sets) else np.empty(0, np.int64)
        order = np.argsort(every, kind="stable")
        self._owners = np.repeat(np.arange(len(sets)), self.sizes)[order]
        self._elements, starts = np.unique(every[order], return_index=True)
        self._starts = np.append(starts, len(every))

    def counts(self, elements: npt.NDArray[Any]) -> Ints:
        """For each set, how many of these elements it has; they are of one of the sets."""
        at = np.searchsorted(self._elements, elements)
        owners = self._owners[spans(self._starts[at], self._starts[at + 1])]
        return np.bincount(owners, minlength=len(self.sizes))


def _paper(columns: Columns) -> Pairs:
    """The best valid pair of columns of every two tables."""
    arrays = columns.arrays

    def valid() -> Iterator[Pairs]:
        for inner in np.flatnonzero(arrays.distinct > 0).tolist():
            contains = columns.shared(inner) == arrays.distinct[inner]
            contains &= arrays.table != arrays.table[inner]
            outer = np.flatnonzero(contains & (arrays.unique | arrays.unique[inner]))
            jaccard = arrays.distinct[inner] / arrays.distinct[outer]
            score = (jaccard + columns.name(inner, outer)) / 2
            yield (
                np.full(len(outer), inner),
                outer,
                np.full(len(outer), arrays.distinct[inner]),
                score,
            )

    return columns.best(valid())


def _jar(columns: Columns) -> Pairs:
    """The best pair of columns of one type of every two tables with rows."""
    arrays = columns.arrays
    rows = arrays.rows[arrays.table]
    null = (rows > arrays.filled).astype(np.int64)
    size = arrays.distinct + null

    def every() -> Iterator[Pairs]:
        for column in np.flatnonzero(rows > 0).tolist():
            alike = arrays.number == arrays.number[column]  # numbers with numbers, text with text
            alike &= arrays.table > arrays.table[column]
            others = np.flatnonzero(alike & (rows > 0))
            shared = columns.shared(column)[others]
            both = shared + (null[column] & null[others])
            jaccard = both / np.maximum(size[column] + size[others] - both, 1)
            score = (jaccard + columns.name(column, others)) / 2
            yield np.full(len(others), column), others, shared, score

    return columns.best(every())


_SCORINGS = {"paper": _paper, "jar": _jar}
