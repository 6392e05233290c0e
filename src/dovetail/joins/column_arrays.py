"""A catalog as join evidence sees it: one array per fact, with an entry for each column.

Columns are numbered through all tables, in the order of the tables' ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Counts, Encoded, Flags, Floats, Ints
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Kind, TableId
from dovetail.hashing import Hashes
from dovetail.names.conventions import naming_conventions

Values = TypeVar("Values", bound=npt.NDArray[Any])

_NUMBERS = (Kind.INTEGER, Kind.REAL)
_GLOBAL_ID = re.compile(
    r"[^@\s]+@[^@\s]+\.[^@\s.]+|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
)
_UUID = 36  # its characters


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What still counts, in noisy data, as a foreign key and as a key.

    `rows`: the least share of a column's rows that must be found in the key it refers to.
    `unique`: the least share of distinct values in a key.
    `sources`: whether of keys that look alike the one of the same source is preferred; None leaves
    it to the catalog, whose settings decided as it was made (`join_sources`).
    """

    rows: float = 0.7
    unique: float = 0.8
    sources: bool | None = None

    def resolved(self, catalog: CatalogReader) -> Thresholds:
        """The same, with nothing left to the catalog."""
        sources = not catalog.manifest.pooled if self.sources is None else self.sources
        return replace(self, sources=sources)


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class ColumnArrays:
    """Tables and their columns. Per table: `ids`, `rows` and `estimated`. Per column: the rest.

    `table` is the number of a column's table, `position` its place there. `number` flags columns
    of numbers. `filled` counts the rows with a value; `low` and `high` are NaN unless the column
    holds numbers. `key` columns are unique but for a few rows entered twice. `value_hashes` are the
    sorted hashes of the distinct values, `counts` how many rows hold each. `global_ids` flags
    e-mail addresses and UUIDs, which mean the same wherever they stand. `estimated` flags tables
    that only a sample was read of, and is None if all were read whole.
    """

    ids: Sequence[TableId]
    rows: Ints
    table: Ints
    position: Ints
    name: Sequence[str]
    number: Flags
    filled: Ints
    distinct: Ints
    unique: Flags
    key: Flags
    low: Floats
    high: Floats
    value_hashes: Sequence[Hashes]
    counts: Sequence[Counts]
    global_ids: Flags
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    estimated: Flags | None = None

    def __len__(self) -> int:
        return len(self.table)

    @property
    def table_names(self) -> list[str]:
        """The names of the tables."""
        return [table.name for table in self.ids]

    def conventions(self, names: Encoded[str] | None = None) -> Floats:
        """The naming conventions of the tables; `names` are the columns', if encoded already."""
        first_keys = np.flatnonzero((self.position == 0) & self.unique)
        columns = names or Encoded.of(self.name)
        return naming_conventions(columns, self.table, first_keys, self.table_names)

    def take(self, tables: Sequence[bool]) -> ColumnArrays:
        """Some of the tables, by themselves."""
        chosen = np.array(tables, dtype=np.bool_)
        columns = np.flatnonzero(chosen[self.table])
        number = np.cumsum(chosen) - 1
        every = columns.tolist()
        held = ("position", "number", "filled", "distinct", "unique", "key", "low", "high")
        facts = (*held, "global_ids")
        return replace(
            self,
            ids=[table for table, wanted in zip(self.ids, tables, strict=True) if wanted],
            rows=self.rows[chosen],
            estimated=None if self.estimated is None else self.estimated[chosen],
            table=number[self.table[columns]],
            name=[self.name[column] for column in every],
            value_hashes=[self.value_hashes[column] for column in every],
            counts=[self.counts[column] for column in every],
            **{name: getattr(self, name)[columns] for name in facts},
        )

    @classmethod
    def of(
        cls,
        catalog: CatalogReader,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        value_hashes: Sequence[Hashes] | None = None,
    ) -> ColumnArrays:
        """All tables of a catalog, in the order of their ids.

        `value_hashes` are those of its columns, where somebody else is to read them.
        """
        tables, columns = catalog.records.tables, catalog.records.columns
        rows = tables["rows"].to_numpy().astype(np.int64)
        widths = tables["columns"].to_numpy().astype(np.int64)
        table = np.repeat(np.arange(len(rows)), widths)
        starts = np.repeat(np.cumsum(widths) - widths, widths)
        number = np.array([k in _NUMBERS for k in columns["kind"].to_pylist()], dtype=np.bool_)
        position = np.arange(len(table)) - starts
        ids, places = catalog.ids, list(zip(table.tolist(), position.tolist(), strict=True))
        every = cache(catalog.value_hashes)
        filled = rows[table] - columns["nulls"].to_numpy()
        distinct = columns["distinct"].to_numpy()
        unique = columns["unique"].to_numpy(zero_copy_only=False)
        sampled = np.array([text != "" for text in tables["estimated"].to_pylist()], dtype=np.bool_)
        # A sample of a column may be without repetition where the column is not.
        credible = ~sampled[table] | unique if sampled.any() else True
        return cls(
            ids=ids,
            rows=rows,
            table=table,
            position=position,
            name=columns["name"].to_pylist(),
            number=number,
            filled=filled,
            distinct=distinct,
            unique=unique,
            key=(distinct > 0) & (distinct >= thresholds.unique * filled) & credible,
            estimated=sampled if sampled.any() else None,
            low=_numbers(columns["minimum"], number),
            high=_numbers(columns["maximum"], number),
            value_hashes=_Lazy(
                len(table), lambda c: catalog.hashes(ids[places[c][0]], places[c][1]), every, 0
            )
            if value_hashes is None
            else value_hashes,
            counts=_Lazy(
                len(table), lambda c: catalog.counts(ids[places[c][0]], places[c][1]), every, 1
            ),
            global_ids=_global_ids(columns["examples"]),
            thresholds=thresholds.resolved(catalog),
        )


