"""A join of two tables with the evidence for it, how a query writes joins, and key domains: columns
that hold the same identifiers, and where these are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dovetail import notebook
from dovetail.domain.sql import query_names, quoted, table_sql, transform_words, transformed_sql
from dovetail.domain.tables import TableId, short_sources
from dovetail.text import confidence_word, count

# Joins that a notebook lists, and tables that it draws.
_SHOWN, _DRAWN = 100, 12


@dataclass(frozen=True, slots=True, repr=False)
class JoinEdge:
    """Two tables that can be joined: rows of the left refer to rows of the right.

    `columns` pairs a column of the left (the foreign key) with one of the right (the key); a
    composite key has two or three pairs. `cardinality` reads left to right. `match_rate` is the
    share of the left's rows that find a partner. Above a score of 0.5 the evidence for the join
    outweighs the evidence against it; `evidence` says what there was, by name. `transform` is what
    must be done to both sides before they match (`domain/sql.py`), empty for nothing. `names` are
    what queries call the two tables, where a catalog gave the edge. `when` is the
    condition of a conditional key: a column of the left, and the values that it must have as SQL
    writes them; of other rows the column refers to something else. With `when_right` it is a
    column of the right, a table of many lists, and tells which list the left refers to.

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
    names: tuple[str, str] | None = field(default=None, compare=False)
    when: tuple[str, ...] = ()
    when_right: bool = False

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
        """Which columns match, by the ids of their tables, after which transform, and where."""
        pairs = " and ".join(f"{self.left}.{a} = {self.right}.{b}" for a, b in self.columns)
        return f"{pairs} {self.terms}".rstrip()

    @property
    def terms(self) -> str:
        """In words, what must be done before the columns match, and in which rows they do.

        >>> notes, orders = TableId("s", "notes"), TableId("s", "orders")
        >>> about = (("ref", "id"),), 1.0, "n:1", 0.4, {}
        >>> JoinEdge(notes, orders, *about, when=("kind", "'order'", "'return'")).terms
        "where kind in ('order', 'return')"
        """
        where = f"where {self.where}" if self.when else ""
        return f"{transform_words(self.transform)} {where}".strip()

    @property
    def where(self) -> str:
        """The condition of a conditional key, as SQL has it; empty for another."""
        table = f"{table_sql(self.right.name)}." if self.when_right else ""
        return self._where("in", table) if self.when else ""

    def _where(self, word: str, table: str = "") -> str:
        column, *values = self.when
        is_one = f"= {values[0]}" if len(values) == 1 else f"{word} ({', '.join(values)})"
        return f"{table}{quoted(column)} {is_one}"

    def condition(self, names: Mapping[TableId, str] | None = None) -> str:
        """The condition of the join in SQL, with the transform that it needs, and `when`, if any.

        >>> orders, items = TableId("s", "orders"), TableId("s", "items")
        >>> edge = JoinEdge(items, orders, (("no", "no"),), 1.0, "n:1", 1.0, {}, "zeros")
        >>> edge.condition().partition(" = ")[0]
        'TRY_CAST(trim(CAST(items.no AS VARCHAR)) AS BIGINT)'
        """
        both = self.left, self.right
        own = dict(zip(both, self.names, strict=True)) if self.names else query_names(both)
        ends = [table_sql((names or own)[table]) for table in both]
        equal = [
            " = ".join(
                transformed_sql(self.transform, f"{end}.{quoted(column)}")
                for end, column in zip(ends, pair, strict=True)
            )
            for pair in self.columns
        ]
        where = [self._where("IN", f"{ends[self.when_right]}.")] if self.when else []
        return " AND ".join(equal + where)

    @property
    def by_days(self) -> bool:
        """Whether it holds days equal to those of a calendar, which says nothing of whether the two
        tables belong together: it is never surer than even."""
        return self.evidence.get("calendar", 0) > 0

    def brief(self, names: Mapping[TableId, str] | None = None) -> str:
        """The condition with the transform in words, which is shorter than SQL, if there is one.

        >>> items, orders = TableId("s", "items"), TableId("s", "orders")
        >>> JoinEdge(items, orders, (("no", "no"),), 1.0, "n:1", 1.0, {}, "zeros").brief()
        'items.no = orders.no after stripping leading zeros'
        """
        plain = replace(self, transform="").condition(names)
        return f"{plain} {transform_words(self.transform)}".rstrip()

    def drawn(self, number: Mapping[TableId, int]) -> notebook.Join:
        """The edge as a notebook draws it, between tables that have a place."""
        ends = number[self.left], number[self.right]
        return notebook.Join(*ends, self.columns, self.cardinality, self.condition())

    def to_dict(self) -> dict[str, Any]:
        """The edge as JSON has it."""
        return {
            "left": str(self.left),
            "right": str(self.right),
            "columns": [list(pair) for pair in self.columns],
            "condition": self.condition(),
            "score": self.score,
            "sureness": confidence_word(self.score),
            "cardinality": self.cardinality,
            "match_rate": self.match_rate,
            "evidence": dict(self.evidence),
            "transform": self.transform or None,
            "after": transform_words(self.transform) or None,
            "when": self.where or None,
        }


