"""The sample corpus: what is in it, and that every planted fact holds."""

import csv
import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from dovetail_bench.corpora import write_corpus

LONG_NAME = (
    "regulatory_compliance_annual_statement_of_network_losses_by_feeder_and_voltage_level_revised"
)


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A table as its file holds it."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def column(self, name: str) -> list[Any]:
        position = self.columns.index(name)
        return [row[position] for row in self.rows]

    def keys(self, *names: str) -> list[tuple[Any, ...]]:
        return list(zip(*(self.column(name) for name in names), strict=True))


Corpus = dict[tuple[str, str], ReadBack]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read_sqlite(path: Path) -> dict[str, ReadBack]:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = {}
        for (name,) in names:
            cursor = connection.execute(f"SELECT * FROM {quoted(name)}")
            found[name] = ReadBack([each[0] for each in cursor.description], cursor.fetchall())
        return found


def read_duckdb(path: Path) -> dict[str, ReadBack]:
    with duckdb.connect(path, read_only=True) as connection:
        found = {}
        for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            cursor = connection.execute(f"SELECT * FROM {quoted(name)}")
            found[name] = ReadBack([each[0] for each in cursor.description], cursor.fetchall())
        return found


def read_file(path: Path) -> ReadBack:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return ReadBack(table.column_names, rows)
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return ReadBack(list(records[0]), [tuple(record.values()) for record in records])
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        return ReadBack(header, [tuple(line) for line in lines])


def read_back(sources: tuple[Path, ...]) -> Corpus:
    corpus: Corpus = {}
    for source in sources:
        if source.is_dir():
            tables = {path.stem: read_file(path) for path in sorted(source.iterdir())}
        elif source.suffix == ".duckdb":
            tables = read_duckdb(source)
        elif source.suffix == ".jsonl":
            tables = {source.stem: read_file(source)}
        else:
            tables = read_sqlite(source)
        corpus |= {(source.name, name): table for name, table in tables.items()}
    return corpus


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def corpus(sources: tuple[Path, ...]) -> Corpus:
    return read_back(sources)


def test_sources_are_the_files_and_folders_written(sources: tuple[Path, ...]) -> None:
    assert [source.name for source in sources] == [
        "city.duckdb",
        "civic.sqlite",
        "events.jsonl",
        "exports",
        "hospital.db",
        "lake",
        "shop.sqlite",
        "warehouse.duckdb",
    ]
    below = sources[0].parent
    assert sorted(path.suffix for path in (below / "exports").iterdir()) == [".csv"] * 9 + [".tsv"]
    assert {path.suffix for path in (below / "lake").iterdir()} == {".parquet"}
    assert sorted(below.iterdir()) == list(sources)


def test_seventy_seven_tables(corpus: Corpus) -> None:
    assert len(corpus) == 77
    sizes = [len(table.rows) for table in corpus.values()]
    assert 15_000 <= sum(sizes) <= 25_000
    assert max(sizes) == len(corpus["lake", "meter_readings"].rows) == 2000


