"""Nearest vectors against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dovetail.search.dense import Dense, Vectors


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
    index = Dense.build(vectors)
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
    places, _ = Dense.build(vectors).nearest(query, count)
    assert places.tolist() == brute(vectors, query, count)


def test_lists_find_nearly_all_of_what_brute_force_finds() -> None:
    questions, vectors = np.split(drawn(6_050, around=100), [50])
    index = Dense.build(vectors, most_exact=1_000)
    found = [set(index.nearest(asked, 10)[0].tolist()) for asked in questions]
    right = [set(brute(vectors, asked, 10)) for asked in questions]
    recall = sum(len(one & two) for one, two in zip(found, right, strict=True)) / 500
    assert recall >= 0.97


@pytest.mark.parametrize("most_exact", [10_000, 1_000])
def test_vectors_by_place_and_the_same_after_a_reload(tmp_path: Path, most_exact: int) -> None:
    vectors = drawn(3_000)
    index = Dense.build(vectors, most_exact=most_exact)
    index.save(tmp_path)
    again = Dense.load(tmp_path)
    places = np.array([2_999, 0, 17, 17])
    for one in (index, again):
        assert one.vectors(places).tobytes() == vectors[places].tobytes()
    for asked in drawn(10):
        first, second = (one.nearest(asked, 10) for one in (index, again))
        assert first[0].tolist() == second[0].tolist()
        assert first[1].tobytes() == second[1].tobytes()


def test_the_same_vectors_make_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Dense.build(drawn(3_000), most_exact=1_000).save(tmp_path / name)
    (one,), (two,) = ((tmp_path / name).iterdir() for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_nothing_is_near_to_nothing() -> None:
    index = Dense.build(np.empty((0, 64), dtype=np.float32))
    places, cosines = index.nearest(drawn(1)[0], 10)
    assert (places.tolist(), cosines.tolist()) == ([], [])
