"""`dovetail ask` and `catalog.ask`, end to end."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.cli import main
from dovetail.errors import DovetailError, NotFoundError, UsageError
from dovetail.models.openai import OpenAILLM
from dovetail.settings import Settings
from dovetail.text import confidence_word
from tests.support.command_line import run
from tests.support.endpoint import Play, endpoint, says

WORDS = Settings(embedder="none")
QUESTION = "Which products were in which orders?"


@pytest.fixture(scope="module")
def shop(corpus: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of the sample's shop, searched by words alone."""
    (source,) = [path for path in corpus if path.name == "shop.sqlite"]
    into = tmp_path_factory.mktemp("ask") / "catalog"
    dovetail.build(f"shop.sqlite={source}", into=into, settings=WORDS)
    return into


def ask(shop: Path, *arguments: str, **environ: str) -> Any:
    variables: dict[str, Any] = {"DOVETAIL_EMBEDDER": "none", **environ}
    return run("ask", QUESTION, "-C", str(shop), *arguments, **variables)


def names(found: dovetail.TableSet) -> list[str]:
    return [chosen.id.name for chosen in found.tables]


def test_a_catalog_is_asked(shop: Path) -> None:
    catalog = dovetail.open(shop, WORDS)
    ranked = [candidate.id.name for candidate in catalog.search(QUESTION, 5)]
    chosen = [ranked.index(name) + 1 for name in ("products", "order_items", "orders")]
    with endpoint(says(json.dumps({"tables": chosen}))) as server:
        llm = OpenAILLM("tiny", workers=1, environ=server.environ)
        found = catalog.ask(QUESTION, k=5, llm=llm)
    assert names(found) == ["products", "order_items", "orders"]
    assert {chosen.stage for chosen in found.tables} == {"select"}
    assert found.connected
    assert found.warnings == ()
    assert found.question == QUESTION


def test_how_a_question_was_read_is_told(shop: Path) -> None:
    question = "How many gigantic orders are there per status?"
    told = run("ask", question, "-C", str(shop), DOVETAIL_EMBEDDER="none").stdout
    assert "read as: number of orders, label of status, per status" in told
    assert "open: what is 'gigantic'?" in told
    assert "open: " not in ask(shop).stdout
    ran = run("ask", question, "--run", "--csv", "-C", str(shop), DOVETAIL_EMBEDDER="none")
    assert ran.stderr.startswith("dovetail: ran SELECT count(*)")


def test_what_decided_is_told_in_words(shop: Path) -> None:
    shown = ask(shop, "--explain")
    lines = shown.stdout.splitlines()
    (products,) = [line for line in lines if line.startswith("shop::products (")]
    assert re.search(r"\(0\.\d\d\): .*\(without: 0\.\d\d\)", products)
    assert any(line.startswith("not taken: shop::") for line in lines)
    told = dovetail.open(shop, WORDS).ask(QUESTION, explain=True)
    assert told.explanation is not None
    assert told.to_dict()["trace"][-1]["explanation"] == told.explanation
    assert dovetail.open(shop, WORDS).ask(QUESTION).explanation is None
    with endpoint(says('{"tables": [1]}')) as server:
        other = ask(shop, "--explain", "--llm", "openai:other", "--json", **server.environ)
    assert "explanation" not in other.stdout