class _Lazy(Sequence[Values]):
    """Arrays that are not read before they are asked for: one by one, or all in one go."""

    def __init__(
        self,
        size: int,
        one: Callable[[int], Values],
        every: Callable[[], tuple[list[Hashes], list[Counts]]],
        which: Literal[0, 1],
    ) -> None:
        self._size, self._one, self._every, self._which = size, one, every, which
        self._all: Sequence[Values] | None = None

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> Values: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Values]: ...
    def __getitem__(self, at: int | slice) -> Values | Sequence[Values]:
        if isinstance(at, slice):
            return self._load()[at]
        return self._one(at) if self._all is None else self._all[at]

    def __iter__(self) -> Iterator[Values]:
        return iter(self._load())

    def _load(self) -> Sequence[Values]:
        if self._all is None:
            self._all = cast(Sequence[Values], self._every()[self._which])
        return self._all


class Chained(Sequence[Values]):
    """Two sequences of arrays, one after the other."""

    def __init__(self, one: Sequence[Values], other: Sequence[Values]) -> None:
        self._one, self._other = one, other

    def __len__(self) -> int:
        return len(self._one) + len(self._other)

    @overload
    def __getitem__(self, at: int) -> Values: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Values]: ...
    def __getitem__(self, at: int | slice) -> Values | Sequence[Values]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        size = len(self._one)
        return self._one[at] if at < size else self._other[at - size]


def _global_ids(examples: pa.ChunkedArray) -> Flags:
    """Columns all of whose examples are e-mail addresses or UUIDs."""
    import pyarrow.compute as pc  # takes long to load, and a question needs none of it

    listed = examples.combine_chunks()
    values = listed.flatten()
    likely = pc.or_(pc.match_substring(values, "@"), pc.equal(pc.binary_length(values), _UUID))
    before = np.append(0, np.cumsum(pc.fill_null(likely, False).to_numpy(zero_copy_only=False)))
    ends = listed.offsets.to_numpy() - listed.offsets[0].as_py()
    sizes = np.diff(ends)
    found: Flags = (sizes > 0) & (before[ends[1:]] - before[ends[:-1]] == sizes)
    for column in np.flatnonzero(found).tolist():
        found[column] = all(map(_GLOBAL_ID.fullmatch, listed[column].as_py()))
    return found


def _numbers(texts: pa.ChunkedArray, number: Flags) -> Floats:
    """Numbers as they are written out; NaN for other columns, and where there is none."""
    listed = texts.filter(pa.array(number)).to_pylist()
    found = np.full(len(texts), np.nan)
    found[number] = [float(text) if text else np.nan for text in listed]
    return found
