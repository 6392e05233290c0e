"""Reads and writes TREC run files: `question Q0 table rank score tag`, names URL-quoted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from dovetail.domain import TableId
from dovetail.errors import DatasetError

Ranking = Sequence[tuple[TableId, float]]


def write_trec(file: Path, rankings: Iterable[tuple[str, Ranking]], tag: str) -> None:
    """Write the tables found for each question, in their order.

    Readers of such files go by score alone, so a score above the one before it is lowered to it.
    """
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        for question, ranking in rankings:
            lowest = math.inf
            for rank, (table, score) in enumerate(ranking, start=1):
                lowest = min(lowest, score)
                names = (
                    _word(question),
                    "Q0",
                    _word(str(table)),
                    rank,
                    f"{lowest:.6f}",
                    _word(tag),
                )
                stream.write(" ".join(map(str, names)) + "\n")


def read_trec(file: Path) -> Mapping[str, tuple[TableId, ...]]:
    """The tables found for each question, by descending score, ties by rank."""
    found: dict[str, list[tuple[float, int, TableId]]] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            question, _, document, rank, score, _ = line.split()
            source, colons, name = unquote(document).partition("::")
            if not colons:
                raise ValueError(f"{document} is not source::name")
            entry = (-float(score), int(rank), TableId(source, name))
        except ValueError as error:
            raise DatasetError(f"{file}, line {number}, is no line of a run: {error}") from None
        found.setdefault(unquote(question), []).append(entry)
    return {
        question: tuple(table for *_, table in sorted(entries))
        for question, entries in found.items()
    }


def _word(text: str) -> str:
    return quote(text, safe="!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~")
