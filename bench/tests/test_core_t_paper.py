"""`core-t:paper`: search, compatibility, selection and adjustment as the paper has them.

Every stage is held against the paper's own formulas, worked out here from the rows themselves.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.support.endpoint import Play, endpoint, fails, says
from tests.support.scripted import HashEmbedder, shop_searcher

from dovetail.domain import TableSet
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAILLM
from dovetail.names.words import words
from dovetail.search.embeddings import header_text
from dovetail.search.searcher import Searcher
from dovetail_bench.core_t.retriever import CoreTOptions, CoreTRetriever, options_of
from dovetail_bench.markdown import markdown

QUICK = Patience(attempts=2, attempt_seconds=2.0, deadline=5.0, first_wait=0.01)
QUESTION = "Which customers ordered products of which supplier?"
COLUMNS = {
    "customers": ("customer_no", "name", "city"),
    "orders": ("order_no", "customer_no", "ordered_on"),
    "order_items": ("order_no", "product_no", "quantity"),
    "products": ("product_no", "title", "supplier_no"),
    "suppliers": ("supplier_no", "company", "country"),
    "weather": ("station", "rainfall"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def shop(folder: Path) -> Searcher:
    return shop_searcher(folder)


def asked(shop: Searcher, options: CoreTOptions, *plays: Play) -> TableSet:
    with endpoint(*plays) as server:
        llm = OpenAILLM("m", workers=1, patience=QUICK, environ={"OPENAI_BASE_URL": server.url})
        return CoreTRetriever(shop, llm, options).retrieve(QUESTION)


def selects(*numbers: int) -> Play:
    formed = [{"group_index": 1, "table_indices": list(numbers)}]
    return says(
        json.dumps(
            {
                "group_formation": {"groups_formed": formed},
                "group_selection": {"selected_group_index": 1},
            }
        )
    )


def values(folder: Path) -> dict[tuple[str, str], list[object]]:
    """The values of every column, nulls left out."""
    found: dict[tuple[str, str], list[object]] = {}
    with closing(sqlite3.connect(folder / "shop.sqlite")) as db:
        for table, columns in COLUMNS.items():
            for column in columns:
                rows = db.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL")
                found[table, column] = [row[0] for row in rows]
    return found


def compatibility(folder: Path) -> dict[frozenset[str], float]:
    """Equations 1 to 4 for every two tables, over Python sets."""
    embedder, held = HashEmbedder(), values(folder)
    best: dict[frozenset[str], float] = {}
    for (one, mine), (other, theirs) in combinations(held.items(), 2):
        if one[0] == other[0]:
            continue
        a, b = set(mine), set(theirs)
        unique = len(a) == len(mine) or len(b) == len(theirs)
        if not (unique and a and b and (a <= b or b <= a)):
            continue
        texts = [header_text(*one), header_text(*other)]
        left, right = embedder.embed_documents(texts)
        meaning = float(np.clip(left @ right, 0, 1))
        tokens = [{*words(table), *words(column)} for table, column in (one, other)]
        exact = len(tokens[0] & tokens[1]) / min(map(len, tokens))
        score = len(a & b) / len(a | b) / 2 + (meaning + exact) / 4
        pair = frozenset((one[0], other[0]))
        best[pair] = max(score, best.get(pair, 0.0))
    return best


def test_candidates_are_the_nearest_by_markdown_and_purpose(shop: Searcher) -> None:
    found = asked(shop, options_of("paper", 4), selects(1, 2))
    listed = found.trace[0]["candidates"]
    assert isinstance(listed, list)
    embedder = HashEmbedder()
    vectors = embedder.embed_documents([markdown(table) for table in shop.catalog])
    cosines = vectors @ embedder.embed_queries([QUESTION])[0]
    order = np.argsort(-cosines, kind="stable")[:4]
    assert [one["table"] for one in listed] == [str(shop.catalog.ids[n]) for n in order.tolist()]
    assert [one["relevance"] for one in listed] == [round(float(cosines[n]), 4) for n in order]


def test_pairs_are_those_of_the_equations(shop: Searcher, folder: Path) -> None:
    found = asked(shop, options_of("paper", 7), selects(1))
    listed, pairs = found.trace[0]["candidates"], found.trace[1]["joins"]
    assert isinstance(listed, list)
    assert isinstance(pairs, list)
    names = {one["number"]: re.sub(".*::", "", one["table"]) for one in listed}
    shown = {frozenset(names[n] for n in pair["tables"]): pair["score"] for pair in pairs}
    wanted = compatibility(folder)
    assert shown == pytest.approx(wanted, abs=1e-3)
    assert len(wanted) >= 4


def test_the_threshold_changes_the_set(shop: Searcher, folder: Path) -> None:
    scores = compatibility(folder)
    listed = asked(shop, options_of("paper", 7), selects(1)).trace[0]["candidates"]
    assert isinstance(listed, list)
    names = [re.sub(".*::", "", one["table"]) for one in listed]
    strongest = max(scores.get(frozenset((names[0], other)), 0.0) for other in names[1:])
    assert 0 < strongest < 1
    kept = [
        asked(shop, options_of(f"paper+{threshold:.3f}", 7), selects(1)).trace[-1]["added"]
        for threshold in (strongest - 0.02, strongest + 0.02)
    ]
    below, above = ([one["step"] for one in added] for added in kept if isinstance(added, list))
    assert "partner" in below
    assert "partner" not in above


def test_a_call_that_fails_for_good_leaves_all_candidates(shop: Searcher) -> None:
    refused = fails(400, "no such model")
    found = asked(shop, options_of("paper", 4), refused)
    assert len(found.ids) >= 4
    assert found.trace[1]["fallback"] == 1
    assert "the call failed" in str(found.trace[1]["reason"])


def test_a_reply_that_is_no_json_leaves_all_candidates(shop: Searcher) -> None:
    found = asked(shop, options_of("paper+no-adjustment", 5), says("I would take them all."))
    assert len(found.ids) == 5
    assert found.trace[1]["fallback"] == 1


def test_damaged_json_is_not_mended(shop: Searcher) -> None:
    torn = says('{"groups": [{"group_index": 1, "table_indices": [1, 2]')
    found = asked(shop, options_of("paper+no-adjustment", 5), torn)
    assert (len(found.ids), found.trace[1]["fallback"]) == (5, 1)
