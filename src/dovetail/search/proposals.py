"""Proposes notes from questions whose right tables a person told: pins and definitions.

A pin where the right tables of a question do not join surely, and some weaker join would connect
them; a definition where a word of a question is known to none of its right tables, and the same
tables were right wherever the word was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.notes.file import JOINS, TERMS
from dovetail.notes.notes import Answered
from dovetail.search.query import query_words
from dovetail.search.searcher import Searcher

# A word must be said in so many questions to be defined by their tables.
_LEAST_SAID = 2


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry that could be noted, and why."""

    section: str
    key: str
    value: str
    why: str


def proposals(searcher: Searcher) -> list[Proposal]:
    """What the questions in the notes suggest to note, pins first, each once."""
    answered = [each for each in searcher.notes.answered if each.tables]
    found = [pin for each in answered for pin in _pins(searcher, each)]
    found += _definitions(searcher, answered)
    return list({(each.section, each.key): each for each in found}.values())


def _pins(searcher: Searcher, answered: Answered) -> Iterator[Proposal]:
    """The weaker joins that would connect the right tables, the likeliest first."""
    components = Components(answered.tables)
    weak: list[JoinEdge] = []
    for place, one in enumerate(answered.tables):
        for two in answered.tables[place + 1 :]:
            for edge in searcher.joins.between(one, two)[:1]:
                if edge.score > JOINABLE:
                    components.unite(one, two)
                else:
                    weak.append(edge)
    for edge in sorted(weak, key=lambda edge: (-edge.score, edge.left, edge.right)):
        if components.unite(edge.left, edge.right):
            pairs = " and ".join(f"{edge.left}.{a} = {edge.right}.{b}" for a, b in edge.columns)
            why = f"it would connect the tables of {answered.question!r}"
            yield Proposal(JOINS, pairs, "pin", why)


def _definitions(searcher: Searcher, answered: list[Answered]) -> Iterator[Proposal]:
    """Words that no right table has, with the tables that were right wherever they were said."""
    said: dict[str, list[Answered]] = {}
    written: dict[str, str] = {}
    for each in answered:
        for stem, word in query_words(each.question).items():
            said.setdefault(stem, []).append(each)
            written.setdefault(stem, word)
    defined = {definition.term.casefold() for definition in searcher.notes.definitions}
    for stem, questions in said.items():
        if len(questions) < _LEAST_SAID and not _is_jargon(written[stem], questions[0].question):
            continue
        places = {searcher.places[table] for each in questions for table in each.tables}
        if written[stem] in defined or places & set(searcher.lexical.term(stem).tables.tolist()):
            continue
        always = set(questions[0].tables).intersection(*(each.tables for each in questions))
        left = [table for table in questions[0].tables if table in always]
        left = [table for table in left if not _said_otherwise(searcher, questions, stem, table)]
        if left:
            why = f"no table says it, and these were right for {len(questions)} of your questions"
            yield Proposal(TERMS, written[stem], ": " + ", ".join(map(str, left)), why)


def _is_jargon(word: str, question: str) -> bool:
    """Whether a word is written in capitals there: DSO means one thing, wherever it is said."""
    return re.search(rf"\b{re.escape(word.upper())}\b", question) is not None and len(word) > 1


def _said_otherwise(
    searcher: Searcher, questions: list[Answered], stem: str, table: TableId
) -> bool:
    """Whether another word of every such question names the table already."""
    place = searcher.places[table]
    return all(
        any(
            place in searcher.lexical.term(word).tables
            for word in query_words(each.question)
            if word != stem
        )
        for each in questions
    )
