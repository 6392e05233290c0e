"""The evidence of `keylike`: what names, values and places say for and against a candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

import numpy as np

from dovetail.joins.column_arrays import Flags, Floats, Ints, Lake
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.naming.name_words import (
    core,
    counts,
    entity,
    habits,
    identifies,
    is_plural,
    refers,
)
from dovetail.joins.value_index.postings import Postings

# How much rarer a column's values may become before its pairs must be looked for again.
SLACK = 0.05

Named = TypeVar("Named")

# A similarity of two columns' headers in [0, 1], for many pairs at once: an embedder's, say.
Semantic = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True, slots=True)
class Constants:
    """Log-odds in nats, each with its reason; everything else is an equation."""

    prior: float = -4.5  # an inclusion with nothing else for it: one in ninety is a key
    name: float = 6.0  # a child named after the parent outweighs the prior, with something to spare
    value: float = 3.0  # values that no chance puts together; doubled where the names say nothing
    key: float = 2.0  # the parent stands where keys stand: first, id-word, named after its table
    own: float = 4.0  # the child is its own table's key: undoes most of a matching name
    measure: float = 3.0  # the child is a number without an id-word: rank, year, count
    orphan: float = 10.0  # per unit of rows without a parent: 5% of dirt cost half a nat
    repeat: float = 5.0  # per unit of key rows entered twice: 10% cost half a nat
    cover: float = 0.5  # per e-fold of the parent's values unused: prefer the one in use
    habit: float = 2.0  # spelled by the same hand, one nat either way around neutral
    exact: float = 0.5  # the same column name to the letter: breaks ties between rivals only
    sharp: float = 6.0  # a rival weighs 1/e for every sixth of a nat it is weaker
    rival: float = 0.693  # every equal rival halves the odds
    clear: float = 0.7  # an edge may found a database while its rivals together weigh less
    clash: float = 6.0  # two tables of one name in one database: as good as excluded
    proof: float = 5.0  # nats at which a chance inclusion is out of the question
    least: float = -1.0  # odds below which a candidate neither becomes an edge nor a rival


DEFAULT = Constants()


@dataclass(frozen=True, slots=True)
class Features:
    """Evidence per candidate, in [0, 1]."""

    name: Floats  # the child's words name the parent's table or its key column
    value: Floats  # how surprising the inclusion is
    key: Floats  # how key-like the parent is
    own: Floats  # the child is its own table's key
    measure: Floats  # the child is a plain number
    cover: Floats  # share of the parent's values in use
    orphan: Floats  # share of the child's rows without a parent
    repeat: Floats  # share of the parent's rows whose key is another's too
    habit: Floats  # likeness of the two tables' spelling
    exact: Floats  # the column names are equal to the letter

    def take(self, chosen: Ints | Flags) -> Features:
        """Those of some candidates."""
        return Features(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Surprise:
    """Per column: how far its values are from what chance puts into any column."""

    sparse: Floats  # nats by which a number's being in it surprises, over `proof`
    rare: Floats  # how few tables hold its values, by those drawn from it

    @property
    def telling(self) -> Flags:
        """Columns whose values may prove something, if few tables hold them."""
        return 2 * self.sparse > 0.05


def surprise(lake: Lake, constants: Constants, postings: Postings | None = None) -> Surprise:
    """How telling the values of each column are."""
    largest = np.maximum(np.abs(lake.low), np.abs(lake.high))
    whole = lake.number & np.isfinite(largest)
    # Chance puts a number into a key of n values up to m with n/m; text is never dense.
    share = np.where(whole, lake.distinct / (np.where(whole, largest, 0) + 1), 0.0)
    nats = -np.log(np.clip(share, np.exp(-constants.proof), 1))
    live = int((lake.rows > 0).sum())
    common = (postings or Postings.of_lake(lake)).commonness()
    rare = np.where(lake.distinct > 0, np.log(max(live, 1)) - common, 0.0)
    return Surprise(nats / constants.proof, rare / np.log(max(live / 2, 2)))


class Evidence:
    """What is to be said for and against candidates, from what each column says by itself."""

    def __init__(
        self,
        lake: Lake,
        values: Surprise,
        semantic: Semantic | None = None,
        hoped: Floats | None = None,
    ) -> None:
        """`hoped` is how rare the values of each column may become; as they are, if not given."""
        self._lake, self._values, self._semantic = lake, values, semantic
        self._hoped = Surprise(values.sparse, values.rare if hoped is None else hoped)
        self._distinct = lake.distinct
        self._names = Coded.of(lake.name)
        self._called = Coded.of([core(name) for name in lake.name])
        self._things = Coded.of([entity(table.name) for table in lake.ids])
        self._spelling = spelling_habits(lake)
        every = np.arange(len(lake))
        id_word = np.array([identifies(name) for name in lake.name], dtype=np.bool_)
        first = lake.position == 0
        # How far a column is named after its own table, both ways round: the head word must agree.
        self._own_name = np.minimum(
            _pairwise(refers, self._called, self._things, every, lake.table),
            _pairwise(refers, self._things, self._called, lake.table, every),
        )
        bare = np.array([not said for said in self._called.seen], dtype=np.bool_)
        self._own_name[bare[self._called.code]] = 1.0  # a bare id is the table's own
        self._key = 0.5 * first + 0.5 * np.maximum(0.5 * id_word, self._own_name)
        # Two children of one parent share its name too: it counts in full for the own key.
        self._own_key = (0.5 + 0.5 * np.minimum(2 * self._key, 1)) * (0.8 + 0.2 * self._own_name)
        self._own = lake.key * np.clip(3 * self._own_name - 1, 0, 1) * np.where(first, 1, 0.5)
        self._plain = (lake.number & ~id_word).astype(np.float64)
        self._counted = np.array([counts(name) for name in lake.name], dtype=np.bool_)

    def of(self, found: Candidates) -> Features:
        """The evidence of each candidate."""
        tables = self._lake.table[found.child], self._lake.table[found.parent]
        return self._of(found, self._values, self._habit(*tables))

    def _of(self, found: Candidates, values: Surprise, habit: Floats) -> Features:
        lake, child, parent = self._lake, found.child, found.parent
        to_table = _pairwise(refers, self._called, self._things, child, lake.table[parent])
        to_column = _pairwise(refers, self._called, self._called, child, parent)
        name = np.maximum(to_table, to_column * self._own_key[parent])
        if self._semantic is not None:
            name = np.maximum(name, self._semantic(child, parent))
        value = self._value(values, child, parent)
        # A key inside a key, no word in common, values beyond chance: a table of a subtype.
        subtype = value * self._own_name[parent] * (to_column == 0)
        return Features(
            name=name,
            value=value,
            key=self._key[parent],
            own=self._own[child] * (1 - subtype),
            measure=self._plain[child] * np.where(self._counted[child], 1, 1 - to_table),
            cover=found.shared / self._distinct[parent],
            orphan=1 - found.rows / lake.filled[child],
            repeat=1 - self._distinct[parent] / lake.filled[parent],
            habit=habit,
            exact=(self._names.code[child] == self._names.code[parent]).astype(np.float64),
        )

    def at_best(self, child: Ints, parent: Ints) -> Features:
        """That of pairs as it may be at best, whatever their counts and the other tables are.

        Every row is found, the values are as rare as hoped, the tables spelled by one hand.
        """
        shared = np.minimum(self._distinct[child], self._distinct[parent])
        found = Candidates(child, parent, shared, self._lake.filled[child])
        return self._of(found, self._hoped, np.ones(len(child)))

    def _value(self, values: Surprise, child: Ints, parent: Ints) -> Floats:
        rare = np.minimum(values.rare[child], values.rare[parent])
        # A second value settles it.
        sparse = values.sparse[parent] * np.minimum(self._distinct[child], 2)
        value: Floats = np.clip(np.minimum(sparse, rare), 0, 1)
        return value

    def _habit(self, left: Ints, right: Ints) -> Floats:
        """Likeness of two tables' spelling, for many pairs of tables."""
        return _once(
            lambda i, j: np.einsum("ij,ij->i", self._spelling[i], self._spelling[j]),
            (left, len(self._spelling)),
            (right, len(self._spelling)),
        )


