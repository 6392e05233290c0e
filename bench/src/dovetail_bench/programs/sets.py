"""How `ask` does without a model on all piles and corpora, in one table: dovetail bench run sets

    dovetail bench run sets spider_dev bird_dev beaver --pile FOLDER=CATALOG --companies FOLDER

Our own piles are always among them (`programs/piles.py`); others are as `company` has them, each
with its catalog, and made companies as `dovetail bench mess` leaves them in a folder: all with
default settings. Corpora are pools, so that nothing goes by sources and nothing is refused.

F1, perfect sets and questions with all tables found are shares of the questions that can be
answered, against the nearest accepted set. Of those without an answer, an empty set or a confidence
below 0.3 is a refusal. The means weigh each pile and each corpus alike; the last one has the piles
twice.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import dovetail
from dovetail.domain import TableSet
from dovetail.retrieve.ask import GraphRetriever
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.directory import logical
from dovetail_bench.measures import Score, score
from dovetail_bench.programs.asked_piles import pile
from dovetail_bench.programs.calibrate import LOW, spaced
from dovetail_bench.programs.piles import PILES
from dovetail_bench.retrievers import searcher_of

_HEAD = ("", "questions", "F1", "perfect", "all found", "tables", "own refused", "others refused")


@dataclass(frozen=True, slots=True)
class Result:
    """What a question got: the score of its set, none where it has no answer, and a refusal."""

    score: Score | None
    refused: bool


def result(
    found: TableSet, names: Iterable[object], accepted: Iterable[Iterable[object]]
) -> Result:
    """The result of a set whose tables have these names, against the sets that are accepted."""
    tables = [str(name) for name in names]
    scores = [score(tables, list(map(str, one))) for one in accepted if one]
    low = (found.confidence or 0.0) < LOW
    if not scores:
        return Result(None, not tables or low)
    return Result(max(scores, key=lambda one: one.f1), not tables)


@dataclass(frozen=True, slots=True)
class Row:
    """The measures over the questions of a pile or corpus."""

    name: str
    pile: bool
    results: Sequence[Result]

    @property
    def scores(self) -> list[Score]:
        """The scores of the questions that can be answered."""
        return [one.score for one in self.results if one.score is not None]

    @property
    def shares(self) -> tuple[float, float, float]:
        """F1, perfect sets, and questions with all tables found."""
        scores = self.scores
        return (
            mean(one.f1 for one in scores),
            mean(one.f1 == 1 for one in scores),
            mean(one.perfect for one in scores),
        )

    def cells(self) -> list[str]:
        """The row as it is printed."""
        own = [one.refused for one in self.results if one.score is not None]
        others = [one.refused for one in self.results if one.score is None]
        counts = (f"{sum(part)} of {len(part)}" if part else "" for part in (own, others))
        size = mean(one.tables for one in self.scores)
        return [self.name, str(len(own)), *map(_percent, self.shares), f"{size:.2f}", *counts]


def own_pile(name: str) -> Row:
    """One of our own piles, asked."""
    with tempfile.TemporaryDirectory() as folder:
        catalog, questions = PILES[name](Path(folder))
        results = [
            result(found, found.ids, (row["tables"], *row.get("accepted", ())))
            for row in questions
            for found in [catalog.ask(row["question"])]
        ]
    return Row(name, True, results)


def asked_pile(given: str) -> Row:
    """A pile as `company` has it, asked."""
    asked = pile(given)
    with dovetail.open(asked.catalog) as catalog:
        results = [
            result(found, asked.names.of_all(found.ids), one.accepted)
            for one in asked.questions
            for found in [catalog.ask(one.text)]
        ]
    return Row(asked.name, True, results)


def companies(folder: Path) -> Row:
    """The made companies in a folder, asked."""
    results: list[Result] = []
    for file in sorted(folder.glob("*/dataset.json")):
        dataset = open_dataset(file.parent)
        read = dataset.catalog()
        with dovetail.open(read.folder) as catalog:
            for one in dataset.question_set().over(read.ids, dataset.families()).questions:
                found = catalog.ask(one.text)
                names, gold = (logical(ids, one.families) for ids in (found.ids, one.gold))
                results.append(result(found, names, [gold]))
    return Row(folder.name, True, results)


def corpus(dataset: Dataset, limit: int) -> Row:
    """A pool of databases, asked: its questions, or so many, evenly spaced."""
    catalog = dataset.catalog()
    settings = Settings()
    retriever = GraphRetriever(searcher_of(catalog, settings), breadth=settings.breadth)
    asked = dataset.question_set().over(catalog.ids, dataset.families()).questions
    results = []
    for one in spaced(asked, limit or len(asked)):
        found = retriever.retrieve(one.text)
        names, gold = (logical(ids, one.families) for ids in (found.ids, one.gold))
        results.append(result(found, names, [gold]))
    return Row(dataset.name, False, results)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table: each pile and corpus, and the means."""
    yield _line(_HEAD)
    yield _line(["---"] * len(_HEAD))
    for row in rows:
        yield _line(row.cells())
    piles = [row.shares for row in rows if row.pile]
    corpora = [row.shares for row in rows if not row.pile]
    for name, parts in (
        ("mean of piles", piles),
        ("mean of corpora", corpora),
        ("mean, piles twice", [*piles, *piles, *corpora]),
    ):
        if parts:
            means = [_percent(mean(each)) for each in zip(*parts, strict=True)]
            yield _line([name, "", *means, "", "", ""])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", help="corpora")
    parser.add_argument("--pile", action="append", default=[], help="FOLDER=CATALOG")
    parser.add_argument("--companies", type=Path, action="append", default=[], help="a folder")
    parser.add_argument("--limit", type=int, default=0, help="questions of each corpus [all]")
    given = parser.parse_args(arguments)
    rows = [own_pile(name) for name in PILES]
    rows += [asked_pile(one) for one in given.pile]
    rows += [companies(folder) for folder in given.companies]
    rows += [corpus(open_dataset(data), given.limit) for data in given.data]
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