JOINS = [
    ("civic.sqlite/schools", "district_code", "civic.sqlite/districts", "district_code"),
    ("civic.sqlite/buildings", "school_id", "civic.sqlite/schools", "school_id"),
    ("civic.sqlite/test_scores", "school_id", "civic.sqlite/schools", "school_id"),
    ("civic.sqlite/staff", "school_id", "civic.sqlite/schools", "school_id"),
    ("civic.sqlite/staff", "manager_id", "civic.sqlite/staff", "staff_id"),
    ("civic.sqlite/events", "school_id", "civic.sqlite/schools", "school_id"),
    ("civic.sqlite/school_profile", "school_id", "civic.sqlite/schools", "school_id"),
    ("civic.sqlite/stops", "line_no", "civic.sqlite/lines", "line_no"),
    ("civic.sqlite/stops", "station_code", "civic.sqlite/stations", "station_code"),
    ("civic.sqlite/RollingStock", "depotStation", "civic.sqlite/stations", "station_code"),
    ("civic.sqlite/runs", "line_no", "civic.sqlite/lines", "line_no"),
    ("civic.sqlite/runs", "carNo", "civic.sqlite/RollingStock", "carNo"),
    ("civic.sqlite/runs", "status", "civic.sqlite/status", "code"),
    ("civic.sqlite/ticket_sales", "from_station", "civic.sqlite/stations", "station_code"),
    ("civic.sqlite/ticket_sales", "to_station", "civic.sqlite/stations", "station_code"),
    ("hospital.db/people", "ward_code", "hospital.db/wards", "ward_code"),
    ("hospital.db/people", "supervisor_no", "hospital.db/people", "person_no"),
    ("hospital.db/admissions", "ward_code", "hospital.db/wards", "ward_code"),
    ("hospital.db/admissions", "attending_no", "hospital.db/people", "person_no"),
    ("hospital.db/xref", "a_id", "hospital.db/admissions", "admission_id"),
    ("hospital.db/xref", "b_id", "hospital.db/diagnoses", "diagnosis_id"),
    ("hospital.db/lab_results", "admission_id", "hospital.db/admissions", "admission_id"),
    ("hospital.db/lab_results", "test_code", "hospital.db/lab_tests", "test_code"),
    ("shop.sqlite/group", "parent_id", "shop.sqlite/group", "group_id"),
    ("shop.sqlite/products", "group", "shop.sqlite/group", "group_id"),
    ("shop.sqlite/products", "sku", "warehouse.duckdb/items", "sku"),
    ("shop.sqlite/order_items", "order_no", "shop.sqlite/orders", "order_no"),
    ("shop.sqlite/order_items", "product_id", "shop.sqlite/products", "product_id"),
    ("shop.sqlite/orders", "status", "shop.sqlite/status", "status"),
    ("shop.sqlite/orders", "customer_ref", "exports/shop_customers", "customer_ref"),
    ("shop.sqlite/orders", "shipment_no", "warehouse.duckdb/shipments", "shipment_no"),
    ("exports/shop_customers", "crm_code", "shop.sqlite/accounts", "account_code"),
    ("events.jsonl/events", "customer_ref", "exports/shop_customers", "customer_ref"),
    ("events.jsonl/events", "sku", "shop.sqlite/products", "sku"),
    ("warehouse.duckdb/map_07", "a_id", "warehouse.duckdb/suppliers", "supplier_id"),
    ("warehouse.duckdb/map_07", "b_id", "warehouse.duckdb/items", "item_id"),
    ("warehouse.duckdb/stock", "wh_code", "warehouse.duckdb/warehouses", "wh_code"),
    ("warehouse.duckdb/stock", "sku", "warehouse.duckdb/items", "sku"),
    ("warehouse.duckdb/shipments", "wh_code", "warehouse.duckdb/warehouses", "wh_code"),
    ("warehouse.duckdb/shipment_lines", "shipment_no", "warehouse.duckdb/shipments", "shipment_no"),
    ("warehouse.duckdb/orders", "supplier_id", "warehouse.duckdb/suppliers", "supplier_id"),
    ("warehouse.duckdb/orders", "school_id", "civic.sqlite/schools", "school_id"),
    ("warehouse.duckdb/orders", "sku", "warehouse.duckdb/items", "sku"),
    ("city.duckdb/units", "building_code", "city.duckdb/buildings", "building_code"),
    ("city.duckdb/r_17", "a_id", "city.duckdb/units", "unit_id"),
    ("city.duckdb/r_17", "b_id", "city.duckdb/people", "person_ref"),
    ("city.duckdb/leases", "unit_id", "city.duckdb/units", "unit_id"),
    ("city.duckdb/leases", "tenant_ref", "city.duckdb/people", "person_ref"),
    ("city.duckdb/leases", "owner's ref", "city.duckdb/people", "person_ref"),
    ("city.duckdb/listings", "unit_id", "city.duckdb/units", "unit_id"),
    ("city.duckdb/listings", "agent_ref", "city.duckdb/people", "person_ref"),
    ('city.duckdb/value "as is"', "building_code", "city.duckdb/buildings", "building_code"),
    ("city.duckdb/owners' meetings", "building_code", "city.duckdb/buildings", "building_code"),
    ("city.duckdb/customers", "tariff_code", "city.duckdb/tariffs", "tariff_code"),
    ("city.duckdb/meters", "customer_no", "city.duckdb/customers", "customer_no"),
    ("city.duckdb/meters", "building_code", "city.duckdb/buildings", "building_code"),
    ("city.duckdb/meters", "feeder_no", "city.duckdb/feeders", "feeder_no"),
    ("city.duckdb/invoices", "meter_id", "city.duckdb/meters", "meter_id"),
    ("city.duckdb/2024_outages", "feeder_no", "city.duckdb/feeders", "feeder_no"),
    (f"city.duckdb/{LONG_NAME}", "feeder_no", "city.duckdb/feeders", "feeder_no"),
    ("lake/meter_readings", "meter_id", "city.duckdb/meters", "meter_id"),
    ("exports/lnk", "a_id", "exports/titles", "title_no"),
    ("exports/lnk", "b_id", "exports/authors", "author_no"),
    ("exports/copies", "call_no", "exports/titles", "call_no"),
    ("exports/copies", "branch_code", "exports/branches", "branch_code"),
    ("exports/loans", "barcode", "exports/copies", "barcode"),
    ("exports/loans", "member_no", "exports/members", "member_no"),
    ("exports/events", "branch_code", "exports/branches", "branch_code"),
    ("exports/members", "student_no", "lake/students", "student_no"),
    ("lake/departments", "head_no", "lake/people", "person_no"),
    ("lake/people", "dept_code", "lake/departments", "dept_code"),
    ("lake/people", "mentor_no", "lake/people", "person_no"),
    ("lake/courses", "dept_code", "lake/departments", "dept_code"),
    ("lake/offerings", "course_no", "lake/courses", "course_no"),
    ("lake/offerings", "lecturer_no", "lake/people", "person_no"),
    ("lake/students", "major", "lake/departments", "dept_code"),
    ("lake/enrolments", "student_no", "lake/students", "student_no"),
    ("lake/group", "course_no", "lake/courses", "course_no"),
    ("lake/t_rel_2", "a_id", "lake/students", "student_no"),
    ("lake/t_rel_2", "b_id", "lake/group", "group_id"),
]
DOUBLED = ("city.duckdb/people", "person_ref")


