"""The ids of very many tables, made as they are asked for instead of all at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import pyarrow as pa

from dovetail.domain import TableId

# Ids made together when all of them are gone through.
_CHUNK = 4096


class TableIds(Sequence[TableId]):
    """The ids of tables by their sources and names, as a sequence."""

    def __init__(self, sources: pa.ChunkedArray, names: pa.ChunkedArray) -> None:
        self._sources, self._names = sources, names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> TableId: ...

    @overload
    def __getitem__(self, place: slice) -> list[TableId]: ...

    def __getitem__(self, place: int | slice) -> TableId | list[TableId]:
        if not isinstance(place, slice):
            return TableId(self._sources[place].as_py(), self._names[place].as_py())
        start, stop, step = place.indices(len(self))
        if step != 1:
            return [self[at] for at in range(start, stop, step)]
        both = (part.slice(start, max(stop - start, 0)) for part in (self._sources, self._names))
        return list(map(TableId, *(part.to_pylist() for part in both)))

    def __iter__(self) -> Iterator[TableId]:
        for start in range(0, len(self), _CHUNK):
            yield from self[start : start + _CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return id(self)


class SortedPlaces(Mapping[TableId, int]):
    """The place of each table among ids that stand in order, found by halving."""

    def __init__(self, ids: Sequence[TableId]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[TableId]:
        return iter(self._ids)

    def __getitem__(self, table: TableId) -> int:
        place = bisect_left(self._ids, table)
        if place == len(self._ids) or self._ids[place] != table:
            raise KeyError(table)
        return place
