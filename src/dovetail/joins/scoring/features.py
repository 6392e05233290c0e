"""The features of `foreign_key`: what names, values and places say for and against a candidate."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Flags, Floats, Ints
from dovetail.joins.encoding import Encoded, once
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.naming.conventions import naming_conventions
from dovetail.joins.naming.copies import Copies
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.naming.name_words import counts, identifies
from dovetail.joins.naming.references import References
from dovetail.joins.scoring.value_information import ValueInformation
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights


@dataclass(frozen=True, slots=True)
class Features:
    """The features of each candidate, in [0, 1]."""

    name: Floats  # the child's words name the parent's table or its key column
    value: Floats  # self-information of the inclusion: how little chance explains it
    key: Floats  # how much the parent looks like a key
    own: Floats  # the child is its own table's key
    measure: Floats  # the child is a plain number
    cover: Floats  # share of the parent's values in use
    orphan: Floats  # share of the child's rows without a parent
    repeat: Floats  # share of the parent's rows whose key is another's too
    convention: Floats  # likeness of the two tables' naming conventions
    exact: Floats  # the column names are equal to the letter
    copy: Floats  # the parent's table is a copy by its name, and the child's is not
    source: Floats  # both tables are of one source, where sources count

    def take(self, chosen: Ints | Flags) -> Features:
        """Those of some candidates."""
        return Features(*(getattr(self, field.name)[chosen] for field in fields(self)))


def ranks(found: Features, logit: Floats, weights: Weights = DEFAULT_WEIGHTS) -> Floats:
    """The logit with what decides between competitors only."""
    rank: Floats = logit + weights.exact * found.exact + weights.source * found.source
    return rank


def local_logits(found: Features, weights: Weights = DEFAULT_WEIGHTS) -> Floats:
    """The logit of each candidate by itself: the weighted sum of its features, in nats."""
    w = weights
    logit: Floats = (
        w.prior
        + w.name * found.name
        + w.value * found.value * (2 - found.name)
        + w.key * found.key
        - w.own * found.own
        - w.measure * found.measure
        - w.orphan * found.orphan
        - w.repeat * found.repeat
        - w.copy * found.copy
        + w.cover * np.log(found.cover)
        + w.convention * (found.convention - 0.5)
    )
    return logit


class PairFeatures:
    """Works out the features of pairs of columns, from what each column says by itself."""

    def __init__(
        self,
        arrays: ColumnArrays,
        information: ValueInformation,
        similarity: HeaderSimilarity | None = None,
        rarity_bound: Floats | None = None,
    ) -> None:
        """`rarity_bound` is how rare each column's values may become; as they are, if not given."""
        self._arrays, self._information, self._similarity = arrays, information, similarity
        bound = information.rarity if rarity_bound is None else rarity_bound
        self._bound = ValueInformation(information.sparsity, bound)
        self._distinct = arrays.distinct
        self._names = Encoded.of(arrays.name)
        self._references = References(arrays)
        self._conventions = naming_conventions(arrays)
        every = np.arange(len(arrays))
        id_word = np.array([identifies(name) for name in arrays.name], dtype=np.bool_)
        first = arrays.position == 0
        # How far a column is named after its own table, both ways round: the head word must agree.
        self._own_name = np.minimum(
            self._references.to_table(every, arrays.table),
            self._references.from_table(arrays.table, every),
        )
        self._own_name[self._references.bare] = 1.0  # a bare id is the table's own
        self._key = 0.5 * first + 0.5 * np.maximum(0.5 * id_word, self._own_name)
        # Two children of one parent share its name too: it counts in full for the own key.
        self._own_key = (0.5 + 0.5 * np.minimum(2 * self._key, 1)) * (0.8 + 0.2 * self._own_name)
        self._own = arrays.key * np.clip(3 * self._own_name - 1, 0, 1) * np.where(first, 1, 0.5)
        self._plain = (arrays.number & ~id_word).astype(np.float64)
        self._copies = Copies(arrays)
        self._sources = Encoded.of([table.source for table in arrays.ids]).codes
        self._counts = np.array([counts(name) for name in arrays.name], dtype=np.bool_)

    def of(self, found: Candidates) -> Features:
        """The features of each candidate."""
        tables = self._arrays.table[found.child], self._arrays.table[found.parent]
        return self._of(found, self._information, self._convention(*tables))

    def upper_bounds(self, child: Ints, parent: Ints) -> Features:
        """The features of pairs as they may be at best, whatever their counts and other tables are.

        Every row is found, the values are as rare as their bound, the conventions are the same.
        """
        shared = np.minimum(self._distinct[child], self._distinct[parent])
        found = Candidates(child, parent, shared, self._arrays.filled[child])
        return self._of(found, self._bound, np.ones(len(child)))

    def _of(self, found: Candidates, information: ValueInformation, convention: Floats) -> Features:
        arrays, child, parent = self._arrays, found.child, found.parent
        tables = arrays.table[child], arrays.table[parent]
        to_table = self._references.to_table_or_people(child, tables[1])
        to_column = self._references.to_column(child, parent)
        name = np.maximum(to_table, to_column * self._own_key[parent])
        if self._similarity is not None:
            name = np.maximum(name, self._similarity(child, parent))
        value = self._value(information, child, parent)
        # A key inside a key, no word in common, values beyond chance: a table of a subtype.
        subtype = value * self._own_name[parent] * (to_column == 0)
        return Features(
            name=name,
            value=value,
            key=self._key[parent],
            own=self._own[child] * (1 - subtype),
            measure=self._plain[child] * np.where(self._counts[child], 1, 1 - to_table),
            cover=found.shared / self._distinct[parent],
            orphan=1 - found.rows / arrays.filled[child],
            repeat=1 - self._distinct[parent] / arrays.filled[parent],
            convention=convention,
            exact=(self._names.codes[child] == self._names.codes[parent]).astype(np.float64),
            copy=self._copies.among(*tables),
            source=self._same_source(*tables),
        )

    def _same_source(self, left: Ints, right: Ints) -> Floats:
        """1 for two tables of one source, unless sources are not to count."""
        if not self._arrays.thresholds.sources:
            return np.zeros(len(left))
        same: Floats = (self._sources[left] == self._sources[right]).astype(np.float64)
        return same

    def _value(self, information: ValueInformation, child: Ints, parent: Ints) -> Floats:
        rarity = np.minimum(information.rarity[child], information.rarity[parent])
        # A second value settles it.
        sparsity = information.sparsity[parent] * np.minimum(self._distinct[child], 2)
        # However many tables hold an e-mail address, it is the same one.
        both = self._arrays.global_ids[child] & self._arrays.global_ids[parent]
        value: Floats = np.clip(np.where(both, sparsity, np.minimum(sparsity, rarity)), 0, 1)
        return value

    def _convention(self, left: Ints, right: Ints) -> Floats:
        """Likeness of two tables' naming conventions, for many pairs of tables."""
        return once(
            lambda i, j: np.einsum("ij,ij->i", self._conventions[i], self._conventions[j]),
            (left, len(self._conventions)),
            (right, len(self._conventions)),
        )
