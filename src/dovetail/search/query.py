"""A question, analysed once: what every stage after it reads.

`Searcher.analyse` turns the text into a `Query`; search, selection, prompts and reasons take the
query and never split the text again. Its tables and columns are numbered as in the catalog of that
searcher, so a query belongs to one catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s, Ints, Vectors
from dovetail.search.question_spans import Span


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word or value of a question: its weight, and the tables that it may mean.

    The tables stand in order, each once. `match` says how well each of them matches the term,
    `name_share` which part of the table's name the term is. `expansions` are the words of the
    catalog that a word may mean, each with how well it matches, itself first; a value has none.
    `note` says which note of a person brought the term in; one that is `defined` means exactly its
    tables, whatever words they have.
    """

    text: str
    weight: float
    tables: npt.NDArray[np.int32]
    match: Float32s
    name_share: Float32s
    expansions: tuple[tuple[str, float], ...] = ()
    note: str = ""
    defined: bool = False

    def match_of(self, tables: Ints) -> Float32s:
        """How well each of some tables matches; 0 for those that the term does not mean."""
        return self.look_up(tables)[0]

    def look_up(self, tables: Ints) -> tuple[Float32s, Float32s]:
        """The match and the share of the name of each of some tables; 0 for others."""
        if not len(self.tables):
            nothing = np.zeros(len(tables), dtype=np.float32)
            return nothing, nothing
        at = np.searchsorted(self.tables, tables.astype(self.tables.dtype))
        at[at == len(self.tables)] = 0
        meant, none = self.tables[at] == tables, np.float32(0)
        return np.where(meant, self.match[at], none), np.where(meant, self.name_share[at], none)


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A span of a question that is a cell of the catalog, and the columns that hold it.

    Columns are numbered through the tables in order; `term` is the value as a term of the query.
    """

    span: Span
    columns: Ints
    term: QueryTerm


@dataclass(frozen=True, slots=True)
class Query:
    """A question and all that is read off it.

    `text` is the question as it was asked, `folded` the same on one line without regard to case.
    `words` are the stems of its distinct words, stop words left out, each with the word as it was
    first written; `terms` are the same stems, looked up in the catalog. `links` are the values in
    the text, each a span that is a cell somewhere. `vector` is the embedding of the text, None
    without an embedder or without a question.
    """

    text: str
    folded: str
    words: Mapping[str, str]
    terms: tuple[QueryTerm, ...]
    links: tuple[ValueLink, ...]
    vector: Vectors | None

    @property
    def blank(self) -> bool:
        """Whether nothing was asked."""
        return not self.folded

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the text that are values."""
        return tuple(link.span for link in self.links)

    @property
    def value_terms(self) -> tuple[QueryTerm, ...]:
        """The linked values as terms."""
        return tuple(link.term for link in self.links)

    @property
    def mass(self) -> float:
        """The weights of all words together; above 0, so that one can divide by it."""
        return max(sum(term.weight for term in self.terms), 1e-6)
