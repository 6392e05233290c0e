"""What each column says by itself, as a child and as a parent: the features of pairs go by it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats
from dovetail.joins.candidate_search import Groups
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.scoring.value_information import ValueInformation
from dovetail.names.references import References
from dovetail.names.words import counts, identifies


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """An entry for each column."""

    # As child or parent.
    rarity: Floats  # how few tables hold its values
    global_id: Flags  # its values mean the same thing wherever they stand
    # As a child.
    own: Floats  # how far it is its own table's key
    plain: Floats  # it is a number without an id-word
    counts: Flags  # it is called a count of something
    # As a parent.
    sparsity: Floats  # how little chance puts a number into it
    key: Floats  # how much it looks like a key
    own_key: Floats  # how far a reference to what it is called is one to its table
    own_name: Floats  # how far it is named after its own table
    repeat: Floats  # share of its rows whose value is another's too

    @classmethod
    def of(
        cls,
        arrays: ColumnArrays,
        names: Encoded[str],
        information: ValueInformation,
        references: References,
    ) -> ColumnFacts:
        """The facts about all columns."""
        every = np.arange(len(arrays))
        id_word, count_word = (
            np.array([says(name) for name in names.dictionary], dtype=np.bool_)[names.codes]
            for says in (identifies, counts)
        )
        first = arrays.position == 0
        # How far a column is named after its own table, both ways round: the head word must agree.
        own_name = np.minimum(
            references.to_table(every, arrays.table), references.from_table(arrays.table, every)
        )
        own_name[references.bare] = 1.0  # a bare id is the table's own
        key = 0.5 * first + 0.5 * np.maximum(0.5 * id_word, own_name)
        return cls(
            rarity=information.rarity,
            global_id=arrays.global_ids,
            own=arrays.key * np.clip(3 * own_name - 1, 0, 1) * np.where(first, 1, 0.5),
            plain=(arrays.number & ~id_word).astype(np.float64),
            counts=count_word,
            sparsity=information.sparsity,
            key=key,
            # Two children of one parent share its name too: it counts in full for the own key.
            own_key=(0.5 + 0.5 * np.minimum(2 * key, 1)) * (0.8 + 0.2 * own_name),
            own_name=own_name,
            repeat=1 - arrays.distinct / np.maximum(arrays.filled, 1),
        )

    def best(self, children: Groups, parents: Groups) -> ColumnFacts:
        """What speaks most for a pair among the columns of each group, for all of the group."""
        low = {name: children.spread(np.minimum, getattr(self, name)) for name in _AGAINST_CHILD}
        high = {name: parents.spread(np.maximum, getattr(self, name)) for name in _FOR_PARENT}
        both = {
            name: parents.spread(np.maximum, children.spread(np.maximum, getattr(self, name)))
            for name in _FOR_BOTH
        }
        return replace(
            self,
            repeat=parents.spread(np.minimum, self.repeat),
            **both,
            **low,
            **high,
        )


_FOR_BOTH = ("rarity", "global_id")
_AGAINST_CHILD = ("own", "plain", "counts")
_FOR_PARENT = ("sparsity", "key", "own_key", "own_name")
