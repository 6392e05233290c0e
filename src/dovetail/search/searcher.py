"""Search over one catalog: from a question to a ranked list of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s, Ints, Vectors
from dovetail.arrays import spans as ranges
from dovetail.catalog.purposes import purposes
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, JoinEdge, Table, TableId
from dovetail.errors import ModelError
from dovetail.families.family import Families
from dovetail.families.stored import read_families
from dovetail.joins.edges import stored_edges
from dovetail.joins.graph import JoinGraph
from dovetail.notes.apply import marked_families, noted_graph, noted_scores
from dovetail.notes.notes import NO_NOTES, Notes, read_notes
from dovetail.ports import Embedder
from dovetail.search.dense import Dense
from dovetail.search.fusion import (
    Coverage,
    Weights,
    alike,
    by_itself,
    fuse,
    pooled,
    relevance,
    use_prior,
    weights_for,
    within_reach,
)
from dovetail.search.index import chosen_embedder, open_index, refuse_other_models
from dovetail.search.lexical import Lexical
from dovetail.search.logical import LogicalJoinGraph, LogicalTables
from dovetail.search.method_cache import method_cache
from dovetail.search.noted_terms import NotedTerms
from dovetail.search.query import Query, spans
from dovetail.search.reasons import reasons
from dovetail.search.value_linking import ValueLinker
from dovetail.search.word_forms import QuestionWords
from dovetail.settings import Settings

NO_EMBEDDER = "this needs an embedder; index with one (the setting embedder)"
# Tables that each cheap ranking puts forward to be scored by every signal.
_POOL = 50
# Tables whose median cosine tells how near a question is to any table.
_SAMPLED = 512
# Questions whose vectors are kept: an evaluation asks the same ones of every retriever.
_VECTORS_KEPT = 4096
# Questions whose analysis is kept: two retrievers may answer the same one in turn.
_QUERIES_KEPT = 16


class Searcher:
    """Ranks the tables of a catalog by what a question says of them.

    `joins` is the join graph of the same catalog. Without an embedder search goes by words, values
    and joins alone. With `families` it ranks logical tables: of every family one member is found.
    """

    def __init__(
        self,
        catalog: CatalogReader,
        embedder: Embedder | None = None,
        *,
        families: Families | None = None,
    ) -> None:
        self.catalog = catalog
        self.embedder = embedder
        self.families = families or Families()
        self.notes = NO_NOTES
        self._whole = open_index(catalog, embedder)
        self._bounds = np.asarray(catalog.records.bounds)
        self._use = use_prior(catalog)
        self.weights = weights_for(catalog)
        self._embed = lru_cache(maxsize=_VECTORS_KEPT)(partial(_embedded, self.embedder))
        self._question_words = QuestionWords(self._whole.lexical.words)
        self._view(None)

    @cached_property
    def purposes(self) -> dict[TableId, str]:
        """What the tables are for, as far as a language model has written it."""
        return {table: each.text for table, each in purposes(self.catalog).items() if each.text}

    def among(self, tables: Iterable[TableId]) -> Searcher:
        """The same search over some of the tables alone: no other is found, and no join to one."""
        allowed = np.zeros(len(self.catalog), dtype=np.bool_)
        allowed[[self.places[table] for table in tables]] = True
        narrow = self._copied()
        narrow._view(allowed if self._covered is None else allowed & self._covered)  # noqa: SLF001
        return narrow

    def noted(self, notes: Notes) -> Searcher:
        """The same search with the notes of a person, which take no index to be made again."""
        if not notes:
            return self
        changed = self._copied()
        changed._take(notes)  # noqa: SLF001 - of the same class
        return changed

    def _copied(self) -> Searcher:
        """A searcher like this one, without what was worked out for its own view."""
        other = copy(self)
        for name in ("joins", "member_joins", "tables", "_linker"):
            vars(other).pop(name, None)
        return other

    def _take(self, notes: Notes) -> None:
        """Lay notes over the index: joins that are pinned or banned, families, ignored tables."""
        self.notes = notes
        self.families = marked_families(self.families, notes)
        if notes.pins or notes.bans:
            edges = stored_edges(self.catalog)
            scores = {
                (self.places[one], self.places[two]): score
                for (one, two), score in noted_scores(edges, notes).items()
            }
            self._whole = replace(self._whole, joined=self._whole.joined.edited(scores))
        allowed = self._covered
        if notes.ignored:
            every = np.ones(len(self.catalog), np.bool_) if allowed is None else allowed.copy()
            every[[self.places[table] for table in notes.ignored]] = False
            allowed = every
        self._view(allowed)

    def _view(self, allowed: npt.NDArray[np.bool_] | None) -> None:
        """Search among some of the tables, or all: of their families one member each."""
        logical = LogicalTables.of(self.families, self.catalog.ids, allowed)
        self._covered, index = allowed, self._whole
        if logical is not None:
            index = replace(
                index,
                lexical=logical.lexical(index.lexical),
                joined=logical.neighbours(index.joined),
            )
            allowed = logical.alone if allowed is None else logical.alone & allowed
        self._index, self._logical = index, logical
        stands = None if logical is None else logical.stands
        self._noted_terms = NotedTerms(self.notes, self.places, stands)
        # Which tables may be found; None where all may.
        self._allowed = allowed
        self._analyse = method_cache(self._analysed, _QUERIES_KEPT)

    def _is_allowed(self, table: TableId) -> bool:
        return self._allowed is None or bool(self._allowed[self.places[table]])

    @cached_property
    def tables(self) -> list[Table]:
        """The tables that are searched, in the catalog's order."""
        return [table for table in self.catalog if self._is_allowed(table.id)]

    @cached_property
    def joins(self) -> JoinGraph:
        """The joins of the tables that may be found; those of a family's members lead to it."""
        return self._of_logical(self.member_joins)

    @cached_property
    def member_joins(self) -> JoinGraph:
        """The joins of all tables that are covered, each member of a family for itself."""
        graph = noted_graph(self.catalog, self.notes)
        return self._narrowed(graph)

    def graph_of(self, edges: Sequence[JoinEdge]) -> JoinGraph:
        """The join graph by other edges than the catalog's, of the tables that may be found."""
        return self._of_logical(self._narrowed(JoinGraph(self.catalog.ids, edges)))

    def _narrowed(self, graph: JoinGraph) -> JoinGraph:
        return (
            graph if self._covered is None else graph.among(filter(self.covers, self.catalog.ids))
        )

    def _of_logical(self, graph: JoinGraph) -> JoinGraph:
        if self._logical is None:
            return graph
        ids = self.catalog.ids
        copies = np.flatnonzero(self._logical.copies).tolist()
        stands = {ids[place]: ids[self._logical.stands[place]] for place in copies}
        return LogicalJoinGraph(self.catalog, graph, stands)

    @property
    def ranks_families(self) -> bool:
        """Whether some tables found stand for other members of their families."""
        return self._logical is not None

    def covers(self, table: TableId) -> bool:
        """Whether a table is among those searched, be it by another member of its family."""
        return self._covered is None or bool(self._covered[self.places[table]])

    def analyse(self, question: Query | str) -> Query:
        """The question as a query: terms, value links and vector; a query stays as it is."""
        return question if isinstance(question, Query) else self._analyse(question)

    def _analysed(self, question: str) -> Query:
        spoken = self._question_words.read(question, self._index.lexical)
        words, terms = self._noted_terms.apply(question, spoken.words, spoken.look_up)
        meant = self._noted_terms.expanded(question)
        folded = " ".join(question.split()).casefold()
        return Query(
            text=question,
            folded=folded,
            words=words,
            terms=terms,
            links=self._linker.link(tuple(spans(question, spoken.stop_words))),
            vector=self.vector(meant) if self.embedder is not None and folded else None,
        )

    def vector(self, question: str) -> Vectors:
        """The vector of a text alone, without the rest of the analysis."""
        return self._embed(question)

    def vectors(self, questions: Sequence[str]) -> Vectors:
        """The vectors of several questions, one per row."""
        return _needed(self.embedder).embed_queries(questions)

    def dense(self, question: Query | str, k: int) -> list[Candidate]:
        """The `k` nearest tables by vector alone, the paper's DR; none for no question."""
        text = question.text if isinstance(question, Query) else question
        vector = self.vector(text)
        if self._index.dense is None or not text.strip():
            return []
        places, cosines = self._nearest(self._index.dense, vector, k)
        return [
            Candidate(self.catalog.ids[place], max(0.0, cosine), {"dense": cosine})
            for place, cosine in zip(places.tolist(), cosines.tolist(), strict=True)
        ]

    def search(self, question: Query | str, k: int) -> list[Candidate]:
        """The `k` tables that all signals together put first, ties by id; none for no question."""
        query = self.analyse(question)
        return [] if query.blank else self.rank(query, self.weights, k)

    def rank(self, query: Query, weights: Weights, k: int) -> list[Candidate]:
        """The `k` tables that come first by some weights of the signals."""
        tables, signals = self._signals(query, weights, k)
        scores = fuse(signals)
        best = np.lexsort((tables, -scores))[:k]
        top = float(scores[best[0]]) if len(best) else 0.0
        return [
            Candidate(
                self.catalog.ids[int(tables[place])],
                relevance(float(scores[place]), top),
                {name: float(signal[place]) for name, signal in signals.items()},
            )
            for place in best.tolist()
        ]

    def _signals(self, query: Query, weights: Weights, k: int) -> tuple[Ints, dict[str, Float32s]]:
        """The tables that may be among the best `k`, and the signals of their scores."""
        cover = Coverage(query.terms, query.value_terms, len(self.catalog))
        leaders = cover.leaders(_POOL, self._allowed)
        if self._index.dense is not None and query.vector is not None:
            leaders.append(self._nearest(self._index.dense, query.vector, _POOL)[0])
        tables = pooled(leaders, self._index.joined)
        if self._allowed is not None:
            tables = tables[self._allowed[tables]]
        covered = cover.of(tables, self._index.joined, one_partner=weights.one_partner)
        signals = {
            "lexical": weights.cover * covered.words,
            "value": weights.cover * covered.values,
            "dense": weights.dense * self._table_cosines(query, tables),
            "name": weights.name * covered.names,
            "neighbour": weights.gain * covered.gain,
        }
        if self._use is not None:
            signals["use"] = self._use[tables]
        # Who is alike must not depend on how many tables are wanted.
        reach = max(k, _POOL) if weights.alike else k
        near = within_reach(signals, reach, weights.column + weights.alike)
        signals = {name: signal[near] for name, signal in signals.items()}
        tables = tables[near]
        signals["column"] = weights.column * self._column_cosines(query, tables)
        if weights.alike and self._index.dense is not None:
            vectors = self._index.dense.vectors(tables)
            signals["alike"] = weights.alike * alike(vectors, by_itself(signals))
        return tables, signals

    def _nearest(self, dense: Dense, vector: Vectors, count: int) -> tuple[Ints, Float32s]:
        """The nearest of the tables that may be found, and their cosines; ties by place."""
        return dense.nearest(vector, count, self._allowed)

    def _table_cosines(self, query: Query, tables: Ints) -> Float32s:
        """The cosine of the query and each table's schema line."""
        if self._index.dense is None or query.vector is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        cosines: Float32s = self._index.dense.vectors(tables) @ query.vector
        return cosines

    def usual_cosine(self, query: Query) -> float:
        """The median cosine of a query and the schema lines of all tables, or of some of many."""
        allowed = np.ones(len(self.catalog), np.bool_) if self._allowed is None else self._allowed
        places = np.flatnonzero(allowed)
        cosines = self._table_cosines(query, places[:: 1 + len(places) // _SAMPLED])
        ordered, middle = np.sort(cosines), len(cosines) // 2
        # As np.median, which loads NumPy's masked arrays.
        return float(ordered[[middle, ~middle]].mean()) if len(cosines) else 0.0

    def _column_cosines(self, query: Query, tables: Ints) -> Float32s:
        """The cosine of the query and each table's best header, at least 0."""
        if self._index.headers is None or query.vector is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        starts, ends = self._bounds[tables], self._bounds[tables + 1]
        headers = self._index.headers.cosines(ranges(starts, ends), query.vector)
        cosines = np.append(headers, np.float32(0))
        best = np.maximum.reduceat(cosines, np.cumsum(ends - starts) - (ends - starts))
        found: Float32s = np.where(ends > starts, np.maximum(best, 0), np.float32(0))
        return found

    @property
    def lexical(self) -> Lexical:
        return self._index.lexical

    @cached_property
    def _linker(self) -> ValueLinker:
        return ValueLinker(self.catalog, self._index.values, self._logical)

    def reasons(self, question: Query | str, tables: Sequence[TableId]) -> list[list[str]]:
        """In words, what each of some tables has to do with a question."""
        places = [self.places[one] for one in tables]
        return reasons(self.catalog, self.analyse(question), places, self.notes)

    def partners(self) -> Iterator[tuple[TableId, TableId, float]]:
        """All pairs of tables that join or are linked by name, each once, with their score."""
        ids, joined = self.catalog.ids, self._index.joined
        ones = np.repeat(np.arange(len(ids)), np.diff(joined.starts))
        once = ones < joined.other
        if self._allowed is not None:
            once &= self._allowed[ones] & self._allowed[joined.other]
        pairs = (ones[once].tolist(), joined.other[once].tolist(), joined.score[once].tolist())
        for one, other, score in zip(*pairs, strict=True):
            yield ids[one], ids[other], score

    def joined(self, tables: Sequence[TableId]) -> Float32s:
        """The score of the join between each two of some tables, as a matrix with 1 inside."""
        return self._index.joined.among(np.array([self.places[one] for one in tables], np.int64))

    def joined_by_path(self, tables: Sequence[TableId]) -> Float32s:
        """How surely a path of up to four joins connects each two of some tables, as a matrix."""
        return self._index.joined.paths(np.array([self.places[one] for one in tables], np.int64))

    def column_vectors(self, table: TableId) -> Vectors:
        """One vector per column of a table, in the table's order."""
        if self._index.headers is None:
            raise ModelError(NO_EMBEDDER)
        place = self.places[table]
        return self._index.headers.of(slice(self._bounds[place], self._bounds[place + 1]))

    def linked_columns(self, query: Query, table: TableId, *, most: int) -> list[int]:
        """The places of a table's columns that hold a value of the query.

        Values that more than `most` columns of the catalog hold say little, and are passed over.
        """
        place = self.places[table]
        start, end = int(self._bounds[place]), int(self._bounds[place + 1])
        held = {
            column - start
            for link in query.links
            if len(link.columns) <= most
            for column in link.columns.tolist()
            if start <= column < end
        }
        return sorted(held)

    def nearest_columns(self, vector: Vectors, count: int) -> list[tuple[TableId, str, float]]:
        """The columns whose headers are nearest to a vector."""
        places, cosines = self._columns.nearest(vector, count)
        tables = np.searchsorted(self._bounds, places, side="right") - 1
        names = self.catalog.records.columns["name"]
        return [
            (self.catalog.ids[table], names[place].as_py(), cosine)
            for table, place, cosine in zip(
                tables.tolist(), places.tolist(), cosines.tolist(), strict=True
            )
        ]

    @cached_property
    def places(self) -> Mapping[TableId, int]:
        """The number of every table in the catalog's order."""
        ids = self.catalog.ids
        return {table: place for place, table in enumerate(ids)}

    @cached_property
    def _columns(self) -> Dense:
        if self._index.headers is None:
            raise ModelError(NO_EMBEDDER)
        return Dense(self._index.headers.of(slice(None)))


def open_searcher(
    catalog: CatalogReader, settings: Settings, notes: Notes | None = None
) -> Searcher:
    """Search over a catalog, by the embedder that the settings name.

    Without `notes`, those of the catalog's file are read.
    """
    embedder, note = chosen_embedder(settings)
    try:
        if note:
            refuse_other_models(catalog, embedder)
        families = read_families(catalog) if settings.families else None
        searcher = Searcher(catalog, embedder, families=families)
        return searcher.noted(read_notes(catalog) if notes is None else notes)
    except ModelError as error:
        # Indexed with the usual embedder, whose weights are missing here: that is what to mend.
        raise ModelError(f"{error}; {note}") if note else error from None


def _embedded(embedder: Embedder | None, question: str) -> Vectors:
    vector: Vectors = _needed(embedder).embed_queries([question])[0]
    return vector


def _needed(embedder: Embedder | None) -> Embedder:
    """The embedder, where nothing goes without one."""
    if embedder is None:
        raise ModelError(NO_EMBEDDER)
    return embedder
