"""Questions of a word or two over the sample corpus: what is named comes, its neighbours stay."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.search.query_terms import query_words, stems
from dovetail.search.searcher import Searcher


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
        assert chosen.stage == "connect" or says(searcher, chosen.table, question), names


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
        "price of bitcoin",
        "Translate this sentence into Polish.",
        "hello",
    ],
)
def test_a_question_that_no_table_fits_gets_little_confidence(
    searcher: Searcher, question: str
) -> None:
    assert confidence(searcher, question) < 0.3


def test_a_question_that_a_table_answers_gets_much(searcher: Searcher) -> None:
    known = [confidence(searcher, question) for question in QUESTIONS if question != "orders"]
    assert min(known) > 0.6
    # Two tables are called so, and nothing tells which is meant.
    assert 0.3 < confidence(searcher, "orders") < 0.6


def confidence(searcher: Searcher, question: str) -> float:
    known = GraphRetriever(searcher).retrieve(question).trace[-1]["confidence"]
    assert isinstance(known, float)
    return known
