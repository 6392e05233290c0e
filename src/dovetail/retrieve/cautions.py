"""What to look out for in a set: joins that multiply rows, years that do not meet, old tables.

`dovetail joins --path` says such things of a path; a set has them as warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from dovetail.components import Components
from dovetail.domain import CAUTIONS, Chosen, TableSet
from dovetail.families.family import Role
from dovetail.families.periods import periods
from dovetail.joins.graph import shared_parent_note
from dovetail.retrieve.liveness import Liveness
from dovetail.retrieve.members import dates_of
from dovetail.search.searcher import Searcher

# A row that meets so many rows of another table, on average, is worth a warning where these meet
# as many in turn: what is counted or added up over both is wrong from the first row on.
_MANY = 1.05
# A connector less probable than this is one that the question does not speak of.
_UNRELATED = 0.01
_MOST, _ROUND = 6, 10


def with_cautions(found: TableSet, searcher: Searcher, liveness: Liveness) -> TableSet:
    """The set with its cautions in the last entry of its trace."""
    if not found.tables or not found.trace:
        return found
    cautions = list(dict.fromkeys(_cautions(found, searcher, liveness)))[:_MOST]
    *before, last = found.trace
    return replace(found, trace=(*before, {**last, CAUTIONS: cautions})) if cautions else found


def _cautions(found: TableSet, searcher: Searcher, liveness: Liveness) -> Iterator[str]:
    for chosen in found.tables:
        if why := liveness.why(chosen.id):
            yield f"{chosen.name} may not be live: {why}"
    yield from _unrelated(found.tables)
    yield from _multiplied(found)
    yield from _years(found, searcher)


def unrelated(chosen: Chosen) -> bool:
    """Whether a table only connects the others, and the question does not speak of it."""
    return chosen.stage == "connect" and chosen.relevance < _UNRELATED


def _unrelated(tables: Sequence[Chosen]) -> Iterator[str]:
    for chosen in tables:
        if unrelated(chosen):
            yield f"{chosen.name} {chosen.reason}, and nothing in the question speaks of it"


def _multiplied(found: TableSet) -> Iterator[str]:
    """Joins in which rows of both sides meet several of the other, and tables that share nothing
    but a table that both refer to."""
    for edge in found.joins:
        times = min(edge.fan_out(edge.left), edge.fan_out(edge.right))
        if times >= _MANY:
            joined = f"the join of {edge.left.name} with {edge.right.name}"
            about = f"each meets about {_number(times)} or more of the other"
            yield f"{joined} multiplies rows: {about}"
    for parent in found.ids:
        children = [edge for edge in found.joins if edge.right == parent != edge.left]
        rest = [edge for edge in found.joins if parent not in (edge.left, edge.right)]
        components = Components(found.ids, ((edge.left, edge.right) for edge in rest))
        for one, two in combinations(children, 2):
            apart = components.root(one.left) != components.root(two.left)
            times = min(edge.fan_out(parent) for edge in (one, two))
            if apart and times >= _MANY:
                note = shared_parent_note(one.left, two)
                yield f"{note}, each about {_number(times)} or more; count or add up before joining"


def _number(times: float) -> str:
    """How many rows, on average.

    >>> _number(1.4), _number(12.3), _number(5.0)
    ('1.4', '12', '5')
    """
    return f"{times:,.0f}" if times >= _ROUND else f"{times:.1f}".removesuffix(".0")


def _years(found: TableSet, searcher: Searcher) -> Iterator[str]:
    """Slices of different years in one set, and data that ends before the time asked for."""
    families, labels = searcher.families, dict[str, dict[str, str]]()
    for chosen in found.tables:
        family = families.of(chosen.id)
        if family is not None and family.role(chosen.id) is Role.PARTITION and not chosen.also:
            label = next(one.label for one in family.members if one.id == chosen.id)
            labels.setdefault(family.name, {})[label] = chosen.name
    for one, two in combinations(labels.values(), 2):
        if one.keys().isdisjoint(two):
            names = ", ".join((*one.values(), *two.values()))
            yield f"the set mixes years: {names}"
    asked = periods(found.question)
    dated = {one.name: span for one in found.tables if (span := dates_of(one.id, searcher))}
    if asked and dated and not any(span.meets(time) for span in dated.values() for time in asked):
        name = max(dated, key=lambda name: dated[name].last)
        span, first = dated[name], min(time.first for time in asked)
        if span.last < first:
            yield f"the data ends before the time that is asked for: {name} on {span.last}"
