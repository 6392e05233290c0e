"""A real language model from end to end: purposes, and sets by the full and the compact prompt."""

from __future__ import annotations

from pathlib import Path

import dovetail
from dovetail.catalog.purposes import purposes
from dovetail.offline.purpose import write_purposes
from dovetail.plugins import open_llm
from dovetail.settings import Settings

TABLES = ("order_items", "orders", "status")


def test_a_real_model_describes_tables_and_selects_among_them(
    smollm: Path, corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    """The smallest of models: whatever it says, there is a set and an account of it."""
    (shop,) = [path for path in corpus if path.name == "shop.sqlite"]
    chosen = Settings(include=TABLES, embedder="none")
    catalog = dovetail.build(str(shop), into=tmp_path / "catalog", settings=chosen)
    llm = open_llm(f"local:{smollm}")
    report = write_purposes(catalog, llm)
    assert (report.written, report.failed) == (3, ())
    assert 200 * 3 < report.tokens_in < 900 * 3
    told = purposes(catalog)
    assert {one.model for one in told.values()} == {llm.model_id}
    assert all(len(one.text) <= 600 for one in told.values())
    sizes = {}
    for prompt in ("full", "compact"):
        found = dovetail.open(catalog.path, chosen).ask(
            "How many items are in orders whose status is final?",
            selector="llm", llm=llm, prompt=prompt,
        )  # fmt: skip
        search, select, _ = found.set.trace
        assert (select["prompt"], select["model"], select["llm_calls"]) == (prompt, llm.model_id, 1)
        sizes[prompt] = int(str(select["tokens_in"]))
        assert 0 < int(str(select["tokens_out"])) <= 1024
        # The reply is understood, or the fallback to all candidates is counted.
        assert bool(select["selected"]) != bool(select["fallback"])
        assert {table.name for table in found.set.ids} <= set(TABLES)
        if select["fallback"]:
            listed = search["candidates"]
            assert isinstance(listed, list)
            assert len(found.tables) == len(listed)
    assert sizes["compact"] < sizes["full"] / 3
