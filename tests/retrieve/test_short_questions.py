"""Questions of a word or two over the sample corpus: what is named comes, its neighbours stay."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.ask import GraphRetriever
from dovetail.search.query import query_words, stems
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings


@pytest.fixture(scope="module")
def searcher(sample: dovetail.Catalog) -> Searcher:
    return sample.searcher


QUESTIONS = {
    "orders": "orders",
    "list the schools": "schools",
    "suppliers": "suppliers",
    "How many suppliers are there?": "suppliers",
    "all products": "products",
    "Show the patients.": "patients",
    "admissions": "admissions",
    "list all stations": "stations",
    "ticket sales": "ticket_sales",
    "How many students do we have?": "students",
    "courses": "courses",
    "authors": "authors",
    "loans": "loans",
    "the meters": "meters",
    "invoices": "invoices",
    "shipments": "shipments",
    "What warehouses are there?": "warehouses",
    "districts": "districts",
    "leases": "leases",
    "test scores": "test_scores",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_short_question_takes_no_neighbour_in(searcher: Searcher, question: str) -> None:
    found = GraphRetriever(searcher).retrieve(question)
    names = [table.name for table in found.ids]
    assert QUESTIONS[question] in names
    for chosen in found.tables:
        assert chosen.stage == "connect" or says(searcher, chosen.id, question), names


def says(searcher: Searcher, table: TableId, question: str) -> bool:
    known = searcher.catalog[table]
    named = {
        word for name in (known.name, *(c.name for c in known.columns)) for word in stems(name)
    }
    return not named.isdisjoint(query_words(question))


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Who won the world cup?",
        "weather tomorrow",
        "hello",
    ],
)
def test_a_question_that_no_table_fits_is_refused(searcher: Searcher, question: str) -> None:
    refuse_below = Settings().refuse_below
    found = GraphRetriever(searcher, refuse_below=refuse_below).retrieve(question)
    assert found.confidence is not None
    assert found.confidence < refuse_below
    assert (found.ids, found.nothing_fits) == ((), True)
    assert (0 < len(found.nearest) <= 3, found.alternatives) == (True, ())


@pytest.mark.parametrize(
    ("question", "nowhere"),
    [
        ("price of bitcoin", ("bitcoin",)),
        ("Translate this sentence into Polish.", ("translate", "sentence")),
        ("days in hospital", ("hospital",)),
    ],
)
def test_a_short_question_with_a_word_that_is_nowhere_is_a_guess(
    searcher: Searcher, question: str, nowhere: tuple[str, ...]
) -> None:
    found = GraphRetriever(searcher, refuse_below=Settings().refuse_below).retrieve(question)
    assert (found.nothing_fits, found.uncovered) == (False, nowhere)
    assert (found.confidence or 0) < 0.3


def test_a_question_that_a_table_answers_gets_much(searcher: Searcher) -> None:
    known = [confidence(searcher, question) for question in QUESTIONS if question != "orders"]
    assert min(known) > 0.6
    # Two tables are called so, and nothing tells which is meant.
    assert 0.2 < confidence(searcher, "orders") < min(known)


def test_a_question_that_a_table_answers_is_not_refused(searcher: Searcher) -> None:
    retriever = GraphRetriever(searcher)
    likely = {question: retriever.retrieve(question).answerable for question in QUESTIONS}
    assert min(one or 0.0 for one in likely.values()) > 0.5


def test_two_tables_of_one_name_are_readings_of_their_own(searcher: Searcher) -> None:
    found = GraphRetriever(searcher, use_sources=True).retrieve("orders")
    assert [str(table) for table in found.ids] == ["shop.sqlite::orders"]
    first = found.alternatives[0]
    assert [str(table) for table in first.tables] == ["warehouse.duckdb::orders"]
    assert (0.2 < first.probability < 0.5, first.reason) == (True, "orders: its names say orders")


def test_parts_of_a_question_that_nothing_joins_are_both_taken(searcher: Searcher) -> None:
    question = "recalls of products and districts of schools"
    found = GraphRetriever(searcher, use_sources=True).retrieve(question)
    assert {"recalls", "districts", "schools"} <= {table.name for table in found.ids}
    assert {table.source for table in found.ids} >= {"civic.sqlite", "warehouse.duckdb"}


def confidence(searcher: Searcher, question: str) -> float:
    known = GraphRetriever(searcher).retrieve(question).trace[-1]["confidence"]
    assert isinstance(known, float)
    return known
