"""A question, analysed once: its words as stems, its spans, and the `Query` made of them.

`Searcher.analyse` turns the text into a `Query`; search, selection, prompts and reasons take the
query and never split the text again. Its tables and columns are numbered as in the catalog of that
searcher, so a query belongs to one catalog. Stems are rough on purpose: two forms of a word need
only end alike, so that `singers` matches `singer_in_concert`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from string import digits
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Float32s, Ints, Vectors
from dovetail.names.words import Parts, singular, spelled
from dovetail.phrases import MOST_WORDS

if TYPE_CHECKING:
    from dovetail.domain import TableId
    from dovetail.search.taught import Lesson

# Words that shape a question and name nothing.
_STOP_WORDS = frozenset(
    """a an the of in on at to for from by with and or no not is are was were be been being do
    does did has have had having what which who whom whose when where why how many much each
    every all any some that this these those there their them they it its as than then more most
    less least if but so such only also can could would should will may i me my you your we our
    he she his her him show list give find return tell please provide identify get
    display""".split()  # noqa: SIM905
)
# Words that relate others, and that search counts, since names have them too.
_RELATIONS = frozenset(
    """per via vs versus between among during across within into onto over under above below after
    before since until while about against along around without toward towards through both either
    neither same other another did does our us still ever yet just very""".split()  # noqa: SIM905
)
_ENDINGS = ("ing", "ed", "er", "or", "ion", "ment", "al")
_LEAST_STEM = 4
# What belongs to somebody ("Solberg's office"), and a count ("the number of events"): neither the
# ending nor the count names anything.
_NAMES_NOTHING = re.compile(r"(?<=\w)['\u2019]s\b|\bnumbers? (?=of\b)", re.IGNORECASE)
# A question of more different words is not read to its end.
_MOST_WORDS = 400
# A question of more words is not read to its end for values: what it quotes stands early.
_MOST_READ = 400
WORD = re.compile(r"[^\W_]+")
_QUOTES = "\"'`«»\u2018\u2019\u201c\u201d\u201e"
_CALENDAR = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
# Scripts that write words without blanks between them: any part of a run may be a word or a value.
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff]{2,}")


# Characters of a question that are read, and that prompts repeat.
_LONGEST = 4_000


def clipped(question: str) -> str:
    """Cut a question to the length that is read.

    >>> len(clipped("x" * 100_000))
    4000
    """
    return question[:_LONGEST]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word in lower case without its ending.

    >>> [stem(word) for word in ("singers", "singing", "song", "treatments", "countries")]
    ['sing', 'sing', 'song', 'treat', 'country']
    """
    bare = singular(word)
    for ending in _ENDINGS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _LEAST_STEM:
            bare = bare[: -len(ending)]
            break
    return bare[:-1] if len(bare) > _LEAST_STEM and bare.endswith("e") else bare


def is_stop_word(word: str) -> bool:
    """Whether a word in lower case only shapes a question and names nothing."""
    return word in _STOP_WORDS


def shapes_speech(word: str) -> bool:
    """Whether a word relates others and names nothing: it may be in a name, but is no reason.

    >>> shapes_speech("per"), shapes_speech("Carrier")
    (True, False)
    """
    return word.lower() in _RELATIONS or is_stop_word(word.lower())


def is_unspaced(word: str) -> bool:
    """Whether a word is a run of a script that writes no blanks between words."""
    return _UNSPACED.fullmatch(word) is not None


def stems(name: str, parts: Parts | None = None) -> list[str]:
    """The stems of a name's words, in order; words run together as their parts."""
    return [stem(word) for word in spelled(name, parts).split()]


