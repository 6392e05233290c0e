"""Declared keys over join evidence: a declared foreign key is an edge, and sways the others.

Warehouses hold nobody to a key, so what is declared counts as far as the values bear it out. A
declared foreign key scores 1, unless they contradict it: then its score is the share of rows that
find one partner, and its evidence counts the values that have none or several. A key of which only
a sample was read contradicts nothing. The other edges are weighed again with what is declared, in
the nats of the scoring `foreign_key`: a declared key looks like a key in full, a primary key is its
own table's, a column that only happens to be unique is not, and a column that is declared to refer
to one table hardly refers to another of its source, as far as it does refer to that one. A key
whose values repeat is none, whoever declared it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.domain import DeclaredKeys, JoinEdge, TableId
from dovetail.joins.edges import cardinality, in_order, shifted
from dovetail.joins.features import WEIGHTS

# Evidence: the key is declared; so many of the child's values have no partner, or several.
DECLARED, NO_PARTNER = "declared", "values_without_partner"
SEVERAL = "values_with_several_partners"
# A column refers to one table, and the declared one is known: nats against another of its source.
_ELSEWHERE = 3.0
# Edges that are weighed by other things than single columns.
_APART = ("composite", "self", "names_only")

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A table of a declared key: the numbers of its columns among those of all tables, and how many
    rows it has. Of a `sampled` table not all rows were read."""

    id: TableId
    place: Mapping[str, int]
    rows: int
    sampled: bool


@dataclass(frozen=True, slots=True)
class _Match:
    """What the values say of a declared foreign key.

    Of the child's values, how many have no partner and how many several; of its rows, how many have
    a value, how many a partner, and how many one alone.
    """

    missing: int
    several: int
    filled: int
    matched: int
    alone: int

    @property
    def share(self) -> float:
        """The share of rows that bear the key out; all, where there are none."""
        return self.alone / self.filled if self.filled else 1.0


class _Sides:
    """The tables of a catalog by id, and their declared keys."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._rows = catalog.records.tables["rows"].to_pylist()
        self._place = {table: place for place, table in enumerate(catalog.ids)}
        self._names = catalog.records.columns["name"].to_pylist()
        self._nulls, self._distinct = (
            numbers(catalog.records.columns[name]) for name in ("nulls", "distinct")
        )
        self._unique = catalog.records.columns["unique"]
        self._sampled = [text != "" for text in catalog.records.tables["estimated"].to_pylist()]
        self._bounds = catalog.records.bounds.tolist()
        stored = catalog.records.tables["keys"].to_pylist()
        declared = {
            table: DeclaredKeys.from_text(text)
            for table, text in zip(catalog.ids, stored, strict=True)
            if text
        }
        self.keys = {table: self._borne_out(table, keys) for table, keys in declared.items()}

    def side(self, table: TableId) -> _Side | None:
        """A table, if the catalog has it."""
        row = self._place.get(table)
        if row is None:
            return None
        first, end = self._bounds[row], self._bounds[row + 1]
        place = {name: at for at, name in enumerate(self._names[first:end], first)}
        return _Side(table, place, self._rows[row], self._sampled[row])

    def repeats(self, side: _Side, key: tuple[str, ...]) -> bool:
        """Whether two rows of a table have the same declared key, as far as columns tell."""
        at = [side.place[name] for name in _spelled(side, key)]
        filled = side.rows - sum(int(self._nulls[column]) for column in at)
        if len(at) == 1:
            return filled > 0 and not self._unique[at[0]].as_py()
        return bool(at) and math.prod(int(self._distinct[column]) for column in at) < filled

    def _borne_out(self, table: TableId, keys: DeclaredKeys) -> DeclaredKeys:
        """The declared keys without those whose values repeat; foreign keys stay."""
        side = self.side(table)
        if side is None:
            return keys
        return DeclaredKeys(
            () if self.repeats(side, keys.primary) else keys.primary,
            tuple(key for key in keys.unique if not self.repeats(side, key)),
            keys.foreign,
        )

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


def with_declared(catalog: CatalogReader, edges: Iterable[JoinEdge]) -> list[JoinEdge]:
    """The edges with declared foreign keys among them, all in order."""
    sides = _Sides(catalog)
    wanted = {
        (child.id, parent.id, frozenset(columns)): (child, parent, columns, by)
        for child, parent, columns, by in sides.declared()
    }
    inferred: dict[tuple[TableId, TableId, frozenset[tuple[str, str]]], JoinEdge] = {}
    others: list[JoinEdge] = []
    for edge in edges:
        key = (edge.left, edge.right, frozenset(edge.columns))
        turned = (edge.right, edge.left, frozenset((b, a) for a, b in edge.columns))
        if key in wanted:
            inferred.setdefault(key, edge)
        elif turned not in wanted:
            others.append(edge)
    refers: dict[tuple[TableId, str], tuple[TableId, float]] = {}
    declared: list[JoinEdge] = []
    for key, (child, parent, columns, by) in wanted.items():
        match = _match(catalog, child, parent, columns)
        own = tuple(sorted(column for column, _ in columns))
        one = any(tuple(sorted(each)) == own for each in sides.keys[child.id].candidate_keys)
        kind = cardinality(one, not sides.repeats(parent, tuple(other for _, other in columns)))
        edge = _declared_edge(child, parent, columns, match, kind, inferred.get(key))
        declared.append(_said_by(by, edge))
        column = (child.id, columns[0][0])
        if len(columns) == 1 and match.share >= refers.get(column, (parent.id, 0.0))[1]:
            refers[column] = (parent.id, match.share)
    declared += [_reweighed(edge, sides.keys, refers) for edge in others]
    return in_order(declared)


def _spelled(side: _Side, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns as the table spells them, whatever case a key was declared in; none if one is not."""
    folded = {name.casefold(): name for name in reversed(list(side.place))}
    spelled = [name if name in side.place else folded.get(name.casefold()) for name in columns]
    return tuple(name for name in spelled if name is not None) if all(spelled) else ()


