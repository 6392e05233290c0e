"""Which of several equal tables are in use, and which are exports or backups of the others.

Two applications that each keep the same list of customers use it each for their own tables; an
export of a database repeats its tables and has hardly any of its own. A table is in use in its
schema, as against another schema, if joins within its own connect it with tables that have no
equal in the other.

A column that could refer to any of several equal tables has no likely join with one of them, or
with one alone. So joins of tables that have an equal are judged within their schema: the column
refers to the likeliest table of that schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.families.contents import FamilyTable
from dovetail.joins.edges import ends_of, scores_of
from dovetail.joins.graph import JOINABLE, JoinGraph

Schema = tuple[object, ...]
Ids = tuple[TableId, TableId]
# Connected tables are a copy as a whole if more than so many have an equal for each that has none.
_EQUAL_PER_OWN = 3


@dataclass(frozen=True, slots=True)
class Use:
    """How joins connect the tables of each schema, and which schemas have equals of a table.

    `partners` are the tables of its schema that a table joins with, `group` the number of its
    connected component, `groups` the components by number and `rows` the rows of each.
    `equal_in` are the schemas with an equal of a table, or with one that may be equal.
    """

    partners: Mapping[TableId, frozenset[TableId]] = field(default_factory=dict)
    group: Mapping[TableId, int] = field(default_factory=dict)
    groups: Sequence[Sequence[TableId]] = ()
    rows: Sequence[int] = ()
    equal_in: Mapping[TableId, frozenset[Schema]] = field(default_factory=dict)
    _memory: dict[tuple[int, Schema], bool] = field(default_factory=dict)

    def both(self, one: FamilyTable, other: FamilyTable) -> bool:
        """Whether both are in use, each in its own schema: then neither is a copy."""
        if one.schema == other.schema:
            return bool(self.joined(one.id) and self.joined(other.id))
        return self._used_apart_from(one, other.schema) and self._used_apart_from(other, one.schema)

    def joined(self, table: TableId) -> int:
        """With how many tables of its schema a table joins."""
        return len(self.partners.get(table, ()))

    def around(self, table: TableId) -> tuple[int, int]:
        """How many tables of its schema a table is connected with, and the rows of all of them.

        All tables of an export have the same there, so that all or none of them come first.
        """
        number = self.group.get(table)
        return (0, 0) if number is None else (len(self.groups[number]), self.rows[number])

    def _used_apart_from(self, table: FamilyTable, other: Schema) -> bool:
        """Whether joins connect a table with tables that have no equal in another schema."""
        number = self.group.get(table.id)
        if number is None:  # it joins nothing
            return False
        key = (number, other)
        if key not in self._memory:
            connected = self.groups[number]
            equal = sum(other in self.equal_in.get(each, ()) for each in connected)
            own = len(connected) - equal
            self._memory[key] = own > 0 and equal <= _EQUAL_PER_OWN * own
        return self._memory[key]


def use_of(
    tables: Sequence[FamilyTable],
    joins: JoinGraph,
    equal: Iterable[tuple[FamilyTable, FamilyTable]] = (),
    alike: Iterable[tuple[FamilyTable, FamilyTable]] = (),
) -> Use:
    """The use of tables, by joins likelier than not.

    `equal` are tables that hold the same; `alike` may hold the same, or are one logical table.
    """
    by_id = {table.id: table for table in tables}
    pairs = [(one.id, other.id) for one, other in equal]
    doubled = {table for pair in pairs for table in pair}
    partners: dict[TableId, set[TableId]] = {}
    for one, other in _schema_joins(by_id, joins, doubled):
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    groups = _connected((one, other) for one, listed in partners.items() for other in listed)
    every = _connected([*pairs, *((one.id, other.id) for one, other in alike)])
    schemas = [frozenset(by_id[table].schema for table in members) for members in every]
    return Use(
        partners={table: frozenset(listed) for table, listed in partners.items()},
        group={table: number for number, members in enumerate(groups) for table in members},
        groups=groups,
        rows=[sum(by_id[table].rows for table in members) for members in groups],
        equal_in={
            table: listed
            for members, listed in zip(every, schemas, strict=True)
            for table in members
        },
    )


def _connected(pairs: Iterable[Ids]) -> list[list[TableId]]:
    """The connected components of the tables of pairs."""
    listed = list(pairs)
    return Components(sorted({table for pair in listed for table in pair}), listed).groups()


def _schema_joins(
    by_id: Mapping[TableId, FamilyTable], joins: JoinGraph, doubled: Collection[TableId]
) -> Iterator[Ids]:
    """The joins within schemas; those of tables with an equal (`doubled`) are judged there."""
    undecided: dict[TableId, list[JoinEdge]] = {}
    scored = zip(ends_of(joins.edges), scores_of(joins.edges), strict=True)
    for at, (ends, score) in enumerate(scored):
        left, right = ends
        if left == right or by_id[left].schema != by_id[right].schema:
            continue
        if score > JOINABLE:
            yield ends
        elif left in doubled or right in doubled:
            undecided.setdefault(left, []).append(joins.edges[at])
    for child, edges in undecided.items():
        schema = by_id[child].schema
        decided = {
            _columns(edge)
            for edge in joins.joins(child)
            if edge.left == child and by_id[edge.right].schema == schema
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
