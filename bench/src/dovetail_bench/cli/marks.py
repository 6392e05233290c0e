"""Marks of in-sample rows, as the tables of `dovetail bench` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dovetail.ports import Json


def marked_name(row: Json) -> str:
    """The retriever of a result, how it has seen the corpus, and what else it knows, if at all."""
    from dovetail_bench.in_sample import MARKS

    told = "".join(f" + {name}" for name in row.get("knows", ()))
    return str(row["retriever"]) + MARKS.get(row["in_sample"], "") + told


def mark_notes(rows: Iterable[Json]) -> list[str]:
    """What the marks of these results mean, a line each."""
    from dovetail_bench.in_sample import NOTES

    used = {row["in_sample"] for row in rows}
    return [note for kind, note in NOTES.items() if kind in used]
