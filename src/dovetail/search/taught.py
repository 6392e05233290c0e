"""What people taught a catalog: terms that they define, remarks, and questions with known tables.

Nothing of that is in the search index: it is laid over the terms of a question as it is analysed,
so a new note counts with the next question.

A question with known tables is one that a person confirmed, or of a past query. The same question,
however it is written, has exactly these tables. A near one says the same things of another value or
year, in other words for one of them, with one thing more, or word for word with one thing in the
place of another: it starts from the tables of the lesson, and what it says beyond the lesson may
add others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import or_

import numpy as np

from dovetail.arrays import Ints, Vectors
from dovetail.catalog.usage import Usage
from dovetail.domain import TableId
from dovetail.names.words import Words, spelled
from dovetail.notes.notes import Definition, Notes
from dovetail.search.lexical import IN_COMMENT
from dovetail.search.query import QueryTerm, is_stop_word, query_words, shapes_speech, stem

# What stands for a literal in a question that was learnt without them, and how many words for it.
_MASK, _MASKED = "?", range(1, 9)
_TOKEN = re.compile(r"(?<![\w?])\?(?=[\s,;.?]|$)|[^\W_]+")
# The share of both questions' things that they must have in common, and the cosine from which on
# two words are the same thing.
_NEAR, _SYNONYM = 0.75, 0.75
# A question that says all of a lesson, and one thing more, must have so many things in common.
_ENOUGH_IN_COMMON = 2
# A question that is a lesson but for so many words in one place is about another thing of its kind.
_MOST_INSTEAD = 4
# So many lessons with the most words in common are looked at.
_LOOKED_AT = 5
# Words that say how an answer is to be given, and not what of.
_MANNER = frozenset(
    stem(word)
    for word in """total number count average mean sum amount name names per each year month day
    date please could would want need know see overview report""".split()  # noqa: SIM905
)


class NotedTerms:
    """The terms of questions over one catalog, with its notes."""

    def __init__(
        self, notes: Notes, numbers: Mapping[TableId, int], representative: Ints | None = None
    ) -> None:
        """`numbers` are those of the tables; where families are ranked, `representative` has for
        each the number of the table that is ranked for it."""
        self._numbers, self._representative = numbers, representative
        self._defined = [
            (tuple(map(stem, spelled(each.term).split())), each) for each in notes.definitions
        ]
        self._remarked: dict[str, set[int]] = {}
        for remark in notes.remarks:
            for word in query_words(remark.text):
                self._remarked.setdefault(word, set()).add(self._number(remark.table))

    def _number(self, table: TableId) -> int:
        number = self._numbers[table]
        return number if self._representative is None else int(self._representative[number])

    def definitions(self, question: str) -> list[Definition]:
        """The definitions of the terms that a question says, in the order of the notes."""
        return [definition for _, definition in self._meant(question)]

    def tables(self, question: str) -> list[TableId]:
        """The tables that the defined terms of a question mean."""
        meant = (definition.tables for _, definition in self._meant(question))
        return list(dict.fromkeys(table for tables in meant for table in tables))

    def columns(self, question: str, table: TableId) -> set[str]:
        """The columns of a table that the defined terms of a question mean."""
        meant = (definition.columns_of(table) for _, definition in self._meant(question))
        return {column for columns in meant for column in columns}

    def expanded(self, question: str, text: str) -> str:
        """A text, the question or its translation, with what defined terms mean behind it."""
        meant = [definition.text for _, definition in self._meant(question) if definition.text]
        return f"{text} ({'; '.join(meant)})" if meant else text

    def apply(
        self,
        question: str,
        words: Mapping[str, str],
        look_up: Callable[[str], QueryTerm],
    ) -> tuple[dict[str, str], tuple[QueryTerm, ...]]:
        """The words of a question and its terms, with those that the notes bring in."""
        written = dict(words)
        terms = [self._with_remarks(look_up(word)) for word in words]
        for key, definition in self._meant(question):
            if not definition.tables and len(key) == 1 and key[0] not in written:
                continue  # a stop word, which only tables can give a meaning
            # What is defined by tables means these, whatever other tables say the same words.
            terms = [
                term
                for term in terms
                if term.text not in key or (len(term.tables) and not definition.tables)
            ]
            terms += self._defined_terms(key, definition, look_up, written)
        return written, tuple(terms)

    def _meant(self, question: str) -> Iterator[tuple[Words, Definition]]:
        """The definitions whose terms the question says, in the order of the notes."""
        if not self._defined:
            return
        spoken = spelled(question).split()
        stems = [stem(word) for word in spoken]
        raw = {word.strip(".,;:!?()'\"") for word in question.split()}
        for key, definition in self._defined:
            width = len(key)
            if not width:
                continue
            is_said = any(tuple(stems[at : at + width]) == key for at in range(len(stems)))
            # IT is a department, it is not: such a term must be written as the notes have it.
            if is_said and all(map(is_stop_word, spelled(definition.term).split())):
                is_said = definition.term in raw
            if is_said:
                yield key, definition

    def _defined_terms(
        self,
        key: Words,
        definition: Definition,
        look_up: Callable[[str], QueryTerm],
        written: dict[str, str],
    ) -> Iterator[QueryTerm]:
        """A term for each table that a definition names; else one for each of its words."""
        if definition.tables:
            as_what = f" as {definition.text}" if definition.text else ""
            text = " ".join(key)
            written.setdefault(text, definition.term)
            # All of them together are one thing that is said, and each is needed for it.
            numbers = {self._number(table): table for table in reversed(definition.tables)}
            weight = 1 / np.sqrt(len(numbers))
            for number, table in reversed(numbers.items()):
                one = np.ones(1, dtype=np.float32)
                one_table = np.array([number], dtype=np.int32)
                columns = ", ".join(definition.columns_of(table))
                by_column = f", its column {columns}" if columns else ""
                note = f"your notes define {definition.term}{as_what}{by_column}"
                yield QueryTerm(text, float(weight), one_table, one, one, note=note, defined=True)
            return
        note = f"your notes take {definition.term} for {definition.text}"
        for word, as_written in query_words(definition.text).items():
            if word not in written:
                written[word] = as_written
                yield replace(self._with_remarks(look_up(word)), note=note)

    def _with_remarks(self, term: QueryTerm) -> QueryTerm:
        """A term with the tables of which notes say its word."""
        remarked = self._remarked.get(term.text)
        if remarked is None or not (others := remarked.difference(term.tables.tolist())):
            return term
        more = np.array(sorted(others), dtype=np.int32)
        order = np.argsort(np.concatenate([term.tables, more]), kind="stable")
        tables = np.concatenate([term.tables, more])[order]
        match = np.concatenate([term.match, np.full(len(more), IN_COMMENT, np.float32)])[order]
        share = np.concatenate([term.name_share, np.zeros(len(more), np.float32)])[order]
        expansions = term.expansions if term.expansions else ((term.text, 1.0),)
        return replace(term, tables=tables, match=match, name_share=share, expansions=expansions)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question and the tables that are right for it, as a question takes it up.

    `exact`: it is the same question. Else `more` are the things, as stems, that are said beyond the
    lesson, and `less` those of the lesson that are not said.
    """

    question: str
    tables: tuple[TableId, ...]
    reason: str
    exact: bool = False
    more: frozenset[str] = frozenset()
    less: frozenset[str] = frozenset()

    @property
    def why(self) -> str:
        """Why a table of the lesson is in the set."""
        return self.reason if self.exact else f"{self.reason}: {self.question!r}"


