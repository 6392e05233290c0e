"""Columns as they read under a family of transforms: some have a view of their own there.

A view is a column's values folded, stripped or cut (`domain/joins.py`); a column that a
transform would not change does as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Counts, Flags, Ints, sorted_distinct
from dovetail.catalog.read_later import ReadLater
from dovetail.catalog.reader import CatalogReader, KeyView
from dovetail.domain.sql import CASE, DAY, PREFIX, PUNCTUATED, ZEROS
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Chained, ColumnArrays, Values
from dovetail.joins.distributed.distributed_columns import (
    DistributedColumns,
    DistributedCounts,
    take,
)
from dovetail.joins.value_index.postings import Postings

# Transforms that are one function, or agree where a column needs less of it.
FAMILIES = ((CASE,), (PUNCTUATED,), (ZEROS, PREFIX), (DAY,))
# The least share of the child's rows that must be found, and of distinct values on both sides.
LEAST_ROWS, _FEWEST = 0.9, 10


@dataclass(frozen=True, slots=True)
class ViewedColumns:
    """The views of columns, and the value sets of all columns and then of all views."""

    views: Sequence[KeyView]
    distinct: Ints
    value_hashes: Sequence[Hashes]
    counts: Sequence[Counts]

    @classmethod
    def of(cls, catalog: CatalogReader, arrays: ColumnArrays) -> ViewedColumns:
        """Those of a catalog, whose columns are in the arrays."""
        columns = arrays.value_hashes
        if isinstance(columns, DistributedColumns):
            values = columns.passes.values
            every = DistributedColumns(columns.passes, np.arange(len(values.distinct)))
            return cls(values.views, values.distinct, every, DistributedCounts(every))
        views = catalog.key_views()
        hashes, counts = catalog.view_values(views)
        sizes = np.array([view.distinct for view in views], dtype=np.int64)
        return cls(
            views,
            np.append(arrays.distinct, sizes),
            Chained(columns, hashes),
            Chained(arrays.counts, counts),
        )


class FamilyViews:
    """All columns under one family of transforms, by their numbers.

    `own` is where a column's own view stands among the value sets, -1 if it has none; `as_is` flags
    columns without one that may match a view as they are.
    """

    def __init__(
        self, arrays: ColumnArrays, viewed: ViewedColumns, family: tuple[str, ...]
    ) -> None:
        self.arrays, self.viewed = arrays, viewed
        self.numbers = ZEROS in family
        self._views = {
            view.column: (len(arrays) + place, view)
            for place, view in enumerate(viewed.views)
            if view.transform in family
        }
        columns = np.array(list(self._views), dtype=np.int64)
        self.own = np.full(len(arrays), -1, dtype=np.int64)
        self.own[columns] = [place for place, _ in self._views.values()]
        number = arrays.number if self.numbers else ~arrays.number
        self.as_is: Flags = (arrays.distinct >= _FEWEST) & number & (self.own < 0)

    @property
    def sets(self) -> Ints:
        """Where each column's values stand among the value sets."""
        return np.where(self.own >= 0, self.own, np.arange(len(self.own)))

    def sharing(self, postings: Postings) -> Ints:
        """The columns with a view, and those that have a value in common with some view."""
        others, views = np.flatnonzero(self.as_is), self.own[self.own >= 0]
        every = self.viewed.value_hashes
        if isinstance(every, DistributedColumns):
            shares = every.passes.sharing(others, views)
        else:
            known = sorted_distinct(np.concatenate(take(every, views)))
            shares = postings.holding_any(known)[others]
        return np.sort(np.append(others[shares], np.flatnonzero(self.own >= 0)))

    def of(self, column: Ints, *, lazy: bool = False) -> Views:
        """Some columns by themselves, in order; read when they are asked for, if `lazy`."""
        arrays, viewed = self.arrays, self.viewed
        sets = self.sets[column]
        distinct, filled = viewed.distinct[sets], arrays.filled[column]
        named = [self._views.get(number) for number in column.tolist()]
        high = arrays.high[column].copy()
        if self.numbers:
            for place, own in enumerate(named):
                if own is not None:
                    high[place] = own[1].maximum
        thresholds = arrays.thresholds
        under = replace(
            arrays,
            table=arrays.table[column],
            position=arrays.position[column],
            name=[arrays.name[number] for number in column.tolist()],
            number=np.full(len(column), self.numbers),
            filled=filled,
            distinct=distinct,
            unique=distinct == filled,
            key=(distinct > 0) & (distinct >= thresholds.unique * filled),
            low=np.where(np.isnan(arrays.low[column]), high, arrays.low[column]),
            high=high,
            value_hashes=_picked(viewed.value_hashes, sets, lazy),
            counts=_picked(viewed.counts, sets, lazy),
            global_ids=arrays.global_ids[column],
            thresholds=replace(thresholds, rows=max(thresholds.rows, LEAST_ROWS)),
        )
        return Views(under, column, ["" if own is None else own[1].transform for own in named])


@dataclass(frozen=True, slots=True)
class Views:
    """Columns under one family of transforms: some have a view of their own, others do as is."""

    arrays: ColumnArrays
    column: Ints  # the number of each column among all
    transform: Sequence[str]  # the name of its own view, empty where it does as is

    @property
    def changed(self) -> Flags:
        """Which columns have a view of their own."""
        return np.array([bool(name) for name in self.transform], dtype=np.bool_)


def _picked(arrays: Sequence[Values], places: Ints, lazy: bool) -> Sequence[Values]:
    """The arrays at some places; each looked up when it is asked for, if `lazy`."""
    distributed = isinstance(arrays, DistributedColumns | DistributedCounts)
    if lazy and not distributed:
        return ReadLater(len(places), lambda place: arrays[int(places[place])])
    return take(arrays, places)
