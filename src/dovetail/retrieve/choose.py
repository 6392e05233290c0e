"""Choose: the probable candidates of the groups that are meant, without those that only keep
another one company.

A cut takes what is nearly as probable as the best (`pick`), and what a person's notes name comes
besides. Once the set is connected, what says nothing that another table does not say about as well
leaves it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, islice, product

import numpy as np

from dovetail.arrays import Float32s
from dovetail.joins.graph import JOINABLE
from dovetail.names.table_name import entity
from dovetail.retrieve.connect import ConnectedSet, LinkGraph
from dovetail.retrieve.groups import system_of
from dovetail.retrieve.match import QueryMatch
from dovetail.retrieve.scorer import ScoredCandidates

# How probable it is that a question needs what notes name for it, and what is left of the
# probability of what covers nothing beyond.
_TAUGHT, _GUESSED = 0.95, 0.05
# What a table must add of some word beyond notes: the difference between a name and a mere key.
_ADDS = 0.35
_FAINT = 0.05
# A table of another system stands for one of its name if it is so nearly as probable, and covers
# each word about as well; so many choices between such tables are tried at most.
_AS_PROBABLE, _ABOUT_AS_WELL, _MOST_CHOICES = 0.5, 0.05, 256
# Below each probability a table leaves a set in which another covers each of its words better by so
# much: below a half about as well, above clearly better. Below a half it also leaves one of which
# the likelier tables together cover each about as well.
_COMPANIONS = ((0.5, -0.05), (0.8, 0.3))
_IMPROBABLE = 0.5


def choose(scored: ScoredCandidates, breadth: float) -> list[int]:
    """The indices of the candidates above the cut that are meant, the most probable first."""
    meant, noted = scored.meant, noted_by_people(scored)
    chosen = [at for at in pick(scored.probabilities, breadth) if at in meant]
    # What a person's notes name is meant, however improbable.
    chosen += [at for at in noted if at not in chosen]
    return beyond_notes(chosen, noted, scored.match)


def taught(scored: ScoredCandidates) -> ScoredCandidates:
    """The candidates, of which those that a person's notes or a lesson name are sure: stronger than
    any guess. Others are improbable that cover nothing beyond."""
    noted = noted_by_people(scored)
    if not noted:
        return scored
    kept = beyond_notes(range(len(scored.candidates)), noted, scored.match)
    probabilities = (scored.probabilities * np.float32(_GUESSED)).astype(np.float32)
    probabilities[kept] = scored.probabilities[kept]
    probabilities[noted] = np.maximum(probabilities[noted], np.float32(_TAUGHT))
    return scored.with_probabilities(probabilities)


def cut(breadth: float) -> float:
    """The share of the best probability that a candidate needs: all at breadth 0, none at 1."""
    return (1 - breadth) ** 2


def pick(probabilities: Float32s, breadth: float) -> list[int]:
    """The indices of the candidates above the cut, the most probable first, ties as they come.

    >>> pick(np.array([0.4, 0.8, 0.1]), breadth=0.5)
    [1, 0]
    """
    order: list[int] = np.argsort(-probabilities, kind="stable").tolist()
    least = cut(breadth) * probabilities[order[0]]
    return [at for at in order if probabilities[at] >= least]


def noted_by_people(scored: ScoredCandidates) -> list[int]:
    """The indices of the candidates that a person's notes name."""
    noted: list[int] = np.flatnonzero(scored.match.defined).tolist()
    return noted


def beyond_notes(chosen: Sequence[int], noted: Collection[int], match: QueryMatch) -> list[int]:
    """The chosen candidates; where notes name some, these and those that cover what is beyond."""
    if match.beyond is None:
        return list(chosen)
    covers = match.covers[(match.beyond > 0) & match.content]
    known = covers[:, list(noted)].max(axis=1, initial=0)
    return [at for at in chosen if at in noted or (covers[:, at] - known).max(initial=0) >= _ADDS]


