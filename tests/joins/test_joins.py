"""Join evidence on real tables: scores, their reasons, the graph, the cache and the bench."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.bench.datasets import open_dataset
from dovetail.bench.joins import bench_joins
from dovetail.domain import JoinEdge, TableId
from dovetail.errors import NotFoundError, UsageError
from dovetail.joins.cache import FOLDER, join_edges, work_out
from dovetail.joins.column_arrays import Lake
from dovetail.joins.graph import JoinGraph
from dovetail.joins.inclusion.candidates import between
from dovetail.joins.naming.name_words import core, entity, refers
from dovetail.joins.scoring import foreign_key
from dovetail.joins.scoring.registry import SCORINGS, scoring
from dovetail.offline.build import update

# Joins that were planted in the sample corpus, dirty keys and sources apart among them.
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
"""


@pytest.fixture(scope="module")
def graph(sample: dovetail.Catalog) -> JoinGraph:
    return JoinGraph.of(sample)


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
    assert 60 <= len(joins) <= 85
    assert not graph.joins("recalls")


def test_an_edge_carries_its_evidence(graph: JoinGraph) -> None:
    (edge,) = graph.between("hospital.db::admissions", "hospital.db::patients")
    assert (edge.cardinality, edge.survive) == ("n:1", 0.97)
    assert edge.evidence["row_containment"] == 0.97
    assert edge.evidence["orphan"] == 0.03
    assert edge.evidence["uniqueness"] == 1.0
    assert edge.evidence["name"] == 1.0
    assert str(edge).endswith("hospital.db::patients.patient_id  (1.00)")
    (profile, *_) = graph.between("school_profile", "schools")
    assert profile.cardinality == "1:1"


def test_scores_do_not_depend_on_the_order_or_labels_of_tables(sample: dovetail.Catalog) -> None:
    lake = Lake.of(sample)
    order = np.random.default_rng(5).permutation(len(lake.ids))
    place = np.argsort(order)
    columns = np.concatenate([np.flatnonzero(lake.table == table) for table in order])
    shuffled = replace(
        lake,
        ids=[TableId("elsewhere", lake.ids[table].name) for table in order],
        rows=lake.rows[order],
        table=place[lake.table[columns]],
        position=lake.position[columns],
        name=[lake.name[column] for column in columns],
        number=lake.number[columns],
        filled=lake.filled[columns],
        distinct=lake.distinct[columns],
        unique=lake.unique[columns],
        key=lake.key[columns],
        low=lake.low[columns],
        high=lake.high[columns],
        vectors=[lake.vectors[column] for column in columns],
        counts=[lake.counts[column] for column in columns],
    )

    def scores(of: Lake, back: list[int]) -> dict[tuple[int, int], float]:
        edges, _ = foreign_key.keylike(of)
        pairs = zip(edges.candidates.child, edges.candidates.parent, edges.score, strict=True)
        return {(back[child], back[parent]): round(float(s), 9) for child, parent, s in pairs}

    assert scores(shuffled, columns.tolist()) == scores(lake, list(range(len(lake))))


def test_equal_rivals_share_the_odds(tmp_path: Path) -> None:
    """Two look-alike databases: each child prefers its own, or the doubt is kept."""
    for name in ("north", "south"):
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as connection:
            connection.execute("CREATE TABLE customer (customer_id INTEGER, name TEXT)")
            connection.execute("CREATE TABLE orders (order_id INTEGER, customer_id INTEGER)")
            rows = [(n, f"{name} {n}") for n in range(1, 31)]
            connection.executemany("INSERT INTO customer VALUES (?, ?)", rows)
            refs = [(n, n % 30 + 1) for n in range(1, 61)]
            connection.executemany("INSERT INTO orders VALUES (?, ?)", refs)
            connection.commit()
    catalog = dovetail.build(str(tmp_path / "north.sqlite"), into=tmp_path / "one")
    alone = JoinGraph.of(catalog).between("orders", "customer")[0].score
    both = dovetail.build(*map(str, tmp_path.glob("*.sqlite")), into=tmp_path / "two")
    edges = [edge for edge in JoinGraph.of(both).edges if edge.left.name == "orders"]
    scores = [edge.score for edge in edges if edge.columns == (("customer_id", "customer_id"),)]
    assert alone > 0.9
    assert len(scores) == 4
    assert max(scores) == min(scores) < alone


