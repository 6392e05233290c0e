"""Key domains: the columns that hold the same identifiers, their masters, and what lacks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from dovetail.domain import JoinEdge
from dovetail.joins.domains import KeyDomains
from tests.support.command_line import run

NUMBERS = [41_000 + 37 * number for number in range(120)]


@pytest.fixture(scope="module")
def pile(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """An ERP with orders by year, a shop that writes its customers' numbers otherwise, a backup."""
    folder = tmp_path_factory.mktemp("pile")
    with closing(sqlite3.connect(folder / "erp.sqlite")) as erp, erp:
        erp.execute("CREATE TABLE customers (customer_no INTEGER, town TEXT)")
        erp.executemany("INSERT INTO customers VALUES (?, ?)", [(n, f"t{n % 7}") for n in NUMBERS])
        erp.execute("CREATE TABLE customers_bak_2021 AS SELECT * FROM customers")
        for year in (2021, 2022, 2023):
            erp.execute(f"CREATE TABLE orders_{year} (order_no INTEGER, customer_no INTEGER)")
            rows = [(year * 10_000 + 17 * n, NUMBERS[n * 7 % 120]) for n in range(200)]
            erp.executemany(f"INSERT INTO orders_{year} VALUES (?, ?)", rows)
        erp.execute("CREATE TABLE order_lines (order_no INTEGER, price REAL)")
        lines = [(y * 10_000 + 17 * n, n / 3) for y in (2021, 2022, 2023) for n in range(200)] * 2
        erp.executemany("INSERT INTO order_lines VALUES (?, ?)", lines)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE account (account_id TEXT, client_code TEXT)")
        accounts = [
            (f"A-{n * 31 % 977:05d}-X", f"C-{number}") for n, number in enumerate(NUMBERS[:90])
        ]
        lost = [(f"A-{n:05d}-Y", f"C-{90_001 + n}") for n in range(3)]
        shop.executemany("INSERT INTO account VALUES (?, ?)", accounts + lost)
    sources = [f"{name}.sqlite={folder / name}.sqlite" for name in ("erp", "shop")]
    return dovetail.build(*sources, into=folder / "catalog")


def test_a_domain_has_the_columns_of_all_systems_and_one_master(pile: dovetail.Catalog) -> None:
    (domain,) = pile.domains("account")
    assert (domain.name, str(domain.master)) == (
        "customer numbers",
        "erp.sqlite::customers.customer_no",
    )
    assert {str(column) for column in domain.columns} >= {
        "erp.sqlite::customers.customer_no",
        "erp.sqlite::orders_2022.customer_no",
        "shop.sqlite::account.client_code",
    }
    account = next(c for c in domain.columns if c.table.name == "account")
    assert account.refers_to == (domain.master.table, "customer_no")
    assert (account.transform, account.missing) == ("prefix", 3)
    assert account.match_rate == pytest.approx(90 / 93, abs=1e-6)
    assert set(account.examples) <= {"C-90001", "C-90002", "C-90003"}
    assert domain.masters.keys() == {"erp.sqlite"}


def test_the_backup_is_no_master(pile: dovetail.Catalog) -> None:
    referred = {edge.right.name for edge in pile.joins() if edge.left.name.startswith("orders")}
    assert referred == {"customers"}


def test_headers_by_year_are_referred_to_together(pile: dovetail.Catalog) -> None:
    edges = {e.right.name: e for e in pile.joins("order_lines") if e.left.name == "order_lines"}
    assert edges.keys() == {"orders_2021", "orders_2022", "orders_2023"}
    for edge in edges.values():
        assert edge.columns == (("order_no", "order_no"),)
        assert edge.match_rate == pytest.approx(1 / 3, abs=1e-6)
        assert edge.evidence["part"] == 1
        assert edge.evidence["orphan"] == 0


def test_headers_by_year_are_one_master_together(pile: dovetail.Catalog) -> None:
    (domain,) = pile.domains("order_lines")
    parts = [f"erp.sqlite::orders_{year}.order_no" for year in (2021, 2022, 2023)]
    assert [f"{table}.{name}" for table, name in domain.master.parts] == parts
    assert (domain.name, domain.master.together) == (
        "order numbers",
        "erp.sqlite::orders_2021.order_no and 2 more parts",
    )
    (lines,) = (column for column in domain.columns if column.table.name == "order_lines")
    assert (lines.match_rate, lines.missing) == (1.0, 0)
    told = run("domains", "order_lines", "-C", str(pile.folder)).stdout
    assert "made in erp::orders_2021.order_no and 2 more parts" in " ".join(told.split())
    assert "order_no: order numbers, made here" in pile.show("orders_2023")["domains"]


def test_lines_of_years_without_a_header_are_told(tmp_path: Path) -> None:
    numbers = [[year * 1_000 + 7 * n for n in range(60)] for year in (2021, 2022)]
    tables = {
        f"orders_{2021 + at}": pa.table({"order_no": each, "kg": [1.5] * 60})
        for at, each in enumerate(numbers)
    }
    every = [*numbers[0], *numbers[1], 90_001, 90_002]
    tables["lines"] = pa.table({"order_no": every * 2, "price": [2.5] * 244})
    (domain,) = dovetail.build(tables, into=tmp_path / "catalog").domains("lines")
    (lines,) = (column for column in domain.columns if column.table.name == "lines")
    assert (lines.missing, lines.match_rate) == (2, 0.98361)