def test_what_a_model_looked_for_was_shown_and_said_is_told(shop: Path) -> None:
    looks = says('{"look_for": ["stock of products", "orders"]}', usage=(100, 10))
    lacks = says(
        '{"tables": [1], "missing": "suppliers", "sure": 0.4}', usage=(300, 20), before=0.05
    )
    takes = says('{"tables": [2, 1], "missing": "", "sure": 0.9}', usage=(400, 30))
    with endpoint(looks, lacks, takes) as server:
        shown = ask(
            shop, "--explain", "--llm", "openai:tells", "--selector", "llm", **server.environ
        )
        told = ask(shop, "--json", "--llm", "openai:tells", "--selector", "llm", **server.environ)
    assert shown.returncode == 0, shown.stderr
    trace = json.loads(told.stdout)["trace"]
    asked = [
        (one["stage"], one["llm_calls"], one["tokens_in"]) for one in trace if one["llm_calls"]
    ]
    assert asked == [("look", 1, 100), ("select", 1, 300), ("select", 1, 400)]
    assert next(one["seconds"] for one in trace if one["tokens_in"] == 300) >= 0.05
    first, second = (one["candidates"] for one in trace if one["stage"] == "search")
    lines = shown.stdout.splitlines()
    told_lines = [
        line for line in lines if line.split(":")[0] in ("looked for", "chose", "missing")
    ]
    before, after = (
        [one["table"].replace("shop.sqlite::", "shop::") for one in found]
        for found in (first, second)
    )
    assert told_lines == [
        "looked for: stock of products; orders",
        f"chose: {before[0]}",
        "missing: suppliers",
        f"chose: {after[1]}, {after[0]}",
    ]
    listed = [line for line in lines if line.startswith("shown: ")]
    assert listed[0].startswith(f"shown: 1 {before[0]}, 2 {before[1]}")
    assert 'said: {"tables": [1], "missing": "suppliers", "sure": 0.4}' in lines
    assert lines[-1].startswith("3 calls of openai:tells: 800 tokens in, 60 out, ")


def test_phrases_say_what_to_look_for(shop: Path) -> None:
    phrases = ("--look-for", "accounts and their groups", "--look-for", "stock of products")
    found = json.loads(ask(shop, *phrases, "--selector", "graph", "--json").stdout)
    look, _, select = found["trace"]
    assert look["looked_for"] == ["accounts and their groups", "stock of products"]
    plain = json.loads(ask(shop, "--selector", "graph", "--k", "2", "--json").stdout)["trace"]
    wider = ask(shop, *phrases, "--selector", "graph", "--k", "2", "--json").stdout
    assert [one["stage"] for one in plain] == ["search", "select"]
    tables = [
        {one["table"] for one in trace[-1]["candidates"]}
        for trace in (plain, json.loads(wider)["trace"])
    ]
    assert tables[0] != tables[1]
    many = [f"phrase {number} " + "x" * 500 for number in range(50)]
    catalog = dovetail.open(shop, WORDS)
    used = catalog.ask(QUESTION, looking_for=many).trace[0]["looked_for"]
    assert isinstance(used, list)
    assert (len(used), {len(phrase) for phrase in used}) == (8, {160})
    assert len(select["candidates"]) > 2


def test_a_search_takes_turns_with_phrases(shop: Path) -> None:
    def searched(*more: str) -> list[str]:
        done = run(
            "search",
            QUESTION,
            "-C",
            str(shop),
            "--json",
            "--k",
            "2",
            *more,
            DOVETAIL_EMBEDDER="none",
        )
        return [one["name"] for one in json.loads(done.stdout)["tables"]]

    first, second = searched(), searched("--look-for", "accounts and their groups")
    assert (second[0], second != first) == (first[0], True)
    catalog = dovetail.open(shop, WORDS)
    python = catalog.search(QUESTION, 2, looking_for=["accounts and their groups"])
    assert [one.name for one in python] == second


def test_nothing_fits_is_an_answer(shop: Path) -> None:
    with endpoint(says('{"tables": []}')) as server:
        shown = ask(shop, "--llm", "openai:terse", "--run", **server.environ)
        told = ask(shop, "--llm", "openai:terse", "--json", "--sql", **server.environ)
        llm = OpenAILLM("terse", workers=1, environ=server.environ)
        catalog = dovetail.open(shop, WORDS)
        found = catalog.ask(QUESTION, llm=llm)
        with pytest.raises(NotFoundError, match="nothing here seems to answer this; nearest: "):
            catalog.answer(found, llm=llm)
    assert (shown.returncode, shown.stderr, told.returncode) == (1, "", 1)
    first = catalog.search(QUESTION, 3)
    nearest = ", ".join(str(candidate.id).replace(".sqlite::", "::") for candidate in first)
    assert shown.stdout == f"Nothing here seems to answer this; nearest: {nearest}.\n"
    document = json.loads(told.stdout)
    assert (document["tables"], document["joins"], document["nothing_fits"]) == ([], [], True)
    assert [one["stage"] for one in document["trace"] if "nothing_fits" in one] == ["select"]
    assert "sql" not in document
    assert (names(found), found.ddl(), found.connected) == ([], "", True)


