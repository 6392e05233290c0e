"""The query that a question seems to ask for, and how it was read: no model, and it runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import dovetail
from dovetail.errors import UsageError
from dovetail.retrieve.parts import UNITS
from dovetail.serve.query_parts import QueryParts
from dovetail.serve.views import named_set
from dovetail.settings import Settings

CITIES, STATES = ("Oslo", "Bergen", "Turku"), ("open", "paid", "cancelled")
JOINED = 'FROM "order"\nJOIN customer ON "order".customer_id = customer.customer_id'
CUSTOMERS = 'FROM customer\nJOIN "order" ON "order".customer_id = customer.customer_id'
MONTH, QUARTER = (f"CAST(date_trunc('{unit}', placed_on) AS DATE)" for unit in ("month", "quarter"))
BY_CUSTOMER = "GROUP BY customer.customer_id, customer.name"


@pytest.fixture(scope="module")
def festival(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Customers, their orders, and the tickets of these."""
    folder = tmp_path_factory.mktemp("festival")
    with sqlite3.connect(folder / "festival.sqlite") as database:
        database.executescript(
            """
            CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, name TEXT, city TEXT,
                segment TEXT, birth_date DATE);
            CREATE TABLE "order" (order_no INTEGER PRIMARY KEY, customer_id INTEGER
                REFERENCES customer, status TEXT, amount REAL, placed_on DATE);
            CREATE TABLE ticket (ticket_id INTEGER PRIMARY KEY, order_no INTEGER
                REFERENCES "order", stage TEXT, price REAL);
            """
        )
        database.executemany(
            "INSERT INTO customer VALUES (?, ?, ?, ?, ?)",
            [
                (n, f"Person {chr(65 + n % 26)}{n}", CITIES[n % 3], ("festival", "club")[n % 2],
                 f"19{60 + n}-03-0{1 + n % 9}")
                for n in range(1, 31)
            ],
        )  # fmt: skip
        database.executemany(
            'INSERT INTO "order" VALUES (?, ?, ?, ?, ?)',
            [
                (1000 + n, 1 + n % 27, STATES[n % 3], 10.5 * n, f"202{n % 5}-0{1 + n % 9}-11")
                for n in range(1, 101)
            ],
        )
        database.executemany(
            "INSERT INTO ticket VALUES (?, ?, ?, ?)",
            [(5000 + n, 1001 + n % 100, ("Main", "Forest")[n % 2], 20 + n % 7) for n in range(200)],
        )
    database.close()
    source = f"festival.sqlite={folder / 'festival.sqlite'}"
    return dovetail.build(source, into=folder / "catalog", settings=Settings(embedder="none"))


