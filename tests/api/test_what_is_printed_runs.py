"""Every name, condition and query that `ask` gives back runs as it is, and every join is one."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import dovetail
from dovetail.domain import JoinEdge
from dovetail.domain.joins import join_sql
from dovetail.domain.schema import ddl
from dovetail.domain.sql import identifier, table_sql
from dovetail.domain.tables import DeclaredForeignKey
from dovetail.sample import write_company
from dovetail.serve.views import named_set
from dovetail.settings import Settings
from tests.support.command_line import run

QUESTIONS = (
    "Which suppliers delivered late to schools in Riverside?",
    "How did the order total develop from 2021 to 2023?",
    "How many open orders does each customer of the segment festival have?",
    "Which employees have a forklift licence?",
    "What is the total amount of invoices per customer?",
    "How many batches were brewed of each beer in 2023?",
    "Which products are in which orders, and at what price?",
    "List the customers without any orders.",
    "Average salary per department",
    "Which shipments are still open, and of which carrier?",
    "events per customer and month",
    "Which tap rooms sell the most beer?",
    "The ten latest orders with the customer's name and city",
    "What do suppliers charge for hops?",
    "school orders by district",
)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("company")
    sources = write_company(folder / "pile")
    return dovetail.build(*sources, into=folder / "catalog", settings=Settings(embedder="none"))


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_ask_gives_back_runs(company: dovetail.Catalog, question: str) -> None:
    found = company.ask(question)
    if not found:
        assert (found.skeleton, found.reading) == ("", "")
        return
    document = found.to_dict()
    names = [one["sql"] for one in document["tables"]]
    created = re.findall(r"^CREATE TABLE (\S+|\".*?\") \(", found.ddl(), re.MULTILINE)
    assert sorted(created) == sorted(names)
    for name, table in zip(names, found.ids, strict=True):
        counted = company.sql(f"SELECT count(*) AS n FROM {name}")
        assert counted.tables == (table,)
    for edge in found.joins:
        left, right = (found.called(end) for end in (edge.left, edge.right))
        on = edge.to_dict()["condition"]
        joined = company.sql(f"SELECT count(*) AS n FROM {left} JOIN {right} ON {on}")
        assert set(joined.tables) == {edge.left, edge.right}
    assert company.sql(found.skeleton).rows.num_columns > 0
    assert found.reading


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_join_is_the_same_wherever_it_is_shown(company: dovetail.Catalog, question: str) -> None:
    for edge in company.ask(question).joins:
        listed = {key(one): one for one in company.joins(edge.left, least=0)}
        assert key(edge) in listed
        assert (listed[key(edge)].score, listed[key(edge)].evidence) == (edge.score, edge.evidence)


def key(edge: JoinEdge) -> tuple[object, ...]:
    return edge.left, edge.right, edge.columns, edge.transform


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Orders of three years; those of the last, the largest, have some strangers."""
    folder = tmp_path_factory.mktemp("years")
    with sqlite3.connect(folder / "shop.sqlite") as database:
        database.execute("CREATE TABLE customers (customer_no TEXT, name TEXT)")
        database.executemany(
            "INSERT INTO customers VALUES (?, ?)", [(f"K{n:05}", f"Name {n}") for n in range(300)]
        )
        for year, size, strangers in ((2022, 200, 0), (2023, 250, 0), (2024, 400, 60)):
            database.execute(
                f"CREATE TABLE orders_{year} (order_no INT, customer_no TEXT, day TEXT)"
            )
            database.executemany(
                f"INSERT INTO orders_{year} VALUES (?, ?, ?)",
                [
                    (year * 1000 + n, f"K{n % 290 + (700 if n < strangers else 0):05}",
                     f"{year}-0{1 + n % 9}-01")
                    for n in range(size)
                ],
            )  # fmt: skip
    database.close()
    return dovetail.build(
        f"shop.sqlite={folder / 'shop.sqlite'}", into=folder / "catalog",
        settings=Settings(embedder="none"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "question", ["orders of customers", "orders of customers in 2024", "orders of 2022 by customer"]
)
def test_a_join_of_a_family_has_the_evidence_of_the_table_that_is_named(
    years: dovetail.Catalog, question: str
) -> None:
    edges = years.ask(question).joins
    assert edges
    for edge in edges:
        listed = {key(one): one for one in years.joins(edge.left, least=0)}
        assert listed[key(edge)].score == edge.score
        assert listed[key(edge)].match_rate == edge.match_rate
        assert edge.to_dict()["condition"] == edge.condition(years.reader.query_names.of(years.ids))


def test_ddl_runs_whatever_refers_to_what(tmp_path: Path) -> None:
    """Parents come first; a key that DuckDB would refuse is a remark, none is left out."""
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.executescript("""
            CREATE TABLE line (part INT REFERENCES part (id), boss INT REFERENCES line (id),
                               id INT PRIMARY KEY, note TEXT REFERENCES part (id),
                               n INT REFERENCES bin (n));
            CREATE TABLE part (id INT PRIMARY KEY, maker INT REFERENCES maker (id));
            CREATE TABLE maker (id INT PRIMARY KEY, best INT REFERENCES part (id));
            CREATE TABLE bin (n INT, a INT, b INT, PRIMARY KEY (a, b));
            CREATE TABLE slot (b INT, a INT, FOREIGN KEY (a, b) REFERENCES bin (a, b),
                               FOREIGN KEY (b, a) REFERENCES bin (b, a));
        """)
    catalog = dovetail.build(
        tmp_path / "shop.sqlite", into=tmp_path / "catalog", settings=Settings(embedder="none")
    )
    names = ("line", "part", "maker", "bin", "slot")
    written = ddl([catalog[name] for name in names])
    halves = [line.partition("--") for line in written.splitlines()]
    taken, remarked = (
        sorted(re.findall(r"REFERENCES (\w+)", " ".join(half)))
        for half in ([sql for sql, *_ in halves], [remark for *_, remark in halves])
    )
    assert taken == ["bin", "line", "maker", "part"]
    assert remarked == ["bin", "bin", "part", "part"]
    with duckdb.connect() as empty:
        empty.execute(written)
        assert {name for (name,) in empty.execute("SHOW TABLES").fetchall()} == set(names)


def test_ddl_over_several_schemas_runs(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "erp.duckdb") as database:
        database.execute("""
            CREATE SCHEMA sales; CREATE SCHEMA hr;
            CREATE TABLE hr.staff (id INT PRIMARY KEY, boss INT REFERENCES hr.staff (id));
            CREATE TABLE sales.customer (id INT PRIMARY KEY, rep INT);
            CREATE TABLE sales.visit (customer INT REFERENCES sales.customer (id));
            COMMENT ON COLUMN sales.customer.rep IS 'who calls';
        """)
    catalog = dovetail.build(
        tmp_path / "erp.duckdb", into=tmp_path / "catalog", settings=Settings(embedder="none")
    )
    customer = catalog["sales.customer"]
    key = DeclaredForeignKey(("rep",), "hr.staff", ("id",))  # other databases declare such keys
    keys = replace(customer.keys, foreign=(key,))
    tables = [replace(customer, keys=keys), catalog["hr.staff"], catalog["sales.visit"]]
    written = ddl(tables)
    assert 'rep INTEGER  -- REFERENCES hr.staff (id); "who calls"' in written
    assert "customer INTEGER REFERENCES sales.customer (id)" in written
    assert "boss INTEGER REFERENCES hr.staff (id)" in written
    with duckdb.connect() as empty:
        empty.execute("CREATE SCHEMA sales; CREATE SCHEMA hr;" + written)
        for table in tables:
            empty.execute(f"FROM {table.name}")


def test_a_join_is_held_against_rows(years: dovetail.Catalog) -> None:
    (edge,) = [one for one in years.joins("orders_2024", least=0) if one.right.name == "customers"]
    check = years.check_join(edge)
    assert (check.rows, check.matched, check.multiplied) == (400, 340, 1.0)
    assert check.matching == ("K00000", "K00001", "K00002")
    assert check.orphans == ("K00700", "K00701", "K00702")
    first = check.examples[0]
    assert first["orders_2024.customer_no"] == first["customers.customer_no"]
    (whole,) = [one for one in years.joins("orders_2022") if one.right.name == "customers"]
    assert years.check_join(whole).to_dict() | {"examples": []} == {
        "rows": 200, "matched": 200, "multiplied": 1.0,
        "matching": ["K00000", "K00001", "K00002"], "orphans": [], "examples": [],
    }  # fmt: skip
    shown = run("joins", "orders_2022", "customers", "-C", str(years.folder), "--json")
    assert json.loads(shown.stdout)["joins"][0]["check"]["matched"] == 200
    told = run("joins", "orders_2022", "customers", "-C", str(years.folder)).stdout
    assert "200 of 200 rows of orders_2022 find a partner, each about 1.0: K00000, K00001" in told


HOSTILE = (
    *("order", 'a"b; DROP TABLE x', "x.y.z.w", "a..b", "Customers", "größe", "--comment", "日本"),
    *("tab\tname", "a" * 300, "shop.customers", "it's", "a b.c d", "$1", "::", ".lead", "trail."),
)


@pytest.mark.slow
def test_hostile_names_run_and_mean_one_table_each(tmp_path: Path) -> None:
    piles = {
        "a/shop.sqlite": HOSTILE,
        "b/shop.sqlite": ("customers", "order", "a b.c d"),
        "erp.db": ("customers", "Order"),
    }
    for number, (path, names) in enumerate(piles.items()):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(tmp_path / path)) as connection:
            for name in names:
                connection.execute(
                    f'CREATE TABLE {identifier(name)} ("the key" TEXT, "select" INT)'
                )
                rows = [(str(key).zfill(6 + number), key % 7) for key in range(7000, 7050)]
                connection.executemany(f"INSERT INTO {identifier(name)} VALUES (?, ?)", rows)
            connection.commit()
    catalog = dovetail.build(
        *(str(tmp_path / path) for path in piles),
        into=tmp_path / "catalog",
        settings=Settings(embedder="none"),
    )
    called_by = catalog.reader.query_names
    assert len(catalog) == sum(map(len, piles.values()))
    for table in catalog:
        called = table_sql(called_by[table.id])
        answer = catalog.sql(f'SELECT count({called}."the key") AS n FROM {called}')
        assert (answer.tables, answer.to_arrow().to_pylist()) == ((table.id,), [{"n": 50}])
    for edge in catalog.joins():
        ends = [edge.left, edge.right]
        clause = join_sql(ends, [edge], names=called_by.of(ends))
        assert catalog.sql(f"SELECT count(*) AS n {clause}").to_arrow().to_pylist() == [{"n": 50}]


