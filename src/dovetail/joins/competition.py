"""Candidates in view of each other: a column refers to one key, so its candidates share the odds.

Which of them is the master of what the column identifies decides, or the doubt is kept. Where
sources say nothing of which tables belong together, sure joins do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, firsts
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.features import WEIGHTS, Features, ranks
from dovetail.names.table_name import TableName, entity
from dovetail.names.words import plain, words

# The share of columns that versions of one table have in common, of those of the one with fewer and
# of the other, and nats by which a version of the child's own table yields to every other parent.
_ALIKE, _OF_MORE, _VERSION = 0.7, 0.6, 20.0
# The share of the rows found in a satellite that its master must hold.
_AS_MANY = 0.95
# The rung of the ladder from which on letters are cut.
_CUT_RUNG = 2
# How much a parent must look like a key to be the master of another system's columns.
_MEMBER = 0.5
# The share of a child's rows that a parent lacks, from which on it is no master where another key
# has most of these.
_LACKS, _MOST_OF_THEM = 0.01, 0.9
# What the competitors of a join weigh, at most, for it to say that two tables are of one database;
# tables that make a database, and those that make one which others do not join by chance.
_CLEAR, _SEVERAL, _MANY = 0.7, 2, 3


def score_jointly(
    arrays: ColumnArrays,
    candidates: Candidates,
    features: Features,
    logit: Floats,
    rung: Floats,
) -> tuple[Floats, dict[str, Floats]]:
    """The score of every candidate in view of the others, given its logit by itself and its rung;
    and as evidence the weight of its competitors, in equal ones.

    Slices of one table do not refer to each other, whatever numbers they have in common.
    """
    left, right = arrays.table[candidates.child], arrays.table[candidates.parent]
    rank = ranks(features, logit) - WEIGHTS.complete * lacking(arrays, candidates)
    # Between systems the longer list is the master, whatever the other one lacks of it.
    short = WEIGHTS.complete * features.orphan * bool(arrays.thresholds.sources)
    backward = backwards(arrays, candidates, rank - short)
    versions = same_thing(arrays, left, right)
    slots = [bool(TableName.parse(table.name).slots) for table in arrays.ids]
    dated = np.array(slots, dtype=np.bool_)
    slices = versions & dated[left] & dated[right]
    penalty: Floats = np.where(backward | slices, WEIGHTS.turned, 0.0)
    if arrays.thresholds.sources:
        versions |= satellites(arrays, candidates, rank - penalty, logit, features, rung)
        versions |= _beheaded(candidates, features, logit, rung)

    def logits(penalty: Floats) -> tuple[Floats, Floats]:
        competitors: Floats = competition(arrays, candidates, rank - penalty, versions)
        competitors = np.round(competitors, 9)
        return np.round(logit - penalty - WEIGHTS.competitor * competitors, 9), competitors

    total, competitors = logits(penalty)
    if not arrays.thresholds.sources:
        database = np.arange(len(arrays.ids))
        for _ in range(2):
            clash, apart = between_databases(arrays, left, right, database)
            total, competitors = logits(penalty + np.where(clash, WEIGHTS.clash, 0.0))
            total = np.round(total - WEIGHTS.apart * apart * (1 - features.value), 9)
            sure = total > WEIGHTS.apart * (1 - features.value)
            joins = np.flatnonzero((total > 0) & (competitors < _CLEAR))
            joins = joins[np.argsort(-total[joins], kind="stable")]
            database = databases(arrays, left[joins], right[joins], sure[joins])
    score = 1 / (1 + np.exp(-np.clip(total, -700, 700)))
    return score, {"competitors": competitors}


def databases(arrays: ColumnArrays, left: Ints, right: Ints, sure: Flags) -> Ints:
    """The database of each table, by joins, the surest first: their tables are of one, unless that
    would put two tables of one name into it, or unite two of many tables without being `sure`.
    """
    database = list(range(len(arrays.ids)))
    names = _names_in(arrays, np.arange(len(arrays.ids)))
    members = [[table] for table in database]
    for one, other, certain in zip(left.tolist(), right.tolist(), sure.tolist(), strict=True):
        less, more = sorted((database[one], database[other]), key=lambda at: len(members[at]))
        several = len(members[less]) >= _MANY
        if less != more and names[less].isdisjoint(names[more]) and (certain or not several):
            for table in members[less]:
                database[table] = more
            members[more] += members[less]
            names[more] |= names[less]
    return np.array(database, dtype=np.int64)


def _names_in(arrays: ColumnArrays, database: Ints) -> list[set[str]]:
    """What the tables of each database are called."""
    names: list[set[str]] = [set() for _ in arrays.ids]
    for table, of in zip(arrays.ids, database.tolist(), strict=True):
        names[of].add(" ".join(words(table.name)))
    return names


def between_databases(
    arrays: ColumnArrays, left: Ints, right: Ints, database: Ints
) -> tuple[Flags, Flags]:
    """Which pairs of tables are of two databases: those that would put two tables of one name into
    one, and all between two of several tables."""
    tables, names = len(arrays.ids), _names_in(arrays, database)
    several = np.bincount(database, minlength=tables) >= _SEVERAL
    left, right = database[left], database[right]
    pairs, back = np.unique(left * tables + right, return_inverse=True)
    both = [not names[pair // tables].isdisjoint(names[pair % tables]) for pair in pairs.tolist()]
    two = left != right
    return two & np.array(both, dtype=np.bool_)[back], two & several[left] & several[right]


def lacking(arrays: ColumnArrays, candidates: Candidates) -> Floats:
    """The share of a column's rows that each candidate lacks and another of its candidates has: a
    master is the most complete."""
    share = candidates.rows / np.maximum(arrays.filled[candidates.child], 1)
    most = np.zeros(len(arrays))
    np.maximum.at(most, candidates.child, share)
    short: Floats = most[candidates.child] - share
    return short


def same_thing(arrays: ColumnArrays, left: Ints, right: Ints) -> Flags:
    """Which pairs of tables are versions, parts or copies of one: of one source, about the same by
    their names, with mostly the same columns. What they share is no reference."""
    parsed = [TableName.parse(table.name) for table in arrays.ids]
    about = Encoded.of([(t.source, p.stem) for t, p in zip(arrays.ids, parsed, strict=True)]).codes
    columns: list[set[str]] = [set() for _ in arrays.ids]
    for table, name in zip(arrays.table.tolist(), arrays.name, strict=True):
        columns[table].add(plain(name))
    same = np.zeros(len(left), dtype=np.bool_)
    near = np.flatnonzero(about[left] == about[right])
    for at in near.tolist():
        one, other = columns[int(left[at])], columns[int(right[at])]
        less, more = sorted((len(one), len(other)))
        same[at] = len(one & other) >= max(_ALIKE * less, _OF_MORE * more)
    return same


def backwards(arrays: ColumnArrays, candidates: Candidates, rank: Floats) -> Flags:
    """Of two keys that hold each other's values, which way round is the weaker: only one of them is
    the master, and `rank` has what each lacks of the other. Of equals the one with fewer values
    refers to the other, then the one whose table comes later by name."""
    child, parent, count = candidates.child, candidates.parent, len(arrays)
    forward, turned = child * count + parent, parent * count + child
    order = np.argsort(forward)
    at = np.searchsorted(forward[order], turned)
    at[at == len(order)] = 0
    other = order[at] if len(order) else order
    both = np.flatnonzero(forward[other] == turned)
    flags = np.zeros(len(child), dtype=np.bool_)
    own, turn = np.round(rank[both], 9), np.round(rank[other[both]], 9)
    names = _alphabetical([table.name for table in arrays.ids])
    left, right = (
        arrays.distinct[side] * len(names) - names[arrays.table[side]]
        for side in (child[both], parent[both])
    )
    flags[both] = (own < turn) | ((own == turn) & (left > right))
    return flags


def satellites(
    arrays: ColumnArrays,
    candidates: Candidates,
    rank: Floats,
    logit: Floats,
    features: Features,
    rung: Floats,
) -> Flags:
    """Which candidates lead to a column that itself refers to the master of the child's domain.

    A member of a domain joins its master, not the nearest column that happens to hold its values:
    where the parent's own best parent holds the child's rows too, it is the master of both, if both
    are of one system or the child of a third, it writes keys as the parent does, and the child is
    named after it as far, or the parent is made from others; or if the parent can be no master, as
    it lacks rows or looks like no key.
    """
    child, parent, count = candidates.child, candidates.parent, len(arrays)
    order = np.lexsort((parent, -rank, child))
    order = order[firsts(child[order])]
    order = order[logit[order] > 0]
    master = np.full(count, -1, dtype=np.int64)
    master[child[order]] = parent[order]
    pairs = child * count + parent
    by_pair = np.argsort(pairs)
    wanted = child * count + master[parent]
    at = np.searchsorted(pairs[by_pair], wanted)
    at[at == len(by_pair)] = 0
    other = by_pair[at] if len(by_pair) else by_pair
    source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
    near = (source[master[parent]] == source[parent]) | (source[child] != source[parent])
    named = (features.name[other] >= features.name) | (features.copy > features.copy[other])
    member: Flags = near & named & (rung[other] <= rung)
    # A parent that lacks rows which that master has is none itself: it holds the codes of another
    # system as the child does.
    lacks = features.orphan - features.orphan[other]
    member |= (lacks > _LACKS) & (lacks >= _MOST_OF_THEM * features.orphan)
    member |= (features.key < _MEMBER) & (features.key[other] > features.key)
    holds = candidates.rows[other] >= _AS_MANY * candidates.rows
    flags: Flags = (master[parent] >= 0) & (pairs[other] == wanted) & holds & member
    return flags & ((logit[other] > 0) | (logit[other] >= logit))


def _beheaded(candidates: Candidates, features: Features, logit: Floats, rung: Floats) -> Flags:
    """Which candidates match by numbers without the letters before them, where another one holds as
    many rows letters and all: of PO-1001, SO-1001 is another thing."""
    whole = np.zeros(int(candidates.child.max(initial=-1)) + 1, dtype=np.int64)
    kept = (features.code == 1) & (features.key > _MEMBER) & (rung < _CUT_RUNG) & (logit > 0)
    np.maximum.at(whole, candidates.child[kept], candidates.rows[kept])
    unsaid = (features.name == 0) & (features.prefix == 0)
    flags: Flags = (
        unsaid & (rung >= _CUT_RUNG) & (whole[candidates.child] >= _AS_MANY * candidates.rows)
    )
    return flags


def competition(
    arrays: ColumnArrays, candidates: Candidates, rank: Floats, versions: Flags
) -> Floats:
    """The weight of the candidates that exclude each candidate, in equal competitors: a child
    column has one parent. Where sources say nothing a parent has one child table of a name besides:
    two `orders` that point to one `customers` come from two databases."""
    weight = WEIGHTS.sharp * np.where(versions, rank - _VERSION, rank)
    pair = candidates.child * len(arrays) + candidates.parent
    one_parent = _others(weight, candidates.child, pair)
    if arrays.thresholds.sources:
        return one_parent
    called = Encoded.of([entity(table.name) for table in arrays.ids]).codes
    table = arrays.table[candidates.child]
    claim = candidates.parent * (int(called.max(initial=0)) + 1) + called[table]
    return one_parent + _others(weight, claim, claim * len(arrays.ids) + table)


def _others(weight: Floats, group: Ints, own_group: Ints) -> Floats:
    """Per edge, the summed exp(weight) of its group less its own kind, relative to its own."""
    everyone, own = _log_sum(weight, group), _log_sum(weight, own_group)
    rest = np.log(np.maximum(1 - np.exp(np.minimum(own - everyone, 0)), 1e-15)) + everyone
    relative: Floats = np.exp(np.minimum(rest - weight, 4))
    return relative


def _log_sum(values: Floats, group: Ints) -> Floats:
    """ln of the sum of exp(values) over each entry's group."""
    _, of = np.unique(group, return_inverse=True)
    top = np.full(int(of.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, of, values)
    total: Floats = np.log(np.bincount(of, np.exp(values - top[of])))[of] + top[of]
    return total


def _alphabetical(names: Sequence[str]) -> Ints:
    """The place of each name in the order of all."""
    encoded = Encoded.of(names)
    order = sorted(range(len(encoded.dictionary)), key=encoded.dictionary.__getitem__)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    found: Ints = places[encoded.codes]
    return found
