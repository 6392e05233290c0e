"""The commands that teach: notes written, listed, refused and taken back, by whole commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.test_cli import run_json
from tests.support.command_line import run


@pytest.fixture
def shop(corpus: tuple[Path, ...], tmp_path: Path) -> Path:
    file = next(path for path in corpus if path.name == "shop.sqlite")
    shutil.copy(file, tmp_path / "shop.sqlite")
    assert run("index", "shop.sqlite", "--embedder", "none", "-q", cwd=tmp_path).returncode == 0
    (tmp_path / "dovetail.toml").write_text('embedder = "none"\n')
    return tmp_path


def test_notes_by_command(shop: Path) -> None:
    done = run("note", "define", "GMV", "gross value", "--table", "order_items", cwd=shop)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[terms] GMV = gross value: order_items" in " ".join(done.stdout.split())
    found = run_json("ask", "What is our GMV?", cwd=shop)["tables"]
    assert (found[0]["name"], found[0]["reason"]) == (
        "order_items",
        "your notes define GMV as gross value",
    )
    refused = run("note", "mark", "order_item", "ignore", cwd=shop)
    assert refused.returncode == 2
    assert "did you mean order_items" in refused.stderr
    assert run("feedback", "Our GMV?", "order_items", "orders", cwd=shop).returncode == 0
    listed = run_json("note", "list", cwd=shop)
    assert [(each["section"], each["key"]) for each in listed["notes"]] == [
        ("terms", "GMV"),
        ("questions", "Our GMV?"),
    ]
    assert run("note", "remove", "GMV", cwd=shop).returncode == 0
    (proposed,) = run_json("note", "suggest", "--write", cwd=shop)["proposals"]
    assert (proposed["section"], proposed["key"]) == ("terms", "gmv")


def test_a_pinned_join_and_a_broken_line(shop: Path) -> None:
    pin = "orders.order_no = accounts.account_id"
    accounts = run_json("show", "accounts", cwd=shop)["columns"][0]["name"]
    pin = f"orders.order_no = accounts.{accounts}"
    assert run("note", "pin", pin, cwd=shop).returncode == 0
    with (shop / "dovetail.notes.toml").open("a") as file:
        file.write("oops\n\x1b[31m = 'x'\n")
    done = run("joins", "accounts", cwd=shop)
    assert "you pinned this" in done.stdout
    assert "dovetail.notes.toml line 3: is no entry" in done.stderr
    assert "\x1b" not in done.stderr
    assert run("note", "list", cwd=shop).returncode == 1