class Lessons:
    """The lessons over some tables, by what their questions say."""

    def __init__(
        self,
        notes: Notes,
        usage: Usage,
        covers: Callable[[TableId], bool],
        names: Container[str],
        vectors: Callable[[Sequence[str]], Vectors] | None,
        cells: Callable[[str], Mapping[str, frozenset[int]]],
    ) -> None:
        """`covers`: whether a table may be shown. `names` are the stems that tables are named by,
        `vectors` those of words, if there are any, and `cells` the stems of a question that are
        said as cells, each with the columns that hold it.

        Where two lessons are on one question, a person's word counts, then the later one.
        """
        self._names, self._vectors, self._cells = names, vectors, cells
        self._exact: dict[tuple[str, ...], Lesson] = {}
        self._masked: list[tuple[tuple[str, ...], Lesson]] = []
        self._things: list[tuple[frozenset[str], Lesson]] = []
        self._said: dict[str, list[int]] = {}
        for lesson in _lessons(notes, usage):
            tables = tuple(one for one in lesson.tables if one not in notes.ignored)
            if tables and all(map(covers, tables)):
                self._add(replace(lesson, tables=tables), whole=tables == lesson.tables)

    def _add(self, lesson: Lesson, *, whole: bool) -> None:
        """Take up a lesson; of one that lacks an ignored table, no other question learns."""
        words = _words(lesson.question)
        self._exact[words] = lesson
        if _MASK in words:
            self._masked.append((words, lesson))
        if not whole:
            return
        things = _things(lesson.question, self._names)
        for thing in things:
            self._said.setdefault(thing, []).append(len(self._things))
        self._things.append((things, lesson))

    def __bool__(self) -> bool:
        return bool(self._exact)

    def of(self, question: str) -> Lesson | None:
        """The lesson that a question is the same as, or near to; None where there is none."""
        if not self:
            return None
        words = _words(question)
        if same := self._exact.get(words):
            return replace(same, exact=True)
        for masked, lesson in reversed(self._masked):
            if _says(masked, words):
                return replace(lesson, exact=True)
        return self._near(question)

    def _near(self, question: str) -> Lesson | None:
        """The lesson that says most of what a question says, if that is nearly all of both."""
        asked = _things(question, self._names)
        counts = Counter(at for thing in asked for at in self._said.get(thing, ()))
        most = sorted(counts, key=lambda at: (-self._share(asked, at, counts[at]), -at))
        best, nearest = None, _NEAR
        for at in most[:_LOOKED_AT]:
            things, lesson = self._things[at]
            more, less = self._beyond(asked - things, things - asked, question, lesson.question)
            same = self._synonyms(more, less)
            more, less = more - same.keys(), less - set(same.values())
            common = counts[at] + len(same)
            share = common / (common + len(more) + len(less))
            adds_one = not less and len(more) == 1
            another = adds_one or (less and _differs_in_one_place(question, lesson.question))
            near = share >= nearest or (another and common >= _ENOUGH_IN_COMMON)
            if (best is None and near) or share > nearest:
                best, nearest = replace(lesson, more=more, less=less), share
        return best

    def _beyond(
        self, asked: frozenset[str], taught: frozenset[str], question: str, lesson: str
    ) -> tuple[frozenset[str], frozenset[str]]:
        """What a question says beyond a lesson and the other way round, but for cells of a column
        that both speak of."""
        if not asked or not taught:
            return asked, taught
        own, theirs = self._as_cells(question, asked), self._as_cells(lesson, taught)
        shared = frozenset().union(*own.values()) & frozenset().union(*theirs.values())
        instead = {word for words in (own, theirs) for word in words if words[word] & shared}
        return asked - instead, taught - instead

    def _as_cells(self, question: str, words: frozenset[str]) -> Mapping[str, frozenset[int]]:
        """Those of some words that a question says as cells, and that name nothing."""
        cells = self._cells(question).items()
        return {word: at for word, at in cells if word in words and word not in self._names}

    def _share(self, asked: frozenset[str], at: int, common: int) -> float:
        return common / len(asked | self._things[at][0])

    def _synonyms(self, asked: frozenset[str], taught: frozenset[str]) -> Mapping[str, str]:
        """The words of a question that mean the same as one of a lesson, each with that one."""
        if self._vectors is None or not asked or not taught:
            return {}
        left, right = sorted(asked), sorted(taught)
        vectors = self._vectors([*left, *right])
        cosines = vectors[: len(left)] @ vectors[len(left) :].T
        same: dict[str, str] = {}
        for row, word in enumerate(left):
            at = int(cosines[row].argmax())
            if cosines[row, at] >= _SYNONYM and right[at] not in same.values():
                same[word] = right[at]
        return same


