"""programs/paper.py: every figure of the paper stands on the page, with ours or a reason."""

from __future__ import annotations

from dovetail_bench.programs.pages import PAGES, read_chapters
from dovetail_bench.programs.paper import PARTS, SYSTEMS, Ours, Part, page, rows_of
from dovetail_bench.reporting.published import figures

CHAPTERS = read_chapters(PAGES)


def test_the_page_has_a_part_for_each_analysis() -> None:
    text = page(CHAPTERS)
    assert all(part.title in text for part in PARTS)


def test_every_analysis_of_the_paper_has_its_part() -> None:
    assert {part.analysis for part in PARTS} == set(figures())


def test_every_figure_has_ours_beside_it_or_a_line_that_says_why_not() -> None:
    count = 0
    for part in PARTS:
        for _, _, _, *cells, last in rows_of(part, CHAPTERS):
            assert last
            for cell in cells:
                _, _, ours = cell.partition(" · ")
                explained = "not" in last or "cannot" in last or "in brackets" in last
                assert ours != "\N{EN DASH}" or explained, (part.title, last)
                count += 1
    wanted = sum(
        len(values)
        for section in figures().values()
        for models, corpora in section.items()
        if models != "columns"
        for systems in corpora.values()
        for values in systems.values()
    )
    assert count == wanted > 1_000


def test_the_paper_s_setup_comes_first_and_one_database_last() -> None:
    def table(f1: str) -> dict[str, list[dict[str, str]]]:
        return {"Table-selection performance": [{"system": "dense@5", "F1": f1, "run": "1"}]}

    every = {
        "bird_dev": table("1"),
        "bird_dev with m, one database (x)": table("2"),
        "bird_dev with m, the paper's setup": table("3"),
        "other": table("4"),
    }
    part = Part("selection", "t", "Table-selection")
    ours = Ours.of(every, "bird_dev")
    assert [name for name, _ in ours.chapters] == [
        "bird_dev with m, the paper's setup", "bird_dev", "bird_dev with m, one database (x)",
    ]  # fmt: skip
    found = ours.find(part, SYSTEMS["DR@5"])
    assert found is not None
    assert found[1]["F1"] == "3"
    assert ours.find(part, ["react@10"]) is None
