"""Whether a catalog can answer at all: what speaks for it, and words that mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.doubt import (
    SIGNS,
    WEIGHTS,
    WORD_WEIGHTS,
    Signs,
    WordCover,
    WordMeaning,
    answerable,
)
from dovetail.search.query import stems
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from tests.support.scored import scored_for


@pytest.fixture(scope="module")
def searcher(sample: dovetail.Catalog) -> Searcher:
    return sample.searcher


def signs(searcher: Searcher, question: str, *, by_meaning: bool = True) -> Signs:
    doubter, query = GraphRetriever(searcher).doubter, searcher.analyse(question)
    scored = scored_for(searcher, question)
    covered = doubter.covered(query, scored) if by_meaning else WordCover.of(query, scored)
    return doubter.signs(query, scored, covered)


def probability(searcher: Searcher, question: str) -> float:
    found = GraphRetriever(searcher).retrieve(question).answerable
    assert found is not None
    return found


def test_what_is_covered_and_near_makes_an_answer_likelier() -> None:
    middle = (0.5, 0.3, 0.5, 0.0, 0.3, 0.5)
    for place, weight in enumerate(WEIGHTS):
        more = tuple(one + 0.2 * (at == place) for at, one in enumerate(middle))
        assert (answerable(more) > answerable(middle)) == (weight > 0)
    assert [weight > 0 for weight in WEIGHTS] == [False, False, False, True, True, True]
    assert [weight > 0 for weight in WORD_WEIGHTS] == [False, False, False, True]


def test_a_question_that_is_covered_is_never_refused_for_being_terse() -> None:
    faint = (-3.0, 0.0, 0.0)
    assert answerable((0.0, 0.0, 0.0, *faint)) > Settings().refuse_below
    assert answerable((0.6, 0.6, 0.6, *faint)) < 0.05


def test_one_word_of_a_short_question_does_not_weigh_everything() -> None:
    """Of one word that is nowhere half is lacking, of three nearly all; a word that any question
    may use, and that the tables say, makes it less."""
    alone, three = (WordCover(dict.fromkeys(words, 0.0), {}) for words in ("a", "abc"))
    assert (alone.lacking[0], three.lacking[0]) == (0.5, 0.75)
    said = WordCover({"a": 0.0}, {}, besides=1.5)
    assert said.lacking[0] < alone.lacking[0]


def test_words_that_tables_of_different_kinds_cover_are_scattered(searcher: Searcher) -> None:
    """Every word is somewhere, and no tables that belong together have both."""
    together, apart = "Which students have grades?", "Which patients have shipments?"
    found = [dict(zip(SIGNS, signs(searcher, one), strict=True)) for one in (together, apart)]
    assert found[0]["scattered"] == pytest.approx(0)
    assert found[1]["scattered"] > 0.3 > found[1]["uncovered"]


def test_words_of_the_same_meaning_are_nearer_than_others(searcher: Searcher) -> None:
    tables = [table for table in searcher.catalog.ids if table.name in ("patients", "suppliers")]
    vendors, glaciers, no = WordMeaning(searcher).nearest(["vendors", "glaciers", "no"], tables)
    assert vendors.max() > 0.7 > 0.5 > glaciers.max() > no.max() == 0


def test_a_name_that_another_word_says_stands_for_that_word_alone(searcher: Searcher) -> None:
    tables = [table for table in searcher.catalog.ids if table.name == "suppliers"]
    meaning = WordMeaning(searcher)
    alone, beside = (
        meaning.nearest(["vendors"], tables, said=said)[0, 0] for said in ((), stems("suppliers"))
    )
    assert alone > 0.7 > beside


def test_the_nearest_word_is_that_of_all_pairs(searcher: Searcher) -> None:
    tables, words = searcher.catalog.ids[:3], ["vendors", "hospital", "invoice"]
    said = {
        word
        for table in tables
        for name in (table.name, *(one.name for one in searcher.catalog[table].columns))
        for word in name.replace(".", "_").casefold().split("_")
        if len(word) > 2
    }
    slow = [
        max(float(searcher.vector(word) @ searcher.vector(other)) for other in said)
        for word in words
    ]
    found = WordMeaning(searcher).nearest(words, tables)
    assert found.max(axis=1) == pytest.approx(slow, abs=1e-5)


def test_the_usual_cosine_is_the_median_of_all_tables(searcher: Searcher) -> None:
    query = searcher.analyse("Which suppliers deliver late?")
    assert query.vector is not None
    cosines = [one.signals["dense"] for one in searcher.dense(query, len(searcher.catalog))]
    assert searcher.usual_cosine(query) == pytest.approx(float(np.median(cosines)), abs=1e-5)


@pytest.mark.parametrize(
    ("question", "little"),
    [
        ("Which suppliers have submarine helicopters?", True),
        ("Which suppliers are there?", False),
        ("Which vendors are there?", False),
    ],
)
def test_a_question_of_words_that_are_nowhere_gets_little(
    searcher: Searcher, question: str, little: bool
) -> None:
    found = GraphRetriever(searcher).retrieve(question)
    assert ((found.confidence or 0) < 0.5, bool(found.uncovered)) == (little, little)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Which dealers are based in Oslo?", "Which dealers of glaciers?"),
        ("Which purchasers placed no order?", "Which purchasers have a pilot licence?"),
    ],
)
def test_other_words_for_the_same_make_an_answer_likelier(
    searcher: Searcher, said: str, meant: str
) -> None:
    by_names = signs(searcher, said, by_meaning=False)
    by_meaning = signs(searcher, said)
    assert by_meaning[0] < by_names[0]
    assert by_meaning[1] <= by_names[1] and by_meaning[2] <= by_names[2]
    assert by_meaning[3:] == by_names[3:]
    assert probability(searcher, said) > probability(searcher, meant)


@pytest.mark.parametrize(
    ("question", "uncovered", "refused"),
    [
        ("Which suppliers have a catamaran?", ("catamaran",), False),
        ("?", (), True),
        ("what is this?", (), True),
        ("Which suppliers are there?", (), False),
    ],
)
def test_what_is_not_covered_is_said_with_every_set(
    searcher: Searcher, question: str, uncovered: tuple[str, ...], refused: bool
) -> None:
    retriever = GraphRetriever(searcher, refuse_below=Settings().refuse_below)
    found = retriever.retrieve(question)
    assert (found.uncovered, found.nothing_fits) == (uncovered, refused)
    if uncovered:
        assert found.warnings[0] == f"nothing here covers: {', '.join(uncovered)}"


def test_what_is_not_covered_costs_confidence_in_sets_and_alternatives(searcher: Searcher) -> None:
    sure, unsure = (
        GraphRetriever(searcher).retrieve(f"Which suppliers {rest}?")
        for rest in ("are there", "have a catamaran with helicopters")
    )
    assert sure.confidence is not None
    assert unsure.confidence is not None
    assert unsure.confidence < sure.confidence
    offered = (one.confidence for one in (*sure.alternatives, *unsure.alternatives))
    assert all(one <= sure.confidence for one in offered)


def test_what_is_given_has_as_much_to_expect_as_was_asked_for(searcher: Searcher) -> None:
    """One meaning in sets, refusals and alternatives: below `refuse_below` nothing is given."""
    for question in ("Which suppliers are there?", "days in hospital", "price of bitcoin", "hello"):
        known = GraphRetriever(searcher).retrieve(question).confidence or 0.0
        for bound in (0.05, 0.1, 0.2, 0.5):
            found = GraphRetriever(searcher, refuse_below=bound).retrieve(question)
            evident = not found.nothing_fits and known < bound
            assert found.nothing_fits == (known < bound) or evident
            assert found.confidence == (bound if evident else known)


@pytest.mark.parametrize("question", ["orders", "Who ordered what?", "customers and products"])
def test_no_other_reading_promises_more_than_the_set(searcher: Searcher, question: str) -> None:
    found = GraphRetriever(searcher, use_sources=True).retrieve(question)
    offered = [one.confidence for one in found.alternatives]
    assert offered == sorted(offered, reverse=True)
    assert all(one <= (found.confidence or 0) for one in offered)
