"""Joins beyond one column and two tables: composite keys, self-references, junction tables.

All weigh their evidence in the nats of the scoring `foreign_key`, and all need rows
(`rows.py`), so they are looked for only where single columns already say that there may be
one. Joins by names alone, where there are hardly any rows, come last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by, sorted_distinct
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.columns import HARDLY_ANY, ColumnArrays, TableColumns, probability
from dovetail.joins.composite import CompositeKeys
from dovetail.joins.counting import count_shared
from dovetail.joins.databases import LatentDatabases
from dovetail.joins.features import DEFAULT_WEIGHTS, Weights
from dovetail.joins.names_only import name_only_edges
from dovetail.joins.rows import RowHashes, RowQuestions, RowReader, row_tuples
from dovetail.names.references import References
from dovetail.names.table_name import entity
from dovetail.names.words import core, identifies, is_people, words
from dovetail.names.words import is_role as names_role
from dovetail.ports import Json


def structural_edges(
    arrays: ColumnArrays,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[JoinEdge]:
    """The given edges of one column, with junction tables marked, and then all others."""
    columns = TableColumns(arrays)
    databases = _databases(arrays, edges, weights)
    more = list(CompositeKeys(arrays, columns, databases, rows, weights).edges())
    more += self_references(arrays, columns, edges, rows, weights)
    more += name_only_edges(arrays, columns, [*edges, *more], databases, weights)
    return [*mark_junction_tables(arrays, columns, edges, rows), *more]


def _databases(
    arrays: ColumnArrays, edges: Sequence[JoinEdge], weights: Weights
) -> LatentDatabases:
    """The latent databases that the sure edges form."""
    databases = LatentDatabases([" ".join(words(table.name)) for table in arrays.ids])
    number_of = {table: number for number, table in enumerate(arrays.ids)}
    for edge in edges:
        if edge.score > 0.5 and edge.evidence["competitors"] < weights.clear:
            databases.join(number_of[edge.left], number_of[edge.right])
    return databases


# References beyond which a table with hardly any rows is not looked at: any two of its columns tell
# its rows apart, which says nothing, and there are too many to try.
_MOST_REFERENCES = 12


def mark_junction_tables(
    arrays: ColumnArrays, columns: TableColumns, edges: Sequence[JoinEdge], rows: RowQuestions
) -> list[JoinEdge]:
    """The edges, in order; those that a junction table's key is made of say `junction`."""
    best: dict[tuple[int, str], JoinEdge] = {}
    for edge in edges:
        if edge.score > 0.5:
            best.setdefault((columns.place[edge.left], edge.columns[0][0]), edge)
    by_table: dict[int, list[JoinEdge]] = defaultdict(list)
    for (table, _), edge in best.items():
        by_table[table].append(edge)
    asked = [
        references
        for table, edges_of_table in sorted(by_table.items())
        if len(references := _may_be_key(arrays, columns, table, edges_of_table)) > 1
    ]
    answers = rows.ask(first_key, [_question(arrays, columns, references) for references in asked])
    marked = {
        id(references[number])
        for references, numbers in zip(asked, answers, strict=True)
        for number in numbers
    }
    return [_marked(edge) if id(edge) in marked else edge for edge in edges]


def _may_be_key(
    arrays: ColumnArrays, columns: TableColumns, table: int, edges: Sequence[JoinEdge]
) -> Sequence[JoinEdge]:
    """The references that together, and none alone, may be the key of a table without another."""
    first = columns.of[table][0]
    names = {edge.columns[0][0] for edge in edges}
    own_key = columns.has_key_column(table) and arrays.name[first] not in names
    if arrays.rows[table] <= HARDLY_ANY and len(edges) > _MOST_REFERENCES:
        return ()
    if own_key or len({(edge.right, edge.columns[0][1]) for edge in edges}) < 2:
        return ()
    return [e for e in edges if not arrays.unique[columns.find(table, e.columns[0][0])]]


def _question(arrays: ColumnArrays, columns: TableColumns, references: Sequence[JoinEdge]) -> Json:
    """Which of some references are the first that together are a key of their table."""
    table = references[0].left
    columns_of = [columns.find(columns.place[table], edge.columns[0][0]) for edge in references]
    return {
        "table": [table.source, table.name],
        "columns": arrays.position[columns_of].tolist(),
    }


def _marked(edge: JoinEdge) -> JoinEdge:
    return replace(edge, evidence={**edge.evidence, "junction": 1.0})


def first_key(rows: RowReader, question: Json) -> list[int]:
    """The first two or three of some columns that together are a key of their table, by number.

    None of them is one alone. Without such a key the answer is empty.
    """
    table, columns = TableId(*question["table"]), question["columns"]
    for width in (2, 3):
        for chosen in combinations(range(len(columns)), width):
            key = row_tuples(rows, table, [columns[number] for number in chosen])
            if key is not None and len(key) and len(sorted_distinct(key)) == len(key):
                return list(chosen)
    return []


# The least share of the rows that must be found in the table's own key.
_LEAST_SHARE = 0.9