def at(corpus: Corpus, address: str) -> ReadBack:
    source, name = address.split("/", 1)
    return corpus[source, name]


@pytest.mark.parametrize(("child", "reference", "parent", "key"), JOINS)
def test_references_resolve(
    corpus: Corpus, child: str, reference: str, parent: str, key: str
) -> None:
    # CSV has no types, so keys are compared as written.
    keys = [str(value) for value in at(corpus, parent).column(key)]
    references = {
        str(value) for value in at(corpus, child).column(reference) if value not in (None, "")
    }
    assert references
    assert references - set(keys) == set()
    if (parent, key) != DOUBLED:
        assert len(keys) == len(set(keys))


def test_no_file_declares_a_key(sources: tuple[Path, ...]) -> None:
    for source in sources:
        if source.suffix in (".sqlite", ".db"):
            with closing(sqlite3.connect(source)) as connection:
                ddl = connection.execute("SELECT group_concat(sql) FROM sqlite_master").fetchone()[
                    0
                ]
            assert "KEY" not in ddl
            assert "UNIQUE" not in ddl
        elif source.suffix == ".duckdb":
            with duckdb.connect(source, read_only=True) as connection:
                assert connection.execute("SELECT * FROM duckdb_constraints()").fetchall() == []


def test_admissions_have_three_percent_orphans(corpus: Corpus) -> None:
    patients = set(corpus["hospital.db", "patients"].column("patient_id"))
    references = corpus["hospital.db", "admissions"].column("patient_id")
    orphans = [patient for patient in references if patient not in patients]
    assert (len(orphans), len(references)) == (21, 700)


def test_eight_percent_of_lab_results_have_no_admission(corpus: Corpus) -> None:
    stays = corpus["hospital.db", "lab_results"].column("admission_id")
    assert (stays.count(None), len(stays)) == (88, 1100)


def test_school_numbers_are_text_against_integers(corpus: Corpus) -> None:
    codes = corpus["civic.sqlite", "meal_programs"].column("school_code")
    ids = corpus["civic.sqlite", "schools"].column("school_id")
    assert {type(code) for code in codes} == {str}
    assert {type(school_id) for school_id in ids} == {int}
    assert set(codes).isdisjoint(ids)
    assert {int(code) for code in codes} == set(ids) == set(range(101, 191))


