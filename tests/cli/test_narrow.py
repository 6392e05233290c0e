"""Every listing in a terminal of 80 columns: no line is longer, and no word is broken."""

from __future__ import annotations

import re

import pytest

import dovetail
from dovetail.cli import app
from dovetail.cli.output import filled_lines

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
# A line of a listing begins with a blank; what a command says besides is for the terminal to wrap.
_WORD = re.compile(r"[^\s_./:─]+")


def printed(command: list[str], columns: int, told: Told, patch: pytest.MonkeyPatch) -> str:
    patch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as ended:
        app(command)
    assert ended.value.code == 0
    return told.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_listing_fits(
    command: list[str], sample: dovetail.Catalog, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*command, "-C", str(sample.folder)]
    narrow, wide = (printed(given, columns, capsys, monkeypatch) for columns in (80, 4000))
    lines = [line for line in narrow.splitlines() if line.startswith(" ")]
    listed = [line for line in lines if not re.fullmatch(r" row \d+ +", line)]
    assert all(len(line) <= 80 for line in lines)
    whole = set(_WORD.findall(wide))
    broken = [word for line in listed for word in _WORD.findall(line) if word not in whole]
    assert [word for word in broken if not word.endswith("…")] == []


def test_a_word_longer_than_its_column_is_broken() -> None:
    assert filled_lines(["a_", "customers"], 5) == ["a_", "custo", "mers"]
