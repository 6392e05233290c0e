"""The command `learn`, and what `joins` and `show` tell of it; in this process, which is quick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import dovetail
from dovetail.cli import app
from dovetail.errors import DovetailError, UsageError

LOG = """
-- question: What did Ann Lee order?
SELECT * FROM orders o JOIN order_items i ON i.order_no = o.order_no WHERE customer_ref = 'Ann Lee';
DROP TABLE orders;
"""


def run(*arguments: str) -> Result:
    known = {"DOVETAIL_EMBEDDER": "none", "COLUMNS": "4000"}  # wide: no line is broken
    done = CliRunner().invoke(app, list(arguments), env=known)
    if isinstance(done.exception, DovetailError):
        raise done.exception
    return done


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def shop(corpus: tuple[Path, ...], here: Path) -> Path:
    file = next(path for path in corpus if path.name == "shop.sqlite")
    dovetail.build(file, into=here / ".dovetail", settings=dovetail.Settings(embedder="none"))
    (here / "log.sql").write_text(LOG, "utf-8")
    return here


def test_a_log_is_learnt_shown_and_forgotten(shop: Path) -> None:
    done = run("learn", "log.sql")
    assert done.stdout == ("log.sql: 1 query over 2 tables, 1 other statement, 1 join, 1 example\n")
    assert run("learn", "log.sql").stdout == "log.sql: learnt before, and counted once\n"
    said = " ".join(run("joins", "order_items").stdout.split())
    assert "joined in 1 query, e.g. SELECT * FROM orders AS o JOIN order_items AS i" in said
    assert "Ann Lee" not in said
    edge = run_json("joins", "order_items")["joins"][0]
    assert edge["example"].endswith("WHERE customer_ref = ?")
    shown = run_json("show", "orders")
    assert (shown["queries"], shown["last_queried"], shown["dbt"]) == (1, None, None)
    assert run_json("show", "products")["queries"] == 0
    assert "queried together with orders (1)" in run("show", "order_items").stdout
    assert run_json("learn", "--forget")["forgotten"] == ["log.sql"]
    assert run_json("show", "orders")["queries"] is None


def test_what_cannot_be_learnt_is_said(shop: Path) -> None:
    done = run("learn", "missing.sql", "log.sql")
    assert done.exit_code == 1
    assert "log.sql: 1 query" in done.stdout
    assert "there is no file missing.sql" in done.stderr
    for arguments in ([], ["log.sql", "--dialect", "klingon"]):
        with pytest.raises(UsageError):
            run("learn", *arguments)


def test_a_manifest_is_named_by_option(shop: Path) -> None:
    (shop / "manifest.json").write_text('{"nodes": {}}', "utf-8")
    done = run_json("index", "--dbt", "manifest.json")
    assert (
        done["notices"][0] == "dbt: 0 tables, 0 descriptions, 0 keys, 0 exposures of manifest.json"
    )
    assert "unknown version" in done["notices"][1]
    assert "the project is forgotten" in run("index", "--dbt", "").stdout