@pytest.mark.parametrize(
    ("question", "sql", "reading"),
    [
        (
            "How many orders are open?",
            "SELECT count(*)\nFROM \"order\"\nWHERE status = 'open'",
            "number of order whose status is open",
        ),
        (
            "Which customers are clubs?",
            "SELECT name\nFROM customer\nWHERE segment = 'club'",
            "name of customer whose segment is club",
        ),
        (
            "Which customers have which orders?",
            f'SELECT customer.name, "order".order_no\n{CUSTOMERS}',
            "name of customer, order_no of order",
        ),
        (
            "How many orders does each customer have?",
            f"SELECT count(*), customer.name\n{JOINED}\n{BY_CUSTOMER}",
            "number of order, name of customer, per customer",
        ),
        (
            "What is the average amount of orders per status?",
            'SELECT avg(amount), status\nFROM "order"\nGROUP BY status',
            "average amount, status of order, per status",
        ),
        (
            "orders per city of the customer",
            f"SELECT count(*), customer.city\n{JOINED}\nGROUP BY customer.city",
            "number of order, city of customer, per city",
        ),
        (
            "Show the name and city of the customers whose segment is festival, sorted by name.",
            "SELECT name, city\nFROM customer\nWHERE segment = 'festival'\nORDER BY name",
            "name, city of customer whose segment is festival, by name",
        ),
        (
            "Which customer has the most orders?",
            f"SELECT customer.name\n{CUSTOMERS}\n{BY_CUSTOMER}\nORDER BY count(*) DESC\nLIMIT 1",
            "name of customer, per name, by number of order, highest first, the first 1",
        ),
        (
            "Names of customers who have at least 4 orders",
            f"SELECT customer.name\n{CUSTOMERS}\n{BY_CUSTOMER}\nHAVING count(*) >= 4",
            "name of customer, per name, at least 4 rows each",
        ),
        (
            "Names of customers who have between 2 and 4 orders",
            f"SELECT customer.name\n{CUSTOMERS}\n{BY_CUSTOMER}\n"
            "HAVING count(*) >= 2 AND count(*) <= 4",
            "name of customer, per name, at least 2 rows each, at most 4 rows each",
        ),
        (
            "List the names of customers without any orders.",
            'SELECT name\nFROM customer\nWHERE NOT EXISTS (SELECT 1 FROM "order" WHERE '
            '"order".customer_id = customer.customer_id)',
            "name of customer without order",
        ),
        (
            "What is the total amount of orders placed in 2023?",
            "SELECT sum(amount)\nFROM \"order\"\nWHERE placed_on BETWEEN '2023-01-01' AND "
            "'2023-12-31'",
            "total amount of order whose placed_on is between 2023-01-01 and 2023-12-31",
        ),
        (
            "Top 3 orders by amount",
            'SELECT order_no\nFROM "order"\nORDER BY amount DESC\nLIMIT 3',
            "order_no of order, by amount, highest first, the first 3",
        ),
        (
            "What is the oldest order?",
            'SELECT order_no\nFROM "order"\nORDER BY placed_on\nLIMIT 1',
            "order_no of order, by placed_on, the first 1",
        ),
        (
            "What is the highest price of tickets?",
            "SELECT max(price)\nFROM ticket",
            "highest price of ticket",
        ),
        (
            "Orders with an amount above 500 or below 20",
            'SELECT order_no\nFROM "order"\nWHERE (amount > 500 OR amount < 20)',
            "order_no of order whose amount is above 500 or amount is below 20",
        ),
        (
            "orders whose amount is above average",
            'SELECT order_no\nFROM "order"\nWHERE amount > (SELECT avg(amount) FROM "order")',
            "order_no of order whose amount is above average",
        ),
        (
            "Which customers are from Oslo or Bergen?",
            "SELECT name\nFROM customer\nWHERE city IN ('Oslo', 'Bergen')",
            "name of customer whose city is Oslo or Bergen",
        ),
        (
            "Which customers are not from turku?",
            "SELECT name\nFROM customer\nWHERE city <> 'Turku'",
            "name of customer whose city is not Turku",
        ),
        (
            "Names of customers whose name contains 'M'",
            "SELECT name\nFROM customer\nWHERE name LIKE '%M%'",
            "name of customer whose name is like M",
        ),
        (
            "How many different stages are there?",
            "SELECT count(DISTINCT stage)\nFROM ticket",
            "number of stage of ticket",
        ),
        (
            "Wie viele Tickets gibt es pro Stage?",
            "SELECT count(*), stage\nFROM ticket\nGROUP BY stage",
            "number of ticket, stage of ticket, per stage",
        ),
        (
            "how many paid orders were placed",
            """SELECT count(*)\nFROM "order"\nWHERE status = 'paid'""",
            "number of order whose status is paid",
        ),
        (
            "customers over 50",
            "-- open: which column is above 50?\nSELECT name\nFROM customer",
            "name of customer",
        ),
        (
            "The 3 latest orders with the customer's name and city",
            f'SELECT "order".order_no, customer.name, customer.city\n{JOINED}\n'
            'ORDER BY "order".placed_on DESC\nLIMIT 3',
            "order_no of order, name, city of customer, by placed_on, highest first, the first 3",
        ),
        (
            "Which orders are paid, and for which amount?",
            "SELECT order_no, amount\nFROM \"order\"\nWHERE status = 'paid'",
            "order_no, amount of order whose status is paid",
        ),
        (
            "top 5 tickets by comfort",
            "-- open: what is 'comfort'?\nSELECT ticket_id\nFROM ticket\nLIMIT 5",
            "ticket_id of ticket, the first 5",
        ),
        (
            "How many orders were placed from 2021 to 2023?",
            'SELECT count(*)\nFROM "order"\n'
            "WHERE placed_on BETWEEN '2021-01-01' AND '2023-12-31'",
            "number of order whose placed_on is between 2021 and 2023",
        ),
        (
            "orders placed after 2022",
            "SELECT order_no\nFROM \"order\"\nWHERE placed_on > '2022-12-31'",
            "order_no of order whose placed_on is above 2022",
        ),
        (
            "How many open orders do the customers of the festival segment have?",
            f"SELECT count(*)\n{JOINED}\n"
            "WHERE \"order\".status = 'open' AND customer.segment = 'festival'",
            "number of order whose status is open, of customer whose segment is festival",
        ),
        (
            "orders per month",
            f'SELECT count(*), {MONTH}\nFROM "order"\nGROUP BY {MONTH}\nORDER BY {MONTH}',
            "number of order, month of placed_on of order, per month of placed_on, "
            "by month of placed_on",
        ),
        (
            "total amount of open orders by quarter",
            f"SELECT sum(amount), {QUARTER}\nFROM \"order\"\nWHERE status = 'open'\n"
            f"GROUP BY {QUARTER}\nORDER BY {QUARTER}",
            "total amount, quarter of placed_on of order whose status is open, "
            "per quarter of placed_on, by quarter of placed_on",
        ),
        (
            "names and segments of customers and the orders they have",
            f'SELECT customer.name, customer.segment, "order".order_no\n{CUSTOMERS}',
            "name, segment of customer, order_no of order",
        ),
        (
            "How many orders and tickets are there?",
            "-- open: what of 'tickets'?\nSELECT count(*)\nFROM \"order\"",
            "number of order",
        ),
        (
            "What is the youngest ticket?",
            "-- open: what is 'youngest'?\nSELECT ticket_id\nFROM ticket",
            "ticket_id of ticket",
        ),
    ],
)
def test_a_question_is_read(
    festival: dovetail.Catalog, question: str, sql: str, reading: str
) -> None:
    found = festival.ask(question)
    assert (found.skeleton, found.reading) == (sql, reading)
    assert festival.sql(found.skeleton).rows.num_columns > 0
    again = festival.completed(found, json.loads(json.dumps(found.parts)))
    assert (again.reading, again.parts) == (reading, {**found.parts, "open": []})
    written = sql.partition("SELECT")[1:] if sql.startswith("-- open") else (sql,)
    assert again.skeleton == "".join(written)


