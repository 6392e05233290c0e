"""Joins beyond one column and two tables: keys of several columns, hierarchies, bridges.

All three weigh their evidence in the nats of `keylike`, and all need rows (`rows.py`), so they are
looked for only where single columns already say that there may be one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dovetail.domain import JoinEdge, TableId
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Floats, Lake, found_in
from dovetail.joins.keys.name_links import nominal_edges
from dovetail.joins.naming.name_words import core, entity, identifies, refers, words
from dovetail.joins.row_hashes import RowHashes, RowReader, combined
from dovetail.joins.scoring.features import DEFAULT, Constants, spelling_habits
from dovetail.joins.scoring.foreign_key import Databases

# The least share of the child's rows that must be found: several columns agree by less chance.
_FLOOR = 0.9
_WIDEST = 3
# A name that more tables share than this says nothing of which of them belong together.
_COMMON = 200

# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded replaced
    child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


def structured_edges(
    lake: Lake, edges: Sequence[JoinEdge], rows: RowReader, constants: Constants = DEFAULT
) -> list[JoinEdge]:
    """The edges of one column, those of bridges marked, and those of composites and hierarchies."""
    columns = _Columns(lake)
    databases = _databases(lake, edges, constants)
    found = list(composites(lake, columns, databases, rows, constants))
    found += hierarchies(lake, columns, edges, rows, constants)
    found += nominal_edges(lake, [*edges, *found], databases, constants)
    return [*_marked(lake, columns, edges, rows), *found]


class _Columns:
    """Columns by table and name."""

    def __init__(self, lake: Lake) -> None:
        self.of: list[list[int]] = [[] for _ in lake.ids]
        for column, table in enumerate(lake.table.tolist()):
            self.of[table].append(column)
        self.place = {table: number for number, table in enumerate(lake.ids)}
        self._lake = lake

    def find(self, table: int, name: str) -> int:
        """A column of a table by name."""
        return next(c for c in self.of[table] if self._lake.name[c] == name)

    def is_keyed(self, table: int) -> bool:
        """Whether the first column is a key, by which the table is then referred to."""
        if not self.of[table]:
            return False
        first = self.of[table][0]
        name = self._lake.name[first]
        named = identifies(name) or refers(core(name), entity(self._lake.ids[table].name)) > 0.5
        return bool(self._lake.unique[first]) and named


def _databases(lake: Lake, edges: Sequence[JoinEdge], constants: Constants) -> Databases:
    """The latent databases that the sure edges form."""
    databases = Databases([" ".join(words(table.name)) for table in lake.ids])
    place = {table: number for number, table in enumerate(lake.ids)}
    for edge in edges:
        if edge.score > 0.5 and edge.evidence["rivals"] < constants.clear:
            databases.join(place[edge.left], place[edge.right])
    return databases


def composites(
    lake: Lake, columns: _Columns, databases: Databases, rows: RowReader, constants: Constants
) -> Iterator[JoinEdge]:
    """References by two or three columns of the same names, unique only together.

    The parent has no key column, and one part names it, for two children of the same parents
    share their keys too. It is the likelier the parent if it is the only one: where several tables
    hold the same columns, the one they are a key of is what the others refer to.
    """
    found = list(_composites(lake, columns, databases, rows, constants))
    parents = Counter(map(_referring, found))
    for edge in found:
        alone = parents[_referring(edge)] == 1
        yield _believed(edge, constants.key) if alone and edge.evidence["name"] else edge


def _referring(edge: JoinEdge) -> tuple[TableId, frozenset[str]]:
    return edge.left, frozenset(mine for mine, _ in edge.columns)


def _believed(edge: JoinEdge, more: float) -> JoinEdge:
    odds = edge.evidence["odds"] + more
    return replace(edge, score=_score(odds), evidence={**edge.evidence, "odds": round(odds, 6)})


def _composites(
    lake: Lake, columns: _Columns, databases: Databases, rows: RowReader, constants: Constants
) -> Iterator[JoinEdge]:
    habits = spelling_habits(lake)
    for (child, parent), parts in sorted(_same_names(lake, columns).items()):
        if databases.clash(child, parent):
            continue
        best: JoinEdge | None = None
        for width in range(2, min(_WIDEST, len(parts)) + 1):
            for combination in combinations(sorted(parts), width):
                edge = _composite(lake, columns, combination, rows, habits, constants)
                if edge is not None and (best is None or edge.score > best.score):
                    best = edge
            if best is not None:  # the narrowest key that is one
                yield best
                break


def _same_names(lake: Lake, columns: _Columns) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Pairs of tables with two or more columns of the same name, the child's in the parent's."""
    alike: dict[str, list[int]] = defaultdict(list)
    for column in np.flatnonzero(lake.filled > 0).tolist():
        alike[" ".join(words(lake.name[column]))].append(column)
    shared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for same in alike.values():
        parents = [
            c for c in same if not lake.unique[c] and not columns.is_keyed(int(lake.table[c]))
        ]
        if len(same) > _COMMON:
            continue
        for child in same:
            for parent in parents:
                pair = int(lake.table[child]), int(lake.table[parent])
                if pair[0] != pair[1] and not _same_table_name(lake, *pair):
                    shared[pair].append((child, parent))
    return {
        pair: held
        for pair, parts in shared.items()
        if len(parts) > 1 and len(held := [p for p in parts if _holds(lake, *p)]) > 1
    }


