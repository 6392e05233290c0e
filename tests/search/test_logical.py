"""The index over logical tables, against one made table by table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.search.logical import LogicalTables
from tests.support.pile import EVENTS, PEOPLE, catalog_of, events, people


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    rows = people(80, 1)
    orders = [(n, n % 80 + 1, f"2020-01-{n % 28 + 1:02}") for n in range(300)]
    grown = EVENTS + ", channel TEXT"
    return catalog_of(
        Path(tmp_path_factory.mktemp("pile")),
        crm={
            "people": (PEOPLE, rows),
            "people_bak": (PEOPLE + ", nickname TEXT", [(*row, "x") for row in rows]),
            "orders": ("order_id INTEGER, person_id INTEGER, placed DATE", orders),
            "events_2022": (grown, [(*row, "web") for row in events(2022)]),
            "events_2023": (EVENTS, events(2023)),
        },
    )


@pytest.fixture(scope="module")
def logical(catalog: dovetail.Catalog) -> LogicalTables:
    found = LogicalTables.of(catalog.families(), catalog.ids)
    assert found is not None
    return found


def test_every_member_has_one_that_stands_for_it(
    catalog: dovetail.Catalog, logical: LogicalTables
) -> None:
    named = {
        table.name: catalog.ids[place].name
        for table, place in zip(catalog.ids, logical.representative.tolist(), strict=True)
    }
    assert named == {
        "events_2022": "events_2023",
        "events_2023": "events_2023",
        "orders": "orders",
        "people": "people",
        "people_bak": "people",
    }
    assert [catalog.ids[at].name for at in np.flatnonzero(logical.copies).tolist()] == [
        "people_bak"
    ]


def test_where_each_table_is_its_own_there_is_nothing_to_do(catalog: dovetail.Catalog) -> None:
    assert LogicalTables.of(dovetail.Families(), catalog.ids) is None
    alone = np.array([table.name == "people_bak" for table in catalog.ids])
    assert LogicalTables.of(catalog.families(), catalog.ids, alone) is None


def test_words_are_counted_in_logical_tables(
    catalog: dovetail.Catalog, logical: LogicalTables
) -> None:
    places = {table.name: place for place, table in enumerate(catalog.ids)}
    searcher = catalog.searcher

    def tables(word: str) -> list[str]:
        return [catalog.ids[at].name for at in searcher.lexical.term(word).tables.tolist()]

    assert tables("nicknam") == ["people"], "a copy's columns count for the table"
    assert tables("channel") == ["events_2023"]
    assert tables("event") == ["events_2023"]
    assert tables("bak") == []
    assert tables("2022") == tables("2023") == []
    assert searcher.lexical.documents == 3
    assert set(logical.representative.tolist()) == {
        places["events_2023"],
        places["orders"],
        places["people"],
    }


def test_joins_with_a_copy_are_joins_with_the_table(catalog: dovetail.Catalog) -> None:
    ids = {table.name: table for table in catalog.ids}
    searcher = catalog.searcher
    pairs = {frozenset((one.name, two.name)) for one, two, _ in searcher.partners()}
    assert frozenset(("orders", "people")) in pairs
    assert not any("people_bak" in pair for pair in pairs)
    edges = searcher.joins.joins(ids["orders"], least=0.0)
    assert {(edge.left.name, edge.right.name) for edge in edges} == {("orders", "people")}
    best: dict[object, float] = {}
    for edge in searcher.member_joins.joins(ids["orders"], least=0.0):
        key = edge.columns
        best[key] = max(best.get(key, 0.0), edge.score)
    assert {edge.columns: edge.score for edge in edges} == best