def test_parts_that_somebody_changed_are_written(festival: dovetail.Catalog) -> None:
    found = festival.ask("how many orders are open")
    source = found[0].source
    order, status = f"{source}::order", {"table": f"{source}::order", "column": "status"}
    parts = {
        "select": [status, {"table": order, "column": "amount", "function": "sum"}],
        "group": [status],
        "where": [{**status, "operator": "not in", "values": ["paid", "it's"]}],
        "order": [{"table": order, "column": "amount", "function": "sum", "down": True}],
        "limit": 2,
    }
    changed = festival.completed(found, parts)
    assert changed.skeleton == (
        "SELECT status, sum(amount)\nFROM \"order\"\nWHERE status NOT IN ('paid', 'it''s')\n"
        "GROUP BY status\nORDER BY sum(amount) DESC\nLIMIT 2"
    )
    assert changed.reading == (
        "status, total amount of order whose status is not paid or it's, per status, "
        "by total amount, highest first, the first 2"
    )
    rows = festival.sql(changed.skeleton).tuples()
    assert [row[0] for row in rows] == ["open", "cancelled"]
    total = parts["select"][1]  # type: ignore[index]
    for removed, end in (
        ({"select": [total]}, "GROUP BY status"),
        ({"select": [status, total], "group": []}, "GROUP BY status"),
        ({"select": [total], "group": []}, 'FROM "order"'),
        ({"select": []}, "LIMIT 100"),
    ):
        left = festival.completed(found, {"group": [status], **removed})
        assert left.skeleton.endswith(end)
        assert ("per status" in left.reading) == bool(left.parts["group"] and left.parts["select"])
        assert festival.sql(left.skeleton).rows.num_rows > 0
    named = {**status, "operator": "=", "values": ["average"]}
    assert "WHERE status = 'average'" in festival.completed(found, {"where": [named]}).skeleton
    for wrong, message in (
        ({"select": [{"table": "nowhere", "column": "a"}]}, "'nowhere' is no table of this set"),
        ({"select": [{"table": order, "column": "nme"}]}, "has no column 'nme'"),
        ({"select": [status | {"function": "evil"}]}, "there is no function 'evil'"),
        ({"group": [status | {"unit": "evil"}]}, "there is no unit 'evil'"),
    ):
        with pytest.raises(UsageError, match=message):
            festival.completed(found, wrong)