def test_shipment_lines_drift_in_case_and_blanks(corpus: Corpus) -> None:
    skus = set(corpus["warehouse.duckdb", "items"].column("sku"))
    scanned = corpus["warehouse.duckdb", "shipment_lines"].column("sku")
    drifted = [sku for sku in scanned if sku not in skus]
    assert len(drifted) == round(0.06 * len(scanned))
    assert any(sku.endswith("  ") for sku in drifted)
    assert any(sku.islower() for sku in drifted)
    assert {sku.strip().upper() for sku in drifted} <= skus


def test_six_people_are_registered_twice(corpus: Corpus) -> None:
    people = corpus["city.duckdb", "people"]
    phones = defaultdict(set)
    for ref, phone in people.keys("person_ref", "phone"):
        phones[ref].add(phone)
    assert len(people.rows) == 246
    assert len(phones) == 240
    assert [len(numbers) for numbers in phones.values() if len(numbers) > 1] == [2] * 6


@pytest.mark.parametrize(
    ("address", "columns"),
    [
        ("civic.sqlite/runs", ("train_no", "run_date")),
        ("civic.sqlite/stops", ("line_no", "order")),
        ("civic.sqlite/test_scores", ("school_id", "school_year", "subject")),
        ("lake/offerings", ("term", "course_no")),
        ("lake/enrolments", ("student_no", "term", "course_no")),
        ("lake/meter_readings", ("meter_id", "read_at")),
        ("warehouse.duckdb/stock", ("wh_code", "sku")),
        ("warehouse.duckdb/shipment_lines", ("shipment_no", "line_no")),
        ('city.duckdb/value "as is"', ("building_code", "valued_on")),
        ("hospital.db/xref", ("a_id", "b_id")),
    ],
)
def test_a_composite_key_is_unique_only_in_combination(
    corpus: Corpus, address: str, columns: tuple[str, ...]
) -> None:
    table = at(corpus, address)
    count = len(table.rows)
    assert len(set(table.keys(*columns))) == count
    for left_out in columns:
        rest = [column for column in columns if column != left_out]
        assert len(set(table.keys(*rest))) < count


@pytest.mark.parametrize(
    ("child", "parent", "columns"),
    [
        ("civic.sqlite/ticket_sales", "civic.sqlite/runs", ("train_no", "run_date")),
        ("civic.sqlite/störungen", "civic.sqlite/runs", ("train_no", "run_date")),
        ("lake/enrolments", "lake/offerings", ("term", "course_no")),
    ],
)
def test_composite_references_resolve(
    corpus: Corpus, child: str, parent: str, columns: tuple[str, ...]
) -> None:
    assert set(at(corpus, child).keys(*columns)) <= set(at(corpus, parent).keys(*columns))


def test_empty_tables_empty_columns_and_a_single_row(corpus: Corpus) -> None:
    empty = {address for address, table in corpus.items() if not table.rows}
    assert empty == {
        ("civic.sqlite", "closure_orders"),
        ("hospital.db", "allergies_reported"),
        ("warehouse.duckdb", "recalls"),
        ("exports", "fines waived"),
    }
    assert corpus["exports", "fines waived"].columns == ["loan_no", "waived_on", "amount"]
    assert set(corpus["shop.sqlite", "accounts"].column("fax")) == {None}
    assert set(corpus["city.duckdb", "buildings"].column("demolished_on")) == {None}
    single = [address for address, table in corpus.items() if len(table.rows) == 1]
    assert single == [("city.duckdb", "system_settings")]


def test_names_collide_across_sources_with_different_columns(corpus: Corpus) -> None:
    holders = defaultdict(list)
    for source, name in corpus:
        holders[name].append(source)
    assert {name: sorted(held) for name, held in holders.items() if len(held) > 1} == {
        "buildings": ["city.duckdb", "civic.sqlite"],
        "events": ["civic.sqlite", "events.jsonl", "exports"],
        "group": ["lake", "shop.sqlite"],
        "orders": ["shop.sqlite", "warehouse.duckdb"],
        "people": ["city.duckdb", "hospital.db", "lake"],
        "status": ["civic.sqlite", "shop.sqlite"],
    }
    for name, held in holders.items():
        assert len({tuple(corpus[source, name].columns) for source in held}) == len(held)


