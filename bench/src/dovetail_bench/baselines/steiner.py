"""Steiner: the most relevant tables, and whatever else connects them.

Not in the paper; the usual answer to "find the join path". Terminals come by relevance; each is
tied to the tables already chosen by its surest path over join edges, connectors included, as long
as the set stays within K. (An exact Steiner tree is out of reach in general; attaching terminals
one by one along shortest paths costs at most twice as much.) A terminal that nothing leads to comes
in by itself: relevance is worth more than a connection that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dovetail.domain import Chosen, JoinEdge, TableId, TableSet
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.searcher import Searcher


@dataclass(frozen=True, slots=True)
class SteinerRetriever:
    """At most `k` tables: terminals of the fused ranking, and the connectors between them.

    A path longer than `longest` edges ties nothing together that a question asks for.
    """

    searcher: Searcher
    k: int = 5
    longest: int = 2

    def __post_init__(self) -> None:
        require_positive(k=self.k, longest=self.longest)

    def retrieve(self, question: str) -> TableSet:
        found = self.searcher.search(question, self.k)
        relevance = {candidate.id: candidate.relevance for candidate in found}
        chosen: dict[TableId, Chosen] = {}
        added = 0
        for rank, candidate in enumerate(found, start=1):
            if len(chosen) >= self.k:
                break
            if candidate.id in chosen:
                continue
            path = self._path(candidate.id, chosen)
            between = [table for table in _along(path, candidate.id) if table not in chosen]
            room = self.k - len(chosen) - 1
            reason = f"terminal, rank {rank}"
            if path and len(between) <= room:
                reason += f", by {path[0]}"
            else:
                between = []
            chosen[candidate.id] = Chosen(candidate.id, candidate.relevance, "search", reason)
            for connector in between:
                added += 1
                why = f"leads to {candidate.id}"
                chosen[connector] = Chosen(connector, relevance.get(connector, 0.0), "connect", why)
        facts: dict[str, object] = {"terminals": len(chosen) - added, "connectors": added}
        stage = Stage("connect", facts=facts)
        return table_set(question, self.searcher.joins, chosen.values(), [stage])

    def _path(self, terminal: TableId, chosen: Collection[TableId]) -> list[JoinEdge]:
        """Return the path from a terminal to a chosen table with the highest product of scores."""
        paths = [self.searcher.joins.path(terminal, table) for table in chosen]
        short = [path for path in paths if 0 < len(path) <= self.longest]
        return max(short, key=_surety, default=[])


def _surety(path: list[JoinEdge]) -> tuple[float, int]:
    product = 1.0
    for edge in path:
        product *= edge.score
    return product, -len(path)


def _along(path: list[JoinEdge], start: TableId) -> list[TableId]:
    """List the tables of a path between its start and its end, both left out."""
    here, through = start, []
    for edge in path:
        here = edge.right if edge.left == here else edge.left
        through.append(here)
    return through[:-1]


def open_steiner(context: SelectorContext) -> SteinerRetriever:
    """Open the retriever `steiner`."""
    return SteinerRetriever(context.searcher, context.k)
