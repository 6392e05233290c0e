"""What leaves a source: no value where none shall, nothing to a model unseen, nothing to others."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from mcp.client.client import Client

import dovetail
from dovetail.catalog.key import VARIABLE, key_file
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import CatalogError, DovetailError, UsageError
from dovetail.hashing import hash_values
from dovetail.phrases import cell_phrases
from dovetail.serve.guarded import Access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.command_line import run
from tests.support.endpoint import endpoint, says
from tests.support.files import put_sqlite, update

NO_MODELS = Settings(embedder="none")
SECRET = Settings(embedder="none", no_values=True)
# Stand in every cell, and in nothing else.
PLANTED = (
    "zzyx",
    "planted.example",
    "qqremark",
    "northwestia",
    "8300",
    "91000",
    "7771.5",
    "1987-0",
)
WRITTEN = ("Zzyx Person7", "person7@planted.example", "Northwestia", "Qqremark 7")
QUESTIONS = ("orders of customers by region", "regions with the most orders of a year")


@pytest.fixture(scope="module")
def pile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of planted values, one of them on the others' columns; a catalog without values."""
    place = tmp_path_factory.mktemp("pile")
    rows = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
    put_sqlite(
        place / "crm.sqlite",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, region TEXT)",
        f"INSERT INTO customers {rows} SELECT 830000 + i, 'Zzyx Person' || i, 'person' || i || "
        "'@planted.example', CASE i % 2 WHEN 0 THEN 'Northwestia' ELSE 'Northwestia B' END FROM n",
        "CREATE TABLE orders (order_no INTEGER PRIMARY KEY, customer_id INTEGER, mail TEXT, "
        "remark TEXT, total REAL, placed DATE)",
        f"INSERT INTO orders {rows} SELECT 910000 + i, 830000 + i % 60, 'person' || (i % 60) || "
        "'@planted.example', 'Qqremark ' || i, 7771.5 + i, '1987-0' || (1 + i % 9) || '-11' FROM n",
        "CREATE TABLE data_dictionary (table_name TEXT, column_name TEXT, description TEXT)",
        "INSERT INTO data_dictionary VALUES ('orders', 'total', 'Qqremark sum'), "
        "('orders', 'mail', 'Qqremark address'), ('customers', 'region', 'Qqremark area')",
    )
    dovetail.build(place / "crm.sqlite", into=place / "catalog", settings=SECRET)
    return place


def texts_of(catalog: Path) -> Iterator[tuple[Path, str]]:
    """All that stands in the files of a catalog: their bytes, and what is compressed in them."""
    for path in sorted(catalog.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield path, str(pq.read_table(path).to_pylist())
        if path.suffix == ".arrow":
            with pa.ipc.open_file(path) as stored:
                yield path, str(stored.read_all().to_pylist())


def assert_clean(text: str, where: object) -> None:
    folded = text.casefold()
    assert not [planted for planted in PLANTED if planted in folded], where


def test_no_file_of_a_catalog_holds_a_value(pile: Path) -> None:
    for path, text in texts_of(pile / "catalog"):
        assert_clean(text, path)


def test_no_hash_can_be_told_without_the_key(pile: Path) -> None:
    plain = np.concatenate([hash_values(pa.array(WRITTEN)), cell_phrases(WRITTEN)])
    catalog = CatalogReader.open(pile / "catalog")
    held: set[int] = set()
    for path in (pile / "catalog").rglob("*.npy"):
        array = np.load(path)
        held |= set(array.ravel().tolist()) if array.dtype == np.uint64 else set()
    assert not held & set(plain.tolist())
    assert len(held & set(catalog.keyed(plain).tolist())) == len(plain)


def test_no_command_prints_a_value(pile: Path) -> None:
    commands = [
        ["tables"], ["show", "orders"], ["show", "customers", "--json"], ["joins", "--json"],
        ["families"], ["domains"], ["search", QUESTIONS[0]], ["report"],
        *(["ask", question, "--explain", "--sql", "--json"] for question in QUESTIONS),
        ["ask", QUESTIONS[0], "--run"], ["sql", "SELECT * FROM customers"],
        ["index", "--json"],
    ]  # fmt: skip
    for command in commands:
        done = run(*command, "-C", str(pile / "catalog"), cwd=pile, DOVETAIL_EMBEDDER="none")
        assert_clean(done.stdout + done.stderr, command)


def test_no_view_of_the_server_holds_a_value(pile: Path) -> None:
    live = LiveCatalog(pile / "catalog", SECRET)
    client = TestClient(rest_app(live, Access({}), notes=True, log=False))
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", path, {}) for path, ways in paths.items() if "get" in ways
    ]
    for name in ("orders", "customers"):
        asked += [("GET", f"/api/v1/tables/{name}", {})]
        asked += [("POST", "/api/v1/answer", {"json": {"sql": f"SELECT * FROM {name}"}})]
        asked += [("GET", "/api/v1/joins", {"params": {"table": name, "least": 0}})]
    for question in QUESTIONS:
        asked += [("POST", "/api/v1/ask", {"json": {"question": question, "explain": True}})]
        asked += [("POST", "/api/v1/answer", {"json": {"question": question}})]
    replies = [client.request(method, path, **more) for method, path, more in asked]
    for reply in replies:
        assert_clean(reply.text, reply.url)
    assert sum(reply.status_code == 200 for reply in replies) > 8


