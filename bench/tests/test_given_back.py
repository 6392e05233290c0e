"""The programs `pasted`, `agent` and `page`, over a shop of two tables."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.errors import UsageError
from dovetail.settings import Settings
from dovetail_bench.programs import agent, page, pasted
from dovetail_bench.programs.asked_piles import Pile, pile
from dovetail_bench.programs.company import Asked, Names
from dovetail_bench.programs.piles import PILES

KEPT = Path(__file__).parents[1] / "piles"
ORDERS, SEGMENTS = "How many orders does each customer have?", "Which customers are schools?"


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_EMBEDDER", "none")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with questions, and the catalog that they are about, as the programs take them."""
    folder = tmp_path_factory.mktemp("shop")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as database, database:
        database.executescript("""
            CREATE TABLE customers (customer_no TEXT PRIMARY KEY, name TEXT, segment TEXT);
            CREATE TABLE orders (order_no INT PRIMARY KEY,
                                 customer_no TEXT REFERENCES customers (customer_no), day TEXT);
        """)
        for n in range(40):
            segment = ("school", "club", "festival")[n % 3]
            database.execute("INSERT INTO customers VALUES (?, ?, ?)", (f"K{n}", f"N{n}", segment))
            database.execute("INSERT INTO orders VALUES (?, ?, '2024-01-01')", (n, f"K{n % 20}"))
    settings = Settings(embedder="none")
    dovetail.build(folder / "shop.sqlite", into=folder / "catalog", settings=settings)
    rows = [
        {"question": ORDERS, "gold_tables": ["orders", "customers"]},
        {"question": "the weather on the moon", "gold_tables": []},
        {"question": SEGMENTS, "gold_tables": ["customers"]},
    ]
    (folder / "questions.json").write_text(json.dumps(rows))
    return f"{folder}={folder / 'catalog'}"


def test_a_pile_is_told_by_its_folder_and_catalog(shop: str) -> None:
    found = pile(shop)
    assert [one.text for one in agent.drawn(found.questions, 9)] == [ORDERS, SEGMENTS]
    assert [one.text for one in agent.drawn(found.questions, 1)] == [ORDERS]
    with pytest.raises(UsageError, match="say sample, or FOLDER=CATALOG"):
        pile("nowhere")


def test_all_that_is_given_back_is_run(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    pasted.main([shop, "--show"])
    told = json.loads(capsys.readouterr().out)
    assert (told["questions"], told["refused"]) == (3, 1)
    assert told["all"]["given"] == told["all"]["ran"] > 20
    assert {"ddl", "name", "condition", "skeleton", "mcp skeleton", "mcp join"} <= set(
        told["kinds"]
    )


@pytest.mark.slow
def test_all_that_is_given_back_for_250_questions_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over the sample, the insurer and two companies' piles; of each kind one for a question."""
    settings, asked = Settings(embedder="none"), [pile("sample")]
    (tmp_path / "insurer").mkdir()
    catalog, rows = PILES["insurer"](tmp_path / "insurer")
    questions = [Asked("", row["question"], [frozenset(row["tables"])], "") for row in rows]
    asked.append(Pile("insurer", catalog.folder, Names(tmp_path), questions))
    for name in ("dairy", "telecom"):
        with tarfile.open(KEPT / f"{name}.tar.xz") as packed:
            packed.extractall(tmp_path, filter="data")
        folder, made = tmp_path / name, tmp_path / name / "made"
        subprocess.run([sys.executable, folder / "gen.py", made, folder], check=True, cwd=folder)
        into = folder / "catalog"
        dovetail.build(*sorted(made.iterdir()), into=into, settings=settings)
        asked.append(pile(f"{folder}={into}"))
    counts: Counter[str] = Counter()
    for each in asked:
        result = asyncio.run(pasted.tried(each, counts, show=True, once=True))
        assert result.given == result.ran, capsys.readouterr().out
    assert counts["questions"] >= 200


def test_what_does_not_run_is_counted_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "does not exist" in pasted.ddl_error("CREATE TABLE t (x INT REFERENCES u (y));")
    assert pasted.ddl_error('CREATE TABLE a."b c".t (x INT);') == ""
    counts = pasted.Tried(show=True)
    counts.add("name", "SELECT 1", "")
    counts.add("name", "SELECT 2", "no such thing")
    counts.add("skeleton", "SELECT 2")
    assert counts.seen("SELECT 2")
    assert (counts.given, counts.ran) == ({"name": 2, "skeleton": 1}, {"name": 1, "skeleton": 0})
    assert capsys.readouterr().out.count("no such thing") == 2


def test_an_agent_without_a_model_finds_and_runs(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.main([shop, "-v"])
    *each, last = capsys.readouterr().out.splitlines()
    told = json.loads(last)
    assert (told["questions"], told["solved"], told["waiting"], told["calls_most"]) == (2, 2, 0, 2)
    assert 50 < told["tokens_median"] <= told["tokens_most"] < told["once"]
    assert [line.split()[2] for line in each] == ["111", "111"]


def test_an_agent_that_a_model_plays_goes_on_from_what_it_was_told(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = "SELECT name, count(*) FROM orders JOIN customers USING (customer_no) GROUP BY name"
    replies: dict[str, list[dict[str, Any]]] = {
        ORDERS: [
            {"tool": "run_sql", "arguments": {"sql": "SELECT nothing FROM orders"}},
            {"tool": "run_sql", "arguments": {"sql": counted}},
        ],
        SEGMENTS: [{"answer": "I do not know"}],
    }
    words = [shop, "--llm", f"replay:{tmp_path}?model=some", "--calls", "2"]
    for _ in range(3):
        agent.main([*words, "--save", str(tmp_path / "calls.jsonl.xz")])
        answer(tmp_path, replies)
    *_, last = capsys.readouterr().out.splitlines()
    told = json.loads(last)
    assert (told["questions"], told["waiting"], told["calls_most"]) == (2, 0, 2)
    assert (told["told"], told["rows"], told["solved"]) == (0, 1, 1)
    system, *_, complaint = read(tmp_path / "requests.jsonl")[-1]["body"]["messages"]
    assert "looking_for" in system["content"]
    assert "nothing" in complaint["content"]
    agent.main([shop, "--recorded", str(tmp_path / "calls.jsonl.xz")])
    assert json.loads(capsys.readouterr().out) == told


def answer(folder: Path, replies: dict[str, list[dict[str, Any]]]) -> None:
    """Answer every request by its question and how many calls there were."""
    with (folder / "responses.jsonl").open("w") as stream:
        for line in read(folder / "requests.jsonl"):
            _, question, *turns = line["body"]["messages"]
            said = json.dumps(replies[question["content"]][len(turns) // 2])
            body = {"choices": [{"message": {"content": said}}]}
            reply = {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}
            stream.write(json.dumps(reply) + "\n")


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium is installed")
def test_the_page_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    page.main(["--tables", "30", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["tables"] == 30
    for name in ("first_paint_ms", "list_first_ms", "map_again_ms", "pan_frames_per_second"):
        assert told[name] > 0, name
    assert told["list_first_cpu_ms"] > 0