def test_sql_is_native_to_the_one_source(festival: dovetail.Catalog, tmp_path: Path) -> None:
    found = festival.ask("orders per city of the customer")
    sql = festival.write_sql(found, dialect="sqlite")
    assert '"order"."customer_id" = "customer"."customer_id"' in sql
    source = festival.reader.manifest.roots[0].location
    with sqlite3.connect(source) as database:
        rows = sorted(database.execute(sql))
    database.close()
    assert rows == sorted(
        tuple(row.values()) for row in festival.answer(found).to_arrow().to_pylist()
    )
    assert "FROM `order`" in festival.write_sql(found, dialect="mysql")
    (tmp_path / "branch.csv").write_text("city,manager\nOslo,Kari\nBergen,Ola\nTurku,Aino\n")
    mixed = dovetail.build(
        source, tmp_path / "branch.csv", into=tmp_path / "mixed", settings=Settings(embedder="none")
    )
    given = mixed.ask("customers of each branch manager")
    parts = [("branch", "manager"), ("customer", "name")]
    ids = {table.name: str(table.id) for table in given}
    listed = [{"table": ids[table], "column": column} for table, column in parts]
    spread = mixed.completed(given, {"select": listed})
    with pytest.raises(
        UsageError, match=r"the query reads 2 sources .* leave out --dialect postgres"
    ):
        mixed.write_sql(spread, dialect="postgres")
    alone = mixed.completed(named_set(mixed, "How many orders are open?", ["order", "branch"]))
    assert mixed.write_sql(alone, dialect="sqlite").startswith("SELECT\n  COUNT(*)\nFROM")


@pytest.mark.parametrize("unit", UNITS)
def test_times_are_native_to_the_source(festival: dovetail.Catalog, unit: str) -> None:
    found = festival.ask(f"orders per {unit}")
    with sqlite3.connect(festival.reader.manifest.roots[0].location) as database:
        rows = database.execute(festival.write_sql(found, dialect="sqlite")).fetchall()
    database.close()
    assert [(n, str(day)) for n, day in festival.sql(found.skeleton).tuples()] == rows
    written = {
        name: " ".join(festival.write_sql(found, dialect=name).split())
        for name in ("postgres", "mysql", "bigquery", "tsql", "oracle")
    }
    assert f"""DATE_TRUNC('{unit.upper()}', "placed_on")""" in written["postgres"]
    assert f"DATETRUNC({unit.upper()}, [placed_on])" in written["tsql"]
    named = {"week": "ISOWEEK"}.get(unit, unit.upper())
    assert f"DATE_TRUNC(`placed_on`, {named})" in written["bigquery"]
    named = dict(zip(UNITS, ("YYYY", "Q", "MM", "IW", "DD"), strict=True))[unit]
    assert f"""TRUNC("placed_on", '{named}')""" in written["oracle"]
    assert "TRUNC" not in written["mysql"]


@pytest.mark.parametrize(
    "question",
    [
        "names of customers containing '\x00'", "orders \ud800 per \ud800", "'; DROP TABLE a; --",
        "how many", "top 0 orders by amount", "between 5 and", "each each each", "order by order",
        "customers whose name contains '%'' OR 1=1'", f"top {'9' * 400} orders by amount",
        "customers with more than 99999999999999 orders", "customers with more than ٣ orders",
        "customers in either Oslo or club or open, and festival or Porto",
    ],
)  # fmt: skip
def test_whatever_is_asked_the_skeleton_runs(festival: dovetail.Catalog, question: str) -> None:
    found = festival.ask(question)
    assert not found or festival.sql(found.skeleton).rows.num_columns > 0


