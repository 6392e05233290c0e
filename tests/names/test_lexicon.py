"""The lexicon: its form, and what it tells of words, abbreviations and languages."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from dovetail.names.lexicon import lexicon_of, lexicons, names_thing

ROWS = files("dovetail.names").joinpath("lexicon.txt").read_text("utf-8").splitlines()


def test_every_line_has_a_cell_for_each_language() -> None:
    assert {line.count("|") for line in ROWS} == {len(lexicons()) - 1}
    assert not [line for line in ROWS if not re.fullmatch(r"[a-z0-9_ |]+", line)]
    heads = [line.split("|")[0].split()[0] for line in ROWS]
    assert heads == sorted(set(heads))


@pytest.mark.parametrize(
    ("language", "word", "meant"),
    [
        ("german", "kunden", "customer"),
        ("french", "fournisseurs", "supplier"),
        ("swedish", "fakturor", "invoice"),
        ("italian", "fatture", "invoice"),
        ("dutch", "huurders", "tenant"),
        ("polish", "faktura", "invoice"),
    ],
)
def test_words_mean_what_they_mean_in_any_form(language: str, word: str, meant: str) -> None:
    assert meant in lexicons()[language].meaning(word)


def test_a_word_that_may_be_short_for_many_things_is_short_for_none() -> None:
    german = lexicons()["german"]
    assert german.short_for("ver") == ()
    assert german.short_for("x") == german.short_for("abteilung") == ()


def test_the_language_is_that_of_most_words_that_english_has_not() -> None:
    english = "customer order invoice supplier price amount date department status".split()  # noqa: SIM905
    french = "facture fournisseur livraison quantite montant statut prix salarie adresse".split()  # noqa: SIM905
    assert lexicon_of(english) is None
    assert lexicon_of([]) is None
    found = lexicon_of([*french, *english])
    assert found is not None and found.language == "french"


def test_things_are_what_companies_keep_data_of() -> None:
    asked = "salaries nationality pilots meters own carry mostly nobody"
    assert [word for word in asked.split() if names_thing(word)] == [
        "salaries",
        "nationality",
        "pilots",
        "meters",
    ]
