"""The edge of a join that somebody states by its columns alone: which way it goes, who matches."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, Table

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
    own = [column.name for column in left.columns].index(pair[0])
    other = [column.name for column in right.columns].index(pair[1])
    held = found_in(catalog.hashes(left.id, own), catalog.hashes(right.id, other))
    matched = int(catalog.counts(left.id, own)[held].sum())
    return round(matched / left.rows, 6) if left.rows else 0.0
