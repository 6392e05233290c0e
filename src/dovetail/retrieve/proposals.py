"""Proposes notes from questions whose right tables a person told: pins and definitions.

Only what can be shown is proposed. A pin connects right tables that do not join surely, by columns
of which most rows match. A definition is of a word that no table says and no cell holds: the same
tables were right wherever it was said and hardly where it was not, and with it the questions that
say it come nearer to their right tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.notes.file import JOINS, TERMS
from dovetail.notes.notes import Answered, Definition
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.match import GENERIC
from dovetail.search.query import query_words, shapes_speech
from dovetail.search.searcher import Searcher

# A word must be said in so many questions to be defined by their tables, and so many rows of a join
# must match for it to be pinned.
_LEAST_SAID, _MATCHED = 2, 0.5


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
                elif edge.match_rate >= _MATCHED:
                    weak.append(edge)
    for edge in sorted(weak, key=lambda edge: (-edge.score, edge.left, edge.right)):
        if components.unite(edge.left, edge.right):
            pairs = " and ".join(f"{edge.left}.{a} = {edge.right}.{b}" for a, b in edge.columns)
            matched = f"{edge.match_rate:.0%} of its rows match"
            why = f"{matched}, and it would connect the tables of {answered.question!r}"
            yield Proposal(JOINS, pairs, "pin", why)


def _definitions(searcher: Searcher, answered: list[Answered]) -> Iterator[Proposal]:
    """Words that no table has, with the tables that were right wherever they were said."""
    said: dict[str, list[Answered]] = {}
    written: dict[str, str] = {}
    for each in answered:
        for stem, word in query_words(each.question).items():
            said.setdefault(stem, []).append(each)
            written.setdefault(stem, word)
    defined = {definition.term.casefold() for definition in searcher.notes.definitions}
    for stem, questions in said.items():
        word = written[stem]
        if len(questions) < _LEAST_SAID and not _is_jargon(word, questions[0].question):
            continue
        if word in defined or not _is_unknown(searcher, stem, word):
            continue
        always = set(questions[0].tables).intersection(*(each.tables for each in questions))
        left = [table for table in questions[0].tables if table in always]
        left = [table for table in left if not _said_otherwise(searcher, questions, stem, table)]
        left = [table for table in left if _is_of_word(table, questions, answered)]
        if left and _helps(searcher, Definition(word, "", tuple(left)), questions):
            why = f"no table says it, and these were right for {len(questions)} of your questions"
            yield Proposal(TERMS, word, ": " + ", ".join(map(str, left)), why)


def _is_unknown(searcher: Searcher, stem: str, word: str) -> bool:
    """Whether a word says what a question is about, and neither a name nor a cell has it."""
    if stem in GENERIC or shapes_speech(word) or len(word) < 2 or any(map(str.isdigit, word)):
        return False
    return not len(searcher.lexical.term(stem).tables) and not searcher.analyse(word).links


def _is_of_word(table: TableId, questions: list[Answered], answered: list[Answered]) -> bool:
    """Whether a table was right for hardly any question that does not say the word."""
    others = [each for each in answered if each not in questions]
    return sum(table in each.tables for each in others) <= len(others) / 2


def _helps(searcher: Searcher, definition: Definition, questions: list[Answered]) -> bool:
    """Whether the questions come nearer to their right tables, were they not known."""
    unknown = replace(searcher.notes, answered=())
    defined = replace(unknown, definitions=(*unknown.definitions, definition))
    before, after = (
        GraphRetriever(Searcher(searcher.index, replace(searcher.scope, notes=notes)))
        for notes in (unknown, defined)
    )
    gains = [
        _f1(after.retrieve(each.question).ids, each.tables)
        - _f1(before.retrieve(each.question).ids, each.tables)
        for each in questions
    ]
    return sum(gains) > 0


def _f1(found: Sequence[TableId], right: Sequence[TableId]) -> float:
    return 2 * len({*found} & {*right}) / max(1, len(found) + len(right))


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
