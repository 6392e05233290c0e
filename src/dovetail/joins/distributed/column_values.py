"""The values of a catalog's columns by the columns' numbers, in whatever process has the catalog.

A worker opens the catalog that a job names, once, if its node sees the same folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.arrays import Counts, Ints
from dovetail.catalog.reader import CatalogReader, KeyView
from dovetail.catalog.records import numbers
from dovetail.catalog.segment import Segment
from dovetail.errors import DovetailError
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed.shared_arrays import let_go_of_shared
from dovetail.joins.row_hashes import RowReader
from dovetail.ports import Json


class ColumnValues:
    """Value hashes and row counts of columns, numbered through the tables in order.

    The numbers after those are the columns' `views`, in the order in which the catalog has them.
    """

    def __init__(self, catalog: CatalogReader) -> None:
        self.catalog = catalog
        tables, columns = catalog.records.tables, catalog.records.columns
        names = tables["segment"].to_pylist()
        known = sorted(set(names))
        place = {name: at for at, name in enumerate(known)}
        widths = numbers(tables["columns"])
        self._segments: list[Segment] = [catalog.segment(name) for name in known]
        of_table = np.array([place[name] for name in names], dtype=np.int64)
        filled = np.repeat(numbers(tables["rows"]), widths) - numbers(columns["nulls"])
        self.views: list[KeyView] = catalog.key_views()
        of = np.array([view.column for view in self.views], dtype=np.int64)
        every = np.append(np.arange(len(filled)), of)
        self._columns = len(filled)
        self._segment: Ints = np.repeat(of_table, widths)[every]
        self.filled: Ints = filled[every]
        self._hashes_at = _and(columns["hashes_at"], [view.hashes_at for view in self.views])
        self._counts_at = _and(columns["counts_at"], [view.counts_at for view in self.views])
        self.distinct: Ints = _and(columns["distinct"], [view.distinct for view in self.views])

    def __len__(self) -> int:
        """How many columns there are, views apart."""
        return self._columns

    def trust(self) -> None:
        """Read values without comparing their files with their checksums."""
        for segment in self._segments:
            segment.trust()

    def hashes(self, column: int) -> Hashes:
        """The sorted hashes of a column's distinct values."""
        segment = self._segments[int(self._segment[column])]
        return segment.hashes(int(self._hashes_at[column]), int(self.distinct[column]))

    def counts(self, column: int) -> Counts:
        """In how many rows each of them stands."""
        at, length = int(self._counts_at[column]), int(self.distinct[column])
        if at < 0:
            return np.ones(length, dtype=np.uint32)
        return self._segments[int(self._segment[column])].counts(at, length)

    def arrays(self, columns: Ints) -> ColumnArrays:
        """Some columns by themselves, numbered anew: nothing of them but their values."""
        size = len(columns)
        none, nothing = np.zeros(size, dtype=np.int64), np.full(size, np.nan)
        no = np.zeros(size, dtype=np.bool_)
        every = columns.tolist()
        return ColumnArrays(
            ids=(),
            rows=none[:0],
            table=none,
            position=none,
            name=[""] * size,
            number=no,
            filled=self.filled[columns],
            distinct=self.distinct[columns],
            unique=no,
            key=no,
            low=nothing,
            high=nothing,
            value_hashes=[self.hashes(column) for column in every],
            counts=[self.counts(column) for column in every],
            global_ids=no,
        )


def _and(stored: pa.ChunkedArray, more: Sequence[int | None]) -> Ints:
    """Stored numbers, and more of them; -1 for none."""
    added = np.array([-1 if each is None else each for each in more], dtype=np.int64)
    return np.append(numbers(stored.fill_null(-1)), added)


def about(catalog: CatalogReader) -> Json:
    """What a job says of the catalog whose values it is about."""
    return {"catalog": str(catalog.folder.absolute()), "contents": catalog.contents}


def values_of(job: Json) -> ColumnValues | None:
    """The values that a job is about; None where its catalog cannot be seen from here."""
    try:
        return _opened(job["catalog"], job["contents"])
    except (DovetailError, OSError):
        return None


@lru_cache(maxsize=1)
def _opened(folder: str, contents: str) -> ColumnValues:
    catalog = CatalogReader.open(Path(folder))
    if catalog.contents != contents:
        raise OSError(f"{folder} is another catalog here")
    return ColumnValues(catalog)


def rows_of(job: Json) -> RowReader | None:
    """The rows of the catalog that a job is about; None where it cannot be seen from here.

    One reader is kept, and with it the tables that it read last: jobs have some in common.
    """
    which = (job["catalog"], job["contents"])
    if which not in _READERS:
        values = values_of(job)
        if values is None:
            return None
        _close_readers()
        _READERS[which] = RowReader(values.catalog)
    return _READERS[which]


_READERS: dict[tuple[str, str], RowReader] = {}


def _close_readers() -> None:
    while _READERS:
        _READERS.popitem()[1].close()


@contextmanager
def opened_here() -> Iterator[None]:
    """Close what tasks opened, where the engine or its failures have them run in this process."""
    try:
        yield
    finally:
        _opened.cache_clear()
        let_go_of_shared()
        _close_readers()
