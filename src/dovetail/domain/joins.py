"""A join of two tables with the evidence for it, and how a query writes joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.domain.sql import query_names, quoted, transform_words, transformed_sql
from dovetail.domain.tables import TableId


@dataclass(frozen=True, slots=True, repr=False)
class JoinEdge:
    """Two tables that can be joined: rows of the left refer to rows of the right.

    `columns` pairs a column of the left (the foreign key) with one of the right (the key); a
    composite key has two or three pairs. `cardinality` reads left to right. `match_rate` is the
    share of the left's rows that find a partner. Above a score of 0.5 the evidence for the join
    outweighs the evidence against it; `evidence` says what there was, by name. `transform` is what
    must be done to both sides before they match (`domain/sql.py`), empty for nothing.

    >>> import dovetail
    >>> edge = dovetail.build("shop.sqlite", into="shop").joins("order_items")[0]
    >>> edge.columns, edge.cardinality
    ((('order_no', 'order_no'),), 'n:1')
    """

    left: TableId
    right: TableId
    columns: tuple[tuple[str, str], ...]
    score: float
    cardinality: str
    match_rate: float
    evidence: Mapping[str, float]
    transform: str = ""

    def __str__(self) -> str:
        return f"{self.pairs}  ({self.score:.2f})"

    def __repr__(self) -> str:
        return f"<JoinEdge {self}>"

    def fan_out(self, table: TableId) -> float:
        """How many rows of the other end a row of one of the two tables meets, if it meets any.

        From the left, the side of the foreign key, that is one, unless the key repeats.
        """
        side = "fan_in" if table == self.left else "fan_out"
        return self.evidence.get(side, 1.0)

    @property
    def pairs(self) -> str:
        """Which columns match, by the ids of their tables, and after which transform."""
        pairs = " and ".join(f"{self.left}.{a} = {self.right}.{b}" for a, b in self.columns)
        return f"{pairs} {transform_words(self.transform)}".rstrip()

    @property
    def brief(self) -> str:
        """Which columns match, by the names of their tables, and after which transform."""
        left, right = quoted(self.left.name), quoted(self.right.name)
        pairs = " AND ".join(f"{left}.{quoted(a)} = {right}.{quoted(b)}" for a, b in self.columns)
        return f"{pairs} {transform_words(self.transform)}".rstrip()

    def condition(self, names: Mapping[TableId, str] | None = None, dialect: str = "duckdb") -> str:
        """The condition of the join in SQL, with the transform that it needs, if any.

        >>> orders, items = TableId("s", "orders"), TableId("s", "items")
        >>> edge = JoinEdge(items, orders, (("no", "no"),), 1.0, "n:1", 1.0, {}, "zeros")
        >>> edge.condition(dialect="sqlite").partition(" = ")[0]
        "CAST(nullif(trim(items.no), '') AS INTEGER)"
        """
        called = names or query_names((self.left, self.right))
        ends = quoted(called[self.left]), quoted(called[self.right])
        return " AND ".join(
            " = ".join(
                transformed_sql(self.transform, f"{end}.{quoted(column)}", dialect)
                for end, column in zip(ends, pair, strict=True)
            )
            for pair in self.columns
        )

    def to_dict(self) -> dict[str, Any]:
        """The edge as JSON has it."""
        return {
            "left": str(self.left),
            "right": str(self.right),
            "columns": [list(pair) for pair in self.columns],
            "condition": self.condition(),
            "score": self.score,
            "cardinality": self.cardinality,
            "match_rate": self.match_rate,
            "evidence": dict(self.evidence),
            "transform": self.transform or None,
            "after": transform_words(self.transform) or None,
        }


def join_sql(
    tables: Sequence[TableId],
    joins: Iterable[JoinEdge],
    *,
    names: Mapping[TableId, str] | None = None,
    dialect: str = "duckdb",
) -> str:
    """A `FROM` clause over tables along their surest joins; a table that none connects is left out.

    The first table comes first; each other follows as soon as a join connects it.
    """
    called = names or query_names(tables)
    edges = sorted(joins, key=lambda edge: (-edge.score, edge.left, edge.right, edge.columns))
    clause, reached = [f"FROM {quoted(called[table])}" for table in tables[:1]], set(tables[:1])
    while True:
        eligible = (e for e in edges if len(reached & {e.left, e.right}) == 1 and e.left != e.right)
        edge = next((e for e in eligible if {e.left, e.right} <= called.keys()), None)
        if edge is None:
            return "\n".join(clause)
        table = edge.right if edge.left in reached else edge.left
        reached.add(table)
        condition = edge.condition(called, dialect)
        clause.append(f"JOIN {quoted(called[table])} ON {condition}")
