"""Whatever is told in a terminal of 80 columns: no line is longer, and no word is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dovetail
from dovetail.cli import app, main
from dovetail.cli.output import filled_lines
from tests.support.files import put, update

Told = pytest.CaptureFixture[str]

COMMANDS = [
    ["tables"],
    ["tables", "--sort", "rows"],
    ["show", "shop.sqlite::orders"],
    ["show", "city.duckdb::buildings"],
    ["families"],
    ["joins"],
    ["joins", "shop.sqlite::orders"],
    ["joins", "shop.sqlite::order_items", "shop.sqlite::orders"],
    ["note", "list"],
    ["domains"],
    ["search", "customers of the shop"],
    ["ask", "how many open orders per customer segment"],
    ["sql", "SELECT * FROM shop.orders LIMIT 3"],
]
REFUSED = "how many penguins breed on the moons of Saturn each winter"
_WORD = re.compile(r"[^\s_./:─]+")


def printed(
    command: list[str], columns: int, told: Told, patch: pytest.MonkeyPatch, code: int = 0
) -> str:
    if columns:
        patch.setenv("COLUMNS", str(columns))
    else:
        patch.delenv("COLUMNS", raising=False)
    with pytest.raises(SystemExit) as ended:
        app(command)
    assert ended.value.code == code
    return told.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_listing_fits(
    command: list[str], sample: dovetail.Catalog, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*command, "-C", str(sample.folder)]
    narrow, wide = (printed(given, columns, capsys, monkeypatch) for columns in (80, 4000))
    lines = narrow.splitlines()
    listed = [line for line in lines if line[:1] == " " and not re.fullmatch(r" row \d+ +", line)]
    assert all(len(line) <= 80 for line in lines)
    whole = set(_WORD.findall(wide))
    broken = [word for line in listed for word in _WORD.findall(line) if word not in whole]
    assert [word for word in broken if not word.endswith("…")] == []


def test_of_a_table_its_name_and_source_are_cut_last(
    sample: dovetail.Catalog, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["tables", "-C", str(sample.folder)]
    lines = printed(given, 80, capsys, monkeypatch).splitlines()
    shown = [line.split() for line in lines if line[:1] == " " and line.strip(" ─")]
    names = sample.reader.source_names
    for table in sample.ids:
        if len(table.name) <= 30 and " " not in table.name:
            assert any(cells[::3][:2] == [table.name, names[table.source]] for cells in shown)


def test_a_word_longer_than_its_column_is_broken() -> None:
    assert filled_lines(["a_", "customers"], 5) == ["a_", "custo", "mers"]


@pytest.mark.parametrize("columns", [0, 80, 60])
def test_a_sentence_goes_on_in_the_next_line(
    columns: int, sample: dovetail.Catalog, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["ask", REFUSED, "-C", str(sample.folder)]
    lines = printed(asked, columns, capsys, monkeypatch, code=1).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= (columns or 80)
    whole = printed(asked, 4000 - 1, capsys, monkeypatch, code=1)
    assert " ".join(lines) == whole.strip()


@pytest.mark.parametrize(
    "command",
    [
        ["show", "shop.sqlite::orders_of_nobody"],
        ["show", "orders"],
        ["sql", "SELECT nothing_of_the_kind FROM shop.orders"],
        ["tables", "--source", "nowhere"],
        ["ask", "orders", "--csv"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("columns", [80, 60])
def test_an_error_goes_on_in_the_next_line(
    command: list[str],
    columns: int,
    sample: dovetail.Catalog,
    capsys: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["dovetail", *command, "-C", str(sample.folder)])
    monkeypatch.setenv("COLUMNS", str(columns))
    told = []
    for terminal in (True, False):
        with pytest.raises(SystemExit) as ended, monkeypatch.context() as patch:
            patch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
            main()
        assert ended.value.code in (1, 2)
        told.append(capsys.readouterr().err.splitlines())
    narrow, (whole,) = told
    assert (len(narrow) > 1) == (len(whole) > columns)
    words = {len(word) for word in whole.split()}
    assert max(map(len, narrow)) <= max(columns, *words)
    assert " ".join(narrow) == whole


def test_letters_of_two_cells_are_told_whole(
    tmp_path: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "t.csv", "番号,名前\n1,田中太郎\n2,鈴木花子\n3,佐藤次郎\n")
    update(tmp_path / "t.csv", into=tmp_path / "catalog")
    shown = printed(["show", "t", "-C", str(tmp_path / "catalog")], 80, capsys, monkeypatch)
    above = shown.partition(" 番号   名前")[0]
    assert [above.count(name) for name in ("田中太郎", "佐藤次郎", "鈴木花子")] == [1, 2, 2]
