"""Values hash alike exactly where they are equal however they are written."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.hashing import drop_missing, hash_text, hash_values, mix, read_numbers


def hashes(values: list[Any], kind: pa.DataType | None = None) -> list[int]:
    present, _ = drop_missing(pa.array(values, kind))
    return [int(value) for value in hash_values(present)]


DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)
MIDNIGHT = dt.datetime(2024, 2, 29)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, "1", True),
        (1, "1.0", True),
        (1.0, "1.0", True),
        (1.5, "1.50", True),
        (0.1, "0.1", True),
        (1, "01", False),
        ("1", "01", False),
        (1, " 1 ", True),
        ("ab", "ab  ", True),
        ("ab", "\u00a0ab", True),
        ("ab", "AB", False),
        (1, True, False),
        (0, False, False),
        ("true", True, False),
        (-0.0, 0.0, True),
        ("-0", 0, True),
        (-7, "-7", True),
        ("+7", 7, False),
        ("1e5", 100000, False),
        ("1,000", 1000, False),
        (".5", 0.5, False),
        ("5.", 5, False),
        (DAY, "2024-02-29", True),
        (DAY, MIDNIGHT, True),
        (MIDNIGHT, "2024-02-29 00:00:00", True),
        ("2024-02-29 00:00:00", "2024-02-29", True),
        ("code 29-02 00:00:00", "code 29-02", False),
        (NOON, "2024-02-29 12:30:00", True),
        (NOON.replace(microsecond=120), "2024-02-29 12:30:00.00012", True),
        (dt.date(1, 1, 1), "0001-01-01", True),
        (DAY, (DAY - dt.date(1970, 1, 1)).days, False),
        (10**18, str(10**18), True),
        (-(10**18) - 1, str(-(10**18) - 1), True),
        (b"ab", "ab", False),
        ("x" * 300, "x" * 300 + " ", True),
        ("x" * 300, "x" * 299, False),
    ],
)
def test_equal_values_hash_alike(left: Any, right: Any, equal: bool) -> None:
    assert (hashes([left]) == hashes([right])) is equal


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ([1, None, 2], 2),
        (["", " \t", "a", None], 1),
        ([float("nan"), 1.0, None], 1),
        ([None, None], 0),
    ],
)
def test_missing_values_are_left_out(values: list[Any], left: int) -> None:
    array = pa.array(values, pa.string() if values == [None, None] else None)
    kept, present = drop_missing(array)
    assert len(kept) == left
    assert present is None or int(present.sum()) == left


def test_integer_types_agree() -> None:
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()):
        assert hashes([7], kind) == hashes([7])
    assert hashes([2**64 - 1], pa.uint64()) == hashes([str(2**64 - 1)])


def test_hashes_are_the_same_on_every_machine() -> None:
    """Catalogs outlive processes: these values are part of the format (HASH_VERSION 1)."""
    values: list[Any] = [1, "dovetail", "a longer text of words", 2.5, True, DAY, NOON, b"\x00"]
    assert [hashes([value])[0] for value in values] == GOLDEN


GOLDEN = [
    5120825228039613235,
    11143442233889155470,
    11351758978200467295,
    5674890238506304986,
    917799464411507587,
    3204237184361142058,
    13789461553137602902,
    5200510011552140445,
]


@given(st.lists(st.text(max_size=40)))
def test_text_in_a_crowd_hashes_as_it_does_alone(texts: list[str]) -> None:
    """The vectorised word loop against one value at a time."""
    together = hash_text(pa.array(texts, pa.string())).tolist()
    assert together == [int(hash_text(pa.array([text]))[0]) for text in texts]
    assert len(set(together)) == len(set(texts))


@given(st.lists(st.text(alphabet="0123456789.-", min_size=1, max_size=25), min_size=1))
def test_numbers_are_read_alike_in_few_texts_and_in_many(texts: list[str]) -> None:
    """Python's reading of numbers against Arrow's."""
    many = pa.array(texts * (1 + 256 // len(texts)))
    assert hash_values(many)[: len(texts)].tolist() == hash_values(pa.array(texts)).tolist()


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
    assert hashes(numbers, pa.int64()) == hashes(digits, pa.string())


@given(st.lists(st.dates()))
def test_dates_equal_their_text(days: list[dt.date]) -> None:
    assert hashes(days, pa.date32()) == hashes([day.isoformat() for day in days], pa.string())


@given(st.lists(st.datetimes()))
def test_instants_equal_their_text(instants: list[dt.datetime]) -> None:
    texts = [
        instant.isoformat(" ").rstrip("0") if instant.microsecond else instant.isoformat(" ")
        for instant in instants
    ]
    assert hashes(instants, pa.timestamp("us")) == hashes(texts, pa.string())


def test_mixing_is_one_to_one() -> None:
    words = np.arange(1 << 16, dtype=np.uint64)
    assert len(np.unique(mix(words))) == 1 << 16


def test_slices_hash_as_the_values_they_show() -> None:
    values = pa.array(["alpha", "7", None, "gamma", "8.5"])
    assert hashes(["7", "gamma"]) == [int(h) for h in hash_values(values.slice(1, 3).drop_null())]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_reals_of_any_width_hash_alike(kind: str) -> None:
    numbers = [0.5, -2.25, 3.0, 1024.0]
    narrow = pa.array(np.array(numbers, dtype=kind))
    assert str(narrow.slice(1).type) == {"float16": "halffloat", "float32": "float"}.get(
        kind, "double"
    )
    assert hash_values(narrow.slice(1)).tolist() == hash_values(pa.array(numbers[1:])).tolist()