@pytest.mark.parametrize(
    ("column", "table", "low", "high"),
    [
        ("customer_id", "customers", 1.0, 1.0),
        ("cust_no", "Customers", 0.6, 0.9),
        ("dept", "tbl_department", 0.4, 0.7),
        ("created_by_staff", "staff", 0.6, 1.0),
        ("account_type", "account", 0.0, 0.4),
        ("city", "country", 0.0, 0.2),
        ("id", "customers", 0.0, 0.0),
        ("StuID", "Student", 0.7, 0.9),
    ],
)
def test_names_refer_as_people_mean_them(column: str, table: str, low: float, high: float) -> None:
    assert low <= refers(core(column), entity(table)) <= high


def test_every_scoring_gives_edges_from_zero_to_one(sample: dovetail.Catalog) -> None:
    for known in SCORINGS:
        edges = join_edges(sample, known.name)
        assert edges
        assert all(0 <= edge.score <= 1 for edge in edges)
        assert edges == sorted(edges, key=lambda edge: -edge.score)
    with pytest.raises(
        UsageError, match="scoring 'best' is not known; there are: keylike, paper, jar"
    ):
        scoring("best")


def test_paper_scoring_by_hand(tmp_path: Path) -> None:
    """Equations 1-4: valid pairs score half jaccard, half header overlap; others nothing."""
    (tmp_path / "city.csv").write_text("city_id\n1\n2\n3\n4\n")
    (tmp_path / "shop.csv").write_text("city_id,size\n1\n".replace("1\n", "1,9\n1,8\n2,7\n"))
    catalog = dovetail.build(str(tmp_path), into=tmp_path / ".catalog")
    (edge,) = join_edges(catalog, "paper")
    assert edge.columns == (("city_id", "city_id"),)
    # Values: {1, 2} in {1, 2, 3, 4}. Headers: {shop, city, id} and {city, id} share both words.
    assert edge.score == 0.5 * (2 / 4) + 0.5 * 1.0


def test_paths_and_groups(graph: JoinGraph) -> None:
    way = graph.path("suppliers", "districts")
    assert [str(edge.left) for edge in way] == [
        "warehouse.duckdb::orders",
        "warehouse.duckdb::orders",
        "civic.sqlite::schools",
    ]
    assert graph.path("recalls", "suppliers") == []
    assert graph.path("suppliers", "suppliers") == []
    groups = graph.groups()
    assert sum(map(len, groups)) == 77
    assert len(groups[0]) > 20
    assert graph.neighbours("tariffs") == [TableId("city.duckdb", "customers")]
    with pytest.raises(UsageError, match="say which: shop"):
        graph.joins("orders")


def test_the_surest_way_is_the_greatest_product() -> None:
    a, b, c = (TableId("s", name) for name in "abc")

    def edge(left: TableId, right: TableId, score: float) -> JoinEdge:
        return JoinEdge(left, right, (("x", "y"),), score, "n:1", 1.0, {})

    direct, first, second = edge(a, c, 0.6), edge(a, b, 0.9), edge(b, c, 0.8)
    graph = JoinGraph([a, b, c], [first, second, direct])
    assert graph.path(a, c) == [first, second]
    assert graph.path(c, a) == [second, first]
    assert JoinGraph([a, b, c], [first, edge(b, c, 0.65), direct]).path(a, c) == [direct]


def test_hierarchies_are_edges_of_a_table_with_itself(graph: JoinGraph) -> None:
    own = {(edge.left.name, edge.columns) for edge in graph.edges if edge.left == edge.right}
    assert own == {
        ("staff", (("manager_id", "staff_id"),)),
        ("people", (("supervisor_no", "person_no"),)),
        ("people", (("mentor_no", "person_no"),)),
        ("group", (("parent_id", "group_id"),)),
    }
    (edge,) = graph.between("staff", "staff")
    assert edge.evidence["depth"] >= 1
    assert graph.neighbours("staff") == [TableId("civic.sqlite", "schools")]


