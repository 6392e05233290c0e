"""Which views hold some values, and how common values are where columns read alike.

Nothing is kept of views from one time to the next: to pass over all of them once takes a fraction
of a second, as long as they are looked through for a few values only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Flags, Floats, Ints, found_in, sorted_distinct
from dovetail.hashing import Hashes
from dovetail.joins.distributed.distributed_columns import DistributedColumns, take
from dovetail.joins.inclusion.bottom_k import SketchLookup, holders
from dovetail.joins.keys.views import FamilyViews, Views
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import mean_nats, sample_columns

# Values looked up in the index together.
_LOOKED_UP = 1 << 12

_NOTHING = np.empty(0, dtype=np.int64)


class ViewHolders:
    """The views of one family, and the inverted index of the columns as they are."""

    def __init__(self, family: FamilyViews, postings: Postings) -> None:
        self._family, self._postings = family, postings
        self._columns = np.flatnonzero(family.own >= 0)

    def holding(self, values: Hashes) -> tuple[Ints, Ints]:
        """Places among sorted distinct values, each with a column whose view holds it, in order."""
        every, sets = self._family.viewed.value_hashes, self._family.own[self._columns]
        width = max(len(sets), 1)
        if not len(values) or not len(sets):
            return _NOTHING, _NOTHING
        if isinstance(every, DistributedColumns):
            parts: Sequence[Ints] = every.passes.holding(sets, values)
        else:
            parts = [holders(SketchLookup(values), take(every, sets), width)]
        held = np.sort(np.concatenate([_NOTHING, *parts]))
        return held // width, self._columns[held % width]

    def commonness(self, views: Views) -> Floats:
        """Per column the mean, over its sampled values, of ln(tables that hold the value).

        As `Postings.commonness` says of all columns that share a value with some view. The given
        ones do.
        """
        hashes, column, _ = sample_columns(list(views.arrays.value_hashes), views.arrays.counts)
        values = sorted_distinct(hashes)
        sharing = np.zeros(len(self._family.arrays), dtype=np.bool_)
        sharing[views.column] = True
        tables = self._tables(values, sharing)
        return mean_nats(column, tables[np.searchsorted(values, hashes)], len(views.column))

    def _tables(self, values: Hashes, sharing: Flags) -> Ints:
        """Per value how many tables hold it, by a view or by a column that shares with one.

        `sharing` flags columns that are known to share a value with some view.
        """
        table, width = self._family.arrays.table, len(self._family.arrays.ids)
        place, column = self.holding(values)
        viewed = np.zeros(len(values), dtype=np.bool_)
        viewed[place] = True
        at, holder = self._as_is(values)
        doubtful = sorted_distinct(holder[~viewed[at] & ~sharing[holder]])
        counts = sharing.copy()
        counts[doubtful[self._share(doubtful)]] = True
        there = viewed[at] | counts[holder]
        every = np.append(place, at[there]), np.append(column, holder[there])
        pairs = sorted_distinct(every[0] * width + table[every[1]])
        return np.bincount(pairs // max(width, 1), minlength=len(values))

    def _as_is(self, values: Hashes) -> tuple[Ints, Ints]:
        """Places among the values, each with a column that holds it as it is."""
        found = [(_NOTHING, _NOTHING)]
        for start in range(0, len(values), _LOOKED_UP):
            place, column = self._postings.columns_holding(values[start : start + _LOOKED_UP])
            there = self._family.as_is[column]
            found.append((place[there] + start, column[there]))
        places, columns = (np.concatenate(part) for part in zip(*found, strict=True))
        return places, columns

    def _share(self, columns: Ints) -> Flags:
        """Which of some columns have a value in common with some view."""
        if not len(columns):
            return np.zeros(0, dtype=np.bool_)
        held = [self._family.arrays.value_hashes[column] for column in columns.tolist()]
        values = sorted_distinct(np.concatenate(held))
        known = values[sorted_distinct(self.holding(values)[0])]
        return np.array([found_in(hashes, known).any() for hashes in held], dtype=np.bool_)
