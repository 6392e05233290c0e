"""The features of `foreign_key`: what names, values and places say for and against a candidate."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, once
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.scoring.column_facts import ColumnFacts
from dovetail.joins.scoring.value_information import ValueInformation
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights
from dovetail.names.references import References
from dovetail.names.table_name import CopyMarks


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


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """Works out the features of pairs of columns, from what each column says by itself.

    Per column: its `table`, the `distinct` values, the `filled` rows, the number of its name
    (`names`), its `facts`, and how rare its values may become (`rarity_bound`). Per table: the
    number of its source (`sources`), where `sources_count`, and its row of `conventions`.
    """

    table: Ints
    distinct: Ints
    filled: Ints
    names: Ints
    references: References
    facts: ColumnFacts
    rarity_bound: Floats
    conventions: Floats
    copies: CopyMarks
    sources: Ints
    sources_count: bool

    @classmethod
    def of_columns(
        cls,
        arrays: ColumnArrays,
        information: ValueInformation,
        rarity_bound: Floats | None = None,
        conventions: Floats | None = None,
    ) -> PairFeatures:
        """`rarity_bound` is how rare each column's values may become; as they are, if not given.

        `conventions` are the tables', where the columns are not all that these have.
        """
        names = Encoded.of(arrays.name)
        references = References.of(names, arrays.table_names)
        return cls(
            table=arrays.table,
            distinct=arrays.distinct,
            filled=arrays.filled,
            names=names.codes,
            references=references,
            facts=ColumnFacts.of(arrays, names, information, references),
            rarity_bound=information.rarity if rarity_bound is None else rarity_bound,
            conventions=arrays.conventions(names) if conventions is None else conventions,
            copies=CopyMarks.of(arrays.table_names),
            sources=Encoded.of([table.source for table in arrays.ids]).codes,
            sources_count=bool(arrays.thresholds.sources),
        )

    def of(self, found: Candidates) -> Features:
        """The features of each candidate."""
        tables = self.table[found.child], self.table[found.parent]
        copy = self.copies.copied(*tables)
        return self._of(found, self.facts, self._convention(*tables), copy)

    @property
    def at_best(self) -> ColumnFacts:
        """The facts about columns whose values are as rare as they may become."""
        return replace(self.facts, rarity=self.rarity_bound)

    def upper_bounds(self, child: Ints, parent: Ints) -> Features:
        """The features of pairs as they may be at best, whatever their counts and other tables are.

        Every row is found, the values are as rare as their bound, the conventions are the same.
        """
        copy = self.copies.copied(self.table[child], self.table[parent])
        return self._at_best(child, parent, self.at_best, copy)

    def upper_bounds_now(self, child: Ints, parent: Ints) -> Features:
        """The same with values as rare as they are."""
        copy = self.copies.copied(self.table[child], self.table[parent])
        return self._at_best(child, parent, self.facts, copy)

    def group_bounds(self, child: Ints, parent: Ints, best: ColumnFacts) -> Features:
        """Upper bounds that hold for all columns of two groups, told by any of them.

        Columns of a group have the same values, their and their tables' names the same words, and
        the same `best` facts.
        """
        return self._at_best(child, parent, best, np.zeros(len(child)))

    def _at_best(self, child: Ints, parent: Ints, facts: ColumnFacts, copy: Floats) -> Features:
        shared = np.minimum(self.distinct[child], self.distinct[parent])
        found = Candidates(child, parent, shared, self.filled[child])
        return self._of(found, facts, np.ones(len(child)), copy)

    def _of(
        self, found: Candidates, facts: ColumnFacts, convention: Floats, copy: Floats
    ) -> Features:
        child, parent = found.child, found.parent
        tables = self.table[child], self.table[parent]
        to_table = self.references.to_table_or_people(child, tables[1])
        to_column = self.references.to_column(child, parent)
        name = np.maximum(to_table, to_column * facts.own_key[parent])
        value = self._value(facts, child, parent)
        # A key inside a key, no word in common, values beyond chance: a table of a subtype.
        subtype = value * facts.own_name[parent] * (to_column == 0)
        return Features(
            name=name,
            value=value,
            key=facts.key[parent],
            own=facts.own[child] * (1 - subtype),
            measure=facts.plain[child] * np.where(facts.counts[child], 1, 1 - to_table),
            cover=found.shared / self.distinct[parent],
            orphan=1 - found.rows / self.filled[child],
            repeat=facts.repeat[parent],
            convention=convention,
            exact=(self.names[child] == self.names[parent]).astype(np.float64),
            copy=copy,
            source=self._same_source(*tables),
        )

    def _same_source(self, left: Ints, right: Ints) -> Floats:
        """1 for two tables of one source, unless sources are not to count."""
        if not self.sources_count:
            return np.zeros(len(left))
        same: Floats = (self.sources[left] == self.sources[right]).astype(np.float64)
        return same

    def _value(self, facts: ColumnFacts, child: Ints, parent: Ints) -> Floats:
        rarity = np.minimum(facts.rarity[child], facts.rarity[parent])
        # A second value settles it.
        sparsity = facts.sparsity[parent] * np.minimum(self.distinct[child], 2)
        # However many tables hold an e-mail address, it is the same one.
        both = facts.global_id[child] & facts.global_id[parent]
        value: Floats = np.clip(np.where(both, sparsity, np.minimum(sparsity, rarity)), 0, 1)
        return value

    def _convention(self, left: Ints, right: Ints) -> Floats:
        """Likeness of two tables' naming conventions, for many pairs of tables."""
        return once(
            lambda i, j: np.einsum("ij,ij->i", self.conventions[i], self.conventions[j]),
            (left, len(self.conventions)),
            (right, len(self.conventions)),
        )
