"""Numbers of a question: where they can be meant, and where they stand by chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.search.value_linking import NumberColumns
from tests.support.pile import Pile, catalog_of

ORDERS = "order_id INTEGER, placed_year INTEGER, zip TEXT, amount REAL, placed DATE"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    rows = [
        (n, 2015 + n % 9, f"{2000 + n % 50}", float(n), f"{2015 + n % 9}-01-0{n % 9 + 1}")
        for n in range(1, 3000)
    ]
    parcels = [(n, n % 40) for n in range(1, 3000)]
    pile: Pile = {
        "orders": (ORDERS, rows),
        "parcels_per_depot": ("parcel_id INTEGER, depot INTEGER", parcels),
    }
    return catalog_of(Path(tmp_path_factory.mktemp("numbers")), shop=pile)


def reasons(catalog: dovetail.Catalog, question: str, table: str) -> list[str]:
    searcher = catalog.searcher
    return searcher.reasons(question, [catalog[table].id])[0]


def test_a_year_is_held_by_years_and_no_key_or_amount(catalog: dovetail.Catalog) -> None:
    assert reasons(catalog, "orders in 2018", "orders") == [
        "holds '2018' in placed_year",
        "holds '2018' in zip",
        "its names say orders",
    ]
    assert reasons(catalog, "what happened in 2018?", "parcels_per_depot") == []


def test_a_key_that_counts_rows_is_no_holder_of_a_year(catalog: dovetail.Catalog) -> None:
    (link,) = catalog.searcher.analyse("orders in 2018").links
    bounds = catalog.reader.records.bounds.tolist()
    names = [
        catalog.reader.records.columns["name"][column].as_py() for column in link.columns.tolist()
    ]
    assert "order_id" not in names
    assert "parcel_id" not in names
    assert len(bounds) == 3


def test_all_columns_at_once_are_judged_as_each_alone(catalog: dovetail.Catalog) -> None:
    numbers = NumberColumns(catalog.reader)
    every = np.arange(len(catalog.reader.records.columns))
    slow = [column for column in every.tolist() if not numbers.counted_through(column)]
    assert 0 < len(slow) < len(every)
    assert numbers.not_counted_through(every).tolist() == slow
    assert numbers.not_counted_through(every[:0]).tolist() == []


def test_a_word_that_only_relates_others_is_no_reason(catalog: dovetail.Catalog) -> None:
    assert reasons(catalog, "average amount per customer", "parcels_per_depot") == []
    assert reasons(catalog, "parcels per depot", "parcels_per_depot") == [
        "its names say parcels, depot"
    ]
