"""The adapters against the real frameworks: documents, nodes, and a query written from them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import MetadataMode

import dovetail
from dovetail.adapters import table_documents
from dovetail.adapters.langchain import DovetailRetriever as LangChainRetriever
from dovetail.adapters.llama_index import DovetailRetriever as LlamaIndexRetriever
from tests.support.served import QUESTION, shop_catalog


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    return shop_catalog(tmp_path_factory.mktemp("adapters"))


def test_every_table_and_every_join_stands_in_one_text(catalog: dovetail.Catalog) -> None:
    found = catalog.ask(QUESTION)
    documents = table_documents(found)
    assert [one.id for one in documents] == [str(table) for table in found.ids]
    assert sum(one.text.count("CREATE TABLE") for one in documents) == len(found)
    together = "".join(one.text for one in documents)
    assert len(found.joins) >= 3
    for edge in found.joins:
        (left, right), *_ = edge.columns
        line = f"{edge.left.name}.{left} = {edge.right.name}.{right}"
        assert together.count(line) == 1


def test_langchain_documents(catalog: dovetail.Catalog) -> None:
    retriever = LangChainRetriever(catalog, breadth=0.6)
    documents = retriever.invoke(QUESTION)
    found = catalog.ask(QUESTION)
    assert [one.metadata["table"] for one in documents] == [str(table) for table in found.ids]
    assert documents[0].id == documents[0].metadata["table"]
    assert documents[0].metadata["score"] == found.tables[0].relevance
    assert documents[0].metadata["reason"] == found.tables[0].reason
    later = asyncio.run(retriever.ainvoke(QUESTION))
    assert [one.page_content for one in later] == [one.page_content for one in documents]


def test_langchain_chain_that_runs_sql(catalog: dovetail.Catalog) -> None:
    def write_sql(documents: list[Any]) -> str:
        called = {one.metadata["name"]: one.metadata["called"] for one in documents}
        joined = f"{called['orders']} JOIN {called['customers']} USING (customer_no)"
        return f"SELECT count(*) AS n FROM {joined}"

    def run(sql: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = catalog.sql(sql).to_arrow().to_pylist()
        return rows

    chain = LangChainRetriever(catalog) | RunnableLambda(write_sql) | RunnableLambda(run)
    assert chain.invoke(QUESTION) == [{"n": 120}]


def test_llama_index_nodes(catalog: dovetail.Catalog) -> None:
    nodes = LlamaIndexRetriever(catalog).retrieve(QUESTION)
    found = catalog.ask(QUESTION)
    assert [one.node.node_id for one in nodes] == [str(table) for table in found.ids]
    assert [one.score for one in nodes] == [chosen.relevance for chosen in found]
    text = nodes[0].node.get_content(metadata_mode=MetadataMode.NONE)
    assert text.startswith(f"CREATE TABLE {found[0].name}")
    later = asyncio.run(LlamaIndexRetriever(catalog).aretrieve(QUESTION))
    assert [one.node.node_id for one in later] == [one.node.node_id for one in nodes]


def test_options_reach_the_question(catalog: dovetail.Catalog) -> None:
    documents = LangChainRetriever(catalog, k=1).invoke(QUESTION)
    assert [one.id for one in documents] == [str(one.id) for one in catalog.ask(QUESTION, k=1)]
    found = LlamaIndexRetriever(catalog, selector="graph", breadth=0.0).retrieve(QUESTION)
    assert len(found) == len(catalog.ask(QUESTION, breadth=0.0))
    with pytest.raises(dovetail.DovetailError, match="'breadth' is 7; it must be from 0 to 1"):
        LangChainRetriever(catalog, breadth=7).invoke(QUESTION)
