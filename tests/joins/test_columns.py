"""Facts about columns, taken from the records of all at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dovetail.arrays import sorted_distinct
from dovetail.joins.columns import _codes, _numbers

MAIL, UUID = "ada@post.example", "123e4567-e89b-12d3-a456-426614174000"
EXAMPLES = [
    [MAIL, "b@c.de"],
    [MAIL, "b@c"],
    [UUID, MAIL],
    [UUID[:-1] + "x"],
    [],
    ["x", MAIL],
    [UUID],
    ["a b@c.de"],
    ["POL-2019-0100001", "GB97 MERI 6366 0761 2384 11"],
    ["LD62 FFX"],
    ["2024-02-29", "2024-03-01 10:00"],
    ["12 High Street"],
    ["A12"],
]
# Which of them are codes: no dates, no words, not too short.
CODES = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0]


def test_columns_of_codes_are_those_whose_examples_all_are() -> None:
    halves = [pa.array(part, pa.list_(pa.string())) for part in (EXAMPLES[:3], EXAMPLES[3:])]
    number = np.zeros(len(EXAMPLES), dtype=np.bool_)
    many = np.full(len(EXAMPLES), 1_000)
    whole = pa.chunked_array(halves)
    assert _codes(whole, number, many).tolist() == [bool(codes) for codes in CODES]
    rest = pa.chunked_array([halves[1].slice(1)])
    assert _codes(rest, number[4:], many[4:]).tolist() == [bool(codes) for codes in CODES[4:]]
    assert not _codes(whole, ~number, many).any()


@pytest.mark.parametrize(
    ("texts", "distinct", "codes"),
    [
        (["ARC01", "BCN02", "TLS01"], 28, True),  # one of 1.7 million
        (["C001", "C002", "C417"], 400, False),  # one of a thousand, and 400 of these there
        (["Room 12", "Room 14", "Hall 3"], 20, False),
        (["AB12", "CD07"], 500, False),
    ],
)
def test_short_codes_are_those_that_chance_does_not_make(
    texts: list[str], distinct: int, codes: bool
) -> None:
    examples = pa.chunked_array([pa.array([texts], pa.list_(pa.string()))])
    number = np.zeros(1, dtype=np.bool_)
    assert _codes(examples, number, np.array([distinct])).tolist() == [codes]


def test_numbers_are_read_where_a_column_holds_them() -> None:
    texts = pa.chunked_array([["1.5", "x", None], ["", "-7", "12"]])
    number = np.array([True, False, True, True, True, False])
    found = _numbers(texts, number)
    assert np.array_equal(found, [1.5, np.nan, np.nan, np.nan, -7, np.nan], equal_nan=True)


def test_distinct_values_are_those_of_numpy() -> None:
    random = np.random.default_rng(1)
    for size in (0, 1, 5, 300):
        values = random.integers(0, 200, size)
        assert sorted_distinct(values).tolist() == np.unique(values).tolist()
        hashes = values.astype(np.uint64) << np.uint64(56)
        assert sorted_distinct(hashes).tolist() == np.unique(hashes).tolist()
