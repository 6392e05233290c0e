"""The value sets of a catalog: what stands in a column, as it is or in a normal form of it.

A set is the sorted hashes of its values, and in how many rows each stands. Of a large column that
is no candidate key a sketch is kept: the smallest hashes, all of them up to its last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from dovetail.arrays import Counts
from dovetail.catalog.records import Records, StoredForm, numbers
from dovetail.catalog.segment import Segment
from dovetail.domain import TableId
from dovetail.hashing import Hashes


class StoredValues:
    """The value sets of a catalog by number: first those of its columns, through the tables in
    order, then those of their normal forms (`normalized`), in the order in which it has them."""

    def __init__(self, records: Records, segments: Mapping[str, Segment]) -> None:
        self._records = records
        columns, widths = records.columns, numbers(records.tables["columns"]).tolist()
        names = zip(records.tables["segment"].to_pylist(), widths, strict=True)
        self._segments = [segments[name] for name, width in names for _ in range(width)]
        # Lists, since a number of an array takes longer to look up than a part of a segment.
        self._distinct: list[int] = numbers(columns["distinct"]).tolist()
        self._kept: list[int] = numbers(columns["kept"]).tolist()
        self._hashes_at: list[int] = numbers(columns["hashes_at"]).tolist()
        self._ones = np.ones(0, dtype=np.uint32)

    @cached_property
    def _names(self) -> list[str]:
        names: list[str] = self._records.columns["name"].to_pylist()
        return names

    @cached_property
    def _counts_at(self) -> list[int | None]:
        places: list[int | None] = self._records.columns["counts_at"].to_pylist()
        return places

    @cached_property
    def normalized(self) -> list[StoredForm]:
        """The normal forms of columns."""
        return self._records.stored_forms()

    @cached_property
    def _forms(self) -> Mapping[int, Mapping[str, int]]:
        forms: dict[int, dict[str, int]] = defaultdict(dict)
        for number, form in enumerate(self.normalized, len(self._kept)):
            forms[form.column][form.transform] = number
        return forms

    def forms_of(self, column: int) -> Mapping[str, int]:
        """The sets of a column in its normal forms, by the transforms that make them."""
        return self._forms.get(column, {})

    def number(self, table: TableId, name: str) -> int:
        """The number of a column that a table has."""
        row = bisect_left(self._records.ids, table)
        start, end = self._records.bounds[row : row + 2].tolist()
        return self._names.index(name, start, end)

    def size(self, number: int) -> int:
        """How many distinct values a set has, kept or not."""
        form = number - len(self._kept)
        return self._distinct[number] if form < 0 else self.normalized[form].distinct

    def hashes(self, number: int) -> Hashes:
        """The sorted hashes of a set."""
        if (at := number - len(self._kept)) >= 0:
            form = self.normalized[at]
            return self._segments[form.column].hashes(form.hashes_at, form.kept)
        return self._segments[number].hashes(self._hashes_at[number], self._kept[number])

    def counts(self, number: int) -> Counts:
        """In how many rows each of them occurs."""
        if (at := number - len(self._kept)) >= 0:
            form = self.normalized[at]
            column, start, kept = form.column, form.counts_at, form.kept
        else:
            column, start, kept = number, self._counts_at[number], self._kept[number]
        if start is not None:
            return self._segments[column].counts(start, kept)
        if kept > len(self._ones):
            self._ones = np.ones(kept, dtype=np.uint32)
        return self._ones[:kept]

    def compared(self, one: int, other: int) -> tuple[Hashes, Hashes]:
        """The hashes of two sets as far as both are kept, which is up to the last of a sketch."""
        left, right = self.hashes(one), self.hashes(other)
        sets = ((left, one), (right, other))
        if sketched := [hashes for hashes, number in sets if len(hashes) < self.size(number)]:
            end = min(hashes[-1] for hashes in sketched)
            left, right = (each[: each.searchsorted(end, "right")] for each in (left, right))
        return left, right