def _same_table_name(lake: Lake, one: int, other: int) -> bool:
    return words(lake.ids[one].name) == words(lake.ids[other].name)


def _holds(lake: Lake, child: int, parent: int) -> bool:
    held = found_in(lake.vectors[child], lake.vectors[parent])
    return bool(lake.counts[child][held].sum() >= _FLOOR * lake.filled[child])


def _composite(
    lake: Lake,
    columns: _Columns,
    parts: tuple[tuple[int, int], ...],
    rows: RowReader,
    habits: Floats,
    constants: Constants,
) -> JoinEdge | None:
    child, parent = int(lake.table[parts[0][0]]), int(lake.table[parts[0][1]])
    if len({c for c, _ in parts}) < len(parts) or len({p for _, p in parts}) < len(parts):
        return None
    key = _tuples(lake, columns, rows, parent, [p for _, p in parts])
    if key is None or not len(key) or len(np.unique(key)) < len(key):
        return None
    mine = _tuples(lake, columns, rows, child, [c for c, _ in parts])
    if mine is None or not len(mine):
        return None
    share = float(np.isin(mine, key).mean())
    if share < _FLOOR:
        return None
    name = max(refers(core(lake.name[c]), entity(lake.ids[parent].name)) for c, _ in parts)
    room = float(np.prod([float(lake.distinct[p]) for _, p in parts]))
    kinds = len(np.unique(mine))
    value = min(-np.log(min(len(key) / room, 1.0)) * min(kinds, 2) / constants.proof, 1.0)
    c = constants
    odds = c.prior + c.name * name + c.value * value * (2 - name) + c.key * (name > 0)
    odds += c.habit * (float(habits[child] @ habits[parent]) - 0.5) - c.orphan * (1 - share)
    if name == 0:
        odds = min(odds, 0.0)
    return JoinEdge(
        left=lake.ids[child],
        right=lake.ids[parent],
        columns=tuple((lake.name[a], lake.name[b]) for a, b in parts),
        score=_score(odds),
        cardinality="1:1" if kinds == len(mine) else "n:1",
        survive=round(share * len(mine) / max(int(lake.rows[child]), 1), 6),
        evidence={
            "composite": float(len(parts)),
            "row_containment": round(share, 6),
            "name": round(name, 6),
            "value": round(float(value), 6),
            "odds": round(float(odds), 6),
        },
    )


def _tuples(
    lake: Lake, columns: _Columns, rows: RowReader, table: int, chosen: Sequence[int]
) -> Hashes | None:
    """A hash per complete row over some columns of a table."""
    places = [columns.of[table].index(column) for column in chosen]
    found = rows.read(lake.ids[table], places)
    return None if found is None else combined(found)


