"""The pages of results: headline figures are those of the complete tables, chapters stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_bench.programs.results import (
    HEADLINES,
    PAGES,
    TABLES,
    read_chapters,
    unmarked,
    with_headlines,
    write_chapters,
)

SMALL = """Measured somewhere.

### Rankings at several k

| system | F1 | PR | run |
| --- | ---: | ---: | --- |
| dense@5 | **10.0** | <ins>20.0</ins> | 1 |
| search@5<sup>x</sup> | 30.0<sup>a</sup> | 40.0 | 2 |
| dense@5 | 50.0 | 60.0 | published: a model |
"""


def test_the_headline_page_has_the_figures_of_the_complete_tables() -> None:
    text = HEADLINES.read_text("utf-8")
    assert text == with_headlines(text, PAGES), "run: dovetail bench run results --headlines"
    assert len(text.splitlines()) <= 150


def test_the_readme_has_the_figures_of_the_pages() -> None:
    chapters = read_chapters(PAGES)
    wanted = {
        "vectors alone, top 10": ("Rankings at several k", "dense@10", "{PR}"),
        "dovetail's search, top 10": ("Rankings at several k", "search@10", "{PR}"),
        "dovetail's set": ("Table-selection performance", "graph@10", "{F1} ({PR})"),
    }
    lines = (PAGES.parents[2] / "README.md").read_text("utf-8").splitlines()
    for label, (title, system, form) in wanted.items():
        (line,) = [line for line in lines if line.startswith(f"| {label}")]
        found = []
        for name in ("spider_dev", "bird_dev", "mmqa", "beaver"):
            row = next(row for row in chapters[name][title] if unmarked(row["system"])[0] == system)
            found.append(form.format(**{key: unmarked(cell)[0] for key, cell in row.items()}))
        assert [cell.strip(" †") for cell in line.split("|")[2:-1]] == found


def test_no_figure_of_ours_is_missing_from_a_headline_table() -> None:
    chapters, text = read_chapters(PAGES), HEADLINES.read_text("utf-8")
    shown = [table for table in TABLES if f"<!-- {table.name} -->" in text]
    assert len(shown) == 5
    for table in shown:
        lines = table.markdown(chapters).splitlines()[2:]
        assert len(lines) == len(table.lines)
        for line in lines:
            assert "\N{EN DASH}" not in line or "published" in line


def test_chapters_are_written_and_read_again(tmp_path: Path) -> None:
    write_chapters(tmp_path, {"tiny": "one"})
    write_chapters(tmp_path, {"tiny": SMALL, "other": SMALL})
    assert sorted(page.name for page in tmp_path.iterdir()) == ["other.md", "tiny.md"]
    found = read_chapters(tmp_path)
    assert list(found) == ["other", "tiny"]
    first, second, _ = found["tiny"]["Rankings at several k"]
    assert first == {"system": "dense@5", "F1": "10.0", "PR": "20.0", "run": "1"}
    assert second["system"] == "search@5<sup>x</sup>"


def test_a_cell_has_the_figure_and_the_mark_of_its_row(tmp_path: Path) -> None:
    write_chapters(tmp_path, {"spider_dev": SMALL})
    lines = TABLES[0].markdown(read_chapters(tmp_path)).splitlines()
    none = " | ".join("\N{EN DASH}" * 4)
    assert lines[2] == f"| `dense`, top 5 | 20.0 | {none} |"
    assert lines[3] == f"| `search`, top 5 | 40.0x | {none} |"


def test_a_table_without_a_place_is_left_out() -> None:
    assert with_headlines("# Results\n", PAGES) == "# Results\n"


def test_a_place_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="<!-- search-recall --> without"):
        with_headlines("<!-- search-recall -->\n", PAGES)
