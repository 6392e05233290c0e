"""The nouns: frozen data, no I/O."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dovetail.declared_keys import NO_KEYS, DeclaredKeys
from dovetail.errors import ColumnNotFoundError
from dovetail.transforms import said

# Columns that an error lists.
_LISTED = 20


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """What a table is called: its source's label and its name there.

    Two tables may share a name, and even their contents: both stay, under their own ids.

    >>> str(TableId("shop.sqlite", "orders"))
    'shop.sqlite::orders'
    """

    source: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}::{self.name}"


class Kind(StrEnum):
    """What the values of a column are, whatever its source calls the type.

    >>> Kind.INTEGER.value, Kind("text") is Kind.TEXT
    ('integer', True)
    """

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BINARY = "binary"
    EMPTY = "empty"  # not one value to judge by


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What the full column holds; nulls are left out of everything but `nulls`.

    `nulls` counts missing cells: NULL, NaN, and blank text where the catalog compares coerced.
    `minimum`, `maximum` and `examples` are written out as text and cut to the catalog's width.
    Lengths are in characters of text, in bytes of binary values, and None for other kinds.

    >>> import dovetail
    >>> profile = dovetail.build("shop.sqlite", into="shop")["orders"].column("order_no").profile
    >>> profile.distinct, profile.unique, profile.nulls
    (600, True, 0)
    """

    kind: Kind
    nulls: int
    distinct: int
    unique: bool
    minimum: str | None
    maximum: str | None
    min_length: int | None
    max_length: int | None
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name, with the type and the comment that its source gives it.

    >>> import dovetail
    >>> column = dovetail.build("shop.sqlite", into="shop")["orders"].columns[0]
    >>> column.name, column.profile.kind.value
    ('order_no', 'integer')
    """

    name: str
    type: str
    profile: ColumnProfile
    comment: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table as the catalog knows it.

    `digest` names the contents: equal digests mean equal columns, values and sample, so
    everything derived from a table (its purpose, its vectors, its joins) is kept by digest.
    `keys` and `comment` are what the source declares and says of it: no part of the contents.

    >>> import dovetail
    >>> table = dovetail.build("shop.sqlite", into="shop")["orders"]
    >>> table
    <Table shop.sqlite::orders: 600 rows, 7 columns>
    """

    id: TableId
    columns: tuple[Column, ...]
    rows: int
    sample: tuple[tuple[str | None, ...], ...]
    digest: str
    keys: DeclaredKeys = NO_KEYS
    comment: str = ""

    def __repr__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        columns = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return f"<Table {self.id}: {rows}, {columns}>"

    @property
    def name(self) -> str:
        """The table's name in its source."""
        return self.id.name

    def column(self, name: str) -> Column:
        """The column of this name; ColumnNotFoundError, a KeyError, if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self.columns[:_LISTED])
        more = ", …" if len(self.columns) > _LISTED else ""
        raise ColumnNotFoundError(f"{self.id} has no column {name!r}; it has: {names}{more}")


# What evidence was called before; JSON has both names for a version.
_OLD_EVIDENCE = {
    "convention": "habit",
    "logit": "odds",
    "competitors": "rivals",
    "junction": "bridge",
}


@dataclass(frozen=True, slots=True, repr=False)
class JoinEdge:
    """Two tables that can be joined: rows of the left refer to rows of the right.

    `columns` pairs a column of the left (the foreign key) with one of the right (the key); a
    composite key has two or three pairs. `cardinality` reads left to right. `match_rate` is the
    share of the left's rows that find a partner. Above a score of 0.5 the evidence for the join
    outweighs the evidence against it; `evidence` says what there was, by name. `transform` is what
    must be done to both sides before they match (`dovetail/transforms.py`), empty for nothing.

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
        pairs = " and ".join(f"{self.left}.{a} = {self.right}.{b}" for a, b in self.columns)
        after = f" {said(self.transform)}" if self.transform else ""
        return f"{pairs}{after}  ({self.score:.2f})"

    def __repr__(self) -> str:
        return f"<JoinEdge {self}>"

    def fan_out(self, table: TableId) -> float:
        """How many rows of the other end a row of one of the two tables meets, if it meets any.

        From the left, the side of the foreign key, that is one, unless the key repeats.
        """
        side = "fan_in" if table == self.left else "fan_out"
        return self.evidence.get(side, 1.0)

    @property
    def survive(self) -> float:
        """Deprecated: the name of `match_rate` before."""
        warnings.warn("survive is now match_rate", DeprecationWarning, stacklevel=2)
        return self.match_rate

    def to_dict(self) -> dict[str, object]:
        """The edge as JSON has it."""
        return {
            "left": str(self.left),
            "right": str(self.right),
            "columns": [list(pair) for pair in self.columns],
            "score": self.score,
            "cardinality": self.cardinality,
            "match_rate": self.match_rate,
            "survive": self.match_rate,  # its name before
            "evidence": {**self.evidence, **self._renamed_evidence()},
            "transform": self.transform or None,
            "after": said(self.transform) or None,
        }

    def _renamed_evidence(self) -> dict[str, float]:
        """Evidence under the names it had before, for readers of the JSON."""
        said = self.evidence
        return {old: said[new] for new, old in _OLD_EVIDENCE.items() if new in said}


