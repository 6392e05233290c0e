"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dovetail
from tests.support.command_line import run


def run_json(*arguments: str, cwd: Path | None = None) -> Any:
    done = run(*arguments, "--json", cwd=cwd)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture
def shop(corpus: tuple[Path, ...], tmp_path: Path) -> Path:
    """A folder with a database and a folder of exports."""
    for name in ("shop.sqlite", "exports"):
        (tmp_path / name).symlink_to(next(path for path in corpus if path.name == name))
    return tmp_path


@pytest.mark.slow
def test_index_tables_show(shop: Path) -> None:
    first = run("index", "shop.sqlite", "exports", cwd=shop)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("16 tables in .dovetail: 16 new (")
    again = run("index", cwd=shop)
    assert again.stdout == "Nothing to do: 16 tables in .dovetail are up to date.\n"
    listing = run("tables", cwd=shop).stdout
    assert "order_items" in listing
    assert "1,288" in listing
    shown = run("show", "order_items", cwd=shop).stdout
    assert shown.startswith("shop::order_items  1,288 rows\n")
    assert "product_id" in shown


@pytest.mark.slow
def test_json_is_one_document_and_nothing_else(shop: Path) -> None:
    report = run_json("index", "shop.sqlite", cwd=shop)
    assert report["tables"] == 6
    assert report["added"][0] == "shop.sqlite::accounts"
    assert (report["skipped"], report["unchanged"]) == ([], 0)
    tables = run_json("tables", cwd=shop)["tables"]
    assert tables[3] == {
        "id": "shop.sqlite::orders",
        "source": "shop.sqlite",
        "source_name": "shop",
        "name": "orders",
        "description": None,
        "rows": 600,
        "columns": len(run_json("show", "orders", cwd=shop)["columns"]),
        "family": None,
    }
    first = run_json("show", "orders", cwd=shop)["columns"][0]
    assert (first["name"], first["kind"], first["distinct"], first["unique"]) == (
        "order_no",
        "integer",
        600,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["tables"], 1, "there is no catalog at .dovetail; build one with"),
        (["index"], 2, "there is nothing to index yet; name a source"),
        (["index", "nowhere.sqlite"], 1, "nowhere.sqlite: there is no such file or folder"),
        (["index", "shop.sqlite", "--engine", "spark"], 2, "there are: local, ray"),
        (["index", "teradata://db/x"], 2, "source 'teradata' is not known"),
        (["index", "shop.sqlite", "--forget", "x"], 2, "there is no source 'x' to forget"),
    ],
)
def test_errors_are_one_line_and_a_code(
    arguments: list[str], code: int, line: str, shop: Path
) -> None:
    done = run(*arguments, cwd=shop)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("dovetail: ")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_typer_refuses_is_wrong_usage(shop: Path) -> None:
    for arguments in (["nonsense"], ["index", "--workers", "0"], ["show"]):
        assert run(*arguments, cwd=shop).returncode == 2


@pytest.mark.slow
def test_an_ambiguous_name_lists_the_choices(sample: dovetail.Catalog) -> None:
    done = run("show", "orders", "-C", str(sample.folder))
    assert done.returncode == 2
    assert "shop::orders, warehouse::orders" in done.stderr
    assert run("show", "shop::orders", "-C", str(sample.folder)).returncode == 0


@pytest.mark.slow
def test_a_source_that_is_missing_does_not_stop_the_others(shop: Path) -> None:
    done = run("index", "shop.sqlite", "gone.csv", cwd=shop)
    assert done.returncode == 1
    assert "6 tables in .dovetail: 6 new" in done.stdout
    assert "Skipped gone.csv: there is no such file or folder\n" in done.stdout
    assert run("tables", cwd=shop).returncode == 0


@pytest.mark.slow
def test_settings_come_from_file_then_environment_then_options(shop: Path) -> None:
    (shop / "dovetail.toml").write_text(
        'sources = ["shop.sqlite"]\nexclude = ["status"]\ncatalog = "a"\n'
    )
    assert run_json("index", cwd=shop)["tables"] == 5
    done = run("index", cwd=shop, DOVETAIL_CATALOG="b", DOVETAIL_EXCLUDE="status, orders")
    assert done.stdout.startswith("4 tables in b: 4 new")
    assert run_json("index", "-C", "c", "--exclude", "g*", cwd=shop)["tables"] == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("colour = 1", "setting 'colour' is not known; there are: catalog, sources"),
        ("workers = 'two'", "setting 'workers' must be of type int, not str"),
        ("sources = 'a.csv'", "setting 'sources' must be a list of texts"),
        ("catalog = ", "dovetail.toml: Invalid value"),
    ],
)
def test_a_wrong_setting_is_named(text: str, line: str, shop: Path) -> None:
    (shop / "dovetail.toml").write_text(text)
    done = run("tables", cwd=shop)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_variable_is_named(shop: Path) -> None:
    done = run("tables", cwd=shop, DOVETAIL_WORKERS="many")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "DOVETAIL_WORKERS must be a whole number, not 'many'" in done.stderr


