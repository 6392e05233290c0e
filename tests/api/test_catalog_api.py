"""The Python API as a user writes it: results, frames as sources, refresh, settings."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dovetail
from dovetail.domain import Candidate, Chosen, TableId, TableSet
from dovetail.domain.joins import Joins
from dovetail.domain.results import Ranked
from dovetail.errors import NotFoundError, SourceError, UsageError
from dovetail.settings import Settings
from tests.support.endpoint import endpoint, says

WORDS = Settings(embedder="none")
QUESTION = "Which orders did customers of which city place?"


def write_shop(folder: Path) -> Path:
    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, city TEXT);"
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER);"
        )
        towns = ("Moss", "Bergen", "<b>Oslo</b>")
        database.executemany(
            "INSERT INTO customers VALUES (?, ?)", [(i, towns[i % 3]) for i in range(100, 160)]
        )
        database.executemany(
            "INSERT INTO orders VALUES (?, ?)", [(i, 100 + i % 60) for i in range(5000, 5300)]
        )
    return path


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("shop")
    return dovetail.build({"shop": write_shop(folder)}, into=folder / "catalog", settings=WORDS)


def test_a_result_is_read_like_a_collection(catalog: dovetail.Catalog) -> None:
    found = catalog.ask(QUESTION)
    assert {table.name for table in found} == {"orders", "customers"}
    assert (len(found), bool(found), found.connected, found.warnings) == (2, True, True, ())
    assert "orders" in found
    assert TableId("shop", "customers") in found
    assert found.tables[0] in found
    assert found.details[0] in found
    assert "nonsense" not in found
    assert 7 not in found
    assert [found[0], found[-1]] == list(found)
    assert repr(found[0]).startswith("<Chosen shop::")
    assert repr(found.joins[0]).startswith("<JoinEdge shop::orders.customer_id = shop::customers.")
    assert found.confidence is not None
    assert 0 < found.confidence <= 1
    assert repr(found).startswith(f"<TableSet {QUESTION!r}: ")
    assert repr(found).endswith(f"; 1 join, confidence {found.confidence:.2f}>")
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["confidence"], told["alternatives"]) == (found.confidence, [])


def test_an_empty_result_works_everywhere(catalog: dovetail.Catalog) -> None:
    empty = TableSet("?", (), ())
    assert (bool(empty), len(empty), list(empty), empty.ddl()) == (False, 0, [], "")
    assert repr(empty) == "<TableSet '?': no table fits>"
    assert "nothing here seems to answer this" in empty._repr_html_()
    assert empty.to_dict()["tables"] == []
    silent: Any = SimpleNamespace(model_id="silent", complete=None)
    with pytest.raises(NotFoundError, match="nothing here seems to answer"):
        catalog.answer(empty, llm=silent)


def test_html_is_escaped_and_well_formed(catalog: dovetail.Catalog) -> None:
    hostile = "</td><script>alert(1)</script>"
    ids = (TableId("s", hostile), TableId("s", "b"), TableId("s", "c"))
    edge = dovetail.JoinEdge(ids[0], ids[1], ((hostile, "x"),), 0.9, "n:1", 1.0, {})
    chosen = tuple(Chosen(table, 0.5, "select", hostile) for table in ids)
    found = TableSet(hostile, chosen, (edge,))
    answer = catalog.sql("SELECT DISTINCT city AS \"<i>\" FROM customers WHERE city LIKE '<%'")
    table, ranked = catalog["orders"], Ranked([Candidate(ids[0], 0.5, {}, (hostile,))])
    table = replace(table, id=ids[0], comment=hostile)
    for shown in (found, answer, catalog, table, ranked, Joins([edge]), Joins()):
        page = shown._repr_html_()
        ElementTree.fromstring(page)
        assert "<script" not in page
        assert "<i>" not in page
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "no joins are known between" in found._repr_html_()
    assert "&lt;b&gt;Oslo" in answer._repr_html_()


def test_tables_joins_paths_and_searches_show_themselves(catalog: dovetail.Catalog) -> None:
    shown: list[Any] = [
        catalog["orders"], catalog.search("orders", k=2), catalog.search("orders", explain=True),
        catalog.joins(), catalog.joins("orders"), catalog.path("orders", "customers"),
    ]  # fmt: skip
    pages = [one._repr_html_() for one in shown]
    for page in pages:
        ElementTree.fromstring(page)
        assert "orders" in page
    assert ["<svg" in page for page in pages] == [False, False, False, True, True, True]
    assert f"{len(catalog.path('orders', 'customers'))} join" in pages[-1]


def test_a_notebook_calls_tables_as_queries_do_with_the_id_beside(tmp_path: Path) -> None:
    for name, first in (("old-crm", 1000), ("crm", 5000)):
        (tmp_path / name).mkdir()
        rows = "".join(f"{number},name {number}\n" for number in range(first, first + 40))
        (tmp_path / name / "people.csv").write_text(f"person_no,name\n{rows}")
        visits = "".join(f"{number},{number % 30 + first}\n" for number in range(first, first + 60))
        (tmp_path / name / "visits.csv").write_text(f"visit_no,person_no\n{visits}")
    sources = [f"{name}={tmp_path / name}" for name in ("old-crm", "crm")]
    catalog = dovetail.build(*sources, into=tmp_path / "c", settings=WORDS)
    table, label = catalog["old-crm.people"], "old-crm"
    joins: Any = catalog.joins(table)
    shown = [table._repr_html_(), joins._repr_html_()]
    shown.append(catalog.ask("visits of people", sources=[label])._repr_html_())
    title = f'<b>old-crm.people: 40 rows</b> <span style="opacity:.7">{label}::people</span>'
    assert title in shown[0]
    condition = "&quot;old-crm&quot;.visits.person_no = &quot;old-crm&quot;.people.person_no"
    for page in shown[1:]:
        assert f">{condition}</span>" in page
        assert f'title="{label}::visits.person_no = {label}::people.person_no"' in page


def test_html_tells_connectors_and_confidence() -> None:
    ids = (TableId("s", "a"), TableId("s", "b"))
    stages = ("select", "connect")
    chosen = tuple(Chosen(table, 0.5, stage, "") for table, stage in zip(ids, stages, strict=True))
    page = TableSet("?", chosen, (), confidence=0.625)._repr_html_()
    boxes = re.findall(r"<rect[^>]*>", page)
    assert ["stroke-dasharray" in box for box in boxes] == [False, True]
    assert ">likely 0.62</b> confidence" in page
    assert page.count("unsure 0.50") == 1  # a connector is there for the others


def test_a_drawing_has_columns_in_boxes_and_lines_from_column_to_column() -> None:
    hub, *others = ids = [TableId("a/shop.sqlite", name) for name in ("orders", "items", "people")]
    ids.append(TableId("b/crm.sqlite", "people"))
    edges = [
        dovetail.JoinEdge(one, hub, (("no", "order_no"),), 0.9, "n:1", 1.0, {}) for one in others
    ]
    edges.append(dovetail.JoinEdge(ids[3], ids[2], (("a", "b"), ("c", "d")), 0.4, "1:1", 1.0, {}))
    edges.append(replace(edges[0], columns=(("id", "id"),), score=0.3))
    page = ElementTree.fromstring(Joins(edges)._repr_html_())
    svg = next(one for one in page.iter() if one.tag.endswith("svg"))
    boxes, texts, paths = (
        [one for one in svg.iter() if one.tag.endswith(tag)] for tag in ("}rect", "}text", "}path")
    )
    said = [one.text for one in texts]
    assert {"orders", "items", "shop.people", "crm.people"} <= set(said)
    assert said.count("order_no") == 1
    assert "id" not in said  # the surest join of two tables is drawn
    assert len(paths) == 4
    spots = [
        tuple(float(box.get(side, 0)) for side in ("x", "y", "width", "height")) for box in boxes
    ]
    items, middle, people, crm = spots  # in the order of the joins
    assert min(items[0], people[0]) < middle[0] < max(items[0], people[0])
    starts = [tuple(map(float, path.get("d", "")[1:].split(" C")[0].split())) for path in paths]
    for x, y in starts:
        assert any(x in (box[0], box[0] + box[2]) and box[1] < y < box[1] + box[3] for box in spots)
    assert crm[0] not in (middle[0], items[0])


def test_what_is_no_source_model_or_column_is_told_in_words(catalog: dovetail.Catalog) -> None:
    frame: Any = pd.DataFrame({"a": [1]})
    with pytest.raises(UsageError, match=r'not a DataFrame; .* pass \{"name": table\}'):
        dovetail.build(frame, into="never")
    model: Any = object()
    with pytest.raises(UsageError, match="object is no language model"):
        catalog.answer(QUESTION, llm=model)
    with pytest.raises(
        KeyError, match=r"^shop::orders has no column 'town'; it has: order_id, cust"
    ):
        catalog["orders"].column("town")
    assert repr(catalog["orders"]) == "<Table shop::orders: 300 rows, 2 columns>"


def test_a_question_to_one_source(catalog: dovetail.Catalog) -> None:
    assert catalog.ask("Oslo", sources="shop").ids == catalog.ask("Oslo", sources=["shop"]).ids
    with pytest.raises(NotFoundError, match="there is no source 'bank'; there are: shop"):
        catalog.ask("Oslo", sources="bank")


def test_joins_paths_and_sql(catalog: dovetail.Catalog) -> None:
    (edge,) = catalog.joins("orders")
    assert (edge.left.name, edge.right.name) == ("orders", "customers")
    assert catalog.joins() == [edge]
    assert catalog.path("customers", "orders") == [edge]
    sql = "SELECT city, count(*) AS n FROM orders JOIN customers USING (customer_id) GROUP BY ALL"
    with dovetail.open(catalog.folder, WORDS) as opened:
        answer = opened.sql(sql)
        first = opened._executor
        assert opened.sql("SELECT 1 AS a").to_arrow().to_pylist() == [{"a": 1}]
        assert opened._executor is first
    assert "_executor" not in vars(opened)
    assert sum(row["n"] for row in answer.to_arrow().to_pylist()) == 300
    assert repr(answer).startswith("<Answer: 3 rows of city, n; SELECT city")


def test_an_answer_by_a_scripted_model(catalog: dovetail.Catalog) -> None:
    from dovetail.models.openai import OpenAILLM

    script = says(json.dumps({"sql": "SELECT count(*) AS n FROM orders"}))
    with endpoint(script) as server:
        llm = OpenAILLM("tiny", workers=1, environ=server.environ)
        answer = catalog.answer(catalog.ask(QUESTION), llm=llm)
    assert answer.to_pandas().n.tolist() == [300]
    found = catalog.ask(QUESTION)
    assert catalog.answer(QUESTION).sql == found.skeleton == catalog.write_sql(found)
    assert found.skeleton in server.asked[-1]["messages"][0]["content"]


FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}).set_index("id"),
    "polars": pl.DataFrame({"id": [1, 2], "name": ["a", "b"]}),
    "arrow": pa.table({"id": [1, 2], "name": ["a", "b"]}),
    "batch": pa.record_batch({"id": [1, 2], "name": ["a", "b"]}),
}


def test_tables_in_memory_are_a_source(tmp_path: Path) -> None:
    shop = write_shop(tmp_path)
    into = tmp_path / "catalog"
    with dovetail.build(FRAMES, shop, into=into, settings=WORDS) as catalog:
        assert len(catalog) == len(FRAMES) + 2
        for name in FRAMES:
            table = catalog[f"memory::{name}"]
            assert [column.name for column in table.columns] == ["id", "name"]
            assert table.rows == 2
        assert catalog.sql("SELECT name FROM pandas WHERE id = 2").to_pandas().name[0] == "b"
    again = dovetail.update([FRAMES], into=into, settings=WORDS)
    assert (again.changed, again.unchanged) == ((), len(FRAMES) + 2)
    longer = {"arrow": pa.table({"id": [1, 2, 3]})}
    changed = dovetail.update([longer], into=into, settings=WORDS)
    assert [str(table) for table in changed.changed] == ["memory::arrow"]
    moved = into.rename(tmp_path / "moved")
    assert (
        dovetail.open(moved, WORDS).sql("SELECT max(id) AS m FROM arrow").rows["m"][0].as_py() == 3
    )
    gone = dovetail.update(into=moved, settings=WORDS, forget=["memory"])
    assert len(gone.dropped) == len(FRAMES)
    assert not (moved / "memory").exists()


@pytest.mark.parametrize(
    ("name", "frame", "error", "message"),
    [
        ("../up", FRAMES["arrow"], UsageError, "cannot be called '../up'"),
        (".hidden", FRAMES["arrow"], UsageError, "cannot be called"),
        ("", FRAMES["arrow"], UsageError, "cannot be called ''"),
        ("rows", [{"a": 1}], SourceError, "'rows' cannot be read: list is no table in memory"),
        ("lazy", pl.LazyFrame({"a": [1]}), SourceError, "LazyFrame is no table"),
        ("mixed", pd.DataFrame({"a": [1, "x"]}), SourceError, "'mixed' cannot be read"),
        ("empty", pd.DataFrame(), SourceError, "'empty' has no columns"),
    ],
)
def test_what_is_no_table_in_memory(
    tmp_path: Path, name: str, frame: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        dovetail.build({name: frame}, into=tmp_path / "catalog", settings=WORDS)
    assert not list(tmp_path.glob("**/*.parquet"))


def test_a_catalog_is_refreshed_in_place(tmp_path: Path) -> None:
    shop = write_shop(tmp_path)
    catalog = dovetail.build(shop, into=tmp_path / "catalog", settings=WORDS)
    assert not catalog.ask("invoices").ids or "invoices" not in catalog
    with closing(sqlite3.connect(shop)) as database, database:
        database.execute("CREATE TABLE invoices AS SELECT order_id, 7 AS amount FROM orders")
    summary = catalog.refresh()
    assert summary.catalog is catalog
    assert [table.name for table in summary.added] == ["invoices"]
    assert repr(summary).endswith(": 1 table added, 2 tables unchanged>")
    assert "invoices" in catalog.ask("amount of invoices")
    assert catalog.sql("SELECT sum(amount) AS s FROM invoices").to_pandas().s[0] == 2100


def test_settings_of_the_folder_are_honoured(here: Path) -> None:
    write_shop(here)
    (here / "dovetail.toml").write_text(
        'catalog = "mine"\nsources = ["shop.sqlite"]\nembedder = "none"\nexclude = ["orders"]\n'
    )
    catalog = dovetail.build()
    assert ([table.name for table in catalog], catalog.settings.embedder) == (["customers"], "none")
    assert (here / "mine" / "manifest.json").exists()
    assert repr(dovetail.open()) == "<Catalog mine: 1 table of 1 source>"
    assert dovetail.open("mine", Settings()).settings == Settings()


def test_competing_groups_are_alternatives(sample: dovetail.Catalog) -> None:
    found = dovetail.open(sample.folder, WORDS).ask("customers by city", selector="graph")
    groups = [{table.source for table in other.tables} for other in found.alternatives]
    assert {table.source for table in found.ids} == {"city.duckdb"}
    assert len(groups) == 1 and "shop.sqlite" in groups[0]
    likely = [other.confidence for other in found.alternatives]
    assert likely == sorted(likely, reverse=True)
    assert found.alternatives[0].reason.startswith("accounts: its names say city")
    assert all(set(other.tables) != set(found.ids) for other in found.alternatives)