@dataclass(frozen=True, slots=True, repr=False)
class Candidate:
    """A table that search offers for a question.

    `relevance` is in [0, 1]: the probability that the question needs the table. `signals` are the
    parts of its score, by name: words, values, vectors, names, neighbours.

    >>> Candidate(TableId("shop.sqlite", "orders"), 0.75, {"dense": 0.5}).table.name
    'orders'
    """

    table: TableId
    relevance: float
    signals: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<Candidate {self.table}  ({self.relevance:.2f})>"


@dataclass(frozen=True, slots=True, repr=False)
class Chosen:
    """A table in a set: at which stage it came in (search, select, adjust, ...), and why.

    `also` names the other members of its family: copies, and slices that the question does not ask
    for; `dovetail families` says what each is. `part_of` is the family's name where the table is
    one of several slices that are wanted together.

    >>> chosen = Chosen(TableId("shop.sqlite", "orders"), 0.75, "select", "its names say orders")
    >>> chosen.name, chosen.stage, chosen.reason
    ('orders', 'select', 'its names say orders')
    """

    table: TableId
    relevance: float
    stage: str
    reason: str
    also: tuple[TableId, ...] = ()
    part_of: str = ""

    def __repr__(self) -> str:
        return f"<Chosen {self.table}  ({self.relevance:.2f}) {self.stage}: {self.reason}>"

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another set of tables that a question could mean, and the F1 to expect of it (0 to 1).

    `probability` is that of this reading of the question, `reason` says in words what speaks for
    it.

    >>> other = Alternative((TableId("crm.sqlite", "orders"),), confidence=0.31)
    >>> [str(table) for table in other.tables]
    ['crm.sqlite::orders']
    """

    tables: tuple[TableId, ...]
    confidence: float
    probability: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """The alternative as JSON has it."""
        return {
            "tables": list(map(str, self.tables)),
            "probability": self.probability,
            "confidence": self.confidence,
            "reason": self.reason,
        }


# The fact of a stage that says: a selector looked, and no table answers the question. Beside it may
# stand which tables come nearest, and the words of the question that no table covers.
NOTHING_FITS, NEAREST, UNCOVERED = "nothing_fits", "nearest", "uncovered"
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class TableSet:
    """The tables chosen for a question, in order, and the joins among them.

    `trace` holds one JSON-ready entry per stage: what went in, what came out, what it cost.
    `confidence` is the F1 to expect of the set, `answerable` the probability that the catalog can
    answer the question at all, where the retriever knows them; `alternatives` are other sets that
    the question could mean, the likeliest first.

    >>> orders, items = TableId("shop", "orders"), TableId("shop", "items")
    >>> chosen = tuple(Chosen(table, 1.0, "search", "") for table in (orders, items))
    >>> found = TableSet("Who ordered what?", chosen, joins=())
    >>> found.connected, len(found.components)
    (False, 2)
    """

    question: str
    tables: tuple[Chosen, ...]
    joins: tuple[JoinEdge, ...]
    trace: tuple[Mapping[str, object], ...] = ()
    confidence: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    answerable: float | None = None

    @property
    def ids(self) -> tuple[TableId, ...]:
        return tuple(chosen.table for chosen in self.tables)

    @property
    def components(self) -> tuple[tuple[TableId, ...], ...]:
        """The connected components of the tables under the joins, in the set's order.

        Slices of one logical table belong together: they are combined, not joined.
        """
        component = {table: place for place, table in enumerate(self.ids)}
        first: dict[str, TableId] = {}
        slices = (
            (first.setdefault(one.part_of, one.table), one.table)
            for one in self.tables
            if one.part_of
        )
        for left, right in (*slices, *((edge.left, edge.right) for edge in self.joins)):
            low, high = sorted((component[left], component[right]))
            component = {
                table: low if place == high else place for table, place in component.items()
            }
        found: dict[int, list[TableId]] = {}
        for table, place in component.items():
            found.setdefault(place, []).append(table)
        return tuple(tuple(tables) for tables in found.values())

    @property
    def connected(self) -> bool:
        """Whether the joins connect all tables of the set; an empty set is connected."""
        return len(self.components) <= 1

    @property
    def nothing_fits(self) -> bool:
        """Whether the set is empty because a selector says that no table answers the question."""
        return any(entry.get(NOTHING_FITS) is True for entry in self.trace)

    @property
    def nearest(self) -> tuple[str, ...]:
        """The ids of the tables that come nearest, where the trace has them.

        They are those that a selector names, else the first candidates of the search.
        """
        for entry in self.trace:
            if isinstance(named := entry.get(NEAREST), list):
                return tuple(map(str, named))
        for entry in self.trace:
            listed = entry.get("candidates")
            if entry.get("stage") == "search" and isinstance(listed, list):
                return tuple(str(candidate["table"]) for candidate in listed[:_NEAREST])
        return ()

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The words of the question that no table covers, where a selector tells them."""
        for entry in self.trace:
            if isinstance(words := entry.get(UNCOVERED), list):
                return tuple(map(str, words))
        return ()

    def to_dict(self) -> dict[str, object]:
        """The set as JSON has it."""
        nearest = {NOTHING_FITS: True, "nearest": list(self.nearest)} if self.nothing_fits else {}
        return {
            "question": self.question,
            "tables": [
                {
                    "id": str(chosen.table),
                    "name": chosen.table.name,
                    "source": chosen.table.source,
                    "score": round(chosen.relevance, 6),
                    "stage": chosen.stage,
                    "reason": chosen.reason,
                    "also": list(map(str, chosen.also)),
                    "part_of": chosen.part_of,
                }
                for chosen in self.tables
            ],
            "joins": [edge.to_dict() for edge in self.joins],
            "connected": self.connected,
            **nearest,
            "confidence": self.confidence,
            "answerable": self.answerable,
            "alternatives": [other.to_dict() for other in self.alternatives],
            "trace": [dict(entry) for entry in self.trace],
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """A source or table that could not be read, and why; `table` is empty for a whole source.

    >>> str(Skipped("shop.sqlite", "orders", "its file is damaged"))
    'shop.sqlite::orders: its file is damaged'
    """

    source: str
    table: str
    reason: str

    def __str__(self) -> str:
        name = f"{self.source}::{self.table}" if self.table else self.source
        return f"{name}: {self.reason}"
