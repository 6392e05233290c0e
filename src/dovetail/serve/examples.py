"""Questions to begin with: those that people recorded, else some that the surest joins suggest."""

from __future__ import annotations

import re

from dovetail.api.catalog import Catalog
from dovetail.domain import JoinEdge
from dovetail.joins.graph import JOINABLE
from dovetail.names.table_name import unqualified
from dovetail.names.words import spelled
from dovetail.text import one_line

# How many are told, how many joins are looked at, and what a name must be to stand in a sentence.
_MANY, _LOOKED_AT = 4, 200
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_]{2,39}")


def examples(catalog: Catalog) -> list[str]:
    """A few questions that the tables of a catalog can answer."""
    recorded = [one_line(one.question) for one in catalog.notes.answered[-_MANY:]]
    return [*recorded, *_suggested(catalog)][:_MANY]


def _suggested(catalog: Catalog) -> list[str]:
    """Questions over the surest joins, no table in two of them."""
    found: list[str] = []
    used: set[str] = set()
    for edge in catalog.join_graph().edges[:_LOOKED_AT]:
        names = {edge.left.name, edge.right.name}
        if _fits(edge) and not names & used and len(found) < _MANY:
            used |= names
            many, one = spelled(unqualified(edge.left.name)), spelled(unqualified(edge.right.name))
            found.append(f"Which {one} have the most {many}?")
    return found


def _fits(edge: JoinEdge) -> bool:
    """Whether a join makes a sentence: many rows to one, both tables called by words."""
    if edge.score <= JOINABLE or edge.cardinality != "n:1" or edge.left == edge.right:
        return False
    return all(_PLAIN.fullmatch(unqualified(table.name)) for table in (edge.left, edge.right))