def test_bridges_are_told_by_their_key(graph: JoinGraph) -> None:
    sides = {
        table.name: sorted(e.right.name for e in edges) for table, edges in graph.bridges().items()
    }
    assert sides["xref"] == ["admissions", "diagnoses"]
    assert sides["stock"] == ["items", "warehouses"]
    assert sides["stops"] == ["lines", "stations"]
    assert "order_items" not in sides


def shipments(folder: Path, *, dirty: bool = False) -> Path:
    """Lines of a shipment, known by shipment and line; parcels refer to both."""
    path = folder / "freight.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE shipment_line (shipment TEXT, line INTEGER, weight REAL)")
        connection.execute("CREATE TABLE parcel (parcel_no INTEGER, shipment TEXT, line INTEGER)")
        lines = [(f"S{n:03d}", line, n / 7) for n in range(40) for line in range(1, n % 4 + 2)]
        connection.executemany("INSERT INTO shipment_line VALUES (?, ?, ?)", lines)
        parcels = [(n, *lines[n * 7 % len(lines)][:2]) for n in range(300)]
        if dirty:
            parcels = [(n, shipment, line % 4 + 1) for n, shipment, line in parcels]
        connection.executemany("INSERT INTO parcel VALUES (?, ?, ?)", parcels)
        connection.commit()
    return path


def test_keys_of_two_columns_are_found_where_neither_is_unique(tmp_path: Path) -> None:
    catalog = dovetail.build(str(shipments(tmp_path)), into=tmp_path / "catalog")
    (edge,) = JoinGraph.of(catalog).between("parcel", "shipment_line")
    assert edge.columns == (("shipment", "shipment"), ("line", "line"))
    assert (edge.evidence["composite"], edge.evidence["row_containment"]) == (2.0, 1.0)
    assert edge.score > 0.5
    assert (edge.cardinality, edge.survive) == ("n:1", 1.0)


def test_a_key_of_two_columns_that_fills_its_grid_is_told_by_names(graph: JoinGraph) -> None:
    """Every train runs every day, so values prove nothing; but only `runs` has them for its key."""
    for name in ("ticket_sales", "störungen"):
        (edge,) = graph.between(name, "runs")
        assert edge.columns == (("train_no", "train_no"), ("run_date", "run_date"))
        assert edge.evidence["value"] == 0
    assert graph.between("ticket_sales", "störungen") == []


def test_columns_that_fit_alone_but_not_together_are_no_key(tmp_path: Path) -> None:
    catalog = dovetail.build(str(shipments(tmp_path, dirty=True)), into=tmp_path / "catalog")
    assert JoinGraph.of(catalog).between("parcel", "shipment_line") == []


def test_without_its_source_a_catalog_still_gives_the_joins_of_one_column(
    corpus: tuple[Path, ...], tmp_path: Path
) -> None:
    copy = tmp_path / "civic.sqlite"
    shutil.copy(next(path for path in corpus if path.name == "civic.sqlite"), copy)
    catalog = update([str(copy)], into=tmp_path / "catalog", joins=False, search=False).catalog
    copy.unlink()
    graph = JoinGraph.of(catalog)
    assert graph.between("schools", "districts")[0].score > 0.5
    assert graph.bridges() == {}
    assert not (catalog.path / FOLDER).exists()  # what is incomplete is not kept


def test_evidence_is_kept_and_found_again(corpus: tuple[Path, ...], tmp_path: Path) -> None:
    shop = next(path for path in corpus if path.name == "shop.sqlite")
    copy = tmp_path / "shop.sqlite"
    shutil.copy(shop, copy)
    catalog = dovetail.build(f"shop={copy}", into=tmp_path / "catalog")
    first = join_edges(catalog)
    (file,) = (catalog.path / FOLDER).glob("*.parquet")
    assert join_edges(dovetail.open(catalog.path)) == first
    assert work_out(catalog) == first

    file.write_bytes(b"broken")
    assert join_edges(catalog) == first

    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE order_items SET product_id = product_id + 100000")
        connection.commit()
    changed = dovetail.build(f"shop={copy}", into=tmp_path / "catalog")
    updated = join_edges(changed)
    rebuilt = join_edges(dovetail.build(f"shop={copy}", into=tmp_path / "rebuilt"))
    assert updated == rebuilt != first
    assert len(list((catalog.path / FOLDER).glob("*.parquet"))) == 1  # the other was forgotten


