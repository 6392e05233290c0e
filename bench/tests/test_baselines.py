"""The systems of the comparison that ask no language model, and the contract of all of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.support.scripted import HashEmbedder, playing
from tests.support.searchers import search_over

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId, TableSet
from dovetail.errors import MissingExtraError, UsageError
from dovetail.offline.pipeline import update
from dovetail.ports import LLM, Json, Message, Retriever
from dovetail.retrieve.trace import Stage
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail.testing import check_retriever
from dovetail_bench import retrievers
from dovetail_bench.baselines import arm, jar, ranking, react
from dovetail_bench.baselines.connected import Weights
from dovetail_bench.baselines.jar import JarRetriever
from dovetail_bench.baselines.mip import Limits
from dovetail_bench.baselines.ranking import RankingRetriever
from dovetail_bench.baselines.rear import CrossEncoder, RearRetriever
from dovetail_bench.headers import headers_of
from dovetail_bench.replay import needed_model
from dovetail_bench.retrievers import open_retriever
from dovetail_bench.run import record_of

BASELINES = ("dense", "search", "react", "jar", "arm", "rear")


def baseline(name: str, searcher: Searcher, *, k: int, llm: LLM | None = None) -> Retriever:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrievers, "searcher_of", lambda *_: searcher)
        patch.setattr(ranking, "searcher_of", lambda *_: searcher)
        for module in (arm, react):
            patch.setattr(module, "needed_model", lambda *given: llm or needed_model(*given))
        patch.setattr(jar, "open_model", lambda *_: llm)
        return open_retriever(name, searcher.catalog, settings=Settings(embedder="none"), k=k)


def names(found: TableSet) -> list[str]:
    return [table.name for table in found.ids]


def sometimes_helpful(messages: list[Json]) -> str:
    """Plays any part: searches once, then names tables; knows keywords, concepts and drafts."""
    system, last = messages[0]["content"], messages[-1]["content"]
    if "table_search" in system:
        if last.startswith("Observation: ["):
            return 'Thought: enough.\nFinal Answer: {"relevant_tables": [2, 1]}'
        return "Thought: look.\nAction: table_search\nAction Input: ferry town"
    if "keywords" in system:
        return '{"keywords": ["ferry", "town name"]}'
    if "concepts" in system:
        return '{"concepts": ["ferry", "town:name"]}'
    return '{"tables": [1, 2]}'


@pytest.mark.parametrize("name", BASELINES)
def test_contract(name: str, tmp_path: Path) -> None:
    with playing(sometimes_helpful) as endpoint:

        def make(catalog: CatalogReader, k: int) -> Retriever:
            return baseline(name, search_over(catalog, HashEmbedder()), k=k, llm=endpoint.llm)

        check_retriever(make, tmp_path)
    assert bool(endpoint.asked) == (name in ("react", "jar", "arm"))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("foreign", "tables of no corpus"),
        ("twice", "a table twice"),
        ("fickle", "asked again, different"),
        ("joined", "joins with tables outside the set"),
    ],
)
def test_contract_finds_what_breaks_it(wrong: str, told: str, tmp_path: Path) -> None:
    made = 0

    class Wrong:
        def __init__(self, catalog: CatalogReader, k: int) -> None:
            nonlocal made
            made += 1
            self._searcher, self._k, self._turn = (
                search_over(catalog, HashEmbedder()),
                k,
                made,
            )

        def retrieve(self, question: str) -> TableSet:
            found = RankingRetriever(self._searcher, 100).retrieve(question)
            tables, joins = found.tables, found.joins
            if wrong == "foreign" and tables:
                table = TableId("elsewhere", "town")
                tables = (*tables, type(tables[0])(table, 0.0, "search", ""))
            elif wrong == "twice":
                tables = tables + tables
            elif wrong == "fickle":
                tables = tables[: self._turn % 2]
                joins = ()
            elif wrong == "joined":
                tables = ()
            return TableSet(question, tables, joins)

    with pytest.raises(AssertionError, match=told):
        check_retriever(Wrong, tmp_path)


def test_dense_is_the_ranking_with_the_joins_among_its_tables(shop: Searcher) -> None:
    found = RankingRetriever(shop, 3).retrieve("customers and their orders")
    assert found.ids == tuple(c.id for c in shop.dense("customers and their orders", 3))
    assert set(names(found)) >= {"customers", "orders"}
    joined = {tuple(sorted((edge.left.name, edge.right.name))) for edge in found.joins}
    assert ("customers", "orders") in joined
    assert len(joined) == len(found.joins)
    (stage,) = found.trace
    assert stage["stage"] == "dense"
    assert (stage["llm_calls"], stage["tokens_in"], stage["fallback"]) == (0, 0, 0)


def test_search_takes_the_fused_ranking(shop: Searcher) -> None:
    found = baseline("search", shop, k=4).retrieve("rainfall")
    assert found.ids == tuple(c.id for c in shop.search("rainfall", 4))
    assert found.trace[0]["stage"] == "search"


def test_rear_expands_through_columns_that_look_alike(shop: Searcher) -> None:
    question = "customers name city"
    found = RearRetriever(shop, 2, nearest=4, base=2).retrieve(question)
    base = [candidate.id for candidate in shop.dense(question, 2)]
    owners = [table.id for table in shop.tables for _ in table.columns]
    headers = np.vstack([headers_of(shop).of(table.id) for table in shop.tables])
    near: set[TableId] = set()
    for table in base:
        for cosines in headers_of(shop).of(table) @ headers.T:
            near |= {owners[place] for place in np.argsort(-cosines, kind="stable")[:4]}
    stages = {entry["stage"]: entry for entry in found.trace}
    assert list(stages) == ["retrieve", "expand", "refine"]
    assert stages["expand"]["found"] == len(near - set(base)) > 0
    assert stages["refine"]["by"] == "hashed, no cross-encoder"
    assert names(found)[0] == "customers"
    assert set(found.ids) <= near | set(base)


def test_rear_adds_company_to_relevance(shop: Searcher) -> None:
    question = "the city of customers, rainfall and weather"
    alone = RearRetriever(shop, 3, base=3, company=0.0).retrieve(question)
    assert alone.ids == tuple(c.id for c in shop.dense(question, 3))
    ranking = shop.dense(question, 7)
    vectors = [headers_of(shop).of(candidate.id) for candidate in ranking]

    def scaled(values: list[float]) -> list[float]:
        return [(value - min(values)) / (max(values) - min(values)) for value in values]

    relevance = scaled([candidate.relevance for candidate in ranking])
    cosines = scaled([float((mine @ other.T).max()) for mine in vectors for other in vectors[:3]])
    best = scaled(
        [
            max(cosines[3 * i + j] * relevance[j] for j in range(3) if j != i)
            for i in range(len(vectors))
        ]
    )
    expected = sorted(range(7), key=lambda place: -(relevance[place] + 3 * best[place]))[:3]
    joined = RearRetriever(shop, 3, base=3, nearest=17, company=3.0).retrieve(question)
    assert joined.ids == tuple(ranking[place].id for place in expected)
    assert joined.ids != alone.ids


class Words:
    """A pair scorer that counts words in common."""

    model_id = "words"

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        return np.array([len(set(a.split()) & set(b.split())) for a, b in pairs], dtype=float)


def test_rear_refines_with_a_cross_encoder_where_it_has_one(shop: Searcher) -> None:
    question = "weather: station, rainfall"
    found = RearRetriever(shop, 2, company=0.0, scorer=Words()).retrieve(question)
    assert names(found)[0] == "weather"
    assert found.tables[0].reason == "base table, score 1.00"
    assert found.trace[2]["by"] == "words"
    with pytest.raises(MissingExtraError, match=r"dovetail-tables\[st\]"):
        CrossEncoder("some/model")
    with pytest.raises(MissingExtraError, match="the cross-encoder some/model needs an extra"):
        open_retriever("rear:some/model", shop.catalog, settings=Settings())


def test_jar_connects_what_covers_the_subquestions(shop: Searcher) -> None:
    with playing(['{"concepts": ["customer city", "supplier country"]}']) as endpoint:
        retriever = JarRetriever(shop, k=5, llm=endpoint.llm, scoring="foreign_key")
        found = retriever.retrieve("q")
    assert {"customers", "suppliers"} <= set(names(found))
    decompose, optimise = found.trace
    assert decompose["subquestions"] == ["customer city", "supplier country"]
    assert (optimise["status"], optimise["fallback"]) == ("optimal", 0)
    assert len(found.tables) == 5


def test_jar_decomposes_with_one_small_call(shop: Searcher) -> None:
    with playing(['```json\n{"concepts": ["product:title", "product:title"]}\n```']) as endpoint:
        found = JarRetriever(shop, k=2, llm=endpoint.llm).retrieve("Which titles are there?")
    decompose = found.trace[0]
    assert decompose["subquestions"] == ["product:title"]
    assert (decompose["llm_calls"], decompose["tokens_out"], decompose["fallback"]) == (1, 7, 0)
    assert endpoint.asked[0]["messages"][-1]["content"] == "Question: Which titles are there?"
    assert endpoint.asked[0]["max_tokens"] == 256
    assert "products" in names(found)


@pytest.mark.parametrize("reply", ["", "I would rather not.", '{"concepts": [1, ""]}', "[]", "{"])
def test_jar_stands_by_the_question_if_the_reply_is_useless(shop: Searcher, reply: str) -> None:
    with playing([reply]) as endpoint:
        found = JarRetriever(shop, k=3, llm=endpoint.llm).retrieve("rainfall")
    assert found.trace[0]["subquestions"] == ["rainfall"]
    assert found.trace[0]["fallback"] == 1
    assert len(found.tables) == 3


def test_jar_without_a_model_says_that_the_question_is_its_own_subquestion(shop: Searcher) -> None:
    found = baseline("jar", shop, k=3).retrieve("rainfall")
    assert found.trace[0]["by"] == "the question itself"
    assert (found.trace[0]["llm_calls"], found.trace[0]["fallback"]) == (0, 0)


def test_jar_counts_what_the_clock_ended(shop: Searcher) -> None:
    found = JarRetriever(shop, k=3, limits=Limits(seconds=0.0)).retrieve("orders")
    stage = found.trace[1]
    assert (stage["timeout"], stage["status"], stage["fallback"]) == (1, "incumbent", 0)
    assert len(found.tables) == 3
    assert record_of("1", found, 0.0).timeout
    whole = JarRetriever(shop, k=3).retrieve("orders")
    assert "timeout" not in whole.trace[1]
    assert not record_of("1", whole, 0.0).timeout


def test_jar_falls_back_to_the_ranking_where_nothing_joins(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "apart.sqlite")) as db:
        db.executescript("CREATE TABLE aaa (bbb); CREATE TABLE mno (xyz);")
    catalog = update(
        [str(tmp_path / "apart.sqlite")], into=tmp_path / "c", settings=Settings(embedder="none")
    ).catalog
    apart = search_over(catalog, HashEmbedder(dimension=1 << 16))
    found = JarRetriever(apart, k=2).retrieve("aaa and mno")
    assert found.ids == tuple(c.id for c in apart.dense("aaa and mno", 2))
    assert (found.trace[1]["status"], found.trace[1]["fallback"]) == ("infeasible", 1)
    assert found.trace[1]["reason"] == "the program is infeasible: the dense ranking stands"


def test_jar_with_relevance_alone_is_the_dense_ranking(shop: Searcher) -> None:
    alone = Weights(coarse=1.0, fine=0.0, coverage=0.0, compatibility=0.0)
    found = JarRetriever(shop, k=3, weights=alone).retrieve("orders of customers")
    assert found.ids == tuple(c.id for c in shop.dense("orders of customers", 3))


@pytest.mark.parametrize("name", ["react", "arm"])
def test_what_needs_a_model_says_so(shop: Searcher, name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' asks a language model"):
        baseline(name, shop, k=5)


def test_an_unknown_name_lists_the_known(shop: Searcher) -> None:
    with pytest.raises(UsageError, match="there are: arm, core-t, dense, graph, jar"):
        baseline("magic", shop, k=5)


@pytest.mark.parametrize("name", ["dense", "search", "jar", "rear"])
def test_no_tables_at_all_cannot_be_wanted(shop: Searcher, name: str) -> None:
    with pytest.raises(UsageError, match="k is 0; it must be at least 1"):
        baseline(name, shop, k=0)


def test_a_stage_sums_what_it_asked() -> None:
    with playing(["one", "two"]) as endpoint:
        stage = Stage("x")
        for text in ("a b c", "d"):
            stage.ask(endpoint.llm, [Message("user", text)])
    assert (stage.llm_calls, stage.tokens_in, stage.tokens_out) == (2, 4, 14)
