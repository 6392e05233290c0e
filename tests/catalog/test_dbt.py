"""What a dbt project says of tables: real manifests of three versions, and hostile ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dovetail
from dovetail.catalog.dbt import NO_PROJECT
from dovetail.catalog.dbt_manifest import read_json, read_manifest_of
from dovetail.catalog.lookup import TableNames
from dovetail.domain import DeclaredForeignKey, TableId
from dovetail.errors import DamagedError, SourceError
from dovetail.settings import Settings
from tests.fixtures.dbt.make import HERE, run_dbt

PLAIN = Settings(embedder="none")
SALES, CUSTOMER = "marts.fct_sales", "marts.dim_customer"
NAMES = ("raw.kunden", "raw.auftraege", "marts.countries", CUSTOMER, SALES, "marts.old_sales")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file with what the project builds."""
    file = tmp_path_factory.mktemp("dbt") / "warehouse.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute((HERE / "warehouse.sql").read_text("utf-8"))
    return file


@pytest.fixture(scope="module")
def known(warehouse: Path) -> Iterator[dovetail.UpdateSummary[dovetail.Catalog]]:
    """The warehouse, indexed with the manifest of version 12."""
    manifest = str(HERE / "v12" / "manifest.json")
    into = warehouse.parent / "known"
    done = dovetail.update([warehouse], into=into, settings=PLAIN.but(dbt=manifest))
    yield done
    done.catalog.close()


def ids(label: str = "warehouse.duckdb") -> list[TableId]:
    return sorted(TableId(label, name) for name in NAMES)


@pytest.mark.parametrize("version", ["v10", "v11", "v12"])
def test_every_version_says_the_same(version: str) -> None:
    project = read_manifest_of(HERE / version / "manifest.json", ids(), NO_PROJECT)
    told = {table.name: facts for table, facts in project.tables.items()}
    assert set(told) == set(NAMES)
    sales = told[SALES]
    assert sales.description.startswith("Sales documents, one row each")
    assert sales.column_descriptions == {"buyer": "Who bought"}
    assert sorted(sales.unique) == [("crates",), ("sale_no",)]
    assert sales.not_null == ("sale_no",)
    assert sales.foreign == (
        DeclaredForeignKey(("buyer",), CUSTOMER, ("customer_id",), "warehouse.duckdb", "dbt"),
    )
    assert sales.exposures == ("dashboard Weekly turnover",)
    assert [table.name for table in sales.built_from] == ["raw.auftraege"]  # past the ephemeral one
    assert told[CUSTOMER].built_from[0].name == "raw.kunden"  # past the view
    assert told["raw.kunden"].only_feeds
    assert told["raw.kunden"].column_descriptions == {"kdnr": "Customer number"}
    assert told["marts.old_sales"].deprecated
    (notice,) = project.notices
    assert notice == "dbt: 1 model is not in the catalog, 1 of them view (indexed with --views)"


def test_keys_and_descriptions_are_in_the_catalog(
    known: dovetail.UpdateSummary[dovetail.Catalog],
) -> None:
    sales = known.catalog[SALES]
    assert sales.comment == (
        "Sales documents, one row each; what revenue is reported from. Loaded every night"
    )
    assert sales.column("buyer").comment == "Who bought"
    assert sales.keys.primary == ("sale_no",)
    assert sales.keys.unique == ()  # the data contradicts the test of crates
    assert any("marts.fct_sales.crates is not unique" in line for line in known.notices)


def test_a_relationship_is_a_declared_join(known: dovetail.UpdateSummary[dovetail.Catalog]) -> None:
    joins = {str(edge): edge for edge in known.catalog.joins(SALES)}
    edge = next(edge for edge in joins.values() if edge.right.name == CUSTOMER)
    assert (edge.columns, edge.score) == ((("buyer", "customer_id"),), 1.0)
    assert edge.evidence["declared"] == edge.evidence["dbt"] == 1.0