def test_tables_without_values_are_joined_by_names_alone_and_never_surely(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "plan.sqlite")) as connection:
        connection.execute("CREATE TABLE building (building_key TEXT, street TEXT)")
        connection.execute("CREATE TABLE room (room_key TEXT, building_key TEXT, size INTEGER)")
        connection.execute("CREATE TABLE visit (visit_id INTEGER, room_key INTEGER)")
        connection.execute("INSERT INTO building VALUES ('B1', 'High'), ('B2', 'Low')")
        connection.execute("INSERT INTO room VALUES ('R1', 'B7', 3), ('R2', 'B8', 4)")
        connection.execute("INSERT INTO visit VALUES (1, 100), (2, 200)")
        connection.commit()
    catalog = dovetail.build(str(tmp_path / "plan.sqlite"), into=tmp_path / "catalog")
    (edge,) = JoinGraph.of(catalog).edges
    assert (edge.left.name, edge.right.name) == ("room", "building")
    assert edge.columns == (("building_key", "building_key"),)
    assert (edge.score, edge.survive) == (0.141851, 0.0)
    assert edge.evidence == {"names_only": 1.0, "odds": -1.8, "rivals": 0.0}


def test_what_was_not_looked_at_can_be_asked_for(sample: dovetail.Catalog) -> None:
    """Silent names and ids 1..n: no edge, but the pair can still be weighed."""
    lake = Lake.of(sample)
    one, other = (lake.ids.index(TableId("exports", name)) for name in ("lnk", "titles"))
    assert JoinGraph.of(sample).between(lake.ids[one], lake.ids[other]) == []
    found = between(lake, one, other)
    pairs = {(lake.name[c], lake.name[p]) for c, p in zip(found.child, found.parent, strict=True)}
    assert ("a_id", "title_no") in pairs
    assert foreign_key.local_scores(lake, found).max() < 0.5


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A corpus of two databases with one declared key each, one of them broken by its values."""
    keys = []
    for name, shift in (("alpha", 0), ("beta", 1000)):
        folder = tmp_path / "data" / "databases" / name
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
            connection.execute(f"CREATE TABLE {name}_author (author_id INTEGER, born INTEGER)")
            connection.execute(f"CREATE TABLE {name}_book (book_id INTEGER, author_id INTEGER)")
            connection.execute(f"CREATE TABLE {name}_none (x INTEGER)")
            authors = [(n, 1900 + n) for n in range(1, 21)]
            connection.executemany(f"INSERT INTO {name}_author VALUES (?, ?)", authors)
            books = [(n, n % 20 + 1 + shift) for n in range(1, 41)]
            connection.executemany(f"INSERT INTO {name}_book VALUES (?, ?)", books)
            connection.commit()
        keys.append(
            {
                "db_id": name,
                "table": f"{name}_book",
                "column": "author_id",
                "ref_table": f"{name}_author",
                "ref_column": "author_id",
            }
        )
    (tmp_path / "data" / "foreign_keys.json").write_text(json.dumps(keys))
    return tmp_path / "data"


def test_the_bench_counts_what_it_says(dataset: Path) -> None:
    result = bench_joins(open_dataset(dataset), "keylike")
    assert (result["tables"], result["empty_tables"], result["columns"]) == (6, 2, 10)
    within = result["within"]
    assert (within["pairs"], within["gold"], result["all"]["pairs"]) == (2, 2, 6)
    assert (within["recall"], within["precision"], within["column_pair"]) == (0.5, 1.0, 0.5)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is no dataset: it has no databases"):
        open_dataset(tmp_path)