@pytest.mark.parametrize(
    ("question", "part", "kept", "told"),
    [
        ("customers without orders " * 60, "absent", 20, "more? (absent)"),
        ("customers with more than 3 orders and " * 60, "having", 10, "more? (having)"),
        ("top 2000000 orders by amount", "limit", 1_000_000, "what of more than 1,000,000 rows?"),
    ],
)
def test_a_query_has_no_more_of_a_part_than_is_taken_back(
    festival: dovetail.Catalog, question: str, part: str, kept: int, told: str
) -> None:
    found = festival.ask(question)
    held = found.parts[part]
    assert (held if part == "limit" else len(held)) == kept
    assert any(told in one for one in found.parts["open"])
    again = festival.completed(found, QueryParts.model_validate(found.parts).model_dump())
    assert again.parts[part] == held


# Companies whose tables have several columns that a threshold or a time could be meant of.
HOTELS = """
    CREATE TABLE hotel (hotel_id INTEGER PRIMARY KEY, name TEXT, opened_on DATE, rating REAL);
    CREATE TABLE guest (guest_id INTEGER PRIMARY KEY, name TEXT, birth_date DATE);
    CREATE TABLE stay (stay_id INTEGER PRIMARY KEY, hotel_id INTEGER REFERENCES hotel,
        guest_id INTEGER REFERENCES guest, booked_on DATE, arrival_date DATE, nights INTEGER);
"""
CARRIER = """
    CREATE TABLE depot (depot_code INTEGER PRIMARY KEY, depot_name TEXT, built_date DATE);
    CREATE TABLE parcel (parcel_no INTEGER PRIMARY KEY, depot_code INTEGER REFERENCES depot,
        created_at DATE, shipped_at DATE, delivered_at DATE, weight_kg REAL, postage REAL);
"""
INSURER = """
    CREATE TABLE broker (broker_id INTEGER PRIMARY KEY, broker_name TEXT, appointed_dt DATE);
    CREATE TABLE policy (policy_no INTEGER PRIMARY KEY, broker_id INTEGER REFERENCES broker,
        inception_dt DATE, expiry_dt DATE, premium REAL);
    CREATE TABLE surveyor (surveyor_id INTEGER PRIMARY KEY, surveyor_name TEXT, score REAL,
        hired_on DATE);
    CREATE TABLE survey (survey_id INTEGER PRIMARY KEY, surveyor_id INTEGER REFERENCES surveyor,
        findings TEXT);
"""
_OF: dict[str, Callable[[int], object]] = {
    "TEXT": lambda n: f"Name {chr(65 + n % 26)}{n}",
    "DATE": lambda n: f"202{n % 5}-0{1 + n % 9}-11",
}


@pytest.fixture(scope="module")
def companies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dovetail.Catalog]:
    """A catalog of each company, its tables with forty rows."""
    made = {}
    for schema in (HOTELS, CARRIER, INSURER):
        folder = tmp_path_factory.mktemp("company")
        with sqlite3.connect(folder / "erp.sqlite") as database:
            database.executescript(schema)
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
            for table in tables:
                kinds = [row[2] for row in database.execute(f"PRAGMA table_info({table})")]
                rows = [[_OF.get(kind, int)(n) for kind in kinds] for n in range(1, 41)]
                marks = ", ".join("?" * len(kinds))
                database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        database.close()
        settings = Settings(embedder="none")
        made[schema] = dovetail.build(
            folder / "erp.sqlite", into=folder / "catalog", settings=settings
        )
    return made


