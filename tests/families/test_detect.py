"""Who stands for a family, and what becomes of tables in marked places."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.names.table_name import TableName
from tests.support.pile import PEOPLE, SETTINGS, Pile, catalog_of, people, write_sqlite

ORDERS = "order_id INTEGER, person_id INTEGER, note TEXT, placed DATE"


def orders(count: int) -> list[tuple[object, ...]]:
    return [(n, n % 80 + 1, f"note {n * 7919}", f"2020-01-{n % 28 + 1:02}") for n in range(count)]


def roles(catalog: dovetail.Catalog) -> dict[str, str]:
    found = {}
    for family in catalog.families():
        for member in family.members:
            if family.role(member.id) is not dovetail.Role.TWIN:
                found[str(member.id)] = member.role.value
    return found


def test_a_database_that_is_a_backup_is_a_backup_table_by_table(tmp_path: Path) -> None:
    pile = {"people": (PEOPLE, people(80, 1)), "orders": (ORDERS, orders(300))}
    assert roles(catalog_of(tmp_path, crm=pile, crm_backup=pile)) == {
        "crm::orders": "table",
        "crm::people": "table",
        "crm_backup::orders": "copy",
        "crm_backup::people": "copy",
    }


def test_two_databases_that_each_use_the_same_table_are_two(tmp_path: Path) -> None:
    shared = {"people": (PEOPLE, people(80, 1))}
    visits = "visit_id INTEGER, person_id INTEGER, page TEXT"
    seen = [(n * 3, n * 7 % 80 + 1, f"page {n * 7907}") for n in range(200)]
    catalog = catalog_of(
        tmp_path,
        crm=shared | {"orders": (ORDERS, orders(300))},
        shop=shared | {"visits": (visits, seen)},
    )
    assert set(roles(catalog).values()) == {"table"}
    family = catalog.families().of(catalog["crm::people"].id)
    assert family is not None
    assert [str(table) for table in family.twins] == ["shop::people"]


def test_where_a_pile_is_kept_says_nothing_of_it(tmp_path: Path) -> None:
    place = tmp_path / "tmp" / "old backup"
    place.mkdir(parents=True)
    tables = {"people": (PEOPLE, people(80, 1)), "people_arch": (PEOPLE, people(80, 2, 900))}
    write_sqlite(place / "crm.sqlite", tables)
    catalog = dovetail.build(
        str(place / "crm.sqlite"), into=tmp_path / "catalog", settings=SETTINGS
    )
    (family,) = catalog.families()
    assert family.canonical.name == "people"
    assert [one.role.value for one in family.members] == ["table", "partition"]


def test_the_history_of_a_table_of_two_columns_is_found(tmp_path: Path) -> None:
    now = [(f"B{n:02}", 60.0 + n) for n in range(30)]
    states = [
        (code, price - step, f"20{20 + step}-01-01") for code, price in now for step in (0, 1)
    ]
    strangers = [(f"X{n:02}", 500.5 + n, "2020-01-01") for n in range(60)]
    pile: Pile = {
        "price_list": ("beer_code TEXT, price REAL", now),
        "price_list_hist": ("beer_code TEXT, price REAL, valid_from DATE", states),
        "fee_list": ("beer_code TEXT, price REAL", now[:0]),
        "fee_list_hist": ("beer_code TEXT, price REAL, valid_from DATE", strangers),
    }
    assert roles(catalog_of(tmp_path, erp=pile)) == {
        "erp::price_list": "table",
        "erp::price_list_hist": "history",
    }


def test_a_backup_is_of_the_slice_that_it_names(tmp_path: Path) -> None:
    slices = {f"log_{n}": people(30, n, 100 * n) for n in range(1, 9)}
    backups = {f"log_{n}_bak": slices[f"log_{n}"][:20] for n in (2, 5, 8)}
    pile = {name: (PEOPLE, rows) for name, rows in (slices | backups).items()}
    (family,) = catalog_of(tmp_path, erp=pile).families()
    for one in family.members:
        own = one.id.name.removesuffix("_bak")
        if one.id.name in backups:
            assert one.role is dovetail.Role.COPY
            assert one.evidence.endswith(f"values of email are in {own}")
        else:
            assert one.role is dovetail.Role.PARTITION


@pytest.mark.parametrize("word", ["line", "class", "order", "grade"])
def test_a_year_behind_a_word_that_numbers_things_is_a_year(word: str) -> None:
    one, other = (TableName.parse(f"invoice_{word}_{year}") for year in (2022, 2023))
    assert one.stem == other.stem == ("invoice", word)
    assert (one.label, other.label) == ("2022", "2023")
    first, second = (TableName.parse(f"invoice_{word}_{number}") for number in (1, 2))
    assert first.stem != second.stem
    assert not first.slots


def test_lines_by_year_are_parts_of_one_table(tmp_path: Path) -> None:
    def lines(year: int) -> list[tuple[object, ...]]:
        return [
            (f"INV{year}-{n // 3:05}", n % 3 + 1, 7 * n % 90, round(1.37 * (n % 250), 2))
            for n in range(600)
        ]

    columns = ("invoice_no", "line_no", "article_no", "amount")
    tables = {f"invoice_line_{year}": (columns, lines(year)) for year in (2022, 2023, 2024)}
    with closing(sqlite3.connect(tmp_path / "billing.sqlite")) as db:
        for name, (header, rows) in tables.items():
            db.execute(f"CREATE TABLE {name} ({', '.join(header)})")
            db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
        db.commit()
    source = f"billing={tmp_path / 'billing.sqlite'}"
    catalog = dovetail.build(source, into=tmp_path / "catalog", settings=SETTINGS)
    assert roles(catalog) == {f"billing::{name}": "partition" for name in tables}
