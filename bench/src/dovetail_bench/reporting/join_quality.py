"""The table of join quality, from documents that `dovetail bench joins --json` printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail.ports import Json
from dovetail_bench.errors import DatasetError
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.tabular import HIGH, LOW, Column, Row, Table, cells, empty

POPULATIONS = {"all": "all pairs", "within": "inside databases"}


@dataclass(frozen=True, slots=True)
class JoinResult:
    """One document of `dovetail bench joins --json`, under the number the report gives it."""

    number: int
    path: Path
    document: Json

    @property
    def dataset(self) -> str:
        return str(self.document["dataset"])

    @property
    def command(self) -> str:
        return str(self.document.get("command", "not recorded"))


def read_join_results(files: Sequence[Path], first: int) -> list[JoinResult]:
    """The documents among some files, numbered from `first`; other JSON is passed over."""
    found: list[tuple[Path, Json]] = []
    for file in files:
        try:
            document = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise DatasetError(f"{file} is no JSON: {error}; remove it, or make it again") from None
        if isinstance(document, dict) and {"dataset", "scoring", *POPULATIONS} <= set(document):
            found.append((file, document))
    return [JoinResult(number, *each) for number, each in enumerate(found, start=first)]


def joinability(join_results: Sequence[JoinResult], dataset: str) -> Table:
    """Accuracy, column pairs and score error by scoring, over all pairs and inside databases."""
    name, title = "joinability", "Joinability"
    chosen = [one for one in join_results if one.dataset == dataset]
    if not chosen:
        return empty(
            name, title, "It needs the output of dovetail bench joins --json in a file of its own."
        )
    columns = (
        Column("scoring"), Column("pairs"), Column("embedder"), Column("count"), Column("declared"),
        Column("accuracy", HIGH), Column("column pair", HIGH), Column("error", LOW, 3),
        Column("P", HIGH), Column("R", HIGH), Column("F1", HIGH), Column("AUC", HIGH, 3),
    )  # fmt: skip
    rows: list[Row] = []
    for population, told in POPULATIONS.items():
        for one in sorted(chosen, key=lambda one: str(one.document["scoring"])):
            measured = one.document[population]
            shares = ("precision", "recall", "f1")
            rows.append(
                Row(
                    cells(
                        str(one.document["scoring"]), told, one.document.get("embedder"),
                        measured["pairs"], measured["gold"],
                        100 * measured["accuracy"], 100 * measured["column_pair"],
                        measured["mean_error"], *(100 * measured[share] for share in shares),
                        measured["auc"],
                    ),
                    runs=(one.number,),
                )
            )  # fmt: skip
    taken = published_rows(name, dataset, columns)
    note = (
        "Where no embedder is named, headers are compared by their words alone."
        + " The paper does not say over which pairs; its copies of the tables have more rows."
        * bool(taken)
    )
    return Table(name, title, columns, (*rows, *taken), note=note)
