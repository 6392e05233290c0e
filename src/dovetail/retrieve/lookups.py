"""Lookup tables that a question asks for by what they name: pallets per zone name.

The tables of a set hold the code of a zone, and the table that has its name says little of itself,
so that no word of the question finds it. But it is the one that a column of the set named by the
word refers to. It comes into the set where no table there has such a name of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from dovetail.domain import JoinEdge, Kind, Table, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.names.concepts import meaning_of
from dovetail.names.words import spelled
from dovetail.retrieve.connect import Connector
from dovetail.search.languages import plain
from dovetail.search.query import Query, QueryTerm, stem, stems
from dovetail.search.searcher import Searcher

_NAME = frozenset(("name", "title", "label", "designation", "description", "text"))
_STEMS = frozenset(map(stem, _NAME))
# The share of the rows that have a name of their own, and what codes do not have.
_MOST, _BLANK_OR_LOWER = 0.5, re.compile(r"[^\W\d_]{3}.* |[a-z]{3}")
_NAMES = _NAME | {f"{word}s" for word in _NAME}


def lookups(searcher: Searcher, query: Query, tables: Sequence[TableId]) -> Iterator[Connector]:
    """The tables that have the names which a question asks for and the tables of a set lack."""
    inside = set(tables)
    for term in _asked_for_by_name(query):
        words = {word for word, share in term.expansions if share > 0.5}
        if not words or any(_names(searcher, table, words) for table in inside):
            continue
        found = sorted(
            (-edge.score, str(edge.right), edge)
            for table in tables
            for edge in searcher.joins.joins(table)
            if _refers(searcher, edge, table, words) and edge.right not in inside
        )
        if found:
            edge = found[0][2]
            inside.add(edge.right)
            why = f"has the names of what {edge.left.name}.{edge.columns[0][0]} refers to"
            yield Connector(edge.right, (edge.left, edge.left), why)


def _asked_for_by_name(query: Query) -> Iterator[QueryTerm]:
    """The terms of which a question wants the name: the word before "name", or after "name of"."""
    terms: dict[str, list[QueryTerm]] = defaultdict(list)  # a compound is several
    for term in query.terms:
        terms[query.words[term.text]].append(term)
    said: list[QueryTerm | None] = []  # None for a word that means a name
    for word in spelled(query.text).split():
        own = [None if term.text in _STEMS else term for term in terms[word]]
        said += [None] if _is_name(word) else own
    for one, other in pairwise(said):
        if (asked := one or other) is not None and (one is None or other is None):
            yield asked


def _is_name(word: str) -> bool:
    return word in _NAMES or meaning_of(plain(word)) in _NAME


def _names(searcher: Searcher, table: TableId, words: set[str]) -> bool:
    """Whether a table has names of what words say: by its own name, or in a column's."""
    profile = searcher.catalog[table]
    own = words & set(stems(table.name, searcher.lexical.parts))
    for column, said in zip(profile.columns, searcher.header_stems(table), strict=True):
        of_name = any(map(_is_name, spelled(column.name, searcher.lexical.parts).split()))
        if of_name and column.profile.kind is Kind.TEXT and (own or words & set(said)):
            return True
    return False


def _refers(searcher: Searcher, edge: JoinEdge, table: TableId, words: set[str]) -> bool:
    """Whether a join leads from a column named by words to a table that has names."""
    if edge.left != table or edge.right == table or edge.score <= JOINABLE:
        return False
    if not edge.cardinality.endswith(":1"):
        return False
    parts = searcher.lexical.parts
    said = {word for column, _ in edge.columns for word in stems(column, parts)}
    said.update(stems(edge.right.name, parts))
    return bool(words & said) and _has_names(searcher.catalog[edge.right], edge)


def _has_names(table: Table, edge: JoinEdge) -> bool:
    """Whether a table has a text for nearly every key: a name, whatever its column is called."""
    keys = {column for _, column in edge.columns}
    return any(
        column.name not in keys
        and column.profile.kind is Kind.TEXT
        and column.profile.distinct >= _MOST * table.rows
        and any(_BLANK_OR_LOWER.search(str(example)) for example in column.profile.examples)
        for column in table.columns
    )