def drawn_names(tables: Sequence[TableId]) -> list[str]:
    """What tables are called in a drawing: with their source, where a name is there twice."""
    often, short = Counter(table.name for table in tables), short_sources(t.source for t in tables)
    return [
        table.name if often[table.name] == 1 else f"{short[table.source]}.{table.name}"
        for table in tables
    ]


def surest(edges: Iterable[JoinEdge]) -> list[JoinEdge]:
    """Of the joins between every two tables the first, in their order."""
    pairs: dict[frozenset[TableId], JoinEdge] = {}
    for edge in edges:
        pairs.setdefault(frozenset((edge.left, edge.right)), edge)
    return list(pairs.values())


class Joins(list[JoinEdge]):
    """Joins as a list, which a notebook shows with a drawing where they are few."""

    def _repr_html_(self) -> str:
        tables = list(dict.fromkeys(end for edge in self for end in (edge.left, edge.right)))
        number = {table: at for at, table in enumerate(tables)}
        few = len(tables) <= _DRAWN
        edges = [edge.drawn(number) for edge in surest(self)] if few else []
        drawn = [notebook.join_graph(drawn_names(tables), edges)] if few else []
        told = (
            (
                notebook.Named(edge.condition(), edge.pairs),
                notebook.Sure(edge.score),
                edge.cardinality,
                f"{edge.match_rate:.0%}",
            )
            for edge in self[:_SHOWN]
        )
        more = f", the first {_SHOWN} shown" if len(self) > _SHOWN else ""
        listed = notebook.table(["join", "score", "cardinality", "rows that match"], told)
        return notebook.block(f"{count(len(self), 'join')}{more}", *drawn, listed)


def join_sql(
    tables: Sequence[TableId],
    joins: Iterable[JoinEdge],
    *,
    names: Mapping[TableId, str] | None = None,
) -> str:
    """A `FROM` clause over tables along their surest joins; a table that none connects is left out.

    The first table comes first; each other follows as soon as a join connects it. A table whose
    column refers to several of the tables, to each on a condition, comes before all of them: no row
    refers to two, so its rows stay whichever they refer to.
    """
    called = names or query_names(tables)
    edges = sorted(joins, key=lambda edge: (-edge.score, edge.left, edge.right, edge.columns))
    several = Counter(
        (e.left, e.columns[0][0]) for e in edges if e.when and not e.when_right and e.left in called
    )
    begin = [table for (table, _), parents in several.most_common(1) if parents > 1] or tables[:1]
    clause, reached = [f"FROM {table_sql(called[table])}" for table in begin], set(begin)
    while True:
        eligible = (e for e in edges if len(reached & {e.left, e.right}) == 1 and e.left != e.right)
        edge = next((e for e in eligible if {e.left, e.right} <= called.keys()), None)
        if edge is None:
            return "\n".join(clause)
        table = edge.right if edge.left in reached else edge.left
        reached.add(table)
        condition = edge.condition(called)
        word = "LEFT JOIN" if several[edge.left, edge.columns[0][0]] > 1 and edge.when else "JOIN"
        clause.append(f"{word} {table_sql(called[table])} ON {condition}")


