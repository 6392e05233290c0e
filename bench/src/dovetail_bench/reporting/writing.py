"""Writes a report to a folder: Markdown, and the figures as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from dovetail.ports import Json
from dovetail_bench.in_sample import KINDS
from dovetail_bench.reporting.as_markdown import chapter_markdown
from dovetail_bench.reporting.report import Chapter, Report

TEXT, FIGURES = "report.md", "figures.json"


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write a report and its figures; returns the files."""
    written = {
        folder / TEXT: "\n".join(
            f"## {chapter.dataset}\n\n{chapter_markdown(chapter)}" for chapter in report.chapters
        ),
        folder / FIGURES: json.dumps(figures(report), ensure_ascii=False, indent=1) + "\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in written.items():
        file.write_text(text, encoding="utf-8")
    return list(written)


def figures(report: Report) -> Json:
    """Every measured value by dataset and table; times are left out, so two runs give the same."""
    return {chapter.dataset: _measured(chapter) for chapter in report.chapters}


def _measured(chapter: Chapter) -> Json:
    files = {origin.number: origin.path.name for origin in chapter.origins}
    return {
        table.name: [
            {
                **{
                    column.name: round(cell.value, 6)
                    if isinstance(cell.value, float)
                    else cell.value
                    for column, cell in zip(table.columns, row.cells, strict=True)
                },
                "in_sample": next((KINDS[c.mark] for c in row.cells if c.mark in KINDS), None),
                "runs": [files[number] for number in row.runs],
            }
            for row in table.rows
            if not row.published
        ]
        for table in chapter.filled
        if not table.timed
    }
