"""Declared keys over join evidence: a declared foreign key is an edge, and sways the others.

A declared foreign key scores 1, unless the data contradicts it: then its score is the share of rows
that find a partner, and its evidence counts the values that have none. The other edges are weighed
again with what is declared, in the nats of the scoring `foreign_key`: a declared key looks like a
key in full, a primary key is its own table's, a column that only happens to be unique is not, and a
column that is declared to refer to one table hardly refers to another of its source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dovetail.catalog.reader import CatalogReader
from dovetail.declared_keys import DeclaredKeys
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import found_in
from dovetail.joins.edges import in_order
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights

# Evidence: the key is declared; so many of the child's values have no partner.
DECLARED, NO_PARTNER = "declared", "values_without_partner"
# A column refers to one table, and the declared one is known: nats against another of its source.
_ELSEWHERE = 3.0
# Edges that are weighed by other things than single columns.
_APART = ("composite", "self", "names_only")
_LEAST = 1e-6

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A table of a declared key: how its columns are numbered, and how many rows it has."""

    id: TableId
    place: Mapping[str, int]
    rows: int


class _Sides:
    """The tables of a catalog by id, and their declared keys."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._rows = catalog.records.tables["rows"].to_pylist()
        self._place = {table: place for place, table in enumerate(catalog.ids)}
        self._names = catalog.records.columns["name"].to_pylist()
        self._bounds = catalog.records.bounds.tolist()
        stored = catalog.records.tables["keys"].to_pylist()
        self.keys: dict[TableId, DeclaredKeys] = {
            table: DeclaredKeys.from_text(text)
            for table, text in zip(catalog.ids, stored, strict=True)
            if text
        }

    def side(self, table: TableId) -> _Side | None:
        """A table, if the catalog has it."""
        row = self._place.get(table)
        if row is None:
            return None
        names = self._names[self._bounds[row] : self._bounds[row + 1]]
        return _Side(table, {name: place for place, name in enumerate(names)}, self._rows[row])

    def declared(self) -> Iterator[tuple[_Side, _Side, Columns, str]]:
        """The declared foreign keys whose tables and columns the catalog has, and who says so."""
        for table, keys in self.keys.items():
            child = self.side(table)
            for key in keys.foreign:
                parent = self.side(TableId(key.source or table.source, key.table))
                if child is None or parent is None:
                    continue
                own = _spelled(child, key.columns)
                other = _spelled(parent, key.key_columns)
                if own and other:
                    yield child, parent, tuple(zip(own, other, strict=True)), key.by


def with_declared(
    catalog: CatalogReader, edges: Iterable[JoinEdge], weights: Weights = DEFAULT_WEIGHTS
) -> list[JoinEdge]:
    """The edges with declared foreign keys among them, all in order."""
    sides = _Sides(catalog)
    wanted = {
        (child.id, parent.id, frozenset(columns)): (child, parent, columns, by)
        for child, parent, columns, by in sides.declared()
    }
    known: dict[tuple[TableId, TableId, frozenset[tuple[str, str]]], JoinEdge] = {}
    others: list[JoinEdge] = []
    for edge in edges:
        key = (edge.left, edge.right, frozenset(edge.columns))
        turned = (edge.right, edge.left, frozenset((b, a) for a, b in edge.columns))
        if key in wanted:
            known.setdefault(key, edge)
        elif turned not in wanted:
            others.append(edge)
    refers = {
        (child.id, own): (parent.id, other)
        for child, parent, columns, _ in wanted.values()
        if len(columns) == 1
        for own, other in columns
    }
    found = [
        _said_by(by, _declared_edge(catalog, child, parent, columns, known.get(key), sides.keys))
        for key, (child, parent, columns, by) in wanted.items()
    ]
    found += [_reweighed(edge, sides.keys, refers, weights) for edge in others]
    return in_order(found)


def _spelled(side: _Side, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns as the table spells them, whatever case a key was declared in; none if one is not."""
    folded = {name.casefold(): name for name in reversed(list(side.place))}
    found = [name if name in side.place else folded.get(name.casefold()) for name in columns]
    return tuple(name for name in found if name is not None) if all(found) else ()


def _declared_edge(
    catalog: CatalogReader,
    child: _Side,
    parent: _Side,
    columns: Columns,
    known: JoinEdge | None,
    keys: Mapping[TableId, DeclaredKeys],
) -> JoinEdge:
    """The edge of a declared foreign key; `known` is what the evidence says of it, if anything."""
    counted = [_count(catalog, child, parent, pair) for pair in columns]
    # Of a key of several columns each is counted by itself: no row has fewer orphans than that.
    missing, matched, filled = max(counted, key=lambda one: (one[0], -one[1]))
    share = matched / filled if filled and parent.rows else 1.0
    evidence = dict(known.evidence) if known else {"row_containment": round(share, 6)}
    evidence[DECLARED] = 1.0
    if missing:
        evidence[NO_PARTNER] = float(missing)
    if len(columns) > 1:
        evidence["composite"] = 1.0
    if child.id == parent.id:
        evidence["self"] = 1.0
    own = tuple(sorted(column for column, _ in columns))
    one = any(tuple(sorted(key)) == own for key in keys[child.id].candidate_keys)
    return JoinEdge(
        child.id,
        parent.id,
        known.columns if known else columns,
        max(round(share, 6), known.score if known else 0.0),
        "1:1" if one else "n:1",
        known.match_rate if known else round(matched / child.rows, 6) if child.rows else 0.0,
        evidence,
    )


def _said_by(by: str, edge: JoinEdge) -> JoinEdge:
    """The edge with who declared its key as evidence, where that is not the source itself."""
    return replace(edge, evidence={**edge.evidence, by: 1.0}) if by else edge


def _count(
    catalog: CatalogReader, child: _Side, parent: _Side, pair: tuple[str, str]
) -> tuple[int, int, int]:
    """The child's values without a partner, its rows with one, and its rows with a value."""
    own, other = pair
    values = catalog.hashes(child.id, child.place[own])
    rows = catalog.counts(child.id, child.place[own])
    held = found_in(values, catalog.hashes(parent.id, parent.place[other]))
    return int((~held).sum()), int(rows[held].sum()), int(rows.sum())


def _reweighed(
    edge: JoinEdge,
    keys: Mapping[TableId, DeclaredKeys],
    refers: Mapping[tuple[TableId, str], tuple[TableId, str]],
    weights: Weights,
) -> JoinEdge:
    """An inferred edge, weighed again with the keys that its two tables declare."""
    said = edge.evidence
    if len(edge.columns) != 1 or "key" not in said or any(name in said for name in _APART):
        return edge
    ((own, other),) = edge.columns
    shift = 0.0
    left, right = keys.get(edge.left), keys.get(edge.right)
    if right is not None and right.is_key(other):
        shift += weights.key * (1 - said["key"])
    if left is not None and left.candidate_keys:
        if left.primary == (own,):
            shift -= weights.own * (1 - said["own"])
        elif not left.uses(own):
            shift += weights.own * said["own"]
    target = refers.get((edge.left, own))
    if target is not None and target[0].source == edge.right.source and target[0] != edge.right:
        shift -= _ELSEWHERE
    if not shift:
        return edge
    score = min(max(edge.score, _LEAST), 1 - _LEAST)
    logit = math.log(score / (1 - score)) + shift
    return replace(edge, score=round(1 / (1 + math.exp(-logit)), 6))