def test_a_column_that_refers_to_its_own_table_says_so(tmp_path: Path) -> None:
    numbers = [70_000 + 13 * n for n in range(80)]
    tables = {
        "employee": pa.table(
            {"employee_id": numbers, "manager_id": [numbers[n // 9] for n in range(80)]}
        ),
        "shift": pa.table(
            {"shift": [f"S{n}" for n in range(200)], "employee_id": (numbers * 3)[:200]}
        ),
    }
    (domain,) = dovetail.build(tables, into=tmp_path / "catalog").domains()
    assert domain.master.name == "employee_id"
    manager = next(column for column in domain.columns if column.name == "manager_id")
    assert manager.refers_to == (domain.master.table, "employee_id")


def test_parts_that_share_their_keys_are_states_of_one_table(tmp_path: Path) -> None:
    numbers = pa.array(NUMBERS)
    tables = {f"stock_{year}": pa.table({"bin_no": numbers}) for year in (2021, 2022)}
    tables["moves"] = pa.table({"bin_no": NUMBERS * 3, "kg": [1.5] * 360})
    edges = dovetail.build(tables, into=tmp_path / "catalog").joins(least=0.0)
    assert not [edge for edge in edges if edge.evidence.get("part")]


def test_a_key_that_is_a_day_refers_to_its_calendar(tmp_path: Path) -> None:
    keys = [20_240_000 + 100 * month + day for month in range(1, 13) for day in range(1, 29)]
    tables = {
        "dim_date": pa.table({"date_key": keys, "week": [n // 7 for n in range(len(keys))]}),
        "sales": pa.table({"date_key": [keys[n * 5 % 300] for n in range(900)], "sum": [2] * 900}),
    }
    (edge,) = dovetail.build(tables, into=tmp_path / "catalog").joins()
    assert (edge.left.name, edge.right.name, edge.evidence["calendar"]) == ("sales", "dim_date", 0)


@pytest.mark.parametrize("first", [2, 3])
def test_an_update_with_another_part_is_a_rebuild(tmp_path: Path, first: int) -> None:
    """Parts come and go; the joins are those of a catalog made anew."""
    folder = tmp_path / "lake"
    folder.mkdir()

    def write(name: str, numbers: list[int], column: str) -> None:
        lines = [f"{number},{number % 13}" for number in numbers]
        (folder / f"{name}.csv").write_text("\n".join([f"{column},kg", *lines]) + "\n")

    years = [[year * 1_000 + 7 * n for n in range(60)] for year in range(2020, 2025)]
    for at, numbers in enumerate(years[:first]):
        write(f"orders_{2020 + at}", numbers, "order_no")
    write("lines", [number for numbers in years[:first] for number in numbers] * 2, "order_no")
    catalog = dovetail.build(folder, into=tmp_path / "catalog")
    for step in range(3):
        if step == 0:
            write(f"orders_{2020 + first}", years[first], "order_no")
        elif step == 1:
            (folder / f"orders_{2020 + first}.csv").unlink()
        else:
            write("orders_2021", years[1][:50] * 2, "order_no")
        catalog = dovetail.build(folder, into=tmp_path / "catalog")
        fresh = dovetail.build(folder, into=tmp_path / f"fresh{step}")
        edges = list(catalog.join_graph().edges)
        assert edges == list(fresh.join_graph().edges)
        assert any(edge.evidence.get("part") for edge in edges) == (step < 2)


def test_the_command_tells_them(pile: dovetail.Catalog) -> None:
    told = run("domains", "account", "-C", str(pile.folder)).stdout
    assert "customer numbers: " in told
    shown = run("show", "account", "-C", str(pile.folder)).stdout
    line = "client_code: customer numbers, made in erp::customers.customer_no"
    assert line in shown.replace("\n", " ")
    assert pile.show("account")["domains"][0].startswith(line.replace("erp::", "erp.sqlite::"))
    assert "3 of them without a partner" in pile.show("account")["domains"][0]
    assert "made in erp::customers.customer_no" in told
    document = json.loads(run("domains", "-C", str(pile.folder), "--json").stdout)
    assert {domain["name"] for domain in document["domains"]} >= {
        "customer numbers",
        "order numbers",
    }
    (account,) = [
        column
        for domain in document["domains"]
        for column in domain["columns"]
        if column["table"] == "shop.sqlite::account"
    ]
    assert account["after"] == "after stripping prefixes, punctuation and leading zeros"
    assert account["values_without_partner"] == 3


def test_of_two_masters_the_declared_primary_key_goes_first(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE main (id INTEGER PRIMARY KEY); CREATE TABLE card (id INTEGER);
            CREATE TABLE sale (x INTEGER); CREATE TABLE visit (x INTEGER);
            INSERT INTO main VALUES (1), (2); INSERT INTO card VALUES (1), (2);
            INSERT INTO sale VALUES (1), (2); INSERT INTO visit VALUES (1), (2);
        """)
    catalog = dovetail.build(tmp_path / "shop.sqlite", into=tmp_path / "catalog")
    ids = {table.name: table for table in catalog.ids}
    edges = [
        JoinEdge(ids[child], ids[parent], (("x", "id"),), 0.9, "n:1", 1.0, {})
        for child, parent in (("sale", "card"), ("sale", "main"), ("visit", "card"))
    ]
    (domain,) = KeyDomains(catalog.reader, edges).of()
    assert domain.master.table.name == "main"
