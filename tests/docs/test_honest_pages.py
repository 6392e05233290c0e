"""What pages must say of their figures: what was fitted, chosen in view, left out, or not whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_bench.in_sample import FITTED, MARKS, mark_of
from dovetail_bench.programs.results import HEADLINES, PAGES, read_chapters, unmarked

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HAND_WRITTEN = [ROOT / "README.md", *sorted([*DOCS.glob("*.md"), *(DOCS / "lab").glob("*.md")])]
SYSTEMS = DOCS / "lab" / "systems.md"
OURS = re.compile(r"`?\bgraph\b`?|dovetail's set")
FIGURE = re.compile(r"\d")
Table = tuple[str, list[list[str]]]


def tables(page: Path) -> Iterator[Table]:
    """Each table of a page with what stands around it: the section it is in."""
    for section in re.split(r"^#+ ", page.read_text("utf-8"), flags=re.MULTILINE):
        lines = section.splitlines()
        rows: list[list[str]] = []
        for line in [*lines, ""]:
            if line.startswith("|"):
                rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
            elif rows:
                yield section, rows
                rows = []


def in_sample_cells(rows: list[list[str]]) -> Iterator[tuple[str, str]]:
    """Heads and cells with figures of `graph` on MMQA, whichever way the table is turned."""
    heads = rows[0]
    for at, head in enumerate(heads):
        if "MMQA" in head:
            yield from ((head, row[at]) for row in rows[2:] if OURS.search(row[0]))
        if OURS.search(head):
            yield from ((row[0], row[at]) for row in rows[2:] if "MMQA" in row[0])


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_figures_of_graph_on_mmqa_are_marked_or_by_folds(page: Path) -> None:
    for section, rows in tables(page):
        for head, cell in in_sample_cells(rows):
            marked = any(sign in head + cell for sign in (MARKS[FITTED], "§"))
            assert not FIGURE.search(cell) or marked or "folds" in section, (page.name, head, cell)


def test_the_cells_in_question_are_found() -> None:
    found = [cell for page in HAND_WRITTEN for _, rows in tables(page)
             for _, cell in in_sample_cells(rows)]  # fmt: skip
    assert len(found) >= 6


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_marks_are_explained_where_they_stand(page: Path) -> None:
    text = page.read_text("utf-8")
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    for mark in (*MARKS.values(), "§"):
        if mark in text:
            assert mark in prose, f"{page.name} does not say what {mark} means"


def test_every_system_has_a_table_of_what_is_the_same_and_what_is_not() -> None:
    sections = re.split(r"^### ", SYSTEMS.read_text("utf-8"), flags=re.MULTILINE)
    titles = [section.splitlines()[0] for section in sections]
    for name in ("core-t:paper", "dense", "react", "jar", "arm", "rear"):
        (section,) = (s for s, t in zip(sections, titles, strict=True) if f"`{name}`" in t)
        rows = [line for line in section.splitlines() if line.startswith("|")]
        assert rows[0].startswith("| step | "), name
        verdicts = [row.rsplit(" | ", 1)[1].removesuffix(" |") for row in rows[2:]]
        assert len(verdicts) >= 3, name
        assert all(re.match(r"same|different|as read", verdict) for verdict in verdicts), verdicts


def test_published_systems_without_a_part_of_theirs_say_so_in_their_row() -> None:
    checked = 0
    for name, chapter in read_chapters(PAGES).items():
        for row in (row for rows in chapter.values() for row in rows):
            label = unmarked(row.get("system", ""))[0]
            if row.get("run", "").startswith("published") or not label:
                continue
            if label.startswith("rear@"):
                assert "no cross-encoder" in label, name
            if label.startswith("jar@"):
                assert "no sub-questions" in label, name
            checked += label.startswith(("rear@", "jar@"))
    assert checked >= 6


def test_one_database_of_bird_is_called_so() -> None:
    assert "one database of Bird" in HEADLINES.read_text("utf-8")


def test_the_join_scoring_of_ours_is_marked_where_corpora_were_in_view() -> None:
    marked = 0
    for name, chapter in read_chapters(PAGES).items():
        for row in chapter.get("Joinability", ()):
            label, mark = unmarked(row["scoring"])
            if not row["run"].startswith("published"):
                assert mark == mark_of(f"scoring {label}", name), (name, label)
                marked += bool(mark)
    assert marked == 8  # two populations of four corpora
