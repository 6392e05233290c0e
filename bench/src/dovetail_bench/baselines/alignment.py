"""ARM's information alignment: a question's keywords put into the words the corpus uses.

Keywords are aligned to n-grams of the corpus (names of tables and columns, values of the samples)
by BM25 over words and by the cosine of headers; the aligned n-grams then find tables, by BM25 and
by vector, and reciprocal ranks of the two are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dovetail.domain import Candidate, Table
from dovetail.search.searcher import Searcher
from dovetail_bench.baselines.ranking import Ranking
from dovetail_bench.headers import header_text, headers_of, spelled

_LONGEST = 3  # words of an n-gram
_RANKS = 60  # how little a place further down costs when ranks are added


class Bm25:
    """A BM25 index over texts that are lists of words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        import bm25s

        self._count = len(texts)
        self._words = {word for text in texts for word in text}
        self._index = bm25s.BM25()
        if self._words:
            self._index.index([list(text) for text in texts], show_progress=False)

    def scores(self, words: Iterable[str]) -> npt.NDArray[np.float64]:
        """Return a score per text; zero where no word is in it."""
        known = [word for word in words if word in self._words]
        if not known:
            return np.zeros(self._count)
        return np.asarray(self._index.get_scores(known), dtype=np.float64)

    def best(self, words: Iterable[str], count: int) -> list[int]:
        """Return the places of the best texts that hold any of the words, ties by place."""
        scores = self.scores(words)
        order = np.argsort(-scores, kind="stable")[:count]
        return [int(place) for place in order if scores[place] > 0]


class Alignment:
    """Maps keywords to n-grams of a corpus, and n-grams to its tables."""

    def __init__(
        self, searcher: Searcher, ranking: Ranking = Searcher.dense, *, nearest: int = 2
    ) -> None:
        self._searcher = searcher
        self._ranking = ranking
        self._nearest = nearest

    def aligned(self, keyword: str) -> list[str]:
        """The n-grams nearest to a keyword: by its words, then by its meaning."""
        said = [
            self._ngrams[place] for place in self._by_words.best(_words(keyword), self._nearest)
        ]
        vector = self._searcher.vector(keyword)
        meant = [
            header_text(table.name, column)
            for table, column, _ in headers_of(self._searcher).nearest(vector, self._nearest)
        ]
        return list(dict.fromkeys([*said, *meant]))

    def candidates(self, question: str, ngrams: Sequence[str], count: int) -> list[Candidate]:
        """Rank the tables by question and n-grams; the relevance of the first is 1."""
        tables = self._searcher.tables
        points: dict[int, float] = {}
        words = [word for text in (question, *ngrams) for word in _words(text)]
        places = {table.id: place for place, table in enumerate(tables)}
        rankings = [self._documents.best(words, count)]
        for text in dict.fromkeys((question, " ".join(ngrams))):
            found = self._ranking(self._searcher, text, count)
            rankings.append([places[candidate.id] for candidate in found])
        for ranking in rankings:
            for rank, place in enumerate(ranking, start=1):
                points[place] = points.get(place, 0.0) + 1 / (_RANKS + rank)
        order = sorted(points, key=lambda place: (-points[place], place))[:count]
        return [
            Candidate(tables[place].id, points[place] / points[order[0]], {"ranks": points[place]})
            for place in order
        ]

    @cached_property
    def _ngrams(self) -> list[str]:
        found = {ngram for table in self._searcher.tables for ngram in _ngrams_of(table)}
        return sorted(found)

    @cached_property
    def _by_words(self) -> Bm25:
        return Bm25([ngram.split() for ngram in self._ngrams])

    @cached_property
    def _documents(self) -> Bm25:
        return Bm25([list(_document(table)) for table in self._searcher.tables])


def _words(text: str) -> list[str]:
    return spelled(text).split()


def _document(table: Table) -> Iterator[str]:
    """All the words of a table: its names and its sample."""
    for text in (table.name, *(column.name for column in table.columns)):
        yield from _words(text)
    for row in table.sample:
        for cell in row:
            yield from _words(cell or "")


def _ngrams_of(table: Table) -> Iterator[str]:
    """Runs of up to three words of a table's names, and sampled values that are no longer."""
    for name in (table.name, *(column.name for column in table.columns)):
        words = _words(name)
        for start in range(len(words)):
            for stop in range(start + 1, min(start + _LONGEST, len(words)) + 1):
                yield " ".join(words[start:stop])
    for row in table.sample:
        for cell in row:
            words = _words(cell or "")
            if 0 < len(words) <= _LONGEST and not all(word.isdecimal() for word in words):
                yield " ".join(words)
