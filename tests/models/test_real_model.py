"""A real language model from end to end: purposes, and a set that it selects."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail
from dovetail.catalog.purposes import written_purposes
from dovetail.offline.purpose import write_purposes
from dovetail.plugins import open_llm
from dovetail.retrieve.llm import LLMRetriever
from dovetail.settings import Settings

TABLES = ("orders", "status")


@pytest.mark.slow
def test_a_real_model_describes_tables_and_selects_among_them(
    smollm: Path, corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    """The smallest of models: whatever it says, there is a set and an account of it."""
    (shop,) = [path for path in corpus if path.name == "shop.sqlite"]
    settings = Settings(include=TABLES, embedder="none")
    catalog = dovetail.build(str(shop), into=tmp_path / "catalog", settings=settings)
    llm = open_llm(f"local:{smollm}")
    report = write_purposes(catalog.reader, llm)
    assert (report.written, report.failed) == (2, ())
    assert 2 * 150 < report.tokens_in < 2 * 600
    told = {table.name: one for table, one in written_purposes(catalog.reader).items()}
    assert tuple(sorted(told)) == TABLES
    assert all(one.model == llm.model_id and len(one.text) <= 600 for one in told.values())
    searcher = dovetail.open(catalog.folder, settings).searcher
    found = LLMRetriever(searcher, llm).retrieve("How many orders are final?")
    stages = {stage["stage"]: stage for stage in found.trace}
    select = stages["select"]
    assert (select["model"], select["llm_calls"]) == (llm.model_id, 1)
    assert int(str(select["tokens_in"])) < 600
    assert 0 < int(str(select["tokens_out"])) <= 1_024
    # The reply chooses tables, or says that none fits, or the fallback to all is counted.
    said = [select["selected"], select.get("nothing_fits"), select["fallback"]]
    assert sum(map(bool, said)) == 1
    if select["fallback"]:
        assert sorted(table.name for table in found.ids) == list(TABLES)
    assert {table.name for table in found.ids} <= set(TABLES)
