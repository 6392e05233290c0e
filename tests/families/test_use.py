"""Equal tables of several homes: in use in each of them, or put there as a whole."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.joins.graph import JoinGraph
from tests.support.pile import Pile, catalog_of, write_sqlite

CODES = [f"{one}{two}" for one in "ABCDEF" for two in "KLMNO"]


def _texts(word: str, count: int) -> list[str]:
    draw = random.Random(word)
    return [f"{word} {draw.randrange(10**7)}" for _ in range(count)]


Table = tuple[str, Sequence[tuple[object, ...]]]
Tables = dict[str, Table]


def _child(name: str, key: str, keys: list[object], count: int = 300) -> Table:
    """A table whose rows refer to others by a key."""
    draw = random.Random(name)
    rows: list[tuple[object, ...]] = [
        (10**6 * len(name) + 3 * n, draw.choice(keys), text)
        for n, text in enumerate(_texts(name, count))
    ]
    kind = "TEXT" if isinstance(keys[0], str) else "INTEGER"
    return f"{name}_id INTEGER, {key} {kind}, note TEXT", rows


CUSTOMER_IDS: list[object] = [1000 + 3 * n for n in range(120)]
ORDER_IDS: list[object] = [50_000 + 7 * n for n in range(400)]
COUNTRIES = (
    "country_code TEXT, country_name TEXT, continent TEXT",
    [(code, f"Land of {code}", f"part {n % 5}") for n, code in enumerate(CODES)],
)
CUSTOMERS = (
    "customer_id INTEGER, name TEXT, email TEXT, country_code TEXT",
    [
        (key, name, mail, CODES[n % len(CODES)])
        for n, (key, name, mail) in enumerate(
            zip(CUSTOMER_IDS, _texts("name", 120), _texts("mail", 120), strict=True)
        )
    ],
)
ORDERS = (
    "order_id INTEGER, customer_id INTEGER, reference TEXT, placed DATE",
    [
        (key, CUSTOMER_IDS[n % 120], text, f"2022-{n % 12 + 1:02}-{n % 28 + 1:02}")
        for n, (key, text) in enumerate(zip(ORDER_IDS, _texts("order", 400), strict=True))
    ],
)
STATES = ("state_code TEXT, label TEXT", [(code, f"is {code}") for code in ("new", "sent", "paid")])
LINES = _child("line", "order_id", ORDER_IDS, 700)
SHIPMENTS = _child("shipment", "order_id", ORDER_IDS)
SHOP: Tables = {
    "customers": CUSTOMERS,
    "orders": ORDERS,
    "lines": LINES,
    "shipments": SHIPMENTS,
    "countries": COUNTRIES,
}
TICKETS = _child("ticket", "customer_id", CUSTOMER_IDS)
VISITS = _child("visit", "customer_id", CUSTOMER_IDS)
STAFF = _child("employee", "country_code", list(CODES), 90)


def _some(*names: str) -> Tables:
    return {name: SHOP[name] for name in names}


def _folded(catalog: dovetail.Catalog) -> dict[str, str]:
    """The table that stands for each table which does not stand for itself."""
    return {
        str(table): str(family.canonical)
        for family in catalog.families()
        for table in family.tables
        if table != family.canonical
    }


def _twins(catalog: dovetail.Catalog) -> set[str]:
    return {str(table) for family in catalog.families() for table in family.twins}


def _all_of(copy: str, original: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{copy}::{name}": f"{original}::{name}" for name in names}


@pytest.mark.parametrize(
    ("export", "names"),
    [
        (SHOP | {"states": STATES}, SHOP),
        (_some("customers", "orders", "lines"), ("customers", "orders", "lines")),
        (_some("orders", "customers"), ("customers", "orders")),
        (_some("countries"), ("countries",)),
    ],
    ids=["whole", "tables missing", "two tables", "one table"],
)
def test_an_export_is_a_copy_table_by_table(
    tmp_path: Path, export: Pile, names: Iterable[str]
) -> None:
    catalog = catalog_of(tmp_path, shop=SHOP | {"states": STATES}, zz_drop=export)
    assert _folded(catalog) == _all_of("zz_drop", "shop", names)
    assert not _twins(catalog)


def test_of_an_older_export_no_table_leads(tmp_path: Path) -> None:
    older = SHOP | {"lines": (LINES[0], LINES[1][:500])}
    catalog = catalog_of(tmp_path, drop=older, shop=SHOP)
    assert _folded(catalog) == _all_of("drop", "shop", SHOP)


def test_one_table_more_makes_no_home_of_an_export(tmp_path: Path) -> None:
    loads = _child("load", "order_id", ORDER_IDS, 200)
    catalog = catalog_of(tmp_path, shop=SHOP, intake=SHOP | {"loads": loads})
    assert len(_folded(catalog)) == len(SHOP)


def test_a_table_that_two_applications_share_is_in_use_in_both(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, shop=SHOP, staff={"employees": STAFF, "countries": COUNTRIES})
    assert not _folded(catalog)
    assert _twins(catalog) == {"shop::countries", "staff::countries"}


def test_tables_that_are_shared_together_are_in_use_together(tmp_path: Path) -> None:
    """The countries are joined by the customers alone, and those have an equal."""
    shared = _some("customers", "countries")
    catalog = catalog_of(
        tmp_path, crm=shared | {"tickets": TICKETS}, web=shared | {"visits": VISITS}
    )
    assert not _folded(catalog)
    assert len(_twins(catalog)) == 4


def test_a_copy_that_nothing_joins_is_put_aside(tmp_path: Path) -> None:
    other: Pile = {"employees": STAFF, "countries": COUNTRIES, "orders": ORDERS}
    catalog = catalog_of(tmp_path, shop=SHOP, staff=other)
    assert _folded(catalog) == {"staff::orders": "shop::orders"}


def test_a_copy_of_tables_in_use_does_not_make_them_one(tmp_path: Path) -> None:
    catalog = catalog_of(
        tmp_path,
        crm=_some("customers") | {"tickets": TICKETS},
        web=_some("customers") | {"visits": VISITS},
        zz_drop=_some("customers"),
    )
    folded = _folded(catalog)
    assert set(folded) == {"zz_drop::customers"}
    assert {"crm::customers", "web::customers"} <= _twins(catalog)


def test_joins_that_nine_tables_share_are_judged_at_home(tmp_path: Path) -> None:
    """Where sources do not count, each of nine equal parents is an unlikely one."""
    words = ("club", "dorm", "game", "meal", "pet", "sport", "trip", "vote", "prize")
    given = [
        write_sqlite(
            tmp_path / f"{word}s.sqlite",
            {"customers": CUSTOMERS, f"{word}_list": _child(word, "customer_id", CUSTOMER_IDS)},
        )
        for word in words
    ]
    given.append(write_sqlite(tmp_path / "zz_drop.sqlite", {"customers": CUSTOMERS}))
    settings = dovetail.Settings(embedder="none", join_sources=False)
    catalog = dovetail.build(*given, into=tmp_path / "catalog", settings=settings)
    edges = JoinGraph.of(CatalogReader.open(tmp_path / "catalog")).edges
    assert max(edge.score for edge in edges if edge.right.name == "customers") < 0.5
    assert set(_folded(catalog)) == {"zz_drop::customers"}
