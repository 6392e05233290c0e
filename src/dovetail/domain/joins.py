"""A join of two tables, with the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.domain.tables import TableId
from dovetail.transforms import said


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

    def to_dict(self) -> dict[str, object]:
        """The edge as JSON has it."""
        return {
            "left": str(self.left),
            "right": str(self.right),
            "columns": [list(pair) for pair in self.columns],
            "score": self.score,
            "cardinality": self.cardinality,
            "match_rate": self.match_rate,
            "evidence": dict(self.evidence),
            "transform": self.transform or None,
            "after": said(self.transform) or None,
        }