def _declared_edge(
    child: _Side,
    parent: _Side,
    columns: Columns,
    match: _Match,
    kind: str,
    inferred: JoinEdge | None,
) -> JoinEdge:
    """The edge of a declared foreign key; `inferred` is that of the evidence, if there is any."""
    evidence = dict(inferred.evidence) if inferred else {}
    if not inferred:
        share = match.matched / match.filled if match.filled else 1.0
        evidence["row_containment"] = round(share, 6)
    evidence[DECLARED] = 1.0
    if match.missing:
        evidence[NO_PARTNER] = float(match.missing)
    if match.several:
        evidence[SEVERAL] = float(match.several)
    if child.sampled or parent.sampled:
        evidence["estimated"] = 1.0
    if len(columns) > 1:
        evidence["composite"] = 1.0
    if child.id == parent.id:
        evidence["self"] = 1.0
    return JoinEdge(
        child.id,
        parent.id,
        inferred.columns if inferred else columns,
        max(round(match.share, 6), inferred.score if inferred else 0.0),
        kind,
        inferred.match_rate
        if inferred
        else round(match.matched / child.rows, 6)
        if child.rows
        else 0.0,
        evidence,
    )


def _said_by(by: str, edge: JoinEdge) -> JoinEdge:
    """The edge with who declared its key as evidence, where that is not the source itself."""
    return replace(edge, evidence={**edge.evidence, by: 1.0}) if by else edge


def _match(catalog: CatalogReader, child: _Side, parent: _Side, columns: Columns) -> _Match:
    """What the values say of a foreign key.

    Of a key of several columns each is counted by itself: no row has fewer orphans than that, and
    that its columns repeat one by one means nothing.
    """
    counted = [_count(catalog, child, parent, pair) for pair in columns]
    worst = max(counted, key=lambda each: (each.missing, -each.matched))
    if parent.sampled:
        return _Match(0, 0, worst.filled, worst.filled, worst.filled)
    if not parent.rows:
        return replace(worst, alone=worst.filled)
    return worst if len(columns) == 1 else replace(worst, several=0, alone=worst.matched)


def _count(catalog: CatalogReader, child: _Side, parent: _Side, pair: tuple[str, str]) -> _Match:
    """The same of one pair of columns."""
    own, other = child.place[pair[0]], parent.place[pair[1]]
    stored = catalog.values
    values, keys = stored.compared(own, other)
    rows, times = stored.counts(own)[: len(values)], stored.counts(other)[: len(keys)]
    scale = stored.size(own) / max(len(values), 1)
    present = found_in(values, keys)
    several = found_in(values, keys[times > 1])
    matched = int(rows[present].sum())
    alone = matched - int(rows[several].sum())
    missing = round(scale * int((~present).sum()))
    return _Match(missing, round(scale * int(several.sum())), int(rows.sum()), matched, alone)


def _reweighed(
    edge: JoinEdge,
    keys: Mapping[TableId, DeclaredKeys],
    refers: Mapping[tuple[TableId, str], tuple[TableId, float]],
) -> JoinEdge:
    """An inferred edge, weighed again with the keys that its two tables declare."""
    evidence = edge.evidence
    if len(edge.columns) != 1 or "key" not in evidence or any(name in evidence for name in _APART):
        return edge
    if edge.by_days:  # whatever is declared of a calendar, a day refers to no row of it
        return edge
    ((own, other),) = edge.columns
    shift = 0.0
    left, right = keys.get(edge.left), keys.get(edge.right)
    if right is not None and right.is_key(other):
        shift += WEIGHTS.key * (1 - evidence["key"])
    if left is not None and left.candidate_keys:
        # Masters of two systems are both primary keys.
        alike = evidence["code"] or evidence["fit"] or "transformed" in evidence
        masters = evidence["across"] and alike
        if left.primary == (own,) and not masters:
            shift -= WEIGHTS.own * (1 - evidence["own"])
        elif not left.uses(own):
            shift += WEIGHTS.own * evidence["own"]
    target = refers.get((edge.left, own))
    if target is not None and target[0].source == edge.right.source and target[0] != edge.right:
        shift -= _ELSEWHERE * target[1]
    return shifted(edge, shift, lower=True) if shift else edge
