"""The file of notes as text: a line is an entry or a problem, whatever stands around it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import UsageError
from dovetail.notes.file import SECTIONS, Entry, put_entry, read_entries, remove_entry

GOOD = """\
# what we call things
[terms]
DSO = "days sales outstanding: invoices"   # finance
"net sales" = 'after   returns'

[joins]  # corrected
"a.x = b.y" = "pin"
sales.customers = "x"
"""


def entries(text: str, folder: Path) -> tuple[list[Entry], list[str]]:
    file = folder / "dovetail.notes.toml"
    file.write_text(text, "utf-8")
    found, problems = read_entries(file)
    return found, list(map(str, problems))


def test_entries_are_toml_a_line_each(tmp_path: Path) -> None:
    assert entries(GOOD, tmp_path) == (
        [
            Entry(3, "terms", "DSO", "days sales outstanding: invoices"),
            Entry(4, "terms", "net sales", "after returns"),
            Entry(7, "joins", "a.x = b.y", "pin"),
            Entry(8, "joins", "sales.customers", "x"),
        ],
        [],
    )
    assert tomllib.loads(GOOD)["terms"]["net sales"] == "after   returns"


def test_a_broken_line_stops_no_other(tmp_path: Path) -> None:
    text = """x = "y"
[nonsense]
a = "b"
[terms]
DSO = days
DSO = "one"
DSO = "two"
A = 3
B = ["c"]
C = "d
"""
    found, problems = entries(text + 'D = "' + "x" * 5_000 + '"\nE = "f"\n', tmp_path)
    assert [(entry.key, entry.value) for entry in found] == [("DSO", "one"), ("E", "f")]
    listed = "there are: [joins], [tables], [terms], [about], [questions], [domains]"
    no_entry = 'is no entry: write key = "text" on one line, with the key in quotes'
    no_text = "must have a text in quotes for its value"
    assert problems == [
        f"line 1: stands in no section; {listed}",
        f"line 2: section 'nonsense' is not known; {listed}",
        f"line 5: {no_entry}",
        "line 7: says 'DSO' again, as line 6 does",
        f"line 8: {no_text}",
        f"line 9: {no_text}",
        f"line 10: {no_entry}",
        "line 11: is longer than 4,000 characters",
    ]


@given(st.text(max_size=300))
def test_no_text_breaks_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    file = folder / "notes"
    file.write_bytes(("[terms]\n" + text + '\n[about]\nlast = "word"\n').encode("utf-8", "replace"))
    found, _ = read_entries(file)
    assert ("about", "last", "word") in [(each.section, each.key, each.value) for each in found]


def test_files_that_are_none_are_one_line(tmp_path: Path) -> None:
    assert read_entries(tmp_path / "missing") == ([], [])
    assert str(read_entries(tmp_path)[1][0]) == "it cannot be read: it is no plain file"
    os.mkfifo(tmp_path / "pipe")
    assert str(read_entries(tmp_path / "pipe")[1][0]) == "it cannot be read: it is no plain file"
    huge = tmp_path / "huge"
    huge.write_bytes(b"#" * (1 << 21))
    assert str(read_entries(huge)[1][0]) == "it is larger than 1 MB, so it is not read"
    many = "[terms]\n" + "".join(f'k{number} = "v"\n' for number in range(10_002))
    found, problems = entries(many, tmp_path)
    assert len(found) == 10_000
    assert problems == ["line 10002: is beyond the first 10,000 entries"]


def test_writing_keeps_what_a_person_wrote(tmp_path: Path) -> None:
    file = tmp_path / "dovetail.notes.toml"
    file.write_text(GOOD)
    assert put_entry(file, "terms", "CAC", 'cost "per" customer')
    assert put_entry(file, "terms", "net sales", "after returns and discounts")
    assert put_entry(file, "about", "a.b", "line\none")
    assert not put_entry(file, "about", "a.b", "line one")
    assert remove_entry(file, "joins", "sales.customers")
    assert not remove_entry(file, "joins", "sales.customers")
    assert (
        file.read_text()
        == GOOD.replace(
            "\"net sales\" = 'after   returns'\n",
            '"net sales" = "after returns and discounts"\nCAC = "cost \\"per\\" customer"\n',
        ).replace('sales.customers = "x"\n', "")
        + '\n[about]\n"a.b" = "line one"\n'
    )
    assert tomllib.loads(file.read_text())["about"] == {"a.b": "line one"}


@given(st.sampled_from(SECTIONS), st.text(min_size=1, max_size=40), st.text(max_size=60))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, section: str, key: str, value: str
) -> None:
    file = tmp_path_factory.mktemp("any") / "notes.toml"
    wanted = " ".join(key.split()), " ".join(value.split())
    try:
        put_entry(file, section, *wanted)
    except UsageError:
        assert any(ord(char) in range(0xD800, 0xE000) for char in key + value) or not wanted[0]
        return
    found, problems = read_entries(file)
    assert problems == []
    assert [(each.section, each.key, each.value) for each in found] == [(section, *wanted)]
