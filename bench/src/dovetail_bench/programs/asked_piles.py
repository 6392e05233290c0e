"""Piles with questions, as the programs `pasted` and `agent` take them.

`sample` is the corpus of the demo. FOLDER=CATALOG is a folder with `questions.json`, and the
catalog of the pile that the questions are about; the file may be that of a corpus (`question`,
`gold_tables`) or of a company's pile (`programs/company.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dovetail.errors import UsageError
from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.company import Asked, Names, read_questions


@dataclass(frozen=True, slots=True)
class Pile:
    """A catalog and the questions about it; `names` are what these call its tables."""

    name: str
    catalog: Path
    names: Names
    questions: list[Asked]


def pile(given: str) -> Pile:
    """The pile that an argument of a command stands for."""
    folder, _, catalog = given.rpartition("=")
    if given == "sample":
        dataset = open_dataset(given)
        folder, catalog = str(dataset.home), str(dataset.catalog().folder)
    elif not folder:
        raise UsageError(f"{given}: say sample, or FOLDER=CATALOG")
    names = Names(Path(folder))
    return Pile(Path(folder).name, Path(catalog), names, read_questions(Path(folder), names))
