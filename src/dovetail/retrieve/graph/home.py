"""The system that a question is about, and what tables of other systems must add to a set.

Companies keep the same thing in several systems: products in the ERP, the shop and the warehouse.
An analyst stays in the one that has what the question names, and goes to another only for what it
lacks. So the tables of a set that are of another system stay in it only if they cover something of
the question that the rest of the set does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import TableId

# A word in a table's name is covered in full.
_NAMED = 1.0
# What a table must add: so much of some word, the difference between a name and a mere key.
_ADDS = 0.35


def system_of(table: TableId) -> str:
    """The system that keeps a table: its source, and in a folder the folder or file it lies in.

    Schemas of a database are one system.

    >>> system_of(TableId("erp", "sales.orders")), system_of(TableId("pile", "exports/orders"))
    ('erp::', 'pile::exports')
    """
    return f"{table.source}::{table.name.rpartition('/')[0]}"


def stay_home(
    chosen: Sequence[int], systems: Sequence[str], covers: Float32s, probabilities: Float32s
) -> list[int]:
    """The chosen candidates without those of other systems that add nothing, in their order.

    `covers` has a row for each word of the question and a column for each candidate: how far it
    covers the word. `systems` and `probabilities` are those of all candidates.
    """
    by_system: dict[str, list[int]] = {}
    for place in chosen:
        by_system.setdefault(systems[place], []).append(place)
    if len(by_system) < 2 or not len(covers):
        return list(chosen)

    def fits(system: str) -> tuple[int, float, float]:
        best = covers[:, by_system[system]].max(axis=1)
        named = int(np.count_nonzero(best >= _NAMED))
        return named, round(float(best.sum()), 4), float(probabilities[by_system[system]].sum())

    home = max(by_system, key=fits)
    kept = list(chosen)
    for place in sorted(chosen, key=lambda at: float(probabilities[at])):
        rest = [other for other in kept if other != place]
        adds = covers[:, place] - covers[:, rest].max(axis=1, initial=0)
        if systems[place] != home and adds.max(initial=0) < _ADDS:
            kept = rest
    return kept


def apart(
    places: Sequence[int], systems: Sequence[str], covers: Float32s, probabilities: Float32s
) -> Iterator[tuple[list[int], float]]:
    """Candidates as sets that stay with a system each, and the share of probability of each."""
    left, whole = list(places), max(1e-9, float(probabilities[list(places)].sum()))
    while left:
        kept = stay_home(left, systems, covers, probabilities)
        yield kept, float(probabilities[kept].sum()) / whole
        left = [place for place in left if place not in kept]