def query_words(question: str, parts: Parts | None = None) -> dict[str, str]:
    """The distinct stems of a question without stop words, in order, each as first written.

    Words that names of the catalog run together are read as their `parts`, as names are.

    >>> query_words("Show the singers of each song, and what they are singing")
    {'sing': 'singers', 'song': 'song'}
    >>> query_words("Count the number of Solberg's visits, by room number")
    {'count': 'count', 'solberg': 'solberg', 'visit': 'visits', 'room': 'room', 'numb': 'number'}
    """
    written: dict[str, str] = {}
    meant: dict[str, None] = {}
    for word in spelled(_NAMES_NOTHING.sub("", question), parts).split():
        written.setdefault(stem(word), word)
        if word not in _STOP_WORDS:
            meant.setdefault(stem(word))
    return {each: written[each] for each in list(meant)[:_MOST_WORDS]}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a question: its text, and which of the question's words it takes up.

    Any run of up to eight words may be a value; value linking decides which are. `named` says that
    the span is written like a name (quoted, or with a capital inside the sentence), which makes it
    likelier.
    """

    text: str
    start: int
    end: int
    named: bool

    @property
    def number(self) -> bool:
        """Whether it is made of digits alone."""
        return all(letter.isdigit() or not letter.isalnum() for letter in self.text)

    @property
    def calendar(self) -> bool:
        """Whether it is a month or a day of the week: a time, whatever cell has it too."""
        return self.text.lower() in _CALENDAR

    @property
    def time(self) -> bool:
        """Whether it is a number or a time, which many columns hold by chance."""
        return self.number or self.calendar

    @property
    def plain_word(self) -> bool:
        """Whether it is one word, not written like a name: likelier speech than a value."""
        return self.end - self.start == 1 and not self.named

    @property
    def written(self) -> bool:
        """Whether cells are compared with it as written; others are compared as phrases."""
        return self.text[0] in digits and self.text[-1] in digits


def spans(question: str, stop_words: Container[str] = ()) -> Iterator[Span]:
    """The spans of a question, the longest first, and equally long ones from left to right.

    `stop_words` are those of the question's language, beside the English ones.
    """
    # A lone surrogate is no text that a cell could hold; in its place comes a question mark.
    question = question.encode("utf-8", "replace").decode("utf-8")
    words = [found.span() for found in islice(WORD.finditer(question), _MOST_READ)]
    capital = [any(map(str.isupper, question[start:end])) for start, end in words]
    for size in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            begin, end = words[start][0], words[start + size - 1][1]
            text = question[begin:end]
            if size == 1 and (_says_nothing(text) or text.lower() in stop_words):
                continue
            quoted = begin > 0 and question[begin - 1] in _QUOTES
            # The capital at the beginning of a sentence says nothing about a lone word.
            lone = begin == 0 and size == 1 and text.istitle()
            named = quoted or (not lone and any(capital[start : start + size]))
            yield Span(text, start, start + size, named)
    yield from _unspaced(question, len(words))


def _says_nothing(word: str) -> bool:
    return is_stop_word(word.lower()) or (len(word) == 1 and not word.isdigit())


def _unspaced(question: str, words: int) -> Iterator[Span]:
    """Parts of runs in scripts without blanks, numbered after the words of the question."""
    place = words
    for run in _UNSPACED.finditer(question):
        text = run.group()[:_MOST_READ]
        for size in range(min(MOST_WORDS, len(text)), 1, -1):
            for start in range(len(text) - size + 1):
                begin = place + start
                yield Span(text[start : start + size], begin, begin + size, named=True)
        place += len(text)


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

    def means(self, tables: Ints) -> Flags:
        """Which of some tables it means."""
        return self._rows(tables)[1]

    def look_up(self, tables: Ints) -> tuple[Float32s, Float32s]:
        """The match and the share of the name of each of some tables; 0 for others."""
        if not len(self.tables):
            nothing = np.zeros(len(tables), dtype=np.float32)
            return nothing, nothing
        (at, meant), none = self._rows(tables), np.float32(0)
        return np.where(meant, self.match[at], none), np.where(meant, self.name_share[at], none)

    def _rows(self, tables: Ints) -> tuple[Ints, Flags]:
        """Where each of some tables stands among those that it means, and whether it does."""
        if not len(self.tables):
            return np.zeros(len(tables), np.int64), np.zeros(len(tables), np.bool_)
        at = np.searchsorted(self.tables, tables.astype(self.tables.dtype))
        at[at == len(self.tables)] = 0
        return at, self.tables[at] == tables


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A span of a question that is a cell of the catalog, and the columns that hold it.

    Columns are numbered through the tables in order; `term` is the value as a term of the query.
    `share` says how far the cell is what the span says: 1 in any form of its words, less where one
    is only a part of the other. `meant` is the word that the cells have where the span is a slip.
    """

    span: Span
    columns: Ints
    term: QueryTerm
    share: float = 1.0
    meant: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A question and all that is read off it.

    `text` is the question as it was asked, `folded` the same on one line without regard to case.
    `words` are the stems of its distinct words, stop words left out, each with the word as it was
    first written; `terms` are the same stems, looked up in the catalog. `links` are the values in
    the text, each a span that is a cell somewhere. `vector` is the embedding of the text, None
    without an embedder or without a question. `noted` are the tables that a person's notes or a
    past query say it needs, `lesson` the question with known tables that it is the same as or near
    to.
    """

    text: str
    folded: str
    words: Mapping[str, str]
    terms: tuple[QueryTerm, ...]
    links: tuple[ValueLink, ...]
    vector: Vectors | None
    noted: tuple[TableId, ...] = ()
    lesson: Lesson | None = None

    @property
    def blank(self) -> bool:
        """Whether nothing was asked."""
        return not self.folded

    @property
    def says_nothing(self) -> bool:
        """Whether no word or value of it could mean a table: stop words and punctuation alone."""
        return not self.words and not self.links and _UNSPACED.search(self.text) is None

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
        """The weights of all words together; 1 where none has any, so that one can divide by it."""
        return sum(term.weight for term in self.terms) or 1.0
