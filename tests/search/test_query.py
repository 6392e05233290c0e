"""A question is analysed once, and every stage reads the same query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dovetail.ports import Retriever
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.llm import LLMRetriever, Spending
from dovetail.retrieve.match import QueryMatcher
from dovetail.search import question_words
from dovetail.search import searcher as searching
from dovetail.search.query import query_words, spans
from dovetail.search.searcher import Searcher
from tests.support.scripted import HashEmbedder, playing, shop_searcher
from tests.support.searchers import search_over

QUESTION = "Which customers in Turin ordered product 7003?"
REPLY = '{"tables": [1, 2]}'


@dataclass
class CountingEmbedder:
    """An embedder that counts the questions it embeds."""

    asked: list[str] = field(default_factory=list)
    model_id: str = "hashed"
    dimension: int = 256

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return HashEmbedder().embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += texts
        return HashEmbedder().embed_queries(texts)


@pytest.fixture
def shop(tmp_path: Path) -> Searcher:
    return search_over(shop_searcher(tmp_path).catalog, CountingEmbedder())


@pytest.mark.parametrize("name", ["graph", "llm"])
def test_a_question_is_analysed_once(
    shop: Searcher, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: Counter[str] = Counter()
    for where, of, done in (
        (question_words, "query_words", query_words),
        (searching, "spans", spans),
    ):

        def counted(*given: object, of: str = of, done: object = done) -> object:
            calls[of] += 1
            assert callable(done)
            return done(*given)

        monkeypatch.setattr(where, of, counted)
    with playing([REPLY]) as endpoint:
        graph = GraphRetriever(shop)
        spending = Spending(calls=1)
        llm = LLMRetriever(shop, endpoint.llm, graph.retrieve, spending=spending)
        retrievers: dict[str, Retriever] = {"graph": graph, "llm": llm}
        found = retrievers[name].retrieve(QUESTION)
    assert "customers" in {table.name for table in found.ids}
    assert calls == {"query_words": 1, "spans": 1}
    embedder = shop.embedder
    assert isinstance(embedder, CountingEmbedder)
    assert embedder.asked == [QUESTION]


def test_a_query_holds_what_each_stage_used_to_read_by_itself(shop: Searcher) -> None:
    query = shop.analyse(QUESTION)
    assert query.text == QUESTION
    assert query.folded == QUESTION.casefold()
    assert query.words == query_words(QUESTION)
    assert list(query.words) == ["custom", "turin", "order", "product", "7003"]
    assert [term.text for term in query.terms] == list(query.words)
    for term in query.terms:
        alone = shop.lexical.term(term.text)
        assert (term.weight, term.tables.tolist()) == (alone.weight, alone.tables.tolist())
    assert set(query.spans) <= set(spans(QUESTION))
    assert {span.text for span in query.spans} == {"Turin", "product 7003"}
    assert query.mass == sum(term.weight for term in query.terms)
    assert query.vector is not None
    assert query.vector.tolist() == HashEmbedder().embed_queries([QUESTION])[0].tolist()


def test_a_query_and_its_text_find_the_same(shop: Searcher) -> None:
    query = shop.analyse(QUESTION)
    assert shop.analyse(query) is query
    found = shop.search(query, 5)
    assert found == shop.search(QUESTION, 5)
    assert shop.dense(query, 5) == shop.dense(QUESTION, 5)
    tables = [one.id for one in found]
    assert shop.reasons(query, tables) == shop.reasons(QUESTION, tables)
    match = QueryMatcher(shop).match(query, found)
    assert len(match.word_weights) == len(query.terms)
    assert len(match.value_weights) == len(query.links)


def test_a_query_is_frozen(shop: Searcher) -> None:
    with pytest.raises(FrozenInstanceError):
        shop.analyse(QUESTION).text = "another"  # type: ignore[misc]


@pytest.mark.parametrize("question", ["", "  \n"])
def test_no_question_is_a_blank_query(shop: Searcher, question: str) -> None:
    query = shop.analyse(question)
    assert query.blank
    assert (query.terms, query.links, query.vector) == ((), (), None)


def test_without_an_embedder_a_query_has_no_vector(shop: Searcher) -> None:
    assert search_over(shop.catalog, None).analyse(QUESTION).vector is None