def test_the_settings_leave_out_what_they_leave_out(
    known: dovetail.UpdateSummary[dovetail.Catalog],
) -> None:
    folder = known.catalog.folder
    without = dovetail.build(into=folder, settings=PLAIN.but(use_declared=False))[SALES]
    assert (without.keys.primary, without.column("buyer").comment) == ((), "Who bought")
    without = dovetail.build(into=folder, settings=PLAIN.but(use_comments=False))[SALES]
    assert (without.keys.primary, without.comment) == (("sale_no",), "")
    again = dovetail.build(into=folder, settings=PLAIN)[SALES]
    assert again == known.catalog[SALES]


def test_words_of_a_description_find_the_table_and_say_who_reads_it(
    known: dovetail.UpdateSummary[dovetail.Catalog],
) -> None:
    found = known.catalog.search("Which revenue is reported?", 1)
    assert [table.name for table in found] == [SALES]
    (reason,) = known.catalog.searcher.reasons("Which revenue is reported?", [found[0].id])
    assert "its comment says 'Sales documents" in reason[0]
    assert reason[-1] == "dashboard Weekly turnover reads it"


def test_what_people_look_at_stands_for_its_family(
    known: dovetail.UpdateSummary[dovetail.Catalog],
) -> None:
    family = known.catalog.families().of(known.catalog["marts.old_sales"].id)
    assert family is not None
    assert family.canonical.name == SALES


