"""Value linking: names whose words stand in a column each, held against the slow way."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.arrays import Ints, sorted_pairs
from dovetail.search.searcher import open_searcher
from dovetail.search.value_linking import _with_other_words
from dovetail.settings import Settings

columns = st.sets(st.integers(0, 11), max_size=6).map(
    lambda some: np.array(sorted(some), dtype=np.int64)
)


@given(st.lists(columns, min_size=2, max_size=3))
def test_parts_of_a_name_stand_in_a_column_each(words: list[Ints]) -> None:
    table_of = np.repeat(np.arange(4, dtype=np.int32), 3)
    slow = {
        column
        for split in product(*(word.tolist() for word in words))
        if len(set(split)) == len(split) and len({int(table_of[c]) for c in split}) == 1
        for column in split
    }
    found = {
        column
        for at, held in enumerate(words)
        for column in _with_other_words(held, [*words[:at], *words[at + 1 :]], table_of).tolist()
    }
    assert found == slow


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=12), st.booleans())
def test_pairs_in_order(pairs: list[tuple[int, int]], ordered: bool) -> None:
    given_pairs = sorted(pairs) if ordered else pairs
    first, second = np.array(given_pairs, dtype=np.int64).reshape(-1, 2).T
    found = sorted_pairs(first, second)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == sorted(pairs)


@pytest.mark.parametrize(
    ("question", "value", "share"),
    [
        ("Which sites rent fork lifts?", "fork lifts", 1.0),
        ("Who bought a fork lift?", "fork lift", 1.0),
        ("What does Hartmann owe us?", "Hartmann", 0.8),
        ("what does hartmann owe us?", "hartmann", 0.5),
        ("Welche Hansakunden haben im Mai bestellt und nicht bezahlt?", "Hansakunden", 0.8),
        ("显示哈特曼公司的订单", "哈特曼公司", 1.0),
    ],
)
def test_values_are_linked_by_form_and_by_part(
    tmp_path: Path, question: str, value: str, share: float
) -> None:
    (tmp_path / "debts.csv").write_text(
        "debtor,machine\nHartmann & Co KG,Fork lift\nHansa,Crane\n哈特曼公司,Press\n", "utf-8"
    )
    catalog = dovetail.build(str(tmp_path / "debts.csv"), into=tmp_path / "catalog")
    links = open_searcher(catalog.reader, Settings()).analyse(question).links
    assert {link.span.text: link.share for link in links} == {value: share}


def test_a_word_that_names_a_column_is_no_part_of_a_cell(tmp_path: Path) -> None:
    (tmp_path / "debts.csv").write_text("debtor,machine\nMachine works,Fork lift\n")
    catalog = dovetail.build(str(tmp_path / "debts.csv"), into=tmp_path / "catalog")
    searcher = open_searcher(catalog.reader, Settings())
    assert searcher.analyse("Is there no machine?").links == ()
    assert [link.span.text for link in searcher.analyse("the works").links] == ["works"]


def test_words_beside_each_other_are_a_name_in_however_many_tables(tmp_path: Path) -> None:
    """A customer stands in many tables of a company: the two words of its name are no chance."""
    for name in ("customers", "accounts", "parties", "debtors", "consignees"):
        rows = "".join(f"{n},Ostwind {kind} AB\n" for n, kind in enumerate(("Turbin", "Kabel")))
        (tmp_path / f"{name}.csv").write_text(f"no,full_name\n{rows}")
    plain = Settings(embedder="none")
    catalog = dovetail.build(tmp_path, into=tmp_path / "catalog", settings=plain)
    (one, other) = catalog.searcher.analyse("What do we owe Ostwind Turbin?").links
    assert (one.span.text, other.span.text) == ("Ostwind", "Turbin")
    assert min(one.term.weight, other.term.weight) > 0
    (alone,) = catalog.searcher.analyse("What do we owe Ostwind?").links
    assert (alone.term.weight > 0, alone.share) == (True, 0.8)
    # A part of it that stands beside another name is no name by itself.
    (beside,) = catalog.searcher.analyse("What do we owe Ostwind Balkon?").links
    assert (beside.term.weight, beside.share) == (0, 0.5)


def test_a_name_that_cells_have_is_never_refused_however_many_tables_have_it(
    tmp_path: Path,
) -> None:
    for name in ("customers", "accounts", "parties", "debtors", "consignees"):
        (tmp_path / f"{name}.csv").write_text("no,full_name\n1,Hartmann & Co KG\n2,Ostwind AB\n")
    strict = Settings(embedder="none", refuse_below=0.99)
    catalog = dovetail.build(tmp_path, into=tmp_path / "catalog", settings=strict)
    named = catalog.ask("What do we owe Hartmann?")
    assert (named.nothing_fits, named.confidence) == (False, 0.99)
    assert catalog.ask("What do we owe Bergmann?").nothing_fits


@pytest.mark.parametrize(
    ("question", "said", "meant", "share"),
    [
        ("Which orders were recieved?", "recieved", "received", 0.8),
        ("Which orders were acommodated?", "acommodated", "accommodated", 0.8),
        ("Which orders were cancled?", "cancled", "canceled", 0.8),
        ("What does Hartman owe?", "Hartman", "hartmann", 0.64),
        ("Which orders were dispatched?", "dispatched", "disptached", 0.8),
    ],
)
def test_a_misspelt_cell_is_linked(
    tmp_path: Path, question: str, said: str, meant: str, share: float
) -> None:
    """Where no word of the question and no cell is as it is written; in either of the two."""
    cells = ("received", "accommodated", "canceled", "disptached")
    rows = "".join(f"{n},{cell},Hartmann & Co\n" for n, cell in enumerate(cells))
    (tmp_path / "orders.csv").write_text(f"no,status,customer\n{rows}", "utf-8")
    plain = Settings(embedder="none")
    catalog = dovetail.build(tmp_path / "orders.csv", into=tmp_path / "catalog", settings=plain)
    (link,) = catalog.searcher.analyse(question).links
    assert (link.span.text, link.meant) == (said, meant)
    assert link.share == pytest.approx(share)
    (reasons,) = catalog.searcher.reasons(question, catalog.searcher.ids)
    assert any(f"holds {meant!r}" in reason for reason in reasons)


def test_a_word_that_is_known_is_no_slip(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("no,role\n1,patient\n2,courtesy\n", "utf-8")
    plain = Settings(embedder="none")
    catalog = dovetail.build(tmp_path / "visits.csv", into=tmp_path / "catalog", settings=plain)
    assert catalog.searcher.analyse("Who holds a patent?").links == ()
    assert [link.meant for link in catalog.searcher.analyse("Which patietn is it?").links] == [
        "patient"
    ]