@pytest.mark.slow
def test_the_demo_runs_twice(tmp_path: Path) -> None:
    cold, warm = run("demo", "--into", "d", cwd=tmp_path), run("demo", "--into", "d", cwd=tmp_path)
    assert cold.returncode == warm.returncode == 0
    assert cold.stdout.startswith("70 tables in d/catalog: 70 new")
    assert warm.stdout.startswith("Nothing to do: 70 tables")


@pytest.mark.slow
def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not(shop: Path) -> None:
    told = on_a_terminal(shop, "index", "shop.sqlite", "-C", "a", TERM="xterm")
    assert "Listing tables" in told
    assert on_a_terminal(shop, "index", "shop.sqlite", "-C", "b", "--quiet", TERM="xterm") == ""
    quiet = run("index", "shop.sqlite", "-C", "c", "--quiet", cwd=shop)
    assert (quiet.stdout, quiet.stderr) == ("", "")


_STEERING = "\x1b[31m\x9b31m\u202e[/b]"


def on_a_terminal(cwd: Path, *arguments: str, **environ: str) -> str:
    """What a command prints on a terminal."""
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *arguments],
        stdout=slave, stderr=slave, cwd=cwd,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200", **environ},
    )  # fmt: skip
    os.close(slave)
    chunks = []
    with suppress(OSError):  # the end of a terminal
        while chunk := os.read(master, 1 << 16):
            chunks.append(chunk)
    os.close(master)
    assert done.wait() == 0
    return b"".join(chunks).decode()