def test_a_set_writes_its_schema_and_its_prompt(shop: Path) -> None:
    catalog = dovetail.open(shop, WORDS)
    found = catalog.ask("items of orders", breadth=0.3)
    assert names(found) == ["order_items", "orders"]
    schema = found.ddl()
    assert schema.startswith("CREATE TABLE order_items (")
    assert "-- joins\n-- order_items.order_no = orders.order_no  (n:1)" in schema
    prompt = catalog.prompt(found)
    assert f"```\n{schema.strip()}\n```" in prompt
    assert prompt.endswith("Question: items of orders")
    (joined,) = found.to_dict()["joins"]
    assert (joined["left"], joined["right"]) == ("shop.sqlite::order_items", "shop.sqlite::orders")


@pytest.mark.slow
def test_the_json_is_as_documented(shop: Path) -> None:
    done = ask(shop, "--k", "3", "--json")
    found = json.loads(done.stdout)
    assert list(found) == [
        "question", "tables", "joins", "connected", "confidence", "sureness", "answerable",
        "uncovered", "alternatives", "skeleton", "reading", "warnings", "trace",
    ]  # fmt: skip
    assert found["question"] == QUESTION
    table, edge = found["tables"][0], found["joins"][0]
    assert list(table) == [
        "id", "name", "source", "score", "sureness", "stage", "reason", "also", "part_of", "sql",
        "source_name",
    ]  # fmt: skip
    for one, number in (
        (found, found["confidence"]),
        (table, table["score"]),
        (edge, edge["score"]),
    ):
        assert one["sureness"] == confidence_word(number)
    assert table["id"] == f"{table['source']}::{table['name']}"
    assert set(edge) >= {"left", "right", "columns", "score", "evidence"}
    assert all(len(pair) == 2 for pair in edge["columns"])
    assert found["connected"] is True
    assert found["trace"][0]["stage"] == "search"
    assert done.stdout == ask(shop, "--k", "3", "--json").stdout
    assert "ddl" in json.loads(ask(shop, "--k", "3", "--json", "--ddl").stdout)


@pytest.mark.slow
def test_what_is_shown(shop: Path) -> None:
    shown = ask(shop, "--k", "3", COLUMNS="200")
    assert shown.returncode == 0
    assert re.search(r"shop::orders +[a-z]+ 0\.\d\d +select +its names say", shown.stdout)
    assert " order_items.order_no = orders.order_no " in shown.stdout
    assert ask(shop, "--k", "2", "--ddl").stdout.startswith("CREATE TABLE ")


