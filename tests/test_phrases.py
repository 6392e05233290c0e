"""Phrases against a slow twin that folds one text at a time with the standard library."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.phrases import MOST_WORDS, cell_phrases, part_phrases, phrase_mask, phrases
from tests.support.contents import phrases as phrases_of

TEXTS = st.lists(
    st.text(
        st.one_of(
            st.sampled_from("abcXYZ019 -_.,'éÉßŁø“”\u2019—北京\u0301\t\n"),
            st.characters(codec="utf-8", exclude_categories=("Cs", "Cn", "Co")),
        ),
        max_size=40,
    ),
    max_size=12,
)


def folded(text: str) -> tuple[str, ...]:
    """The words of a text, slowly."""
    plain = []
    for letter in unicodedata.normalize("NFKD", text):
        kind = unicodedata.category(letter)
        if kind == "Mn":
            continue
        apart = kind[0] in "PSZ" or (ord(letter) < 128 and not letter.isalnum())
        plain.append(" " if apart else letter.lower())
    return tuple("".join(plain).split(" ")) if any(plain) else ()


def words_of(text: str) -> tuple[str, ...]:
    return tuple(word for word in folded(text) if word)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("New York", "  new-york! ", True),
        ("NEW\tYORK", "new york", True),
        ("São Paulo", "Sao Paulo", True),
        ("O'Hara", "o hara", True),
        ("“Quoted”", "quoted", True),
        ("New York", "York New", False),
        ("NewYork", "New York", False),
        ("北京", "北京", True),
        ("a b", "a c", False),
    ],
)
def test_cells_are_equal_when_they_read_alike(one: str, other: str, *, equal: bool) -> None:
    first, second = cell_phrases([one, other])
    assert (first == second) == equal


@given(TEXTS)
def test_phrases_of_a_batch_are_those_of_each_text_alone(texts: list[str]) -> None:
    expected: set[int] = set()
    for text in texts:
        own = words_of(text)
        if 0 < len(own) <= MOST_WORDS:
            expected.add(int(cell_phrases([" ".join(own)])[0]))
        if 1 < len(own) <= 4:
            long = [word for word in own if len(word.encode()) >= 4 and word[0] not in "0123456789"]
            expected.update(part_phrases(long).tolist())
    values = pa.array(texts, pa.string())
    (found,) = phrases(values, np.array([0, len(texts)]))
    assert set(found.tolist()) == expected


@given(TEXTS)
def test_only_texts_of_equal_words_meet(texts: list[str]) -> None:
    own = [text for text in texts if words_of(text)]
    hashes = cell_phrases(own).tolist()
    by_words = {words_of(text): value for text, value in zip(own, hashes, strict=True)}
    assert [by_words[words_of(text)] for text in own] == hashes
    assert len(set(by_words.values())) == len(by_words)


def test_values_between_bounds_stay_apart() -> None:
    values = pa.array(["red", "blue", "green tea"])
    first, none, rest = phrases(values, np.array([0, 1, 1, 3]))
    assert first.tolist() == cell_phrases(["red"]).tolist()
    assert none.tolist() == []
    wholes = cell_phrases(["blue", "green tea"]).tolist()
    assert rest.tolist() == [*wholes, *part_phrases(["green"]).tolist()]


def test_prose_is_not_searched_and_digits_are_looked_up_as_written() -> None:
    prose = " ".join(f"word{number}" for number in range(9))
    (found,) = phrases(pa.array([prose]), np.array([0, 1]))
    assert found.tolist() == []
    values = pa.array(["12", "2020-01-01", "2nd", "x1", "", "-3"])
    assert phrase_mask(values).tolist() == [False, False, True, True, False, True]


def test_a_catalog_holds_the_phrases_of_its_text(tmp_path: Path) -> None:
    rows = "\n".join(f"{n},City {n % 7},{n % 3}" for n in range(3000))
    (tmp_path / "towns.csv").write_text(f"id,name,zone\n{rows}\n")
    catalog = dovetail.build(str(tmp_path / "towns.csv"), into=tmp_path / "catalog")
    ids, names, zones = (phrases_of(catalog.reader, catalog.ids[0], column) for column in range(3))
    assert (ids, zones) == ([], [])
    wholes = cell_phrases([f"city {n}" for n in range(7)]).tolist()
    assert names == sorted([*wholes, *part_phrases(["city"]).tolist()])