@pytest.mark.parametrize("name", ["purch.supplier", "a.b.c.d", "gate\nvisits", '"x"."y"', " odd "])
def test_native_sql_takes_odd_names_of_a_sqlite_file(tmp_path: Path, name: str) -> None:
    file, table = tmp_path / "odd.sqlite", identifier(name)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f'CREATE TABLE {table} (id INTEGER PRIMARY KEY, "net\n.sum" REAL)')
        connection.execute(f"CREATE TABLE part (part_no INTEGER, id INTEGER REFERENCES {table})")
        for n in range(30):
            connection.execute(f"INSERT INTO {table} VALUES ({n}, {n})")
            connection.execute(f"INSERT INTO part VALUES ({100 + n}, {n % 7})")
        connection.commit()
        settings = Settings(embedder="none")
        catalog = dovetail.build(file, into=tmp_path / "catalog", settings=settings)
        odd = next(one for one in catalog if one.name == name)
        given = named_set(catalog, "parts", ["part", str(odd.id)])
        total = {"table": str(odd.id), "column": "net\n.sum", "function": "sum"}
        for parts in ([total], [total, {"table": str(catalog["part"].id), "function": "count"}]):
            found = catalog.completed(given, {"select": parts})
            rows = catalog.sql(found.skeleton).tuples()
            assert rows == connection.execute(catalog.write_sql(found, dialect="sqlite")).fetchall()
        assert f"FROM {table}" in catalog.write_sql(
            catalog.completed(given, {"select": [total]}), dialect="sqlite"
        )


