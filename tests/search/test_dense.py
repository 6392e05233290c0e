"""Nearest vectors against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dovetail.arrays import Vectors
from dovetail.search import dense
from dovetail.search.dense import Dense


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


def coded(vectors: Vectors) -> Dense:
    """An index of codes, beside the vectors themselves."""
    return Dense.build(vectors, most_exact=1_000, most_whole=1_000)


def test_codes_find_what_lists_of_whole_vectors_find() -> None:
    questions, vectors = np.split(drawn(6_050, around=100), [50])
    lists, codes = Dense.build(vectors, most_exact=1_000), coded(vectors)
    for asked in questions:
        (places, cosines), (right, _) = codes.nearest(asked, 10), lists.nearest(asked, 10)
        assert len(set(places.tolist()) & set(right.tolist())) >= 9
        assert cosines == pytest.approx((vectors @ asked)[places], abs=1e-3)
        assert (np.diff(cosines) <= 0).all()


def test_codes_and_their_vectors_are_the_same_after_a_reload(tmp_path: Path) -> None:
    vectors = drawn(3_000)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        coded(vectors).save(tmp_path / name)
    files = [sorted((tmp_path / name).iterdir()) for name in ("one", "two")]
    assert [path.name for path in files[0]] == ["dense.faiss", "dense.npy"]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    again = Dense.load(tmp_path / "one")
    places = np.array([2_999, 0, 17, 17])
    halved = vectors.astype(np.float16)
    assert again.vectors(places).tolist() == halved[places].astype(np.float32).tolist()
    for asked in drawn(10):
        first, second = (one.nearest(asked, 10) for one in (coded(vectors), again))
        assert first[0].tolist() == second[0].tolist()
    np.save(tmp_path / "one" / "dense.npy", halved[:-1])
    with pytest.raises(ValueError, match="one"):
        Dense.load(tmp_path / "one")


def test_what_is_no_number_among_the_vectors_of_codes_is_nothing(tmp_path: Path) -> None:
    vectors = drawn(3_000)
    coded(vectors).save(tmp_path)
    vectors[17, 3] = np.nan
    np.save(tmp_path / "dense.npy", vectors.astype(np.float16))
    found = Dense.load(tmp_path).vectors(np.array([17]))
    assert found[0, 3] == 0
    assert np.isfinite(found).all()


@pytest.mark.parametrize("made", ["exact", "lists", "codes"])
@pytest.mark.parametrize("most", [0, 5_000])
def test_only_allowed_places_are_found(
    made: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of few are looked at; of many, those that the index finds."""
    questions, vectors = np.split(drawn(4_020, around=50), [20])
    sizes = {"exact": (9_000, 9_000), "lists": (1_000, 9_000), "codes": (1_000, 1_000)}[made]
    index = Dense.build(vectors, *sizes)
    monkeypatch.setattr(dense, "MOST_EXACT", most)
    allowed = np.random.default_rng(1).random(len(vectors)) < 0.5
    places = np.flatnonzero(allowed)
    right = 0
    for asked in questions:
        expected = places[brute(vectors[places], asked, 10)].tolist()
        found, cosines = index.nearest(asked, 10, allowed)
        assert allowed[found].all()
        assert cosines == pytest.approx((vectors @ asked)[found], abs=1e-3)
        right += len(set(found.tolist()) & set(expected))
    exact = made == "exact" or (most and made == "lists")
    assert right == 200 if exact else right >= 190
    assert index.nearest(questions[0], 10, np.zeros(len(vectors), np.bool_))[0].tolist() == []


def test_nothing_is_near_to_nothing() -> None:
    index = Dense.build(np.empty((0, 64), dtype=np.float32))
    places, cosines = index.nearest(drawn(1)[0], 10)
    assert (places.tolist(), cosines.tolist()) == ([], [])