@dataclass(frozen=True, slots=True)
class Coded(Generic[Named]):
    """Things by number, equal ones by the same."""

    code: Ints
    seen: list[Named]

    @classmethod
    def of(cls, things: Sequence[Named]) -> Coded[Named]:
        seen: dict[Named, int] = {}
        codes = [seen.setdefault(thing, len(seen)) for thing in things]
        return cls(np.array(codes, dtype=np.int64), list(seen))


def _pairwise(
    score: Callable[[Named, Named], float],
    left: Coded[Named],
    right: Coded[Named],
    i: Ints,
    j: Ints,
) -> Floats:
    """score(left[i], right[j]), worked out once per distinct pair."""

    def scores(one: Ints, other: Ints) -> Floats:
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        return np.array([score(left.seen[a], right.seen[b]) for a, b in pairs], dtype=np.float64)

    return _once(scores, (left.code[i], len(left.seen)), (right.code[j], len(right.seen)))


def _once(
    score: Callable[[Ints, Ints], Floats], left: tuple[Ints, int], right: tuple[Ints, int]
) -> Floats:
    """score of pairs of numbers, each below a bound, worked out once per distinct pair."""
    width = max(right[1], 1)
    pair = left[0] * width + right[0]
    if left[1] * width > 4 * len(pair):
        pairs, back = np.unique(pair, return_inverse=True)
        return score(pairs // width, pairs % width)[back]
    # So few pairs there can be that a table of all of them is faster than sorting.
    there = np.zeros(left[1] * width, dtype=np.bool_)
    there[pair] = True
    pairs = np.flatnonzero(there)
    table = np.empty(len(there))
    table[pairs] = score(pairs // width, pairs % width)
    scores: Floats = table[pair]
    return scores


def spelling_habits(lake: Lake) -> Floats:
    """One unit vector per table: case, separators, form of 'id', names of keys, plurals."""
    bags: list[Counter[str]] = [Counter() for _ in lake.ids]
    facts = zip(lake.table.tolist(), lake.name, lake.position, lake.unique, strict=True)
    for table, name, position, unique in facts:
        bags[table].update(habits(name))
        if position == 0 and unique and identifies(name):
            bags[table]["key named" if core(name) else "key bare"] += 1
    for bag, table_id in zip(bags, lake.ids, strict=True):
        bag.update(f"table {habit}" for habit in habits(table_id.name))
        bag["table plural" if is_plural(table_id.name) else "table singular"] += 2
    index = {habit: place for place, habit in enumerate(sorted({h for bag in bags for h in bag}))}
    matrix = np.zeros((len(bags), len(index)))
    for row, bag in enumerate(bags):
        for habit, times in bag.items():
            matrix[row, index[habit]] = 1 + np.log(times)
    matrix *= np.log(1 + len(bags) / np.maximum((matrix > 0).sum(axis=0), 1))
    unit: Floats = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return unit


def local_odds(found: Features, constants: Constants = DEFAULT) -> Floats:
    """The evidence of each candidate by itself, in nats."""
    c = constants
    odds: Floats = (
        c.prior
        + c.name * found.name
        + c.value * found.value * (2 - found.name)
        + c.key * found.key
        - c.own * found.own
        - c.measure * found.measure
        - c.orphan * found.orphan
        - c.repeat * found.repeat
        + c.cover * np.log(found.cover)
        + c.habit * (found.habit - 0.5)
    )
    return odds