@pytest.mark.parametrize(
    ("schema", "question", "tables", "wanted"),
    [
        (HOTELS, "Which hotels are rated above 4 by guests?", "hotel guest stay", "rating > 4"),
        (CARRIER, "parcels weighing over 20 from each depot", "parcel depot", "weight_kg > 20"),
        (INSURER, "surveyors scored below 3 in surveys", "surveyor survey", "score < 3"),
        (HOTELS, "How many stays were booked in 2023?", "stay", "booked_on BETWEEN"),
        (HOTELS, "stays with arrival in 2023", "stay hotel", "arrival_date BETWEEN"),
        (HOTELS, "total nights per hotel in 2023", "stay hotel", "booked_on BETWEEN"),
        (HOTELS, "nights with births in 2023", "stay guest", "booked_on BETWEEN"),
        (HOTELS, "guests born after 1990", "guest", "birth_date > '1990-12-31'"),
        (CARRIER, "How many parcels were shipped in 2022?", "parcel", "shipped_at BETWEEN"),
        (CARRIER, "parcels delivered after 2022", "parcel", "delivered_at > '2022-12-31'"),
        (CARRIER, "total postage per depot name in 2022", "parcel depot", "shipped_at BETWEEN"),
        (INSURER, "Which policies expire in 2024?", "policy", "expiry_dt BETWEEN"),
        (
            INSURER,
            "policies that expire in July 2024 and their broker name",
            "policy broker",
            "expiry_dt BETWEEN '2024-07-01' AND '2024-07-31'",
        ),
        (INSURER, "brokers appointed in 2021", "broker policy", "appointed_dt BETWEEN"),
        (
            INSURER,
            "surveyors who have more than 4 surveys",
            "surveyor survey",
            "HAVING count(*) > 4",
        ),
    ],
)
def test_a_threshold_and_a_time_are_of_the_column_that_is_said(
    companies: dict[str, dovetail.Catalog], schema: str, question: str, tables: str, wanted: str
) -> None:
    catalog = companies[schema]
    found = named_set(catalog, question, tables.split())
    written = catalog.completed(found).skeleton
    assert wanted in written, written
    assert ("HAVING" in written) == ("HAVING" in wanted)
    assert catalog.sql(written).rows.num_columns > 0


@pytest.mark.parametrize(
    ("schema", "question", "tables", "wanted"),
    [
        (INSURER, "policies per year", "policy", "per year of which date: inception_dt of policy"),
        (INSURER, "total premium of policies that expire each day", "policy", "'day', expiry_dt"),
        (INSURER, "surveys per week", "survey", "per week of which date: there is none?"),
        (CARRIER, "number of parcels shipped each week", "parcel", "'week', shipped_at"),
        (CARRIER, "parcels per month delivered in 2023", "parcel", "'month', delivered_at"),
        (HOTELS, "yearly number of stays by booking", "stay hotel", "'year', booked_on"),
    ],
)
def test_rows_are_grouped_by_the_one_date_that_is_meant(
    companies: dict[str, dovetail.Catalog], schema: str, question: str, tables: str, wanted: str
) -> None:
    catalog = companies[schema]
    found = catalog.completed(named_set(catalog, question, tables.split()))
    assert wanted in found.skeleton
    assert ("GROUP BY" in found.skeleton) == ("-- open" not in found.skeleton)
    assert catalog.sql(found.skeleton).rows.num_columns > 0


def test_of_tables_of_one_name_the_one_that_joins_is_read(tmp_path: Path) -> None:
    for name, columns in (("crm", "order_no INT, note TEXT"), ("shop", "order_no INT, buyer INT")):
        with sqlite3.connect(tmp_path / f"{name}.sqlite") as database:
            database.execute(f"CREATE TABLE orders ({columns})")
            rows = [(n, 1 + n % 20) for n in range(40)]
            database.executemany("INSERT INTO orders VALUES (?, ?)", rows)
            if name == "shop":
                database.execute("CREATE TABLE buyers (buyer INTEGER PRIMARY KEY, name TEXT)")
                people = [(n, f"Person {n}") for n in range(1, 21)]
                database.executemany("INSERT INTO buyers VALUES (?, ?)", people)
        database.close()
    sources = [tmp_path / "crm.sqlite", tmp_path / "shop.sqlite"]
    catalog = dovetail.build(
        *sources, into=tmp_path / "catalog", settings=Settings(embedder="none")
    )
    tables = ["crm.sqlite::orders", "shop.sqlite::orders", "buyers"]
    found = catalog.completed(named_set(catalog, "orders per buyer", tables))
    assert "FROM shop.orders\nJOIN buyers" in found.skeleton


def test_a_join_by_a_table_that_is_not_spoken_of_is_open(festival: dovetail.Catalog) -> None:
    question = "Which customers have which tickets?"
    given = named_set(festival, question, ["customer", "order", "ticket"])
    assert "-- open" not in festival.completed(given).skeleton
    tables = tuple(
        replace(one, stage="connect", relevance=0.0) if one.name == "order" else one
        for one in given
    )
    found = festival.completed(replace(given, tables=tables))
    remark = "-- open: do customer and ticket belong together by order?"
    assert found.skeleton.startswith(f"{remark}\nSELECT customer.name, ticket.ticket_id")
    assert festival.completed(found, dict(found.parts)).skeleton == found.skeleton
    assert len(festival.sql(found.skeleton).rows) > 0


