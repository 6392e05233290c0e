"""A client that others generate from the OpenAPI description understands all that comes back."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dovetail.serve.guarded import Access, Caller
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.text import confidence_word
from tests.support.served import bearer, digest

# It wants an older typer than ours, so it has a place of its own.
GENERATOR = Path(__file__).parents[2] / ".venv-openapi" / "bin" / "openapi-python-client"
TOKEN = "a token"
PACKAGE = "dovetail_client"


@pytest.fixture(scope="module")
def served(live: LiveCatalog) -> TestClient:
    app = rest_app(live, Access({digest(TOKEN): Caller("reader")}), log=False)
    return TestClient(app, headers=bearer(TOKEN))


@pytest.fixture(scope="module")
def client(served: TestClient, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client of the generated package that asks the server."""
    if not GENERATOR.exists():
        pytest.skip("openapi-python-client is not installed: make setup")
    folder = tmp_path_factory.mktemp("generated")
    described = folder / "openapi.json"
    described.write_text(json.dumps(served.get("/api/v1/openapi.json").json()), encoding="utf-8")
    config = folder / "config.yml"
    config.write_text("post_hooks: []\n", encoding="utf-8")
    command = [str(GENERATOR), "generate", "--fail-on-warning"]
    command += ["--path", str(described), "--output-path", str(folder / PACKAGE)]
    command += ["--meta", "none", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    try:
        package = importlib.import_module(PACKAGE)
        made = package.AuthenticatedClient(base_url="http://testserver", token=TOKEN)
        made.set_httpx_client(served)
        yield made
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]


def call(client: Any, operation: str, **arguments: Any) -> Any:
    """What an operation gives, as the generated client has it."""
    return operation_of(operation).sync(client=client, **arguments)


def operation_of(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.api.default.{name}")


def model(name: str) -> Any:
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name)


def test_a_question_gets_a_set_and_a_query_its_rows(client: Any) -> None:
    asked = call(client, "ask", body=model("Ask")(question="Which customers placed orders?"))
    assert {table.name for table in asked.tables} >= {"orders", "customers"}
    assert asked.sureness == confidence_word(asked.confidence)
    wanted = model("Ask")(question="Which customers placed orders?", explain=True)
    why = call(client, "ask", body=wanted).explanation
    assert {one.table for one in why.tables} == {table.id for table in asked.tables}
    assert why.tables[0].because[0].words
    assert 0 <= why.tables[0].because[0].without <= why.tables[0].probability
    assert why.next_.because
    assert all(one.words.startswith("right if ") for one in why.readings)
    sql = "SELECT count(*) AS n, 1.5 AS x, true AS b, DATE '2024-02-29' AS d, NULL AS e FROM orders"
    done = call(client, "answer", body=model("Answering")(sql=sql)).result
    assert done.rows == [[120, 1.5, True, "2024-02-29", None]]
    assert done.types[:4] == ["integer", "real", "boolean", "date"]
    large = call(client, "answer", body=model("Answering")(sql="SELECT 9007199254740993 AS n"))
    assert large.result.rows == [["9007199254740993"]]


def test_whatever_comes_back_has_a_type(served: TestClient) -> None:
    described = served.get("/api/v1/openapi.json").json()["components"]["schemas"]
    untyped = {
        f"{name}.{key}"
        for name, model in described.items()
        for key, field in model.get("properties", {}).items()
        for kind in field.get("anyOf", [field])
        if kind.get("additionalProperties") is True or not kind.keys() - {"title", "description"}
    }
    assert untyped == set()


def test_a_join_is_checked(client: Any) -> None:
    (join,) = [
        one for one in call(client, "joins", table="orders") if one.right == "shop::customers"
    ]
    named = model("JoinNamed")(left=join.left, right=join.right, columns=join.columns)
    assert call(client, "check_join", body=named).matched == 120


def test_what_goes_wrong_is_a_problem(client: Any, served: TestClient) -> None:
    missing = call(client, "table", table="custmers")
    assert type(missing).__name__ == "Problem"
    assert (missing.status, missing.detail.endswith("did you mean customers?")) == (404, True)
    refused = call(client, "answer", body=model("Answering")(sql="DROP TABLE orders"))
    assert (refused.status, "SELECT" in refused.detail) == (422, True), refused.detail


def test_the_description_names_operations_the_token_and_events(served: TestClient) -> None:
    described = served.get("/api/v1/openapi.json").json()
    operations = [one for path in described["paths"].values() for one in path.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    assert {"ask", "answer", "check_join", "write_note", "save_descriptions"} <= set(names)
    assert described["components"]["securitySchemes"] == {
        "token": {"type": "http", "scheme": "bearer"}
    }
    assert described["paths"]["/api/v1/health"]["get"]["security"] == []
    stages = described["paths"]["/api/v1/ask/stages"]["get"]["responses"]["200"]
    assert list(stages["content"]) == ["text/event-stream"]
    assert "`set` (a TableSetDetail)" in stages["description"]
