"""A cached method works once for an argument, and does not keep its object."""

from __future__ import annotations

import gc
import weakref

import pytest

from dovetail.search.method_cache import method_cache


class Squares:
    def __init__(self) -> None:
        self.asked: list[int] = []
        self.square = method_cache(self._square, size=2)

    def _square(self, number: int) -> int:
        self.asked.append(number)
        return number * number


def test_results_are_kept_up_to_the_size() -> None:
    squares = Squares()
    assert [squares.square(number) for number in (2, 3, 2, 4, 3)] == [4, 9, 4, 16, 9]
    assert squares.asked == [2, 3, 4, 3]


def test_the_object_goes_without_the_collector() -> None:
    gc.disable()
    try:
        squares = Squares()
        squares.square(2)
        seen, square = weakref.ref(squares), squares.square
        del squares
        assert seen() is None
        assert square(2) == 4  # is kept
        with pytest.raises(ReferenceError):
            square(3)
    finally:
        gc.enable()