def test_a_time_of_nothing_that_happened_is_an_open_choice(
    companies: dict[str, dovetail.Catalog],
) -> None:
    catalog, tables = companies[INSURER], ["survey", "surveyor"]
    found = named_set(catalog, "survey findings in 2020 by surveyor name", tables)
    written = catalog.completed(found).skeleton
    assert written.startswith(
        "-- open: which column is between 2020-01-01 and 2020-12-31?\n"
        "-- open: what of 'surveyor name'?\nSELECT"
    )
    assert "WHERE" not in written
    found = named_set(catalog, "survey findings of surveyors hired in 2020", tables)
    assert "hired_on BETWEEN" in catalog.completed(found).skeleton


@pytest.mark.parametrize(
    ("question", "reading", "sql"),
    [
        (
            "Which suppliers delivered late to schools in Riverside?",
            "supplier_name of suppliers, of schools whose city is Riverside",
            "WHERE schools.city = 'Riverside'",
        ),
        ("Which products are desks?", "product_name is like desk", "ILIKE '%desk%'"),
        ("Which school orders are there?", "order_no of orders", "FROM warehouse.orders"),
    ],
)
def test_what_is_said_of_a_thing_is_its_own(
    sample: dovetail.Catalog, question: str, reading: str, sql: str
) -> None:
    found = sample.ask(question, selector="graph")
    assert reading in found.reading
    assert sql in found.skeleton
    assert len(sample.sql(found.skeleton).rows) > 0


def test_words_without_a_part_are_told(sample: dovetail.Catalog) -> None:
    found = sample.ask("Which suppliers delivered late to schools in Riverside?", selector="graph")
    assert found.skeleton.startswith("-- open: what is 'late'?\nSELECT")
    assert found.parts["open"] == ["what is 'late'?"]
    plain = sample.ask("Which districts have the most schools?", selector="graph")
    assert plain.parts["open"] == []


def test_the_slices_that_a_question_names_are_read_together(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.sqlite") as database:
        for year in (2021, 2022, 2023):
            database.execute(f"CREATE TABLE orders_{year} (order_no INT, paid REAL, at TIMESTAMP)")
            rows = [(year * 100 + n, 1.5 * n, f"{year}-12-{10 + n} 23:30:00") for n in range(22)]
            database.executemany(f"INSERT INTO orders_{year} VALUES (?, ?, ?)", rows)
    database.close()
    file = tmp_path / "shop.sqlite"
    catalog = dovetail.build(file, into=tmp_path / "catalog", settings=Settings(embedder="none"))
    given = named_set(catalog, "orders from 2021 to 2022", ["orders_2021", "orders_2022"])
    found = catalog.completed(given)
    assert found.reading.startswith("order_no of orders_2021 with orders_2022")
    answer = catalog.sql(found.skeleton)
    assert (len(answer.rows), len(answer.tables)) == (44, 2)


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("until 2023", range(10, 32)),
        ("before December 2023", range(0)),
        ("after November 2023", range(10, 32)),
        ("after 2023-12-20", range(21, 32)),
        ("before 2023-12-20", range(10, 20)),
        ("up to 2023-12-20", range(10, 21)),
        ("since 2023-12-20", range(20, 32)),
        ("on 2023-12-20", range(20, 21)),
        ("from 2022 to 2023", range(10, 32)),
    ],
)
def test_a_time_has_its_first_and_its_last_day(
    december: dovetail.Catalog, asked: str, days: range
) -> None:
    found = december.completed(named_set(december, f"orders {asked}", ["orders"]))
    rows = december.sql(found.skeleton).rows
    assert sorted(rows.column("order_no").to_pylist()) == list(days)


@pytest.fixture(scope="module")
def december(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Orders of the evenings of some days of December 2023."""
    folder = tmp_path_factory.mktemp("december")
    lines = [f"{day},2023-12-{day} 23:30:00" for day in range(10, 32)]
    (folder / "orders.csv").write_text("\n".join(("order_no,at", *lines)))
    return dovetail.build(
        folder / "orders.csv", into=folder / "catalog", settings=Settings(embedder="none")
    )
