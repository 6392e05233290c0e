"""The join graph of the sample corpus: planted joins, their evidence, paths and components."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from dovetail.domain import JoinEdge, TableId
from dovetail.errors import UsageError
from dovetail.joins.graph import JoinGraph, path_notes

# Joins that were planted in the sample corpus, noisy keys and keys in other sources among them.
PLANTED = """
shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no
shop.sqlite::order_items.product_id = shop.sqlite::products.product_id
shop.sqlite::orders.customer_ref = exports::shop_customers.customer_ref
exports::shop_customers.crm_code = shop.sqlite::accounts.account_code
shop.sqlite::orders.shipment_no = warehouse.duckdb::shipments.shipment_no
warehouse.duckdb::orders.school_id = civic.sqlite::schools.school_id
warehouse.duckdb::orders.supplier_id = warehouse.duckdb::suppliers.supplier_id
warehouse.duckdb::shipment_lines.sku = warehouse.duckdb::items.sku
civic.sqlite::meal_programs.school_code = civic.sqlite::schools.school_id
civic.sqlite::schools.district_code = civic.sqlite::districts.district_code
hospital.db::admissions.patient_id = hospital.db::patients.patient_id
hospital.db::lab_results.admission_id = hospital.db::admissions.admission_id
hospital.db::xref.a_id = hospital.db::admissions.admission_id
hospital.db::xref.b_id = hospital.db::diagnoses.diagnosis_id
lake::meter_readings.meter_id = city.duckdb::meters.meter_id
city.duckdb::meters.building_code = city.duckdb::buildings.building_code
lake::enrolments.student_no = lake::students.student_no
exports::members.student_no = lake::students.student_no
exports::loans.barcode = exports::copies.barcode
lake::t_rel_2.b_id = lake::group.group_id
warehouse.duckdb::map_07.a_id = warehouse.duckdb::suppliers.supplier_id
exports::lnk.b_id = exports::authors.author_no
"""


@pytest.fixture(scope="module")
def graph(sample: dovetail.Catalog) -> JoinGraph:
    return JoinGraph.of(sample.reader)


@pytest.mark.parametrize("line", PLANTED.split("\n")[1:-1])
def test_planted_joins_are_found(line: str, graph: JoinGraph) -> None:
    left, right = line.split(" = ")
    (table, column), (other, key) = left.rsplit(".", 1), right.rsplit(".", 1)
    best = graph.between(table, other)[0]
    assert (str(best.left), best.columns, str(best.right)) == (table, ((column, key),), other)
    assert best.score > 0.5


def test_chance_makes_few_joins(graph: JoinGraph) -> None:
    """Ids 1..n lie in each other by the hundred; hardly any becomes a join."""
    joins = [edge for edge in graph.edges if edge.score > 0.5]
    assert 60 <= len(joins) <= 95
    assert not graph.joins("recalls")


def test_an_edge_carries_its_evidence(graph: JoinGraph) -> None:
    (edge,) = graph.between("hospital.db::admissions", "hospital.db::patients")
    assert (edge.cardinality, edge.match_rate) == ("n:1", 0.97)
    assert edge.evidence["row_containment"] == 0.97
    assert edge.evidence["orphan"] == 0.03
    assert edge.evidence["uniqueness"] == 1.0
    assert edge.evidence["name"] == 1.0
    assert str(edge).endswith("hospital.db::patients.patient_id  (1.00)")
    written = edge.to_dict()
    assert written["match_rate"] == 0.97
    assert written["evidence"] == dict(edge.evidence)
    (profile, *_) = graph.between("school_profile", "schools")
    assert profile.cardinality == "1:1"


def test_paths_and_components(graph: JoinGraph) -> None:
    path = graph.path("suppliers", "districts")
    assert [str(edge.left) for edge in path] == [
        "warehouse.duckdb::orders",
        "warehouse.duckdb::orders",
        "civic.sqlite::schools",
    ]
    assert graph.path("recalls", "suppliers") == []
    assert graph.path("suppliers", "suppliers") == []
    components = graph.components()
    assert sum(map(len, components)) == 77
    assert len(components[0]) > 20
    assert graph.neighbours("tariffs") == [TableId("city.duckdb", "customers")]
    with pytest.raises(UsageError, match="say which: shop"):
        graph.joins("orders")


def joined(left: TableId, right: TableId, score: float = 1.0, **evidence: float) -> JoinEdge:
    return JoinEdge(left, right, (("x", "y"),), score, "n:1", 1.0, evidence)


def test_a_path_is_sure_and_short() -> None:
    a, b, c = (TableId("s", name) for name in "abc")
    direct, first, second = joined(a, c, 0.55), joined(a, b, 0.98), joined(b, c, 0.97)
    graph = JoinGraph([a, b, c], [first, second, direct])
    assert graph.path(a, c) == [first, second]
    assert graph.path(c, a) == [second, first]
    assert JoinGraph([a, b, c], [first, joined(b, c, 0.65), direct]).path(a, c) == [direct]


def test_a_path_goes_along_keys_and_not_through_what_everything_refers_to() -> None:
    """Orders and visits share a day, and are connected by customers through a longer path."""
    names = ("orders", "visits", "calendar", "customers", "cards")
    orders, visits, calendar, customers, cards = (TableId("s", name) for name in names)
    by_day = [joined(table, calendar, 0.99, fan_out=40.0, key=0.3) for table in (orders, visits)]
    bought = joined(orders, customers, 0.98, fan_out=3.0)
    held = joined(cards, customers, 0.98, fan_out=1.0)
    shown = joined(visits, cards, 0.98, fan_out=2.0)
    tables = (orders, visits, calendar, customers, cards)
    graph = JoinGraph(tables, [*by_day, bought, held, shown])
    assert graph.path(orders, visits) == [bought, held, shown]
    assert graph.path(visits, orders) == [shown, held, bought]
    only = JoinGraph(tables, by_day).path(orders, visits)
    assert only == by_day
    assert path_notes(only, orders) == [
        "orders and visits share nothing but calendar: rows meet wherever y is equal",
        "the join of calendar with visits multiplies rows by about 40",
    ]
    assert path_notes(graph.path(visits, cards), visits) == []


def test_rows_multiply_as_they_were_counted(tmp_path: Path) -> None:
    tables = {
        "depots": pa.table({"depot_no": [700 + 13 * n for n in range(30)]}),
        "trips": pa.table({"depot_no": [700 + 13 * (n % 30) for n in range(1200)]}),
    }
    graph = JoinGraph.of(dovetail.build(tables, into=tmp_path / "catalog").reader)
    (edge,) = graph.path("trips", "depots")
    assert (edge.fan_out(edge.left), edge.fan_out(edge.right)) == (1.0, 40.0)
    assert path_notes([edge], edge.left) == []
    said = ["the join of depots with trips multiplies rows by about 40"]
    assert path_notes([edge], edge.right) == said
