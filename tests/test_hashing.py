"""Values hash alike exactly where the comparison says they are equal."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.hashing import Comparison, drop_missing, hash_values, mix, read_numbers

COERCED, STRING, TYPED = Comparison.COERCED, Comparison.STRING, Comparison.TYPED


def hashes(values: list[Any], comparison: Comparison, kind: pa.DataType | None = None) -> list[int]:
    present, _ = drop_missing(pa.array(values, kind), comparison)
    return [int(value) for value in hash_values(present, comparison)]


def equal(left: Any, right: Any, comparison: Comparison) -> bool:
    return hashes([left], comparison) == hashes([right], comparison)


DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)
MIDNIGHT = dt.datetime(2024, 2, 29)


@pytest.mark.parametrize(
    ("left", "right", "in_which"),
    [
        (1, 1.0, {COERCED}),
        (1, "1", {COERCED, STRING}),
        (1, "1.0", {COERCED}),
        (1.0, "1.0", {COERCED, STRING}),
        (1.5, "1.50", {COERCED}),
        (0.1, "0.1", {COERCED, STRING}),
        (1, "01", set()),
        ("1", "01", set()),
        (1, " 1 ", {COERCED}),
        ("ab", "ab  ", {COERCED}),
        ("ab", "\u00a0ab", {COERCED}),
        ("ab", "AB", set()),
        (1, True, set()),
        (0, False, set()),
        ("true", True, {STRING}),
        (-0.0, 0.0, {COERCED, STRING, TYPED}),
        ("-0", 0, {COERCED}),
        (-7, "-7", {COERCED, STRING}),
        ("+7", 7, set()),
        ("1e5", 100000, set()),
        ("1,000", 1000, set()),
        (".5", 0.5, set()),
        ("5.", 5, set()),
        (DAY, "2024-02-29", {COERCED, STRING}),
        (DAY, MIDNIGHT, {COERCED}),
        (MIDNIGHT, "2024-02-29 00:00:00", {COERCED, STRING}),
        ("2024-02-29 00:00:00", "2024-02-29", {COERCED}),
        ("code 29-02 00:00:00", "code 29-02", set()),
        (NOON, "2024-02-29 12:30:00", {COERCED, STRING}),
        (NOON.replace(microsecond=120), "2024-02-29 12:30:00.00012", {COERCED, STRING}),
        (dt.date(1, 1, 1), "0001-01-01", {COERCED, STRING}),
        (DAY, (DAY - dt.date(1970, 1, 1)).days, set()),
        (10**18, str(10**18), {COERCED, STRING}),
        (-(10**18) - 1, str(-(10**18) - 1), {COERCED, STRING}),
        (b"ab", "ab", {STRING}),
        ("x" * 300, "x" * 300 + " ", {COERCED}),
        ("x" * 300, "x" * 299, set()),
    ],
)
def test_equal_where_the_comparison_says(left: Any, right: Any, in_which: set[Comparison]) -> None:
    assert {how for how in Comparison if equal(left, right, how)} == in_which


@pytest.mark.parametrize(
    ("values", "comparison", "left"),
    [
        ([1, None, 2], COERCED, 2),
        (["", " \t", "a", None], COERCED, 1),
        (["", " \t", "a", None], STRING, 3),
        (["", " \t", "a", None], TYPED, 3),
        ([float("nan"), 1.0, None], COERCED, 1),
        ([float("nan"), 1.0, None], TYPED, 1),
        ([None, None], COERCED, 0),
    ],
)
def test_missing_values_are_left_out(values: list[Any], comparison: Comparison, left: int) -> None:
    array = pa.array(values, pa.string() if values == [None, None] else None)
    kept, present = drop_missing(array, comparison)
    assert len(kept) == left
    assert present is None or int(present.sum()) == left


def test_integer_types_agree() -> None:
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()):
        assert hashes([7], COERCED, kind) == hashes([7], COERCED)
    assert hashes([2**64 - 1], COERCED, pa.uint64()) == hashes([str(2**64 - 1)], COERCED)


def test_hashes_are_the_same_on_every_machine() -> None:
    """Catalogs outlive processes: these values are part of the format (HASH_VERSION 1)."""
    values: list[Any] = [1, "dovetail", "a longer text of words", 2.5, True, DAY, NOON, b"\x00"]
    assert [hashes([value], TYPED)[0] for value in values] == GOLDEN


GOLDEN = [
    5120825228039613235,
    11143442233889155470,
    11351758978200467295,
    5674890238506304986,
    917799464411507587,
    8962724809903723866,
    13752176945210742014,
    5200510011552140445,
]


@given(st.lists(st.text(max_size=40)))
def test_text_in_a_crowd_hashes_as_it_does_alone(texts: list[str]) -> None:
    """The vectorised word loop against one value at a time."""
    texts = [text for text in texts if text.isprintable()]
    together = hashes(texts, TYPED, pa.string())
    assert together == [hashes([text], TYPED, pa.string())[0] for text in texts]
    assert len(set(together)) == len(set(texts))


@given(st.lists(st.text(alphabet="0123456789.-+ e", min_size=1, max_size=22), min_size=1))
def test_plain_numbers_are_told_as_by_python(texts: list[str]) -> None:
    import re

    whole, decimal = read_numbers(pa.array(texts))
    plain = [re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text) is not None for text in texts]
    pointed = [re.fullmatch(r"-?(0|[1-9][0-9]*)\.[0-9]+", text) is not None for text in texts]
    assert whole.tolist() == plain
    assert decimal.tolist() == pointed


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_equal_their_digits(numbers: list[int]) -> None:
    digits = [str(number) for number in numbers]
    assert hashes(numbers, COERCED, pa.int64()) == hashes(digits, COERCED, pa.string())


@given(st.lists(st.dates()))
def test_dates_equal_their_text(days: list[dt.date]) -> None:
    assert hashes(days, COERCED, pa.date32()) == hashes(
        [day.isoformat() for day in days], COERCED, pa.string()
    )


@given(st.lists(st.datetimes()))
def test_instants_equal_their_text(instants: list[dt.datetime]) -> None:
    texts = [
        instant.isoformat(" ").rstrip("0") if instant.microsecond else instant.isoformat(" ")
        for instant in instants
    ]
    assert hashes(instants, STRING, pa.timestamp("us")) == hashes(texts, STRING, pa.string())


def test_mixing_is_one_to_one() -> None:
    words = np.arange(1 << 16, dtype=np.uint64)
    assert len(np.unique(mix(words))) == 1 << 16


def test_slices_hash_as_the_values_they_show() -> None:
    values = pa.array(["alpha", "7", None, "gamma", "8.5"])
    assert hashes(["7", "gamma"], COERCED) == [
        int(h) for h in hash_values(values.slice(1, 3).drop_null(), COERCED)
    ]
