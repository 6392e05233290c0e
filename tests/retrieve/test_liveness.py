"""Tables that come behind others: data dictionaries, and those named by words of a value alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dovetail
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.liveness import Liveness
from tests.offline.test_dictionary import build, fill


def billing(path: Path) -> None:
    """Refunds with reasons, and two tables that are named by words of one."""
    reasons = ("duplicate charges", "cancelled cover", "goodwill")
    refunds = [(900 + n, reasons[n % 3], 10.5 * n) for n in range(30)]
    fill(path, "refund", "refund_no, reason, paid_back", refunds)
    fill(path, "charge_code", "code, label", [(f"C{n}", f"fee {n}") for n in range(9)])
    fill(path, "charge_group", "group_no, title", [(40 + n, f"title {n}") for n in range(9)])


def probabilities(catalog: dovetail.Catalog, question: str) -> dict[str, float]:
    """What each candidate has after all that the question says, by name."""
    query = catalog.searcher.analyse(question)
    retriever = GraphRetriever(catalog.searcher, use_sources=True)
    scored = retriever.score(query, catalog.searcher.search(query, 8))
    return {table.name: probability for table, probability in scored.by_table.items()}


def test_words_of_a_value_name_no_other_table(tmp_path: Path) -> None:
    billing(tmp_path / "erp.sqlite")
    catalog, _ = build(tmp_path / "erp.sqlite")
    found = catalog.ask("How much did we pay back because of duplicate charges?")
    assert [one.name for one in found.tables] == ["refund"]
    quoted = probabilities(catalog, "Who asks about duplicate charges?")
    assert quoted["charge_code"] < 0.05
    assert quoted["charge_group"] < 0.05
    # A word beyond the value speaks for its table, and so do words that are no value together.
    more = probabilities(catalog, "Which label has a code with duplicate charges?")
    assert more["charge_code"] > 0.1
    apart = probabilities(catalog, "Which charges have a duplicate?")
    assert apart["charge_code"] > 0.1


def test_a_table_that_is_called_by_its_name_is_meant_whatever_cell_says_the_same(
    tmp_path: Path,
) -> None:
    billing(tmp_path / "erp.sqlite")
    rows = [(n, 500 + n) for n in range(9)]
    fill(tmp_path / "erp.sqlite", "cancelled_cover", "line_no, seen", rows)
    catalog, _ = build(tmp_path / "erp.sqlite")
    found = catalog.ask("Who asks about cancelled cover?")
    assert "cancelled_cover" in [one.name for one in found.tables]
    assert "charge_code" not in [one.name for one in found.tables]


def test_a_question_without_blanks_is_a_cell(tmp_path: Path) -> None:
    goods = [(n, name) for n, name in enumerate(("红色油漆", "蓝色油漆", "木板", "钉子") * 5)]
    fill(tmp_path / "erp.sqlite", "stock", "item_no, name", goods)
    fill(tmp_path / "erp.sqlite", "firm", "firm_no, title", [(70 + n, f"f{n}") for n in range(9)])
    catalog, _ = build(tmp_path / "erp.sqlite")
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        found = catalog.ask("红色油漆")
    assert [one.name for one in found.tables] == ["stock"]
    assert found.confidence is not None
    assert 0 < found.confidence < 1


def test_a_dictionary_is_behind_what_it_describes(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    billing(path)
    told = [
        ("refund", "", "money paid back"), ("refund", "refund_no", "number of the refund"),
        ("refund", "reason", "why it is paid back"), ("refund", "paid_back", "amount of money"),
        ("charge_code", "", "codes of charges"), ("charge_code", "code", "code of the charge"),
        ("charge_code", "label", "what it is for"), ("charge_group", "", "groups of charges"),
        ("charge_group", "group_no", "number"), ("charge_group", "title", "heading"),
    ]  # fmt: skip
    fill(path, "field_texts", "tab, fld, txt", told)
    catalog, notices = build(path)
    assert notices == (
        "erp::field_texts was read as a dictionary: it describes 3 tables and 7 columns",
    )
    liveness = Liveness(catalog.searcher)
    why = {table.name: liveness.why(table) for table in catalog.reader.ids}
    assert why == {
        "refund": "",
        "charge_code": "",
        "charge_group": "",
        "field_texts": "it is a data dictionary",
    }
    assert "field_texts" not in {one.name for one in catalog.ask("refunds by reason").tables}
    asked = probabilities(catalog, "Which field texts does the data dictionary have?")
    assert max(asked, key=asked.__getitem__) == "field_texts"