@pytest.mark.parametrize(
    "command",
    [
        ["tables"], ["show", "t"], ["search", "red names"], ["search", "red", "--explain"],
        ["ask", "red names"], ["ask", "red names", "--ddl"], ["ask", "red names", "--explain"],
        ["sql", "SELECT * FROM t", "--tables", "t"], ["joins"], ["show", "t", "--json"],
        ["sql", "SELECT * FROM t", "--tables", "t", "--csv"],
        ["sql", "SELECT * FROM t", "--tables", "t", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_names_and_cells_do_not_steer_the_terminal(hostile: Path, command: list[str]) -> None:
    shown = on_a_terminal(hostile, *command)
    assert "red" in shown or command == ["joins"]
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of a table whose names and cells hold what steers terminals."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "t.csv").write_text(f"red{_STEERING},n\nred{_STEERING},1\nblue,2\n")
    assert run("index", "t.csv", cwd=folder).returncode == 0
    return folder


def test_a_folder_named_like_markup_is_no_markup(shop: Path) -> None:
    done = run("index", "shop.sqlite", "-C", "new[/b]", cwd=shop)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tables in new[/b]:" in done.stdout


def test_a_demo_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "company.new" / "civic.sqlite").mkdir(parents=True)
    done = run("demo", "--into", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == f"dovetail: {tmp_path}/company.new/civic.sqlite: Is a directory\n"


def test_a_full_standard_output_is_an_error_of_one_line(shop: Path) -> None:
    assert run("index", "shop.sqlite", cwd=shop).returncode == 0
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dovetail", "tables", "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=shop, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "dovetail: No space left on device\n")


@pytest.mark.slow
def test_cell_values_do_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,n\n\x1b[31mred[/bold],1\n[link=x]y,2\n")
    run("index", "t.csv", cwd=tmp_path)
    shown = run("show", "t", cwd=tmp_path)
    assert "\x1b" not in shown.stdout
    assert "[link=x]y" in shown.stdout


def test_importing_is_light() -> None:
    heavy = "{'torch', 'ray', 'duckdb', 'pyarrow', 'numpy', 'rich'} & set(sys.modules)"
    code = f"import sys, dovetail, dovetail.cli; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_public_names_are_these() -> None:
    assert sorted(dovetail.__all__) == dir(dovetail)
    assert {getattr(dovetail, name) is not None for name in dovetail.__all__} == {True}
    assert run("--version").stdout == f"dovetail {dovetail.__version__}\n"


@pytest.mark.slow
def test_joins_are_shown_with_their_reasons(sample: dovetail.Catalog) -> None:
    shown = run("joins", "order_items", "-C", str(sample.folder), COLUMNS="200").stdout
    assert " order_items.order_no = shop.orders.order_no " in shown
    assert "named after it" in shown
    found = run_json("joins", "order_items", "-C", str(sample.folder))["joins"]
    assert [join["columns"] for join in found] == [[["order_no", "order_no"]], [["product_id"] * 2]]
    assert found[0]["cardinality"] == "n:1"
    way = run_json("joins", "--path", "suppliers", "districts", "-C", str(sample.folder))["joins"]
    assert [join["columns"][0][0] for join in way] == ["supplier_id", "school_id", "district_code"]
    none = run("joins", "--path", "recalls", "districts", "-C", str(sample.folder))
    assert none.returncode == 1
    assert "no joins above 0.5 lead from warehouse::recalls" in none.stderr


def test_tables_are_filtered_sorted_and_fit_the_terminal(shop: Path) -> None:
    assert run("index", "shop.sqlite", "exports", cwd=shop).returncode == 0
    found = run_json("tables", "ORDER", cwd=shop)
    names = [table["name"] for table in found["tables"]]
    assert names == sorted(names)
    assert {"orders", "order_items"} <= set(names)
    assert all("order" in table["id"].lower() for table in found["tables"])
    assert found["matching"] == len(names)
    rows = [
        t["rows"] for t in run_json("tables", "--sort", "rows", "--limit", "3", cwd=shop)["tables"]
    ]
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 3
    inside = run_json("tables", "--source", "exports", cwd=shop)["tables"]
    assert {table["source"] for table in inside} == {"exports"}
    narrow = run("tables", cwd=shop, COLUMNS="60").stdout.splitlines()
    assert max(map(len, narrow)) <= 60
    assert sum("order_items" in line for line in narrow) == 1
    last = run("tables", "item*", cwd=shop).stdout.splitlines()[-1]
    assert last.endswith("of 16 tables")
    wrong = run("tables", "--sort", "colour", cwd=shop)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "dovetail: --sort 'colour' is not known; there are: name, rows, columns\n",
    )
    unknown = run("tables", "--source", "nowhere", cwd=shop)
    assert (unknown.returncode, unknown.stderr) == (
        1,
        "dovetail: there is no source 'nowhere'; there are: exports, shop.sqlite\n",
    )


def test_ask_within_a_source_finds_and_joins_nothing_else(shop: Path) -> None:
    assert run("index", "shop.sqlite", "exports", cwd=shop).returncode == 0
    everywhere = run_json("ask", "Which customers ordered which products?", cwd=shop)
    found = run_json("ask", "Which customers ordered?", "--source", "exports", cwd=shop)
    assert {table["source"] for table in everywhere["tables"]} != {"exports"}
    assert {table["source"] for table in found["tables"]} == {"exports"}
    ends = {edge[side].partition("::")[0] for edge in found["joins"] for side in ("left", "right")}
    assert ends <= {"exports"}


def test_sql_needs_no_tables_where_its_names_are_unambiguous(shop: Path) -> None:
    assert run("index", "shop.sqlite", cwd=shop).returncode == 0
    counted = run_json(
        "sql", "SELECT count(*) AS n FROM orders JOIN status USING (status)", cwd=shop
    )
    assert counted["tables"] == ["shop.sqlite::orders", "shop.sqlite::status"]
    outside = run("sql", "SELECT * FROM orders", "--tables", "status", cwd=shop)
    assert outside.returncode == 1
    missing = run("sql", "SELECT * FROM ordrs", cwd=shop)
    assert missing.returncode == 1
    assert "did you mean orders" in missing.stderr


def test_a_join_is_pasted_into_a_query_and_into_a_note(shop: Path) -> None:
    run("index", "shop.sqlite", "exports", "--embedder", "none", cwd=shop)
    shown = run("joins", cwd=shop, COLUMNS="4000").stdout.splitlines()[3:]
    listed = [re.split(r" {2,}", line.strip())[1] for line in shown if line.strip()]
    conditions = [one for one in listed if " after " not in one]
    assert len(conditions) > 5
    for condition in conditions[:6]:
        pair = condition.partition(" AND ")[0].split(" = ")
        left, right = (column.rpartition(".")[0] for column in pair)
        if left == right:  # joins itself under another name
            continue
        query = f"SELECT count(*) AS n FROM {left} JOIN {right} ON {condition}"
        assert int(run("sql", query, "--csv", cwd=shop).stdout.split()[1]) > 0, query
    pinned = run("note", "pin", conditions[0], cwd=shop)
    assert (pinned.returncode, pinned.stderr) == (0, "")


def test_an_update_says_what_it_made_again(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "shop.sqlite", "exports", "--embedder", "none", cwd=shop)
    monkeypatch.setattr("dovetail.offline.pipeline.SCORING_VERSION", 0)
    again = run("index", "--embedder", "none", cwd=shop).stdout
    assert again.startswith(
        "16 tables in .dovetail: none changed; made again: joins, families, search index ("
    )
    monkeypatch.setattr("dovetail.offline.pipeline.FAMILIES_VERSION", 0)
    report = run_json("index", "--embedder", "none", cwd=shop)
    assert (report["unchanged"], report["remade"]) == (16, ["families"])
    (shop / "exports").rename(shop / "away")
    kept = run("index", "--embedder", "none", cwd=shop).stdout
    assert kept.startswith("16 tables in .dovetail: none changed as far as they could be read.\n")
