"""What notes add to a question: terms that they define, and words that they say of tables.

Nothing of that is in the search index: it is laid over the terms of a question as it is analysed,
so a new note counts with the next question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from dovetail.arrays import Ints
from dovetail.domain import TableId
from dovetail.names.words import spelled
from dovetail.notes.notes import Definition, Notes
from dovetail.search.lexical import IN_COMMENT
from dovetail.search.query import QueryTerm, is_stop_word, query_words, stem

_Words = tuple[str, ...]


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

    def _meant(self, question: str) -> Iterator[tuple[_Words, Definition]]:
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
        key: _Words,
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
