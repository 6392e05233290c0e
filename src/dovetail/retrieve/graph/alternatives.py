"""Other sets that a question could mean: the groups of tables that compete for it.

Where a catalog pools several databases, a question may fit the tables of more than one. Among the
candidates these are separate connected components of the join graph; each is a reading of the
question by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dovetail.domain import Alternative, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.retrieve.graph.connect import LinkGraph

# A reading is told of if the F1 to expect of it is at least this share of the chosen set's, and so
# many of them at most.
_SHARE, _MOST = 0.25, 3


def alternatives(
    links: LinkGraph,
    probabilities: Mapping[TableId, float],
    chosen: Sequence[TableId],
    cut: float,
) -> tuple[Alternative, ...]:
    """The components of the candidates, by the F1 to expect of each, without the chosen set.

    Candidates belong together where a join is likelier than not. Of a component those tables count
    whose probability is at least `cut` of the best one's in it, as in the chosen set.
    """
    ranked = sorted(probabilities, key=lambda table: (-probabilities[table], table))
    needed = sum(probabilities.values())
    own = expected_f1(probabilities, chosen, needed)
    found = []
    for component in links.components(ranked, least=JOINABLE):
        least = cut * probabilities[component[0]]
        tables = tuple(table for table in component if probabilities[table] >= least)
        confidence = expected_f1(probabilities, tables, needed)
        if set(tables) != set(chosen) and confidence > 0 and confidence >= _SHARE * own:
            found.append(Alternative(tables, round(confidence, 4)))
    return tuple(sorted(found, key=lambda one: (-one.confidence, one.tables))[:_MOST])


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
