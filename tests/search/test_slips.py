"""Slips of the pen: the words that one may mean, held against telling whether two words are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.search.slips import is_common, is_slip, slips


@pytest.mark.parametrize(
    ("word", "meant", "slip"),
    [
        ("reciev", "receiv", True),
        ("adress", "address", True),
        ("adddress", "address", True),
        ("custmer", "customer", True),
        ("invoive", "invoice", True),
        ("pemium", "premium", True),
        ("order", "older", False),
        ("ordre", "order", True),
        ("invoice", "voice", False),
    ],
)
def test_a_slip_is_one_letter_in_a_long_word(word: str, meant: str, *, slip: bool) -> None:
    assert is_slip(word, meant) is slip


@given(st.text("abc", min_size=2, max_size=8))
def test_every_word_that_one_may_be_but_for_a_slip_is_one(word: str) -> None:
    assert all(is_slip(word, meant) for meant in slips(word) if meant != word)


@given(st.text("abc", min_size=6, max_size=8), st.text("abc", min_size=6, max_size=8))
def test_no_slip_is_missed(word: str, meant: str) -> None:
    if word[0] == meant[0] and word != meant:
        assert (meant in set(slips(word))) is is_slip(word, meant)


@pytest.mark.parametrize("word", ["reciev", "definat", "seperat", "shipement", "hartmann"])
def test_misspelt_words_are_not_common(word: str) -> None:
    assert not is_common(word)