def test_no_tool_of_agents_returns_a_value(pile: Path) -> None:
    tools: list[tuple[str, dict[str, Any]]] = [
        ("find_tables", {"question": QUESTIONS[0]}), ("search_tables", {"query": QUESTIONS[0]}),
        ("describe_tables", {"tables": ["orders", "customers"]}),
        ("sample_rows", {"table": "orders"}), ("run_sql", {"sql": "SELECT * FROM orders"}),
        ("join_path", {"start": "orders", "end": "customers"}),
    ]  # fmt: skip

    async def conversation() -> None:
        async with Client(mcp_server(LiveCatalog(pile / "catalog", SECRET))) as client:
            for tool, arguments in tools:
                assert_clean(str(await client.call_tool(tool, arguments)), tool)

    asyncio.run(conversation())


def test_no_notebook_and_no_prompt_shows_a_value(pile: Path) -> None:
    with endpoint(says("{}")) as served:
        settings = SECRET.but(llm="openai:a", llm_below=2.0)
        with pytest.MonkeyPatch.context() as patch:
            for name, text in served.environ.items():
                patch.setenv(name, text)
            catalog = dovetail.open(pile / "catalog", settings)
            requests = catalog.preview() + catalog.preview(QUESTIONS[0], sql=True)
    catalog = dovetail.open(pile / "catalog", SECRET)
    assert len(requests) > 1
    assert not served.asked
    assert_clean(json.dumps(requests), "prompts")
    for shown in (catalog, catalog["orders"], catalog.ask(QUESTIONS[0], selector="graph")):
        assert_clean(shown._repr_html_(), type(shown))


def test_joins_and_values_are_found_by_keyed_hashes(pile: Path) -> None:
    catalog = dovetail.open(pile / "catalog", SECRET)
    pairs = {frozenset(edge.columns) for edge in catalog.joins() if edge.score > 0.5}
    assert {frozenset({("customer_id", "id")}), frozenset({("mail", "email")})} <= pairs
    linked = catalog.searcher.analyse("what did Zzyx Person7 order?").links
    assert [link.span.text for link in linked] == ["Zzyx Person7"]


def test_updates_go_on_without_values_and_with_the_same_key(tmp_path: Path) -> None:
    source = put_sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t (name TEXT)", "INSERT INTO t VALUES ('x')"
    )
    update(source, into=tmp_path / "c", no_values=True)
    key = key_file(tmp_path / "c").read_text()
    assert stat.S_IMODE(key_file(tmp_path / "c").stat().st_mode) == 0o600
    with closing(sqlite3.connect(source)) as db, db:
        db.execute("INSERT INTO t VALUES ('Zzyx')")
    done = update(into=tmp_path / "c")
    assert [str(table) for table in done.changed] == [f"{source}::t"]
    assert done.catalog["t"].sample == ()
    assert key_file(tmp_path / "c").read_text() == key
    assert update(into=tmp_path / "c").unchanged == 1
    for path, text in texts_of(tmp_path / "c"):
        assert "Zzyx" not in text, path


def test_the_key_may_come_from_the_environment_and_must_be_the_right_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = put_sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t (name TEXT)", "INSERT INTO t VALUES ('x')"
    )
    monkeypatch.setenv(VARIABLE, "ab" * 16)
    update(source, into=tmp_path / "c", no_values=True)
    assert not key_file(tmp_path / "c").exists()
    for key, complaint in (("cd" * 16, "another key"), ("short", "hexadecimal"), ("", "missing")):
        monkeypatch.setenv(VARIABLE, key)
        with pytest.raises(CatalogError, match=complaint):
            update(into=tmp_path / "c")
        with pytest.raises(CatalogError, match=complaint):
            CatalogReader.open(tmp_path / "c").keyed(np.zeros(1, np.uint64))
    key_file(tmp_path / "c").write_text("ab" * 16)
    key_file(tmp_path / "c").chmod(0o644)
    with pytest.raises(CatalogError, match="chmod 600"):
        update(into=tmp_path / "c")