def hierarchies(
    lake: Lake,
    columns: _Columns,
    edges: Sequence[JoinEdge],
    rows: RowReader,
    constants: Constants,
) -> Iterator[JoinEdge]:
    """Columns that refer to other rows of their own table: employee.manager_id.

    They lie in the table's key, lead from row to row without coming round, and are called so: by a
    role, or by the table's own name with something added. Without such a name nothing is proved:
    small codes always point at the first few ids.
    """
    elsewhere = {(edge.left, edge.columns[0][0]) for edge in edges if edge.score > 0.5}
    for table, mine in enumerate(columns.of):
        if not mine or not lake.unique[mine[0]]:
            continue
        for column in mine[1:]:
            named, role = _called_after_own(lake, table, column, mine[0])
            if not named or not lake.filled[column]:
                continue
            held = found_in(lake.vectors[column], lake.vectors[mine[0]])
            share = float(lake.counts[column][held].sum() / lake.filled[column])
            plain = bool(lake.number[column]) and not identifies(lake.name[column]) and not role
            other = (lake.ids[table], lake.name[column]) in elsewhere and not role
            c = constants
            odds = c.prior + c.name * named + c.key - c.measure * plain - c.own * other
            odds -= c.orphan * (1 - share)
            if share < _FLOOR or odds <= c.least:
                continue
            depth = _depth(rows.read(lake.ids[table], [0, mine.index(column)]))
            if depth:
                yield JoinEdge(
                    left=lake.ids[table],
                    right=lake.ids[table],
                    columns=((lake.name[column], lake.name[mine[0]]),),
                    score=_score(odds),
                    cardinality="n:1",
                    survive=round(share * float(lake.filled[column] / lake.rows[table]), 6),
                    evidence={
                        "self": 1.0,
                        "depth": float(depth),
                        "row_containment": round(share, 6),
                        "name": round(named, 6),
                        "odds": round(odds, 6),
                    },
                )


def _called_after_own(lake: Lake, table: int, column: int, key: int) -> tuple[float, bool]:
    """How far a column's name says "another row of this table", and whether by a role."""
    said = core(lake.name[column])
    if ROLES & set(said):
        return 1.0, True
    if len(said) < 2:
        return 0.0, False
    things = (entity(lake.ids[table].name), core(lake.name[key]))
    return max(min(refers(said, thing), refers(thing, said)) for thing in things), False


def _depth(found: RowHashes | None) -> int:
    """The longest chain from row to row; 0 when there is none, or it comes round."""
    if found is None:
        return 0
    key, up = found
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], up)
    at[at == len(key)] = 0
    to = np.where((key[order][at] == up) & (up != 0), order[at], -1)
    to[to == np.arange(len(to))] = -1  # a root may point at itself
    depth, here = 0, to
    while (here >= 0).any():
        depth += 1
        if depth > len(to):
            return 0
        here = np.where(here >= 0, to[here], -1)
    return depth


def _marked(
    lake: Lake, columns: _Columns, edges: Sequence[JoinEdge], rows: RowReader
) -> list[JoinEdge]:
    """The edges, with those marked that are the sides of a bridge."""
    best: dict[tuple[int, str], JoinEdge] = {}
    for edge in edges:
        if edge.score > 0.5:
            best.setdefault((columns.place[edge.left], edge.columns[0][0]), edge)
    by_table: dict[int, list[JoinEdge]] = defaultdict(list)
    for (table, _), edge in best.items():
        by_table[table].append(edge)
    marks: set[int] = set()
    for table, mine in sorted(by_table.items()):
        marks |= {id(edge) for edge in _bridge(lake, columns, table, mine, rows)}
    return [_with_mark(edge) if id(edge) in marks else edge for edge in edges]


def _bridge(
    lake: Lake, columns: _Columns, table: int, edges: Sequence[JoinEdge], rows: RowReader
) -> Sequence[JoinEdge]:
    """The references that together, and none alone, are the key of a table without one."""
    first = columns.of[table][0]
    names = {edge.columns[0][0] for edge in edges}
    own_key = columns.is_keyed(table) and lake.name[first] not in names
    if own_key or len({(edge.right, edge.columns[0][1]) for edge in edges}) < 2:
        return ()
    for width in (2, 3):
        for sides in combinations(edges, width):
            chosen = [columns.find(table, edge.columns[0][0]) for edge in sides]
            if any(lake.unique[column] for column in chosen):
                continue
            key = _tuples(lake, columns, rows, table, chosen)
            if key is not None and len(key) and len(np.unique(key)) == len(key):
                return sides
    return ()


def _with_mark(edge: JoinEdge) -> JoinEdge:
    return replace(edge, evidence={**edge.evidence, "bridge": 1.0})


def _score(odds: float) -> float:
    return round(float(1 / (1 + np.exp(-odds))), 6)
