"""Keys beyond one column with values: composite, self-references, names alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.joins.graph import JoinGraph
from dovetail.offline.pipeline import update
from dovetail.settings import Settings


@pytest.fixture(scope="module")
def graph(sample: dovetail.Catalog) -> JoinGraph:
    return JoinGraph.of(sample.reader)


def test_self_references_are_edges_of_a_table_with_itself(graph: JoinGraph) -> None:
    own = {(edge.left.name, edge.columns) for edge in graph.edges if edge.left == edge.right}
    assert own == {
        ("staff", (("manager_id", "staff_id"),)),
        ("people", (("supervisor_no", "person_no"),)),
        ("people", (("mentor_no", "person_no"),)),
        ("group", (("parent_id", "group_id"),)),
    }
    assert graph.neighbours("staff") == [TableId("civic.sqlite", "schools")]


def shipments(folder: Path, *, noisy: bool = False) -> Path:
    """Lines of a shipment, known by shipment and line; parcels refer to both."""
    path = folder / "freight.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE shipment_line (shipment TEXT, line INTEGER, weight REAL)")
        connection.execute("CREATE TABLE parcel (parcel_no INTEGER, shipment TEXT, line INTEGER)")
        lines = [(f"S{n:03d}", line, n / 7) for n in range(40) for line in range(1, n % 4 + 2)]
        connection.executemany("INSERT INTO shipment_line VALUES (?, ?, ?)", lines)
        parcels = [(n, *lines[n * 7 % len(lines)][:2]) for n in range(300)]
        if noisy:
            parcels = [(n, shipment, line % 4 + 1) for n, shipment, line in parcels]
        connection.executemany("INSERT INTO parcel VALUES (?, ?, ?)", parcels)
        connection.commit()
    return path


def test_keys_of_two_columns_are_found_where_neither_is_unique(tmp_path: Path) -> None:
    catalog = dovetail.build(str(shipments(tmp_path)), into=tmp_path / "catalog")
    (edge,) = JoinGraph.of(catalog.reader).between("parcel", "shipment_line")
    assert edge.columns == (("shipment", "shipment"), ("line", "line"))
    assert (edge.evidence["composite"], edge.evidence["row_containment"]) == (2.0, 1.0)
    assert edge.score > 0.5
    assert (edge.cardinality, edge.match_rate) == ("n:1", 1.0)


def test_a_key_of_two_columns_that_fills_its_grid_is_told_by_names(graph: JoinGraph) -> None:
    """Every train runs every day, so values prove nothing; but only `runs` has them for its key."""
    for name in ("ticket_sales", "störungen"):
        (edge,) = graph.between(name, "runs")
        assert edge.columns == (("train_no", "train_no"), ("run_date", "run_date"))
        assert edge.evidence["value"] == 0
    assert graph.between("ticket_sales", "störungen") == []


def test_columns_that_fit_alone_but_not_together_are_no_key(tmp_path: Path) -> None:
    catalog = dovetail.build(str(shipments(tmp_path, noisy=True)), into=tmp_path / "catalog")
    assert JoinGraph.of(catalog.reader).between("parcel", "shipment_line") == []


def test_tables_without_values_are_joined_by_names_alone_and_hardly_surely(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "plan.sqlite")) as connection:
        connection.execute("CREATE TABLE building (building_key TEXT, street TEXT)")
        connection.execute("CREATE TABLE room (room_key TEXT, building_key TEXT, size INTEGER)")
        connection.execute("CREATE TABLE visit (visit_id INTEGER, room_key INTEGER)")
        connection.execute("INSERT INTO building VALUES ('B1', 'High'), ('B2', 'Low')")
        connection.execute("INSERT INTO room VALUES ('R1', 'B7', 3), ('R2', 'B8', 4)")
        connection.execute("INSERT INTO visit VALUES (1, 100), (2, 200)")
        connection.commit()
    path = str(tmp_path / "plan.sqlite")
    catalog = dovetail.build(path, into=tmp_path / "catalog")
    (edge,) = JoinGraph.of(catalog.reader).edges
    assert (edge.left.name, edge.right.name) == ("room", "building")
    assert edge.columns == (("building_key", "building_key"),)
    assert (edge.score, edge.match_rate) == (0.524979, 0.0)
    assert edge.evidence == {"names_only": 1.0, "logit": 0.1}
    pooled = dovetail.build(path, into=tmp_path / "pool", settings=Settings(join_sources=False))
    assert not list(JoinGraph.of(pooled.reader).edges)


def test_names_say_which_table_is_meant_where_all_are_empty(tmp_path: Path) -> None:
    """A key need not stand first, words in front that tables share do not count, copies lose."""
    schema = """
        CREATE TABLE net_ports (project TEXT, id TEXT, status TEXT);
        CREATE TABLE net_port_bindings (port_id TEXT, host TEXT, agent_id TEXT);
        CREATE TABLE net_agents (id TEXT, kind TEXT);
        CREATE TABLE net_agents_bak (id TEXT, kind TEXT);
        CREATE TABLE net_routers (id TEXT, gateway_port_id TEXT, name TEXT);
        CREATE TABLE words (word TEXT, weight_id TEXT);
    """
    with closing(sqlite3.connect(tmp_path / "net.sqlite")) as connection:
        connection.executescript(schema)
    catalog = dovetail.build(str(tmp_path / "net.sqlite"), into=tmp_path / "catalog")
    found = {
        (edge.left.name, *edge.columns[0], edge.right.name)
        for edge in JoinGraph.of(catalog.reader).edges
    }
    assert found == {
        ("net_port_bindings", "port_id", "id", "net_ports"),
        ("net_port_bindings", "agent_id", "id", "net_agents"),
        ("net_routers", "gateway_port_id", "id", "net_ports"),
    }


def test_a_family_of_tables_with_hardly_any_rows_costs_little_and_says_nothing(
    tmp_path: Path,
) -> None:
    """Every two columns tell five rows apart: there are 4,060 ways for each two of the tables."""
    path = tmp_path / "family.sqlite"
    width, tables = 30, 40
    with closing(sqlite3.connect(path)) as connection:
        for number in range(tables):
            columns = ", ".join(f"measure{chr(97 + at % 26)}{at} INTEGER" for at in range(width))
            connection.execute(f"CREATE TABLE survey_{chr(97 + number % 26)}{number} ({columns})")
            rows = [[(row * (at + 1)) % 4 for at in range(width)] for row in range(5)]
            marks = ", ".join("?" * width)
            connection.executemany(
                f"INSERT INTO survey_{chr(97 + number % 26)}{number} VALUES ({marks})", rows
            )
        connection.commit()
    catalog = update(
        [str(path)], into=tmp_path / "catalog", settings=Settings(embedder="none")
    ).catalog
    edges = JoinGraph.of(catalog).edges
    assert not [edge for edge in edges if edge.score > 0.5]
    assert not [edge for edge in edges if edge.evidence.keys() & {"composite"}]