@pytest.mark.parametrize(
    ("address", "column"),
    [
        ("exports/branches", "straße"),
        ("warehouse.duckdb/items", "型号"),
        ("civic.sqlite/störungen", "minutes_lost"),
        ("civic.sqlite/stops", "order"),
        ("civic.sqlite/RollingStock", "carNo"),
        ("shop.sqlite/products", "select"),
        ("shop.sqlite/products", "group"),
        ("shop.sqlite/group", "group_name"),
        ("shop.sqlite/order_items", "discount %"),
        ("hospital.db/admissions", "reason for stay"),
        ("city.duckdb/buildings", "geo.lat"),
        ("city.duckdb/units", 'size "net"'),
        ("city.duckdb/units", "occupancy %"),
        ("city.duckdb/leases", "owner's ref"),
        ('city.duckdb/value "as is"', "appraised"),
        ("city.duckdb/owners' meetings", "topic"),
        ("city.duckdb/2024_outages", "cause"),
        (f"city.duckdb/{LONG_NAME}", "loss %"),
    ],
)
def test_awkward_names_hold_values(corpus: Corpus, address: str, column: str) -> None:
    values = at(corpus, address).column(column)
    assert any(value not in (None, "") for value in values)


def test_typed_columns_keep_their_types(corpus: Corpus) -> None:
    city = {name: table for (source, name), table in corpus.items() if source == "city.duckdb"}
    assert city["tariffs"].rows[0] == ("T-ECO", "Eco Saver", "electricity", Decimal("7.90"), 0.241)
    assert set(city['value "as is"'].column("valued_on")) == {
        date(2020, 1, 1),
        date(2022, 1, 1),
        date(2024, 1, 1),
    }
    assert set(city["listings"].column("sold")) == {True, False}
    photos = [photo for photo in city["listings"].column("photo") if photo is not None]
    assert {photo[:3] for photo in photos} == {b"\xff\xd8\xff"}
    features = [json.loads(text) for text in city["listings"].column("features")]
    assert {tuple(each) for each in features} == {("balcony", "parking")}
    pages = corpus["events.jsonl", "events"].column("page")
    assert {page["referrer"] for page in pages} == {"search", "mail", "direct"}


def test_junction_tables_link_many_to_many(corpus: Corpus) -> None:
    for address in [
        ("hospital.db", "xref"),
        ("exports", "lnk"),
        ("warehouse.duckdb", "map_07"),
        ("city.duckdb", "r_17"),
        ("lake", "t_rel_2"),
    ]:
        junction = corpus[address]
        assert junction.columns[:2] == ["a_id", "b_id"]
        for side in ("a_id", "b_id"):
            assert max(Counter(junction.column(side)).values()) > 1
        assert len(set(junction.keys("a_id", "b_id"))) == len(junction.rows)


def test_order_totals_are_the_sum_of_their_lines(corpus: Corpus) -> None:
    sums: dict[int, Decimal] = defaultdict(Decimal)
    lines = corpus["shop.sqlite", "order_items"]
    for order_no, qty, price, discount in lines.keys("order_no", "qty", "unit_price", "discount %"):
        paid = qty * Decimal(str(price)) * (100 - discount) / 100
        sums[order_no] += paid.quantize(Decimal("0.01"))
    totals = dict(corpus["shop.sqlite", "orders"].keys("order_no", "total"))
    assert {order_no: float(total) for order_no, total in sums.items()} == totals


def test_the_headline_question_has_an_answer(sources: tuple[Path, ...]) -> None:
    """Which suppliers delivered late to schools in Riverside?"""
    below = sources[0].parent
    city_of = dict(read_sqlite(below / "civic.sqlite")["schools"].keys("school_id", "city"))
    with duckdb.connect(below / "warehouse.duckdb", read_only=True) as connection:
        late = connection.execute(
            "SELECT school_id, supplier_name FROM orders JOIN suppliers USING (supplier_id)"
            " WHERE delivered_on > due_on"
        ).fetchall()
    suppliers = {name for school, name in late if city_of[school] == "Riverside"}
    assert 1 <= len(suppliers) < len({name for _, name in late})
