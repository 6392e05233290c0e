"""A sequence each of whose parts is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

Part = TypeVar("Part")


class ReadLater(Sequence[Part]):
    """So many parts, read one by one.

    >>> ReadLater(3, lambda place: place * 10)[1:]
    [10, 20]
    """

    def __init__(self, size: int, read: Callable[[int], Part]) -> None:
        self._places, self._read = range(size), read

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> list[Part]: ...
    def __getitem__(self, at: int | slice) -> Part | list[Part]:
        if isinstance(at, slice):
            return [self._read(place) for place in self._places[at]]
        return self._read(self._places[at])