def _lessons(notes: Notes, usage: Usage) -> Iterator[Lesson]:
    """Those of past queries, then those of a person, who has the last word."""
    for example in usage.examples:
        yield Lesson(example.question, example.tables, "a past query for this question reads it")
    for answered in notes.answered:
        yield Lesson(answered.question, answered.tables, "you confirmed it for this question")


def _words(question: str) -> tuple[str, ...]:
    """The words of a question in lower case, without punctuation, a mask among them as it is.

    >>> _words("What did ? order?"), _words("what did  Ann order")
    (('what', 'did', '?', 'order'), ('what', 'did', 'ann', 'order'))
    """
    return tuple(_TOKEN.findall(question.casefold()))


def _says(masked: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words are those of a masked question, with one to eight for each mask. As a pattern,
    ten masks over forty words take minutes: here a bit says which words can be the next.

    >>> masked = _words("What did ? order?")
    >>> _says(masked, _words("What did Ann Lee order?")), _says(masked, _words("What did order?"))
    (True, False)
    """
    where: dict[str, int] = {}
    for at, word in enumerate(words):
        where[word] = where.get(word, 0) | 1 << at
    following, every = 1, (2 << len(words)) - 1
    for word in masked:
        if word == _MASK:
            following = reduce(or_, (following << said for said in _MASKED)) & every
        else:
            following = (following & where.get(word, 0)) << 1
    return bool(following >> len(words))


def _differs_in_one_place(question: str, lesson: str) -> bool:
    """Whether two questions are the same but for a few words in one place.

    >>> _differs_in_one_place("Which products contain milk?", "Which products contain tree nuts?")
    True
    """
    left, right = _words(question), _words(lesson)
    shortest = min(len(left), len(right))
    alike = [one == other for one, other in zip(left, right, strict=False)]
    before = next((at for at, same in enumerate(alike) if not same), shortest)
    ends = [left[-at - 1] == right[-at - 1] for at in range(shortest - before)]
    after = next((at for at, same in enumerate(ends) if not same), len(ends))
    return max(len(left), len(right)) - before - after <= _MOST_INSTEAD


def _things(question: str, names: Container[str]) -> frozenset[str]:
    """What a question is about, as stems, but for values: numbers, and what is written like a name
    and names no table, or mostly so where a name has several words.

    >>> sorted(_things("Which Customers of Ann Lee ordered in 2023?", {"custom"}))
    ['custom', 'order']
    >>> sorted(_things("What did we order from the Open House Lisbon?", {"house", "order"}))
    ['order']
    """
    things = set()
    for capital, tokens in _runs(question):
        stemmed = [stem(word) for token in tokens for word in spelled(token).split()]
        is_name = capital and 2 * sum(one in names for one in stemmed) < len(stemmed)
        for token in tokens:
            letter = capital and len(token) == 1
            if token == _MASK or letter or any(map(str.isdigit, token)):
                continue
            for word in spelled(token).split():
                if is_stop_word(word) or shapes_speech(word) or stem(word) in _MANNER:
                    continue
                if not capital or (stem(word) in names and not is_name):
                    things.add(stem(word))
    return frozenset(things)


def _runs(question: str) -> Iterator[tuple[bool, list[str]]]:
    """The words of a question, those together that are written like names beside each other."""
    tokens = list(enumerate(_TOKEN.findall(question)))

    def named(numbered: tuple[int, str]) -> bool:
        at, token = numbered
        letter = len(token) == 1
        return at > 0 and token[:1].isupper() and (letter or not token.isupper())

    for capital, run in groupby(tokens, key=named):
        yield capital, [token for _, token in run]
