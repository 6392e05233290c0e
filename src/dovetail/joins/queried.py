"""Joins of past queries over the other edges: who wrote a query knew which columns belong together.

A join that queries made gains nats with how often they did; one that nothing else speaks for
becomes an edge. Where not one value of the two columns is shared, the data contradicts the queries,
and the edge says so by its score and its match rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import Join, JoinUse, Usage
from dovetail.domain import JoinEdge, Table
from dovetail.domain.sql import PREFIX, rung
from dovetail.errors import NotFoundError
from dovetail.joins.edges import in_order, shifted
from dovetail.joins.transforms import ENOUGH, FORMS

# Evidence: in how many queries the join was made.
QUERIES = "queries"
# Nats that one query is worth, and at most: a query may be wrong, a hundred are not.
_FIRST, _MOST = 2.0, 6.0
# Nats against a join of columns that share no value.
_NO_VALUE = 4.0


def with_queries(catalog: CatalogReader, edges: Iterable[JoinEdge], usage: Usage) -> list[JoinEdge]:
    """The edges with those that past queries made among them, all in order."""
    wanted = {_key(use.left, use.right, use.columns): use for use in usage.joins.values()}
    joined, seen = [], set()
    for edge in edges:
        key = _key(edge.left, edge.right, edge.columns)
        use = wanted.get(key)
        joined.append(edge if use is None else _raised(edge, use, 0.0))
        seen.add(key)
    joined += _new(catalog, (use for key, use in wanted.items() if key not in seen))
    return in_order(joined)


def _new(catalog: CatalogReader, uses: Iterable[JoinUse]) -> Iterator[JoinEdge]:
    for use in uses:
        if use.left not in catalog or use.right not in catalog:
            continue
        try:
            left, right = catalog[use.left], catalog[use.right]
            edge = stated_edge(catalog, left, right, use.columns, {})
        except (NotFoundError, ValueError):  # a column that the table has no more
            continue
        against = _NO_VALUE if not edge.match_rate and left.rows and right.rows else 0.0
        evidence = {"row_containment": edge.match_rate}
        evidence |= {"composite": 1.0} if len(edge.columns) > 1 else {}
        evidence |= {"self": 1.0} if use.left == use.right else {}
        yield _raised(replace(edge, score=0.5, evidence=evidence), use, against)


def _raised(edge: JoinEdge, use: JoinUse, against: float) -> JoinEdge:
    """An edge with what queries say for it; never less sure than it was."""
    gain = min(_FIRST + math.log(max(use.queries, 1)), _MOST) - against
    return shifted(edge, gain, {QUERIES: float(use.queries)}, lower=bool(against))


def _key(left: object, right: object, columns: Iterable[tuple[str, str]]) -> object:
    """A join whichever way it is written."""
    return frozenset(frozenset(((left, a), (right, b))) for a, b in columns)


def use_of(edge: JoinEdge, usage: Usage) -> JoinUse | None:
    """What queries say of an edge, if any made its join."""
    for left, right, columns in _readings(edge):
        if use := usage.joins.get((left, right, columns)):
            return use
    return None


def _readings(edge: JoinEdge) -> Iterator[Join]:
    turned = tuple((b, a) for a, b in edge.columns)
    for left, right, columns in (
        (edge.left, edge.right, edge.columns),
        (edge.right, edge.left, turned),
    ):
        yield left, right, tuple(sorted(columns))


_KINDS = {(False, True): "n:1", (True, True): "1:1", (False, False): "n:m"}


def stated_edge(
    catalog: CatalogReader,
    left: Table,
    right: Table,
    columns: tuple[tuple[str, str], ...],
    evidence: Mapping[str, float],
) -> JoinEdge:
    """The edge of a stated join, of score 1: rows of the side that is not unique refer to the
    other."""
    unique = [
        all(table.column(name).profile.unique for name in names)
        for table, names in zip((left, right), zip(*columns, strict=True), strict=True)
    ]
    if unique[0] and not unique[1]:
        left, right = right, left
        columns = tuple((b, a) for a, b in columns)
        unique.reverse()
    rate = min(_match_rate(catalog, left, right, pair) for pair in columns)
    kind = _KINDS[unique[0], unique[1]]
    return JoinEdge(left.id, right.id, columns, 1.0, kind, rate, evidence)


def _match_rate(catalog: CatalogReader, left: Table, right: Table, pair: tuple[str, str]) -> float:
    """The share of the left's rows whose value the right has."""
    values = catalog.values
    own, other = values.number(left.id, pair[0]), values.number(right.id, pair[1])
    hashes, keys = values.compared(own, other)
    counts = values.counts(own)[: len(hashes)]
    filled = left.rows - left.column(pair[0]).profile.nulls
    share = int(counts[found_in(hashes, keys)].sum()) / max(int(counts.sum()), 1)
    return round(share * filled / left.rows, 6) if left.rows else 0.0


def in_normal_form(catalog: CatalogReader, edge: JoinEdge) -> JoinEdge:
    """A stated join of one column, in the normal form in which most rows match.

    A form that finds hardly more rows than a lower one is not taken.
    """
    if len(edge.columns) > 1 or not (rows := catalog[edge.left].rows):
        return edge
    filled = rows - catalog[edge.left].column(edge.columns[0][0]).profile.nulls
    ends = zip((edge.left, edge.right), edge.columns[0], strict=True)
    values = catalog.values
    columns = [values.number(table, name) for table, name in ends]
    left, right = ({"": column, **values.forms_of(column)} for column in columns)
    best = edge
    for form in FORMS:
        changed, other = (
            next((name for name in side if name and rung(name) in form), "")
            for side in (left, right)
        )
        own, counts = values.hashes(left[changed]), values.counts(left[changed])
        found = counts[found_in(own, values.hashes(right[other]))]
        share = int(found.sum()) / max(int(counts.sum()), 1)
        rate = round(share * filled / rows, 6)
        if best.match_rate < ENOUGH * rate and (changed or other):
            transform = PREFIX if PREFIX in (changed, other) else changed or other
            best = replace(edge, match_rate=rate, transform=transform)
    return best