def test_a_changed_manifest_is_applied_without_reading_sources(
    known: dovetail.UpdateSummary[dovetail.Catalog], tmp_path: Path
) -> None:
    target, into = tmp_path / "target", tmp_path / "catalog"
    shutil.copytree(HERE / "v12", target)
    shutil.copytree(known.catalog.folder, into)
    first = dovetail.update(into=into, settings=PLAIN.but(dbt=str(tmp_path)))
    assert first.catalog.reader.dbt.manifest == str(target / "manifest.json")
    assert (first.changed, first.redeclared) == ((), ())
    manifest = json.loads((target / "manifest.json").read_text("utf-8"))
    manifest["nodes"]["model.brewery.fct_sales"]["description"] = "Crates that were sold"
    (target / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    again = dovetail.update(into=into, settings=PLAIN)
    assert [table.name for table in again.redeclared] == [SALES]
    assert again.unchanged == len(NAMES)
    assert again.catalog[SALES].comment == "Crates that were sold. Loaded every night"
    (target / "manifest.json").write_text("{", "utf-8")
    broken = dovetail.update(into=into, settings=PLAIN)
    assert broken.catalog[SALES].comment == "Crates that were sold. Loaded every night"
    assert "what it said before is kept" in broken.notices[0]
    forgotten = dovetail.update(into=into, settings=PLAIN.but(dbt=""))
    assert forgotten.catalog[SALES].comment == "Loaded every night"
    assert not forgotten.catalog.reader.dbt
    assert dovetail.update(into=into, settings=PLAIN).notices == ()


def hostile(nodes: Any, **more: Any) -> str:
    return json.dumps({"metadata": {}, "nodes": nodes, **more})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no JSON object"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"nodes": 5}', "it has no nodes"),
        ("\xff\xfe", "is no JSON"),
    ],
)
def test_what_is_no_manifest_is_one_line(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_bytes(content.encode("latin1"))
    with pytest.raises(SourceError, match=said) as raised:
        read_manifest_of(file, ids(), NO_PROJECT)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text('{"a": 1' + " " * 2_000_000 + "}", "utf-8")
    with pytest.raises(SourceError, match="more than 1 MB"):
        read_json(file, most=1 << 20)
    with pytest.raises(SourceError, match="no file"):
        read_json(tmp_path / "missing.json")


def test_parts_of_the_wrong_shape_are_left_out_and_the_rest_is_used(tmp_path: Path) -> None:
    name = SALES.removeprefix("marts.")
    good = {"unique_id": "m.good", "resource_type": "model", "schema": "marts", "name": name}
    nodes = {
        "m.good": {**good, "description": "\x1b[31mred\x07 \ud800 text", "columns": [1]},
        "m.none": None,
        "m.list": [1, 2],
        "m.odd": {"unique_id": 7, "resource_type": ["model"], "config": "x", "depends_on": 5},
        "m.loop": {**good, "unique_id": "m.loop", "name": "x", "depends_on": {"nodes": ["m.loop"]}},
        "t.odd": {"unique_id": "t", "resource_type": "test", "test_metadata": {"kwargs": []}},
        "t.none": {"unique_id": "u", "resource_type": "test", "attached_node": "m.good"},
    }
    file = tmp_path / "manifest.json"
    file.write_text(hostile(nodes, exposures={"e": {"depends_on": {"nodes": "m"}}}), "utf-8")
    project = read_manifest_of(file, ids(), NO_PROJECT)
    (facts,) = project.tables.values()
    assert facts.description == "\x1b[31mred\x07 ? text"
    assert [line.split(":")[1].strip()[:30] for line in project.notices] == [
        "the manifest is of an unknown ",
        "1 model is not in the catalog",
    ]


def test_a_maze_of_models_that_are_no_tables_is_left_at_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(name: str, kind: str, *parents: str) -> dict[str, Any]:
        return {
            "unique_id": name, "resource_type": "model", "name": name,
            "config": {"materialized": kind}, "depends_on": {"nodes": list(parents)},
        }  # fmt: skip

    chain = [model(f"e{at}", "ephemeral", f"e{at + 1}") for at in range(100)]
    tables = [model(f"t{at}", "table", "e0") for at in range(100)]
    nodes = {
        node["unique_id"]: node for node in [*chain, model("e100", "ephemeral", "t0"), *tables]
    }
    (tmp_path / "manifest.json").write_text(hostile(nodes), "utf-8")
    names = [TableId("s", f"t{at}") for at in range(100)]

    def built() -> tuple[int, bool]:
        project = read_manifest_of(tmp_path / "manifest.json", names, NO_PROJECT)
        from_first = sum(table.built_from == (names[0],) for table in project.tables.values())
        return from_first, any("told in part" in notice for notice in project.notices)

    assert built() == (99, False)
    monkeypatch.setattr("dovetail.catalog.dbt_manifest._MOST_STEPS", 1_000)
    assert built() == (3, True)


def test_names_of_other_schemas_are_other_tables() -> None:
    tables = [TableId("db", name) for name in ("customers", "staging.orders", "marts.orders")]
    names = TableNames([*tables, TableId("crm.sqlite", "customers")])
    assert names.find_relation(("db", "main", "CUSTOMERS")) == TableId("db", "customers")
    assert names.find_relation(("", "main", "customers")) is None  # of two sources, none is named
    assert names.find_relation(("db", "marts", "orders")) == TableId("db", "marts.orders")
    assert names.find_relation(("db", "dev_anna", "orders")) is None
    assert names.near("order") == "staging.orders"


def test_damaged_knowledge_is_an_error_and_an_update_says_that_it_is_lost(
    known: dovetail.UpdateSummary[dovetail.Catalog], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(known.catalog.folder, folder)
    first, copy = sorted(folder.glob("generations/*/dbt/*dbt.json"), reverse=True)
    first.write_bytes(first.read_bytes().replace(b"marts", b"carts"))
    assert dovetail.open(folder, PLAIN).reader.dbt == known.catalog.reader.dbt
    copy.write_bytes(first.read_bytes())
    with pytest.raises(DamagedError, match=r"dbt\.json is damaged: its checksum"):
        _ = dovetail.open(folder, PLAIN).reader.dbt
    done = dovetail.update(into=folder, settings=PLAIN)
    assert any(line.startswith("dbt: what was known is lost") for line in done.notices)
    assert not done.catalog.reader.dbt


@pytest.mark.slow
def test_what_dbt_writes_here_is_read(tmp_path: Path) -> None:
    dbt = shutil.which("dbt")
    if dbt is None:
        pytest.skip("dbt is not installed: pip install dbt-core dbt-duckdb, best in its own place")
    target = run_dbt(dbt, tmp_path)
    project = read_manifest_of(target / "manifest.json", ids(), NO_PROJECT)
    assert {table.name for table in project.tables} == set(NAMES)
