"""What a question gets: candidates, the set of tables chosen among them, and alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.components import Components
from dovetail.domain.joins import JoinEdge
from dovetail.domain.tables import TableId


@dataclass(frozen=True, slots=True, repr=False)
class Candidate:
    """A table that search offers for a question.

    `relevance` is in [0, 1]: the probability that the question needs the table. `signals` are the
    parts of its score, by name: words, values, vectors, names, neighbours.

    >>> Candidate(TableId("shop.sqlite", "orders"), 0.75, {"dense": 0.5}).name
    'orders'
    """

    id: TableId
    relevance: float
    signals: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<Candidate {self.id}  ({self.relevance:.2f})>"

    @property
    def name(self) -> str:
        """The table's name in its source."""
        return self.id.name

    @property
    def source(self) -> str:
        """The label of the table's source."""
        return self.id.source


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

    id: TableId
    relevance: float
    stage: str
    reason: str
    also: tuple[TableId, ...] = ()
    part_of: str = ""

    def __repr__(self) -> str:
        return f"<Chosen {self.id}  ({self.relevance:.2f}) {self.stage}: {self.reason}>"

    @property
    def name(self) -> str:
        """The table's name in its source."""
        return self.id.name

    @property
    def source(self) -> str:
        """The label of the table's source."""
        return self.id.source


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
        return tuple(chosen.id for chosen in self.tables)

    @property
    def components(self) -> tuple[tuple[TableId, ...], ...]:
        """The connected components of the tables under the joins, in the set's order.

        Slices of one logical table belong together: they are combined, not joined.
        """
        first: dict[str, TableId] = {}
        slices = (
            (first.setdefault(one.part_of, one.id), one.id) for one in self.tables if one.part_of
        )
        joined = ((edge.left, edge.right) for edge in self.joins)
        return tuple(map(tuple, Components(self.ids, (*slices, *joined)).groups()))

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
                    "id": str(chosen.id),
                    "name": chosen.id.name,
                    "source": chosen.id.source,
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