@dataclass(frozen=True, slots=True)
class DomainColumn:
    """A column of a key domain.

    `refers_to` is the column that it refers to, None for a master that refers to none; `transform`
    is what must be done before the two match, `match_rate` the share of its rows that find a
    partner there, and `missing` how many of its values find none, with `examples`. `parts` are the
    columns, itself among them, that hold the keys of one table together: of headers by year, say.

    >>> DomainColumn(TableId("erp", "orders"), "customer_no", match_rate=0.98).match_rate
    0.98
    """

    table: TableId
    name: str
    refers_to: tuple[TableId, str] | None = None
    transform: str = ""
    match_rate: float = 1.0
    missing: int = 0
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[TableId, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def together(self) -> str:
        """The column, with in how many more tables the rest of its keys are."""
        rest = len(self.parts) - 1
        return f"{self} and {count(rest, 'more part')}" if rest > 0 else str(self)

    def to_dict(self) -> dict[str, Any]:
        """The column as JSON has it."""
        refers = self.refers_to
        return {
            "table": str(self.table),
            "column": self.name,
            "refers_to": f"{refers[0]}.{refers[1]}" if refers else None,
            "transform": self.transform or None,
            "after": transform_words(self.transform) or None,
            "match_rate": self.match_rate,
            "values_without_partner": self.missing,
            "examples": list(self.examples),
            "parts": [f"{table}.{name}" for table, name in self.parts],
        }


@dataclass(frozen=True, slots=True)
class KeyDomain:
    """Columns that hold the same identifiers, such as policy numbers, across tables and systems.

    `master` is where they are made: the column that the others refer to, directly or through the
    master of their own source. `masters` is that of each source that has one. Two columns of a
    domain join through its master, unless they do so directly.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> domain = catalog.domains("orders")[0]
    >>> domain.name, str(domain.master), len(domain.columns)
    ('order numbers', 'shop.sqlite::orders.order_no', 2)
    """

    name: str
    master: DomainColumn
    masters: Mapping[str, DomainColumn]
    columns: tuple[DomainColumn, ...]

    @property
    def normal_form(self) -> str:
        """In words, what must be done before values match."""
        words = {transform_words(column.transform) for column in self.columns} - {""}
        return "; ".join(sorted(words)) or "as they are"

    def is_master(self, column: DomainColumn) -> bool:
        """Whether a column is the master, or a part of it."""
        master = (self.master.table, self.master.name)
        return (column.table, column.name) in (master, *self.master.parts)

    def told_of(self, column: DomainColumn) -> str:
        """What a column holds and where that is made, what must be done before it matches, and what
        finds no partner, in a line."""
        here = self.is_master(column)
        where = f"made {'here' if here else f'in {self.master.together}'}"
        examples = f" ({', '.join(column.examples[:3])})" if column.examples else ""
        missing = (
            f"{column.missing:,} of them without a partner{examples}" if column.missing else ""
        )
        parts = [f"{column.name}: {self.name}, {where}", transform_words(column.transform), missing]
        return ", ".join(filter(None, parts))

    def to_dict(self) -> dict[str, Any]:
        """The domain as JSON has it."""
        return {
            "name": self.name,
            "normal_form": self.normal_form,
            "master": str(self.master),
            "masters": {source: str(column) for source, column in self.masters.items()},
            "columns": [column.to_dict() for column in self.columns],
        }