def test_native_sql_names_a_schema_that_is_quoted_in_full(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as database:
        database.execute(
            "CREATE SCHEMA b; CREATE TABLE b.c AS SELECT 1 AS x; "
            'CREATE TABLE "b.c" AS SELECT 2 AS x'
        )
    catalog = dovetail.build(
        tmp_path / "a.duckdb", into=tmp_path / "catalog", settings=Settings(embedder="none")
    )
    for table, rows in (('"b"."c"', [(1,)]), ('"main"."b.c"', [(2,)])):
        one = next(each for each in catalog if each.name == table)
        given = named_set(catalog, "x", [str(one.id)])
        found = catalog.completed(given, {"select": [{"table": str(one.id), "column": "x"}]})
        with duckdb.connect(tmp_path / "a.duckdb", read_only=True) as database:
            native = catalog.write_sql(found, dialect="duckdb")
            assert database.execute(native).fetchall() == rows


def test_a_join_is_listed_once_the_surer_way_round(company: dovetail.Catalog) -> None:
    listed = company.joins(least=0)
    both = [(frozenset(edge.condition().split(" = ")), edge.when) for edge in listed]
    every = [edge for edge in company.join_graph().edges if edge.score > 0]
    assert len(both) == len(set(both)) < len(every)
    for edge in every:
        (shown,) = {
            one.score
            for one in company.joins(edge.left, least=0)
            if {one.left, one.right} == {edge.left, edge.right}
            and one.transform == edge.transform and one.when == edge.when
            and set(one.columns) in ({*edge.columns}, {(b, a) for a, b in edge.columns})
        }  # fmt: skip
        assert shown >= edge.score


def test_what_finds_no_join_says_how_to_see_one(company: dovetail.Catalog) -> None:
    weak = next(
        edge
        for edge in company.joins(least=0)
        if edge.score < 0.5 and not company.path(edge.left, edge.right)
    )
    ends = str(weak.left), str(weak.right)
    for asked in (ends, ("--path", *ends)):
        said = run("joins", *asked, "-C", str(company.folder), COLUMNS="200")
        assert said.returncode == 1
        assert f"--least 0 shows one of {weak.score:.2f}" in " ".join(said.stderr.split())
        assert run("joins", *asked, "--least", "0", "-C", str(company.folder)).returncode == 0
    led = company.path("beers", "brewery::suppliers")
    said = run("joins", "beers", "brewery::suppliers", "-C", str(company.folder), COLUMNS="200")
    assert len(led) > 1
    assert said.stderr.rstrip().endswith("; --path shows a way")
