"""The paper's comparison with a language model, in two setups: make bench-with-model

    dovetail bench run with_model --llm NAME [DATA ...] [--sample N] [--wait S] [--incomplete]

In both setups, ours and the paper's, sets by every system and SQL over them; single shots, as in
the paper. NAME is any model, or `replay:FOLDER?model=NAME`. Then it works in passes: a pass runs
every system as far as there are replies and writes down what has none; `programs/run_batch.py
--watch` answers that meanwhile, and the next pass goes on. ReAct and ARM are so run to their end,
round by round. Requests stand in the order of the systems, so what matters most is answered first;
equal ones, as SQL over equal sets, are asked once.

A row that lacks replies is no row: it is named as not measured. The report of each setup, with the
paper's figures beside ours, paired tests and fallbacks, is written when nothing waits any more, or
as far as it is with --incomplete.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from dovetail.errors import PendingError
from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.programs.results import print_rows, run_files
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.replay import REQUESTS, RESPONSES
from dovetail_bench.reporting.report import make_report
from dovetail_bench.reporting.writing import write_report
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run import RunConfig
from dovetail_bench.run_key import ORACLE
from dovetail_bench.sql import bench_sql

# As the paper samples MMQA; only one database of Bird is there with all of its rows.
CHOICES = {
    "mmqa": QuestionFilter(share=Fraction(1, 3)),
    "bird_dev": QuestionFilter(sources=("superhero",)),
}
# The order of corpora; one without SQL that can be run has no rows here.
CORPORA = ("spider_dev", "bird_dev", "mmqa")
# Requests too long for a model stay without a reply; so many questions may wait for one.
_MOST_WAITING = 0.01
_PAUSE, DONE = 1.0, "done"
# Seconds without a reply after which those that wait are taken for unanswerable.
_SILENCE = 20.0
_ID = re.compile(rb'"custom_id": ?"([^"]+)"')


@dataclass(frozen=True, slots=True)
class System:
    """A retriever at some k; `answers` says that SQL is written over its sets as well."""

    name: str
    ks: tuple[int, ...] = (10,)
    answers: bool = True

    @property
    def retrieves(self) -> bool:
        return self.name != ORACLE


@dataclass(frozen=True, slots=True)
class Setup:
    """Systems under the same settings, in the order in which they are worth being measured."""

    name: str
    systems: tuple[System, ...]
    purposes: bool = False

    def only(self, names: Collection[str] | None) -> Setup:
        """The setup with these systems alone; without names, with all."""
        if not names:
            return self
        return replace(self, systems=tuple(each for each in self.systems if each.name in names))


# DR@5, DR@8 and DR@10 are one ranking, cut; JAR and REAR return 5 tables, as published.
_COMPARED = (
    System("dense", (5, 8, 10)),
    System("jar", (5,)),
    System("rear", (5,)),
    System("react"),
    System("arm", (5,)),
)
# Schema lines are embedded, and no table has a purpose.
OURS = Setup(
    "ours",
    (
        System(ORACLE),
        System("graph"),
        System("llm"),
        *_COMPARED,
        System("graph:0.4"),
        System("search"),
        System("core-t:paper"),
        System("core-t:paper+unadjusted"),
    ),
)
# Every table has a purpose of a paragraph by the same model, and `core-t` embeds it with its name,
# purpose and sampled rows.
PAPER = Setup(
    "paper",
    (
        System(ORACLE),
        System("core-t:paper"),
        *_COMPARED,
        System("graph"),
        System("core-t:paper+unadjusted"),
        System("core-t:paper+0.3", answers=False),
        System("core-t:paper+0.7", answers=False),
    ),
    purposes=True,
)
SETUPS = (OURS, PAPER)


@dataclass(slots=True)
class Measured:
    """The rows of one setup on one corpus, and what is not measured, by system."""

    rows: list[Json] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def take(self, dataset: str, rows: Sequence[Json], what: str, asked: int) -> None:
        """Keep and print complete rows; of the others, how far they are."""
        for row in rows:
            name = f"{row['retriever']}@{row['k']}, {what}"
            there = row["scored"] + row["unusable"] if "scored" in row else row["questions"]
            if asked - there <= _MOST_WAITING * asked:
                self.rows += print_rows({"dataset": dataset, "results": [row]})
            else:
                self.missing[name] = f"{there} of {asked} questions have replies"
                print(f"not measured: {dataset} {name}: {self.missing[name]}")


def questions_asked(dataset: Dataset, sample: int | None) -> QuestionFilter:
    """Which questions of a corpus are asked: at most `sample`, drawn with a fixed seed."""
    chosen = CHOICES.get(dataset.name, QuestionFilter())
    count = len(dataset.question_set().questions)
    if sample is None or chosen.sources or sample >= count * chosen.share:
        return chosen
    return replace(chosen, share=Fraction(sample, count))


def measure(dataset: Dataset, setup: Setup, config: RunConfig, sample: int | None) -> Measured:
    """One pass: the rows of sets and of answers, as far as there are replies."""
    question_filter = replace(questions_asked(dataset, sample), purposes=setup.purposes)
    found = Measured()
    try:
        experiment = Experiment.of(dataset, question_filter, config)
    except PendingError as error:
        found.missing[f"all systems of the setup {setup.name}"] = str(error)
        return found
    for system in setup.systems:
        asked = len(experiment.questions)
        found.take(dataset.name, list(_sets(experiment, system)), "sets", asked)
        if system.answers:
            made = bench_sql(dataset, [system.name], system.ks, question_filter, config)
            found.take(dataset.name, made["results"], "SQL", asked)
    return found


def _sets(experiment: Experiment, system: System) -> Iterator[Json]:
    if system.retrieves:
        for ran in experiment.found(experiment.key(system.name), system.ks):
            yield {**experiment.row(system.name, ran), "questions": len(ran.records)}


def waiting(folder: Path) -> int:
    """How many requests of a folder have no reply yet; a recording may hold more than is asked."""
    return len(_ids(folder / REQUESTS) - _ids(folder / RESPONSES))


def replies(folder: Path) -> int:
    """How many replies a folder holds."""
    return len(_ids(folder / RESPONSES))


def _ids(file: Path) -> set[bytes]:
    return set(_ID.findall(file.read_bytes())) if file.is_file() else set()


def passes(
    one_pass: Callable[[], bool],
    folder: Path | None,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Make passes until nothing waits, or no reply comes in time; tells whether all is measured.

    `one_pass` tells whether it left nothing open. Without a folder of replies one pass is enough.
    A pass follows as soon as all is answered that can be: a request too long for the model never
    is, so the silence after other replies is enough.
    """
    until = clock() + seconds
    while True:
        told = replies(folder) if folder else 0
        if one_pass():
            return True
        if not folder:
            return False
        latest, heard = replies(folder), clock()
        while waiting(folder) and clock() < until:
            pause(_PAUSE)
            if replies(folder) > latest:
                latest, heard = replies(folder), clock()
            elif latest > told and clock() - heard > _SILENCE:
                break
        if replies(folder) == told:
            return False


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*")
    parser.add_argument("--llm", required=True, help="openai:NAME, local:FILE or replay:FOLDER")
    parser.add_argument("--setup", choices=[each.name for each in SETUPS], action="append")
    parser.add_argument("--system", action="append", help="of a setup, only this one [all]")
    parser.add_argument("--sample", type=int, help="ask so many questions of each corpus [all]")
    parser.add_argument("--wait", type=float, default=0, help="seconds for replies to come")
    parser.add_argument("--incomplete", action="store_true", help="report in any case")
    parser.add_argument("--runs", type=Path, default=Path(".bench/runs"))
    parser.add_argument("--report", type=Path, default=Path("report/with-model"))
    parser.add_argument("--workers", type=int, default=2, help="questions asked at the same time")
    given = parser.parse_args(arguments)
    folder = Path(given.llm.removeprefix("replay:").partition("?")[0])
    replayed = folder if given.llm.startswith("replay:") else None
    settings = Settings(llm=given.llm, sql_repair=False)
    setups = [
        each.only(given.system) for each in SETUPS if each.name in (given.setup or [each.name])
    ]
    known = [f".bench/data/{name}" for name in CORPORA]
    data = given.data or [place for place in known if Path(place).is_dir()]
    made: dict[str, list[tuple[Setup, Measured]]] = {}

    def one_pass() -> bool:
        for place in data:
            config = RunConfig(given.runs, settings, given.workers, corpus=place)
            dataset = open_dataset(place)
            made[place] = [(s, measure(dataset, s, config, given.sample)) for s in setups]
        return not any(m.missing for found in made.values() for _, m in found)

    complete = passes(one_pass, replayed, given.wait)
    if replayed:
        print(f"{waiting(replayed)} requests of {replayed} wait for a reply")
    if not complete and not given.incomplete:
        print("the report is written when all are answered, or with --incomplete")
        return
    if replayed and complete:
        (replayed / DONE).touch()
    for setup in setups:
        rows = [row for found in made.values() for s, m in found if s is setup for row in m.rows]
        if rows:
            print(write_report(make_report(run_files(rows)), given.report / setup.name)[0])


if __name__ == "__main__":
    main()
