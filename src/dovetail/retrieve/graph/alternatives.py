"""Other sets that a question could mean: the groups of tables that compete for it.

Where a catalog pools several databases, a question may fit the tables of more than one. Each group
of candidates that belong together (groups.py) is a reading of the question by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dovetail.domain import Alternative, TableId

# A reading is told of if it is at least so probable, and so many of them at most.
_LEAST, _MOST = 0.05, 3
# Tables of a reading for which it is said what speaks for them.
_EXPLAINED = 2

Reasons = Callable[[Sequence[TableId]], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Reading:
    """A group of candidates, and the probability that the question means it."""

    tables: tuple[TableId, ...]
    probability: float


def alternatives(
    readings: Sequence[Reading],
    probabilities: Mapping[TableId, float],
    cut: float,
    reasons: Reasons,
) -> tuple[Alternative, ...]:
    """The sets of some readings, the likeliest first, ties by their tables.

    Of a reading those tables count whose probability is at least `cut` of the best one's in it, as
    in the chosen set. `reasons` says what speaks for tables; a reading for which nothing does is
    not told of.
    """
    needed = sum(probabilities.values())
    likely = sorted(readings, key=lambda one: (-one.probability, one.tables))
    found: list[Alternative] = []
    for reading in likely:
        if reading.probability < _LEAST or len(found) == _MOST:
            break
        ranked = sorted(reading.tables, key=lambda table: (-probabilities[table], table))
        least = cut * probabilities[ranked[0]]
        tables = tuple(table for table in ranked if probabilities[table] >= least)
        confidence = expected_f1(probabilities, tables, needed)
        if reason := _in_words(tables, reasons):
            found.append(Alternative(tables, round(confidence, 4), reading.probability, reason))
    return tuple(found)


def _in_words(tables: Sequence[TableId], reasons: Reasons) -> str:
    """What speaks for the likeliest tables for which anything does."""
    told = zip(tables, reasons(tables), strict=True)
    said = [f"{table.name}: {', '.join(own)}" for table, own in told if own]
    return "; ".join(said[:_EXPLAINED])


def expected_f1(
    probabilities: Mapping[TableId, float], tables: Sequence[TableId], needed: float
) -> float:
    """The F1 to expect of some tables, given how many are needed, by the probabilities.

    >>> a, b = TableId("s", "a"), TableId("s", "b")
    >>> round(expected_f1({a: 0.9, b: 0.1}, [a], needed=1.0), 2)
    0.9
    """
    right = sum(probabilities.get(table, 0.0) for table in tables)
    return 2 * right / (len(tables) + needed) if tables else 0.0
