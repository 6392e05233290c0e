"""An LRU cache of a method that does not keep its object alive.

`lru_cache` around a bound method, kept in the object itself, is a reference cycle: the object, and
all the memory that it holds, stays until Python's garbage collector happens to look that far. A
server that takes up one generation of a catalog after the other would hold several of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar
from weakref import WeakMethod

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def method_cache(method: Callable[[Argument], Result], size: int) -> Callable[[Argument], Result]:
    """The method with the last results kept; it must not be called once its object is gone.

    >>> class Words:
    ...     def __init__(self) -> None:
    ...         self.length = method_cache(self._length, size=10)
    ...     def _length(self, word: str) -> int:
    ...         return len(word)
    >>> words = Words()
    >>> words.length("three")
    5
    """
    weak = WeakMethod(method)

    @lru_cache(maxsize=size)
    def cached(argument: Argument) -> Result:
        bound = weak()
        if bound is None:
            raise ReferenceError("the object of this method is gone")
        return bound(argument)

    return cached
