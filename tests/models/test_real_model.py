"""A real language model from end to end: descriptions, and a set that it selects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.offline.describe import describe
from dovetail.plugins import open_llm
from dovetail.ports import LLM, Completion, Message
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.llm import LLMRetriever, Spending
from dovetail.settings import Settings

TABLES = ("orders", "status")


class Brief:
    """A model that is stopped early: so small a one writes on until it is."""

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self.model_id = inner.model_id

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, **more: Any
    ) -> Completion:
        return self._inner.complete(messages, max_tokens=min(max_tokens, 128), **more)


@pytest.mark.slow
def test_a_real_model_describes_tables_and_selects_among_them(
    smollm: Path, corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    """The smallest of models: whatever it says, there is a set and an account of it."""
    (shop,) = [path for path in corpus if path.name == "shop.sqlite"]
    settings = Settings(include=TABLES, embedder="none")
    catalog = dovetail.build(str(shop), into=tmp_path / "catalog", settings=settings)
    llm = open_llm(f"local:{smollm}")
    report = describe(catalog.reader, Brief(llm))
    assert report.written + len(report.failed) == 2
    assert report.tokens_in > 150
    catalog = dovetail.build(into=catalog.folder, settings=settings)
    told = [one for table in TABLES if (one := catalog.description(table))]
    assert len(told) <= report.written
    assert all(one.author == llm.model_id and len(one.text) <= 300 for one in told)
    searcher = dovetail.open(catalog.folder, settings).searcher
    graph = GraphRetriever(searcher).retrieve
    asked = LLMRetriever(searcher, llm, graph, spending=Spending(calls=1))
    found = asked.retrieve("How many orders are final?")
    stages = {stage["stage"]: stage for stage in found.trace}
    select = stages["select"]
    assert (select["model"], select["llm_calls"]) == (llm.model_id, 1)
    assert int(str(select["tokens_in"])) < 600
    assert 0 < int(str(select["tokens_out"])) <= 400
    # The reply chooses tables, or says that none fits, or the set without a model is taken.
    said = [select["selected"], select.get("nothing_fits"), select["fallback"]]
    assert sum(map(bool, said)) == 1
    if select["fallback"]:
        assert found.ids == graph("How many orders are final?").ids
    assert {table.name for table in found.ids} <= set(TABLES)