def one_of_each(scored: ScoredCandidates, chosen: Sequence[int]) -> list[list[int]]:
    """The chosen candidates with one alone of those that are called alike in several systems.

    A company has orders and customers in each of its shops: a question about orders of customers
    means those of one shop. The choice is between all candidates of a name that are about as
    probable and cover the question's words as well; it falls to those that join each other. Other
    choices that join as well come behind it, the most probable first: other readings.
    """
    counterparts = _counterparts(scored, chosen)
    settled = [at for at in chosen if not any(at in each for each in counterparts)]
    joined = scored.match.joins > JOINABLE

    def joins(tables: Sequence[int]) -> int:
        return sum(bool(joined[pair]) for pair in combinations(tables, 2))

    def rank(choice: Sequence[int]) -> tuple[int, int]:
        return joins(choice), joins([*settled, *choice])

    choices = list(islice(product(*counterparts), _MOST_CHOICES))
    choices.sort(key=lambda one: -float(scored.probabilities[list(one)].sum()))
    best = max(map(rank, choices))
    return [
        sorted([*settled, *choice], key=lambda at: -scored.probabilities[at])
        for choice in choices
        if rank(choice) == best
    ]


def _counterparts(scored: ScoredCandidates, chosen: Sequence[int]) -> list[list[int]]:
    """The candidates that could stand for each other in a set, by the things they are about.

    There are none where the set is about one thing: then nothing tells which is meant, and a
    question about it may mean all.
    """
    covers, probabilities = scored.match.content_covers, scored.probabilities
    things = [entity(table.name) for table in scored.tables]
    systems = [system_of(table) for table in scored.tables]
    about = list(dict.fromkeys(things[at] for at in chosen))

    def stands_for(other: int, one: int) -> bool:
        said = covers[:, one] > _FAINT
        return (
            things[other] == things[one]
            and systems[other] != systems[one]
            and probabilities[other] >= _AS_PROBABLE * probabilities[one]
            and bool((covers[said, other] > covers[said, one] - _ABOUT_AS_WELL).all())
        )

    counterparts = []
    for thing in about if len(about) > 1 else ():
        first, *others = (at for at in chosen if things[at] == thing)
        able = [at for at in range(len(things)) if stands_for(at, first)]
        if able and set(others) <= set(able):
            counterparts.append([first, *able])
    return counterparts


def without_companions(
    scored: ScoredCandidates, connected: ConnectedSet, links: LinkGraph
) -> ConnectedSet:
    """A connected set without tables that only keep others company.

    Such a table covers no word that one other, no less probable, does not cover about as well: the
    header beside its lines, the second copy of a dimension, the same thing in another system. What
    the question calls by its whole name stays, what connects the set, and what notes name. An
    improbable one goes as well if the others together cover each of its words, and it holds no
    value that none of them does. In a pool of databases that have
    nothing to do with each other, the other table may be a stranger's, so this is for the systems
    of one company.
    """
    match, index = scored.match, {table: at for at, table in enumerate(scored.tables)}

    def lacking(at: int, others: Sequence[int]) -> Float32s:
        """How much less each other covers of each word that a table covers."""
        covers = match.content_covers[match.content_covers[:, at] > _FAINT]
        return covers[:, [at]] - covers[:, others]

    def by_one(at: int, others: Sequence[int]) -> bool:
        probability = scored.probabilities[at]
        more = next((more for most, more in _COMPANIONS if probability < most), None)
        if more is None:
            return False
        return bool((lacking(at, others) < -more).all(axis=0).any())

    def by_all(at: int, others: Sequence[int]) -> bool:
        values = match.values[:, at] > match.values[:, others].max(axis=1, initial=0)
        covered = lacking(at, others).min(axis=1, initial=1) < _ABOUT_AS_WELL
        # Where the others cover nothing, none is better than another.
        all_covered = bool(covered.all() and match.content_covers[:, others].any())
        return scored.probabilities[at] < _IMPROBABLE and all_covered and not values.any()

    kept = list(connected.ids)
    for covered in (by_one, by_all):
        for table in sorted(connected.tables, key=scored.by_table.__getitem__):
            at = index[table]
            others = [index[one] for one in kept if one != table and one in index]
            likelier = [o for o in others if scored.probabilities[o] >= scored.probabilities[at]]
            needed = match.called[at] or match.defined[at] or links.splits(table, kept)
            if table not in kept or not likelier or needed:
                continue
            if covered(at, likelier):
                kept.remove(table)
    return connected.among(kept, links)
