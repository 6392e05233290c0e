"""Search over one catalog: from a question to a ranked list of its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from dovetail.arrays import Flags, Float32s, Ints, Vectors
from dovetail.arrays import spans as ranges
from dovetail.catalog.descriptions import descriptions
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Description, JoinEdge, Table, TableId
from dovetail.errors import EmbedderError, ModelError
from dovetail.families.family import Families, read_families
from dovetail.joins.edges import stored_edges
from dovetail.joins.graph import JoinGraph
from dovetail.notes.apply import marked_families, noted_graph, noted_scores, noted_table
from dovetail.notes.notes import NO_NOTES, Definition, Notes, read_notes
from dovetail.search.fusion import (
    Coverage,
    SignalWeights,
    alike,
    by_itself,
    fuse,
    in_turn,
    pooled,
    relevance,
    within_reach,
)
from dovetail.search.index import (
    Index,
    chosen_embedder,
    embedded,
    open_index,
    refuse_other_models,
)
from dovetail.search.logical import LogicalJoinGraph, LogicalTables
from dovetail.search.method_cache import method_cache
from dovetail.search.neighbours import Neighbours
from dovetail.search.query import WORD, Query, QueryTerm, ValueLink, clipped, spans, stems
from dovetail.search.question_words import SpokenWords
from dovetail.search.reasons import reasons
from dovetail.search.taught import Lesson, Lessons, NotedTerms
from dovetail.search.value_linking import ValueLinker
from dovetail.settings import Settings
from dovetail.telemetry import traced

# Tables that each cheap ranking puts forward to be scored by every signal.
_POOL = 50
# Tables whose median cosine tells how near a question is to any table.
_SAMPLED = 512
# Questions whose analysis is kept: two retrievers may answer the same one in turn.
_QUERIES_KEPT, _LESSONS_READ = 16, 1024
# Tables whose words and cells are kept as questions look at them.
_TABLES_KEPT = 1024
# A cell shorter than this stands in any question by chance.
LEAST_QUOTED = 3


@dataclass(frozen=True)
class Scope:
    """What a search covers: which tables, which families as one table each, and whose notes.

    `allowed` flags the tables that are searched; None means all of them.
    """

    allowed: Flags | None = None
    families: Families = field(default_factory=Families)
    notes: Notes = NO_NOTES


# A cell that a question may quote: its number, its column, as a folded question has it, and itself.
Quotable = tuple[int, int, str, str]


@dataclass(frozen=True, slots=True)
class ColumnTexts:
    """What the columns of a table are called and hold, as questions are compared with it.

    `headers` are the stems of each column's name. `named` are the columns by these stems, a column
    as often as its name has the stem, and `explained` those whose comments alone have a stem. The
    cells that a question may quote are `quotable`, by how they begin.
    """

    headers: Sequence[Sequence[str]]
    named: Mapping[str, Sequence[int]]
    explained: Mapping[str, Sequence[int]]
    quotable: Mapping[str, Sequence[Quotable]]


class Searcher:
    """Ranks the tables of a catalog by what a question says of them, within a scope.

    Without an embedder search goes by words, values and joins alone. Of every family one member is
    ranked, for all of them. Notes of a person take no index to be made again.
    """

    def __init__(self, index: Index, scope: Scope | None = None) -> None:
        self.index, self.scope = index, scope or Scope()
        self.catalog, self.embedder = index.catalog, index.embedder
        self.notes = self.scope.notes
        self.families = marked_families(self.scope.families, self.notes)
        self._covered = self._without_ignored()
        self._logical = LogicalTables.of(self.families, self.catalog.ids, self._covered)
        self.lexical, self._joined = index.lexical, self._noted_joins()
        # The tables that may be found; None where all may.
        self._allowed = self._covered
        if self._logical is not None:
            self.lexical = self._logical.lexical(self.lexical)
            self._joined = self._logical.neighbours(self._joined)
            own = self._logical.alone
            self._allowed = own if self._covered is None else own & self._covered
        representatives = None if self._logical is None else self._logical.representative
        self._noted_terms = NotedTerms(self.notes, self.places, representatives)
        self._analyse = method_cache(self._analysed, _QUERIES_KEPT)
        self.columns = method_cache(self._columns, _TABLES_KEPT)

    def among(self, tables: Iterable[TableId]) -> Searcher:
        """The same search over these tables alone: no other is found, and no join to one."""
        allowed = np.zeros(len(self.catalog), dtype=np.bool_)
        allowed[[self.places[table] for table in tables]] = True
        if self.scope.allowed is not None:
            allowed &= self.scope.allowed
        return Searcher(self.index, replace(self.scope, allowed=allowed))

    def noted(self, notes: Notes) -> Searcher:
        """The same search with the notes of a person."""
        return Searcher(self.index, replace(self.scope, notes=notes)) if notes else self

    def _without_ignored(self) -> Flags | None:
        """The tables of the scope that notes do not say to ignore; None where these are all."""
        if not self.notes.ignored:
            return self.scope.allowed
        allowed = np.ones(len(self.catalog), dtype=np.bool_)
        allowed[[self.places[table] for table in self.notes.ignored]] = False
        return allowed if self.scope.allowed is None else allowed & self.scope.allowed

    def _noted_joins(self) -> Neighbours:
        """The joins of the index, with those that notes pin or ban."""
        if not (self.notes.pins or self.notes.bans):
            return self.index.joined
        scores = noted_scores(stored_edges(self.catalog), self.notes)
        return self.index.joined.edited(
            {(self.places[one], self.places[two]): score for (one, two), score in scores.items()}
        )

    @property
    def places(self) -> Mapping[TableId, int]:
        """The number of every table in the catalog's order."""
        return self.index.numbers

    @property
    def weights(self) -> SignalWeights:
        """How the signals count over this catalog."""
        return self.index.weights

    @cached_property
    def descriptions(self) -> Mapping[TableId, Description]:
        """What is said of the tables, by persons, dictionaries and models."""
        return descriptions(self.catalog)

    def described(self, table: TableId) -> Table:
        """A table as models are shown it: what notes say of it are its comments."""
        return noted_table(self.catalog[table], self.notes, self.descriptions.get(table))

    def _is_allowed(self, table: TableId) -> bool:
        return self._allowed is None or bool(self._allowed[self.places[table]])

    @property
    def ids(self) -> list[TableId]:
        """The tables that are searched, in the catalog's order."""
        return [table for table in self.catalog.ids if self._is_allowed(table)]

    @cached_property
    def tables(self) -> list[Table]:
        """The profiles of the tables that are searched, in the catalog's order."""
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
        representative = {
            ids[number]: ids[self._logical.representative[number]] for number in copies
        }
        return LogicalJoinGraph(self.catalog, graph, representative, self.notes.forbids)

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

    def _analysed(self, asked: str) -> Query:
        question = clipped(asked)
        spoken = self.index.question_words.read(question, self.lexical)
        words, terms = self._noted_terms.apply(question, spoken.words, spoken.look_up)
        links = self._linked(question, spoken, words, terms)
        corrected = self._corrected(question, words, links)
        meant = self._noted_terms.expanded(question, spoken.in_english or corrected)
        folded = " ".join(question.split()).casefold()
        lesson = self._taken_up(self._lessons.of(question), terms)
        noted = [*self._noted_terms.tables(question), *(lesson.tables if lesson else ())]
        return Query(
            text=asked,
            folded=folded,
            words=words,
            terms=terms,
            links=links,
            vector=self.vector(meant) if self.embedder is not None and folded else None,
            noted=tuple(table for table in dict.fromkeys(noted) if self.covers(table)),
            lesson=lesson,
        )

    def _linked(
        self,
        question: str,
        spoken: SpokenWords,
        words: Mapping[str, str],
        terms: Sequence[QueryTerm],
    ) -> tuple[ValueLink, ...]:
        """The parts of a question that are cells."""
        # A word inside `Student_Club` is that of an identifier, and never a part of a cell.
        parts, tokens = self.lexical.parts, question.split()
        named = {stem for token in tokens if "_" in token for stem in stems(token, parts)}
        named |= {term.text for term in terms if any(share == 1 for _, share in term.expansions)}
        defined = (term.text for term in terms if term.defined)
        named |= {word for text in defined for word in (text, *text.split())}
        unnamed = {written for word, written in words.items() if word not in named}
        sought = tuple(spans(question, spoken.stop_words))
        return self._linker.link(sought, unnamed, compounds=spoken.compounds)

    def _corrected(
        self, question: str, words: Mapping[str, str], links: Sequence[ValueLink]
    ) -> str:
        """A question without the slips of the pen in words of the catalog and its cells."""
        meant = {link.span.text.lower(): link.meant for link in links if link.meant}
        for word, written in words.items():
            if written.lower() not in meant:
                meant[written.lower()] = self.lexical.corrected(word, written)
        if all(written == word for written, word in meant.items()):
            return question
        return WORD.sub(lambda found: meant.get(found[0].lower(), found[0]), question)

    def _cells(self, question: str) -> Mapping[str, frozenset[int]]:
        """The stems of a question that are said as cells, each with the columns that hold it."""
        spoken = self.index.question_words.read(question, self.lexical)
        words, terms = self._noted_terms.apply(question, spoken.words, spoken.look_up)
        return {
            word: frozenset(link.columns.tolist())
            for link in self._linked(question, spoken, words, terms)
            for word in stems(link.span.text)
        }

    @cached_property
    def _lessons(self) -> Lessons:
        """The questions whose tables are known, as far as these may be shown."""
        # Of the embedder alone: lessons that held this searcher, which holds them, kept it alive.
        vectors = partial(embedded, self.embedder) if self.embedder is not None else None
        usage, names = self.catalog.usage, self.lexical.words
        cells = method_cache(self._cells, _LESSONS_READ)
        return Lessons(self.notes, usage, self._within_scope, names, vectors, cells)

    def _taken_up(self, lesson: Lesson | None, terms: Sequence[QueryTerm]) -> Lesson | None:
        """A lesson without the tables that nothing names but what the question leaves out of it."""
        if lesson is None or lesson.exact or not lesson.less:
            return lesson
        gone = {at for word in lesson.less for at in self.lexical.term(word).tables.tolist()}
        said = {at for term in terms for at in term.tables.tolist()}
        numbers = {table: self.places[self.representative(table)] for table in lesson.tables}
        kept = tuple(table for table, at in numbers.items() if at not in gone or at in said)
        return replace(lesson, tables=kept or lesson.tables)

    def _within_scope(self, table: TableId) -> bool:
        """Whether a table is there and among those that may be searched, ignored or not."""
        number = self.places.get(table)
        allowed = self.scope.allowed
        return number is not None and (allowed is None or bool(allowed[number]))

    def representative(self, table: TableId) -> TableId:
        """The table that is ranked for a table: the one that represents its family, or itself."""
        if self._logical is None:
            return table
        return self.catalog.ids[int(self._logical.representative[self.places[table]])]

    def vector(self, question: str) -> Vectors:
        """The vector of a text alone, without the rest of the analysis."""
        return self.index.embed(question)

    def vectors(self, questions: Sequence[str]) -> Vectors:
        """The vectors of several questions, one per row."""
        return embedded(self.embedder, questions)

    def dense(self, question: Query | str, k: int) -> list[Candidate]:
        """The `k` nearest tables by vector alone, the paper's DR; none for no question."""
        text = question.text if isinstance(question, Query) else question
        vector = self.vector(text)
        if self.index.dense is None or not text.strip():
            return []
        numbers, cosines = self.index.dense.nearest(vector, k, self._allowed)
        return [
            Candidate(self.catalog.ids[number], max(0.0, cosine), {"dense": cosine})
            for number, cosine in zip(numbers.tolist(), cosines.tolist(), strict=True)
        ]

    def search(
        self, question: Query | str, k: int, *, looking_for: Sequence[str] = ()
    ) -> list[Candidate]:
        """The `k` tables that all signals together put first, ties by id; none for no question.

        Each phrase of `looking_for` describes a table: what is found for them takes turns with
        what is found for the question.
        """
        queries = map(self.analyse, (question, *looking_for))
        return in_turn([self._ranked(query, k) for query in queries if not query.blank])[:k]

    def _ranked(self, query: Query, k: int) -> list[Candidate]:
        """The `k` tables that come first for one query."""
        noted = self._noted_numbers(query)
        with traced("search"):
            tables, signals = self._signals(query, k, noted)
            scores = fuse(signals)
        ranked = np.lexsort((tables, -scores))
        # What notes name is among the best, in its place.
        named = np.isin(tables[ranked], noted)
        best = ranked[named | (np.cumsum(~named) <= max(0, k - len(noted)))]
        top = float(scores[best[0]]) if len(best) else 0.0
        return [
            Candidate(
                self.catalog.ids[int(tables[row])],
                relevance(float(scores[row]), top),
                {name: float(signal[row]) for name, signal in signals.items()},
            )
            for row in best.tolist()
        ]

    def needed(self, query: Query) -> list[TableId]:
        """The tables that are ranked for those which notes or a lesson say a query needs."""
        return [self.catalog.ids[number] for number in self._noted_numbers(query).tolist()]

    def _noted_numbers(self, query: Query) -> Ints:
        """The numbers of the tables that are ranked for those which notes say a query needs."""
        ranked = {self.places[self.representative(table)] for table in query.noted}
        numbers = np.array(sorted(ranked), dtype=np.int64)
        return numbers if self._allowed is None else numbers[self._allowed[numbers]]

    def _signals(self, query: Query, k: int, noted: Ints) -> tuple[Ints, dict[str, Float32s]]:
        """The tables that may be among the best `k` or are noted, and their signals."""
        weights, cover = self.weights, Coverage(query.terms, query.value_terms, len(self.catalog))
        leaders = cover.leaders(_POOL, self._allowed)
        if self.index.dense is not None and query.vector is not None:
            leaders.append(self.index.dense.nearest(query.vector, _POOL, self._allowed)[0])
        tables = pooled([*leaders, noted], self._joined)
        if self._allowed is not None:
            tables = tables[self._allowed[tables]]
        covered = cover.of(tables, self._joined, one_partner=weights.one_partner)
        signals = {
            "lexical": weights.cover * covered.words,
            "value": weights.cover * covered.values,
            "dense": weights.dense * self._table_cosines(query, tables),
            "name": weights.name * covered.names,
            "neighbour": weights.gain * covered.gain,
        }
        if self.index.use is not None:
            signals["use"] = self.index.use[tables]
        # Who is alike must not depend on how many tables are wanted.
        reach = max(k, _POOL) if weights.alike else k
        near = within_reach(signals, reach, weights.column + weights.alike)
        near = np.union1d(near, np.flatnonzero(np.isin(tables, noted)))
        signals = {name: signal[near] for name, signal in signals.items()}
        tables = tables[near]
        signals["column"] = weights.column * self._column_cosines(query, tables)
        if weights.alike and self.index.dense is not None:
            vectors = self.index.dense.vectors(tables)
            signals["alike"] = weights.alike * alike(vectors, by_itself(signals))
        return tables, signals

    def _table_cosines(self, query: Query, tables: Ints) -> Float32s:
        """The cosine of the query and each table's schema line."""
        if self.index.dense is None or query.vector is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        cosines: Float32s = self.index.dense.vectors(tables) @ query.vector
        return cosines

    def usual_cosine(self, query: Query) -> float:
        """The median cosine of a query and the schema lines of all tables, or of some of many."""
        allowed = np.ones(len(self.catalog), np.bool_) if self._allowed is None else self._allowed
        numbers = np.flatnonzero(allowed)
        cosines = self._table_cosines(query, numbers[:: 1 + len(numbers) // _SAMPLED])
        ordered, middle = np.sort(cosines), len(cosines) // 2
        # As np.median, which loads NumPy's masked arrays.
        return float(ordered[[middle, ~middle]].mean()) if len(cosines) else 0.0

    def _column_cosines(self, query: Query, tables: Ints) -> Float32s:
        """The cosine of the query and each table's best header, at least 0."""
        if self.index.headers is None or query.vector is None or not len(tables):
            return np.zeros(len(tables), dtype=np.float32)
        starts, ends = self.index.bounds[tables], self.index.bounds[tables + 1]
        headers = self.index.headers.cosines(ranges(starts, ends), query.vector)
        cosines = np.append(headers, np.float32(0))
        best = np.maximum.reduceat(cosines, np.cumsum(ends - starts) - (ends - starts))
        at_least_0: Float32s = np.where(ends > starts, np.maximum(best, 0), np.float32(0))
        return at_least_0

    @cached_property
    def _linker(self) -> ValueLinker:
        return ValueLinker(self.catalog, self.index.values, self._logical)

    def reasons(self, question: Query | str, tables: Sequence[TableId]) -> list[list[str]]:
        """In words, what each of some tables has to do with a question."""
        numbers = [self.places[one] for one in tables]
        return reasons(
            self.catalog,
            self.analyse(question),
            numbers,
            self.notes,
            self.descriptions,
            self.lexical.parts,
        )

    def partners(self) -> Iterator[tuple[TableId, TableId, float]]:
        """All pairs of tables that join or are linked by name, each once, with their score."""
        ids, joined = self.catalog.ids, self._joined
        ones = np.repeat(np.arange(len(ids)), np.diff(joined.starts))
        once = ones < joined.other
        if self._allowed is not None:
            once &= self._allowed[ones] & self._allowed[joined.other]
        pairs = (ones[once].tolist(), joined.other[once].tolist(), joined.score[once].tolist())
        for one, other, score in zip(*pairs, strict=True):
            yield ids[one], ids[other], score

    def joined(self, tables: Sequence[TableId]) -> Float32s:
        """The score of the join between each two of some tables, as a matrix with 1 inside."""
        return self._joined.among(np.array([self.places[one] for one in tables], np.int64))

    def joined_by_path(self, tables: Sequence[TableId]) -> Float32s:
        """How surely a path of up to four joins connects each two of some tables, as a matrix."""
        return self._joined.paths(np.array([self.places[one] for one in tables], np.int64))

    def column_cosines(self, query: Query, table: TableId) -> list[float]:
        """The cosine of the query and the header of each column of a table; 0 without vectors."""
        place = self.places[table]
        columns = slice(int(self.index.bounds[place]), int(self.index.bounds[place + 1]))
        if self.index.headers is None or query.vector is None:
            return [0.0] * (columns.stop - columns.start)
        cosines: list[float] = self.index.headers.cosines(columns, query.vector).tolist()
        return cosines

    def _columns(self, table: TableId) -> ColumnTexts:
        """What the columns of a table are called and hold."""
        profile = self.described(table)
        named: dict[str, list[int]] = defaultdict(list)
        explained: dict[str, list[int]] = defaultdict(list)
        quotable: dict[tuple[int, str], str] = {}
        headers = [tuple(stems(one.name, self.lexical.parts)) for one in profile.columns]
        for at, (column, header) in enumerate(zip(profile.columns, headers, strict=True)):
            for word in header:
                named[word].append(at)
            for word in set(stems(column.comment)).difference(header):
                explained[word].append(at)
            for cell in cells(profile, at):
                if len(cell) >= LEAST_QUOTED:
                    quotable.setdefault((at, cell.casefold()), cell)
        begun: dict[str, list[Quotable]] = defaultdict(list)
        for number, ((at, text), cell) in enumerate(quotable.items()):
            begun[text[:LEAST_QUOTED]].append((number, at, text, cell))
        return ColumnTexts(headers, dict(named), dict(explained), dict(begun))

    def definitions(self, question: str) -> list[Definition]:
        """What notes say that terms of a question mean."""
        return self._noted_terms.definitions(question)

    def defined_columns(self, query: Query, table: TableId) -> set[str]:
        """The columns of a table that a defined term of the query means."""
        return self._noted_terms.columns(query.text, table)

    def linked_columns(self, query: Query, table: TableId, *, most: int) -> list[int]:
        """The places of a table's columns that hold a value of the query.

        Values that more than `most` columns of the catalog hold say little, and are passed over.
        """
        place = self.places[table]
        start, end = int(self.index.bounds[place]), int(self.index.bounds[place + 1])
        held = {
            column - start
            for link in query.links
            if len(link.columns) <= most
            for column in link.columns.tolist()
            if start <= column < end
        }
        return sorted(held)


def cells(table: Table, column: int) -> list[str]:
    """The cells that a record of a table has of a column."""
    sampled = (row[column] for row in table.sample)
    return [cell for cell in (*table.columns[column].profile.examples, *sampled) if cell]


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
        families = read_families(catalog) if settings.families else Families()
        scope = Scope(families=families, notes=read_notes(catalog) if notes is None else notes)
        return Searcher(open_index(catalog, embedder), scope)
    except ModelError as error:
        # Indexed with the usual embedder, whose weights are missing here: that is what to mend.
        raise EmbedderError(f"{error}; {note}") if note else error from None
