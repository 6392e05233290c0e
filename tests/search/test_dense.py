"""Nearest vectors against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dovetail.arrays import Vectors
from dovetail.search.dense import Dense, HeaderVectors
from tests.support.searchers import part_of


def brute(vectors: Vectors, asked: Vectors, count: int) -> list[int]:
    """The places of the nearest, ties by place."""
    cosines = vectors @ asked
    return sorted(range(len(vectors)), key=lambda place: (-cosines[place], place))[:count]


def drawn(count: int, *, around: int = 0) -> Vectors:
    """Vectors of length one, in so many bunches."""
    random = np.random.default_rng(3)
    rows = random.standard_normal((count, 64), dtype=np.float32)
    if around:
        centres = random.standard_normal((around, 64), dtype=np.float32)
        rows = 2 * centres[random.integers(0, around, count)] + rows
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@pytest.mark.parametrize("count", [1, 2, 9, 200])
def test_exact_is_brute_force(count: int) -> None:
    vectors = drawn(count)
    index = Dense(vectors)
    for asked in drawn(20):
        places, cosines = index.nearest(asked, 10)
        assert places.tolist() == brute(vectors, asked, 10)
        assert cosines == pytest.approx((vectors @ asked)[places], abs=1e-6)


@given(
    arrays(np.int8, st.tuples(st.integers(1, 60), st.just(4)), elements=st.integers(-1, 1)),
    arrays(np.int8, 4, elements=st.integers(-1, 1)),
    st.integers(1, 60),
)
def test_ties_go_by_place(
    rows: np.ndarray[tuple[int, int], np.dtype[np.int8]],
    asked: np.ndarray[tuple[int], np.dtype[np.int8]],
    count: int,
) -> None:
    """However many are wanted: fewer are the first of more."""
    vectors, query = rows.astype(np.float32), asked.astype(np.float32)
    places, _ = Dense(vectors).nearest(query, count)
    assert places.tolist() == brute(vectors, query, count)


def test_vectors_by_row_and_the_same_after_a_reload(tmp_path: Path) -> None:
    vectors = drawn(3_000)
    index = Dense(vectors)
    index.save(tmp_path)
    again = Dense.load(part_of(tmp_path))
    rows = np.array([2_999, 0, 17, 17])
    for one in (index, again):
        assert one.vectors(rows).tobytes() == vectors[rows].tobytes()
    for asked in drawn(10):
        first, second = (one.nearest(asked, 10) for one in (index, again))
        assert first[0].tolist() == second[0].tolist()
        assert first[1].tobytes() == second[1].tobytes()
    np.save(tmp_path / "dense.npy", vectors.astype(np.float16))
    with pytest.raises(ValueError, match=tmp_path.name):
        Dense.load(part_of(tmp_path))


def test_only_allowed_rows_are_found() -> None:
    questions, vectors = np.split(drawn(4_020, around=50), [20])
    index = Dense(vectors)
    allowed = np.random.default_rng(1).random(len(vectors)) < 0.5
    rows = np.flatnonzero(allowed)
    for asked in questions:
        expected = rows[brute(vectors[rows], asked, 10)].tolist()
        found, cosines = index.nearest(asked, 10, allowed)
        assert found.tolist() == expected
        assert cosines == pytest.approx((vectors @ asked)[found], abs=1e-6)
    assert index.nearest(questions[0], 10, np.zeros(len(vectors), np.bool_))[0].tolist() == []


def test_nothing_is_near_to_nothing() -> None:
    index = Dense(np.empty((0, 64), dtype=np.float32))
    places, cosines = index.nearest(drawn(1)[0], 10)
    assert (places.tolist(), cosines.tolist()) == ([], [])


@pytest.mark.parametrize("columns", [1, 255, 256, 257, 1000])
def test_the_cosines_of_headers_are_those_of_each_and_0_where_one_is_damaged(columns: int) -> None:
    vectors = drawn(300)
    vectors[7, 3] = np.nan
    vectors[8, 3] = np.inf
    codes = np.random.default_rng(1).integers(0, 300, columns).astype(np.int32)
    codes[:1] = 7
    headers, asked = HeaderVectors(vectors, codes), drawn(1)[0]
    damaged = np.isin(codes, (7, 8))
    expected = [
        0.0 if bad else float(vectors[code] @ asked)
        for code, bad in zip(codes, damaged, strict=True)
    ]
    assert headers.cosines(slice(None), asked) == pytest.approx(expected, abs=1e-6)
    assert headers.cosines(np.arange(columns), asked)[damaged].tolist() == [0.0] * damaged.sum()
