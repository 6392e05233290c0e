"""Which of several equal tables are in use where they stand, and which were only put there.

Two applications that each keep the same list of customers use it each for their own tables; an
export of a database repeats its tables and has hardly any of its own. A table is in use at home, as
seen from another home, if joins of its home connect it with tables that have no equal there.

A column that could refer to any of several equal tables has no likely join with one of them, or
with one alone. So joins of tables that have an equal are judged within their home: there, the table
that a column refers to is the likeliest one of the home.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.families.contents import FamilyTable
from dovetail.joins.edges import StoredEdges
from dovetail.joins.graph import JOINABLE, JoinGraph

Home = tuple[object, ...]
Ids = tuple[TableId, TableId]
# Connected tables are a copy as a whole if more than so many have an equal for each that has none.
_EQUAL_PER_OWN = 3


@dataclass(frozen=True, slots=True)
class Use:
    """How the tables of each home are connected by its joins, and which homes have their equals.

    `partners` are the tables of its home that each one joins with, `group` the number of the tables
    that it is connected with, `groups` those tables by number and `rows` what they hold in all.
    `seen_in` has the homes with an equal of a table, or with one that may be equal.
    """

    partners: Mapping[TableId, frozenset[TableId]] = field(default_factory=dict)
    group: Mapping[TableId, int] = field(default_factory=dict)
    groups: Sequence[Sequence[TableId]] = ()
    rows: Sequence[int] = ()
    seen_in: Mapping[TableId, frozenset[Home]] = field(default_factory=dict)
    _known: dict[tuple[int, Home], bool] = field(default_factory=dict)

    def both(self, one: FamilyTable, other: FamilyTable) -> bool:
        """Whether both are in use where they stand: then neither is a copy put aside."""
        if one.home == other.home:
            return bool(self.joined(one.id) and self.joined(other.id))
        return self._at_home(one, other.home) and self._at_home(other, one.home)

    def joined(self, table: TableId) -> int:
        """With how many tables of its home a table joins."""
        return len(self.partners.get(table, ()))

    def around(self, table: TableId) -> tuple[int, int]:
        """How many tables of its home a table is connected with, and the rows of all of them.

        All tables of an export have the same there, so that all or none of them come first.
        """
        number = self.group.get(table)
        return (0, 0) if number is None else (len(self.groups[number]), self.rows[number])

    def _at_home(self, table: FamilyTable, seen_from: Home) -> bool:
        number = self.group.get(table.id)
        if number is None:  # it joins nothing
            return False
        key = (number, seen_from)
        if key not in self._known:
            connected = self.groups[number]
            equal = sum(seen_from in self.seen_in.get(each, ()) for each in connected)
            own = len(connected) - equal
            self._known[key] = own > 0 and equal <= _EQUAL_PER_OWN * own
        return self._known[key]


def use_of(
    tables: Sequence[FamilyTable],
    joins: JoinGraph,
    equal: Iterable[tuple[FamilyTable, FamilyTable]] = (),
    alike: Iterable[tuple[FamilyTable, FamilyTable]] = (),
) -> Use:
    """The use of tables, by joins likelier than not.

    `equal` are tables that hold the same; `alike` may hold the same, or are one logical table.
    """
    known = {table.id: table for table in tables}
    pairs = [(one.id, other.id) for one, other in equal]
    doubled = {table for pair in pairs for table in pair}
    partners: dict[TableId, set[TableId]] = {}
    for one, other in _home_joins(known, joins, doubled):
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    groups = _connected((one, other) for one, listed in partners.items() for other in listed)
    every = _connected([*pairs, *((one.id, other.id) for one, other in alike)])
    homes = [frozenset(known[table].home for table in members) for members in every]
    return Use(
        partners={table: frozenset(listed) for table, listed in partners.items()},
        group={table: number for number, members in enumerate(groups) for table in members},
        groups=groups,
        rows=[sum(known[table].rows for table in members) for members in groups],
        seen_in={
            table: found for members, found in zip(every, homes, strict=True) for table in members
        },
    )


def _connected(pairs: Iterable[Ids]) -> list[list[TableId]]:
    """The tables of some pairs, by connected component."""
    listed = list(pairs)
    return Components(sorted({table for pair in listed for table in pair}), listed).groups()


def _home_joins(
    known: Mapping[TableId, FamilyTable], joins: JoinGraph, doubled: Collection[TableId]
) -> Iterator[Ids]:
    """The joins within homes, those of tables that are `doubled` judged there."""
    undecided: dict[TableId, list[JoinEdge]] = {}
    for place, (ends, score) in enumerate(_scored(joins)):
        left, right = ends
        if left == right or known[left].home != known[right].home:
            continue
        if score > JOINABLE:
            yield ends
        elif left in doubled or right in doubled:
            undecided.setdefault(left, []).append(joins.edges[place])
    for child, edges in undecided.items():
        home = known[child].home
        decided = {
            _columns(edge)
            for edge in joins.joins(child)
            if edge.left == child and known[edge.right].home == home
        }
        best: dict[Columns, tuple[float, TableId]] = {}
        for edge in edges:
            by_itself = edge.evidence.get("logit", 0.0)
            if by_itself > max(0.0, best.get(_columns(edge), (0.0,))[0]):
                best[_columns(edge)] = by_itself, edge.right
        yield from ((child, best[columns][1]) for columns in best.keys() - decided)


Columns = tuple[str, ...]


def _columns(edge: JoinEdge) -> Columns:
    """The columns that refer to another table."""
    return tuple(left for left, _ in edge.columns)


def _scored(joins: JoinGraph) -> Iterable[tuple[Ids, float]]:
    """The tables and the score of each edge; of many edges none need be made."""
    edges = joins.edges
    if isinstance(edges, StoredEdges):
        return zip(edges.ends, edges.scores, strict=True)
    return (((edge.left, edge.right), edge.score) for edge in edges)