@pytest.mark.slow
def test_tables_that_do_not_join_are_warned_of(sample: dovetail.Catalog) -> None:
    question = "recalls of products and diagnoses of patients"
    done = run("ask", question, "-C", str(sample.folder), DOVETAIL_EMBEDDER="none")
    assert done.returncode == 0
    assert done.stderr.startswith("dovetail: no joins are known between these parts of the set: ")
    (_, *others) = done.stderr.splitlines()
    assert others == ["dovetail: recalls may not be live: it has no rows"]
    found = dovetail.open(sample.folder, WORDS).ask(question)
    assert found.connected is False
    assert found.to_dict()["connected"] is False


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--selector", "llm"], 2, "set llm in dovetail.toml, or give --llm NAME"),
        (["--selector", "guess"], 2, "selector 'guess' is not known; there are: auto, graph, llm"),
        (["--llm", "openai:"], 2, "openai: needs the name of a model"),
        (["-C", "nowhere"], 1, "nowhere"),
        (["--csv"], 2, "--csv and --parquet are for rows: add --run"),
        (["--run", "--csv", "--ddl"], 2, "--csv prints rows alone: leave out --ddl"),
        (["--dialect", "mysql"], 2, "--dialect is for SQL that a source runs itself: add --sql"),
        (["--sql", "--dialect", "dbase"], 2, "dialect 'dbase' is not known; there are: athena"),
    ],
)
def test_errors_are_one_line(shop: Path, arguments: list[str], code: int, message: str) -> None:
    done = ask(shop, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert message in done.stderr


def test_an_empty_question_is_refused(shop: Path) -> None:
    with pytest.raises(UsageError, match="the question is empty"):
        dovetail.open(shop, WORDS).ask("  ")


def test_an_update_gives_a_catalog_that_can_be_asked(shop: Path, tmp_path: Path) -> None:
    shutil.copytree(shop, tmp_path / "catalog")
    report = dovetail.update(into=tmp_path / "catalog", settings=WORDS)
    assert isinstance(report.catalog, dovetail.Catalog)
    assert names(report.catalog.ask("orders", breadth=0.0)) == ["orders"]


def test_without_a_model_the_graph_chooses(shop: Path) -> None:
    catalog = dovetail.open(shop, WORDS)
    found = catalog.ask(QUESTION)
    assert {chosen.stage for chosen in found.tables} <= {"select", "connect"}
    assert names(found) == names(catalog.ask(QUESTION, selector="graph"))
    every = catalog.ask(QUESTION, breadth=1.0)
    assert set(names(found)) < set(names(every))


@pytest.mark.slow
def test_rows_come_back_for_a_question(shop: Path, tmp_path: Path) -> None:
    written = "SELECT count(*) AS n\nFROM orders"
    given = ["--selector", "graph", "--k", "3", "--llm", "openai:tiny"]
    count = dovetail.open(shop, WORDS)["orders"].rows
    file = tmp_path / "rows.parquet"
    with endpoint(says(f"```sql\n{written}\n```")) as server:
        shown = ask(shop, *given, "--sql", "--json", **server.environ)
        ran = ask(shop, *given, "--run", "--json", **server.environ)
        table = ask(shop, *given, "--run", **server.environ)
        comma = ask(shop, *given, "--run", "--csv", **server.environ)
        parquet = ask(shop, *given, "--run", "--parquet", str(file), **server.environ)
    assert json.loads(shown.stdout)["sql"] == written
    assert "answer" not in json.loads(shown.stdout)
    assert json.loads(ran.stdout)["answer"]["rows"] == [[count]]
    assert f"\n{written}\n" in table.stdout
    assert "1 row (" in table.stdout
    assert comma.stdout == f"n\n{count}\n"
    assert comma.stderr == "dovetail: ran SELECT count(*) AS n FROM orders\n"
    assert parquet.stdout.endswith(f"1 row in {file}\n")
    assert pq.read_table(file).to_pylist() == [{"n": count}]


def test_a_model_that_fails_says_so(shop: Path) -> None:
    catalog = dovetail.open(shop, WORDS)
    with pytest.raises(DovetailError, match=r"there is no model at nowhere\.gguf"):
        catalog.ask(QUESTION, llm="local:nowhere.gguf")


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_model_that_hangs_is_waited_for_as_long_as_set(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr("dovetail.cli.output._SILENT", 0.0)
    with endpoint(Play(hangs=True)) as server:
        limits = {"DOVETAIL_EMBEDDER": "none", "DOVETAIL_LLM_SECONDS": "0.5"}
        for name, value in {**server.environ, **limits}.items():
            monkeypatch.setenv(name, value)
        arguments = ["ask", QUESTION, "-C", str(shop), "--llm", "openai:slow"]
        monkeypatch.setattr("sys.argv", ["dovetail", *arguments, "--selector", "llm"])
        with pytest.raises(SystemExit) as ended, monkeypatch.context() as patch:
            patch.setattr("sys.stderr.isatty", lambda: terminal)
            main()
    shown = capsys.readouterr()
    assert ended.value.code in (0, None)
    assert "products" in shown.out
    assert len(server.asked) == 1
    told = " ".join(shown.err.split())
    assert "the model took more than 0.5 s for a question (llm_seconds); chosen without" in told
    assert ("waiting for the model: 0 s (Ctrl-C stops)" in told) == terminal
    assert ("\r\x1b[Kdovetail" in shown.err) == terminal, "the line goes again"
