"""The pages of results in docs/lab: results/CORPUS.md has every table, results.md the headlines.

The complete pages are written by the program `results`. The tables of the headline page are copied
out of them, so its figures cannot differ; `dovetail bench run pages` does that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[4] / "docs" / "lab"
HEADLINES, PAGES = DOCS / "results.md", DOCS / "results"
NONE = "\N{EN DASH}"
INTRO = """# Results on {corpus}: every table

Written by `make bench`; the summary over all corpora is on the page
[results](../results.md), what the measures are on [evaluation](../evaluation.md).

Rows marked as published are the paper's, with the models named in the last column: other embedders,
its own copies of the corpora, and for its selectors a language model. Best in bold and second best
underlined are among our rows. All rows are the same in every run, times aside.
"""

Row = dict[str, str]
Tables = Mapping[str, list[Row]]


def write_chapters(folder: Path, chapters: Mapping[str, str]) -> None:
    """Write the page of each corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in chapters.items():
        page = f"{INTRO.format(corpus=name)}\n## {name}\n\n{text.strip()}\n"
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


def _split(text: str, level: str = "##") -> dict[str, str]:
    parts = re.split(rf"^{level} (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read_chapters(folder: Path) -> dict[str, Tables]:
    """By chapter and title the rows of every table, as cells without emphasis by column."""
    return {
        name: {title: list(_rows(body)) for title, body in _split(text, "###").items()}
        for page in sorted(folder.glob("*.md"))
        for name, text in _split(page.read_text("utf-8")).items()
    }


def _rows(body: str) -> Iterator[Row]:
    plain = re.sub(r"\*\*|</?ins>|\\(?=[^|])", "", body)
    lines = [line for line in plain.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    for values in cells[2:]:
        yield dict(zip(cells[0], values, strict=True))


def unmarked(cell: str) -> tuple[str, str]:
    """The text of a cell and the mark above it.

    >>> unmarked("graph@5<sup>x</sup>")
    ('graph@5', 'x')
    """
    text, _, mark = cell.partition("<sup>")
    return text, mark.removesuffix("</sup>")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a headline table: a system of ours, or one as published with some models.

    `only` are the rows that count, by column and value.
    """

    shown: str
    system: str
    published: str = ""
    only: tuple[tuple[str, str], ...] = ()

    def find(self, rows: Sequence[Row], column: str) -> Row | None:
        """Its row among those of a complete table."""
        origin = f"published: {self.published}"
        for row in rows:
            published = row.get("run", "").startswith("published")
            right = row["run"] == origin if self.published else not published
            right = right and all(row[name] == value for name, value in self.only)
            if unmarked(row[column])[0] == self.system and right:
                return row
        return None


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline table: from which complete table, which lines, and what a cell shows.

    `names` is the column that names the system.
    """

    name: str
    source: str
    chapters: Mapping[str, str]
    lines: Sequence[Line]
    shown: str
    names: str = "system"

    def markdown(self, chapters: Mapping[str, Tables]) -> str:
        """The table, filled from the complete ones."""
        heads = ["", *self.chapters]
        lines = [_line(heads), _line(["---", *["---:"] * len(self.chapters)])]
        for line in self.lines:
            found = [self._cell(line, chapters.get(name, {})) for name in self.chapters.values()]
            lines.append(_line([line.shown, *found]))
        return "\n".join(lines)

    def _cell(self, line: Line, tables: Tables) -> str:
        row = line.find(tables.get(self.source, ()), self.names)
        if row is None:
            return NONE
        plain = {column: unmarked(value)[0] for column, value in row.items()}
        return self.shown.format(**plain) + unmarked(row[self.names])[1]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


_CORPORA = {
    "Spider": "spider_dev", "Bird": "bird_dev", "MMQA": "mmqa", "Beaver": "beaver",
    "sample": "sample",
}  # fmt: skip
_SELECTION, _JOINS = "Table-selection performance", "Joinability"
_QWEN = "UAE-Large-V1, Qwen-2.5-7B-Instruct"
TABLES = (
    Headline(
        "search-recall",
        "Rankings at several k",
        _CORPORA,
        (
            Line("`dense`, top 5", "dense@5"),
            Line("`search`, top 5", "search@5"),
            Line("`dense`, top 10", "dense@10"),
            Line("`search`, top 10", "search@10"),
            Line("DR@10, UAE-Large-V1, published", "DR@10", "UAE-Large-V1"),
        ),
        "{PR}",
    ),
    Headline(
        "sets",
        _SELECTION,
        _CORPORA,
        (
            Line("`search`, top 5", "search@5"),
            Line("`graph`, k = 5", "graph@5"),
            Line("`graph`, k = 10", "graph@10"),
            Line("CORE-T, 7B model, published", "CORE-T", _QWEN),
            Line("ReAct, 7B model, published", "ReAct", _QWEN),
            Line("REAR, published", "REAR", _QWEN),
        ),
        "{F1} @ {PR}",
    ),
    Headline(
        "joins",
        _JOINS,
        _CORPORA,
        (
            Line("inside databases", "foreign_key", only=(("pairs", "inside databases"),)),
            Line("all pairs", "foreign_key", only=(("pairs", "all pairs"),)),
        ),
        "{F1} ({P} / {R})",
        "scoring",
    ),
)  # fmt: skip


def with_headlines(text: str, folder: Path) -> str:
    """The headline page with its tables as the complete pages have them.

    A table that the page has no place for is left out.
    """
    chapters = read_chapters(folder)
    for table in TABLES:
        begin, end = f"<!-- {table.name} -->", f"<!-- end of {table.name} -->"
        before, found, rest = text.partition(f"{begin}\n")
        _, closed, after = rest.partition(end)
        if not found:
            continue
        if not closed:
            raise ValueError(f"the headline page has {begin} without {end}")
        text = f"{before}{begin}\n{table.markdown(chapters)}\n{end}{after}"
    return text


def write_headlines(page: Path = HEADLINES, folder: Path = PAGES) -> None:
    """Bring the tables of the headline page up to date."""
    page.write_text(with_headlines(page.read_text("utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    write_headlines()