# Codes in common with the table's own key that are no chance.
_CODES = 10
# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded replaced
    child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A column that may refer to the key of its own table.

    `named` is how far its name says so, `role` whether by a role, or without a name by codes;
    `sure` where that is a person's role in a table of people, or codes. `share` is how many of its
    rows are found in the key.
    """

    column: int
    key: int
    named: float
    role: bool
    sure: bool
    share: float


def self_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
    weights: Weights,
) -> Iterator[JoinEdge]:
    """Edges of tables with themselves.

    The column's values are in the table's key, and the column is called so: by a role, or by the
    table's own name with something added; codes need no name. Without such a name nothing is
    proved: small codes always point at the first few ids. Where neither a role nor codes speak for
    it, the column must lead from row to row without a cycle.
    """
    joined = {(edge.left, edge.columns[0][0]) for edge in edges if edge.score > 0.5}
    references = list(_contained(arrays, columns))
    weighed: list[tuple[_Reference, float]] = []
    for reference in references:
        column, name = reference.column, arrays.name[reference.column]
        plain = bool(arrays.number[column]) and not identifies(name)
        elsewhere = (arrays.ids[int(arrays.table[column])], name) in joined
        w = weights
        logit = w.prior + w.name * reference.named + w.key
        logit -= w.measure * (plain and not reference.role)
        logit -= w.own * (elsewhere and not reference.role)
        logit -= w.orphan * (1 - reference.share)
        if reference.share >= _LEAST_SHARE and logit > w.least:
            weighed.append((reference, logit))
    questions = [
        {"table": [table.source, table.name], "column": int(arrays.position[reference.column])}
        for reference, _ in weighed
        for table in [arrays.ids[int(arrays.table[reference.column])]]
    ]
    depths = rows.ask(depth, questions)
    for (reference, logit), longest in zip(weighed, depths, strict=True):
        if longest > 0 or (longest < 0 and reference.sure):
            yield _edge(arrays, reference, logit, max(longest, 0))


def _edge(arrays: ColumnArrays, reference: _Reference, logit: float, longest: int) -> JoinEdge:
    column, share = reference.column, reference.share
    table = int(arrays.table[column])
    return JoinEdge(
        left=arrays.ids[table],
        right=arrays.ids[table],
        columns=((arrays.name[column], arrays.name[reference.key]),),
        score=probability(logit),
        cardinality="n:1",
        match_rate=round(share * float(arrays.filled[column] / arrays.rows[table]), 6),
        evidence={
            "self": 1.0,
            "depth": float(longest),
            "row_containment": round(share, 6),
            "name": round(reference.named, 6),
            "logit": round(logit, 6),
        },
    )


def _contained(arrays: ColumnArrays, columns: TableColumns) -> Iterator[_Reference]:
    """Columns named after their own table, with the share of their rows that its key holds."""
    named: list[tuple[int, int]] = []
    for own in columns.of:
        if not own or not arrays.unique[own[0]]:
            continue
        named += [(column, own[0]) for column in own[1:] if arrays.filled[column]]
    child, key = np.array(named, dtype=np.int64).reshape(-1, 2).T
    far, role, sure = _named_after_own(arrays, child, key)
    some = far > 0
    child, key, far, role, sure = child[some], key[some], far[some], role[some], sure[some]
    _, rows = count_shared(arrays.values, child, arrays.values, key)
    shares = rows / arrays.filled[child]
    for each in zip(*(f.tolist() for f in (child, key, far, role, sure, shares)), strict=True):
        yield _Reference(*each)


def _named_after_own(arrays: ColumnArrays, column: Ints, key: Ints) -> tuple[Floats, Flags, Flags]:
    """How far columns' names say "another row of this table", whether by a role, and surely so."""
    names = Encoded.of(arrays.called)
    called = encode_by(core, names)
    is_role = np.array([bool(ROLES & set(name)) for name in called.dictionary], dtype=np.bool_)
    longer = np.array([len(name) > 1 for name in called.dictionary], dtype=np.bool_)
    tables = [is_people(entity(name)) for name in arrays.table_names]
    people = np.array(tables, dtype=np.bool_)[arrays.table[column]]
    by_role = np.array([names_role(name) for name in called.dictionary], dtype=np.bool_)
    codes = arrays.codes[column] & arrays.codes[key] & (arrays.distinct[column] >= _CODES)
    sure: Flags = (people & by_role[called.codes[column]]) | codes
    role: Flags = is_role[called.codes[column]] | sure
    far = role.astype(np.float64)
    rest = np.flatnonzero(~role & longer[called.codes[column]])
    child, own, table = column[rest], key[rest], arrays.table[column[rest]]
    references = References.of(names, arrays.table_names)
    to_table = np.minimum(references.to_table(child, table), references.from_table(table, child))
    to_key = np.minimum(references.to_column(child, own), references.to_column(own, child))
    far[rest] = np.maximum(to_table, to_key)
    return far, role, sure


def depth(rows: RowReader, question: Json) -> int:
    """The longest chain from row to row by a column that refers to the table's first one.

    0 when there is none, -1 when it is a cycle.
    """
    hashes = rows.read(TableId(*question["table"]), [0, question["column"]])
    return 0 if hashes is None else _longest_chain(hashes)


def _longest_chain(hashes: RowHashes) -> int:
    key, reference = hashes
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], reference)
    at[at == len(key)] = 0
    to = np.where((key[order][at] == reference) & (reference != 0), order[at], -1)
    to[to == np.arange(len(to))] = -1  # a root may point at itself
    longest, here = 0, to
    while (here >= 0).any():
        longest += 1
        if longest > len(to):
            return -1
        here = np.where(here >= 0, to[here], -1)
    return longest