def test_what_would_bring_values_in_is_refused(tmp_path: Path) -> None:
    source = put_sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t (name TEXT)", "INSERT INTO t VALUES ('x')"
    )
    update(source, into=tmp_path / "c")
    with pytest.raises(UsageError, match="holds values already"):
        update(source, into=tmp_path / "c", no_values=True)
    with pytest.raises(UsageError, match="keeps no values"):
        dovetail.build({"t": pa.table({"a": [1]})}, into=tmp_path / "d", settings=SECRET)
    catalog = update(source, into=tmp_path / "e", no_values=True).catalog
    with pytest.raises(UsageError, match="where the tables are"):
        catalog.sql("SELECT * FROM t")


def test_masks_hold_in_every_file_and_are_counted(tmp_path: Path) -> None:
    source = put_sqlite(
        tmp_path / "a.sqlite",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, contact TEXT, wage INTEGER, town TEXT)",
        "INSERT INTO people VALUES (1, 'ann@planted.example', 770001, 'Oslo'), "
        "(2, 'call +49 30 7700 2222', 770002, 'Rome')",
    )
    done = update(source, into=tmp_path / "c", mask_columns=("wage",))
    assert done.masked == {"e-mail": 1, "masked": 1, "phone": 1}
    assert done.catalog["people"].masked == {"contact": ("e-mail", "phone"), "wage": ("masked",)}
    for path, text in texts_of(tmp_path / "c"):
        assert not [cell for cell in ("planted", "7700") if cell in text], path
    shown = run("show", "people", "-C", str(tmp_path / "c"), cwd=tmp_path).stdout
    assert "masked: contact (e-mail, phone), wage (masked)" in shown
    assert "Oslo" in shown
    again = dovetail.update(into=tmp_path / "c", settings=NO_MODELS, check=True).catalog
    assert again["people"].masked["wage"] == ("masked",)
    linked = again.searcher.analyse("where is ann@planted.example?").links
    assert [link.span.text for link in linked] == ["ann@planted.example"]


def test_masks_change_no_join(pile: Path, tmp_path: Path) -> None:
    edges = [
        update(pile / "crm.sqlite", into=tmp_path / str(mask), mask=mask).catalog.joins()
        for mask in (True, False)
    ]
    assert list(edges[0]) == list(edges[1])


def test_a_catalog_is_for_its_owner_alone(tmp_path: Path) -> None:
    source = put_sqlite(
        tmp_path / "a.sqlite", "CREATE TABLE t (name TEXT)", "INSERT INTO t VALUES ('x')"
    )
    before = os.umask(0o022)
    try:
        catalog = update(source, into=tmp_path / "c", no_values=False, embedder="minilm").catalog
        frame = {"frame": pa.table({"a": [1, 2]})}
        dovetail.build(frame, into=tmp_path / "c", settings=NO_MODELS)
        catalog.save_descriptions({"t": {"description": "names"}}, author="person")
    finally:
        os.umask(before)
    folder = tmp_path / "c"
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_preview_is_what_is_sent_and_a_log_is_kept_on_request_alone(
    pile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(embedder="none", llm="openai:a", llm_below=2.0)
    update(pile / "crm.sqlite", into=tmp_path / "c")
    with endpoint(says('{"look_for": ["orders"]}')) as served:
        for name, text in served.environ.items():
            monkeypatch.setenv(name, text)
        catalog = dovetail.open("c", settings)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        describing, asking = catalog.preview(), catalog.preview(QUESTIONS[0])
        assert not served.asked
        assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        catalog.ask(QUESTIONS[0])
        assert served.asked[:1] == asking
        asked = json.dumps(describing + served.asked)
        assert "crm" in asked
        assert str(pile) not in asked, "a path of the machine"
        del served.asked[:]
        log = tmp_path / "requests.jsonl"
        dovetail.open("c", settings.but(llm_log=str(log))).describe()
    assert served.asked[: len(describing)] == describing
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["request"] for each in logged if "request" in each] == served.asked
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    done = run("ask", QUESTIONS[0], "--dry-run", "-C", "c", cwd=tmp_path, DOVETAIL_LLM="openai:b",
               DOVETAIL_EMBEDDER="none", DOVETAIL_LLM_BELOW="2")  # fmt: skip
    assert json.loads(done.stdout)["requests"][0] == {**asking[0], "model": "b"}


def test_without_a_model_there_is_nothing_to_preview(pile: Path) -> None:
    with pytest.raises(DovetailError, match="none is set"):
        dovetail.open(pile / "catalog", SECRET).preview("orders")
