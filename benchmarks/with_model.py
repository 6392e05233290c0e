"""What a language model adds: make bench-llm LLM=...

    python benchmarks/with_model.py --llm NAME [DATA ...] [--runs .bench] [--report F] [--pages F]

Sets by a model (full and compact prompt, asked always or where graph is unsure) and SQL by it over
these sets, over rankings, graph's sets and the gold tables; single shots, as in the paper.
NAME is any model, or `replay:FOLDER?model=NAME`: what has no reply there yet is written down,
benchmarks/run_batch.py answers it, and the next run goes on. Questions that still wait are left out
of their row, whose number of questions says so; a row that lacks too many is left out itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.pages import PAGES, write_chapters, write_headlines
from benchmarks.results import chapter_text, print_rows, run_files

from dovetail.bench.datasets import Dataset, open_dataset
from dovetail.bench.question_filter import QuestionFilter
from dovetail.bench.reporting.report import make_report
from dovetail.bench.reporting.writing import write_report
from dovetail.bench.retrieval import Experiment
from dovetail.bench.run_config import RunConfig
from dovetail.bench.sql import bench_sql
from dovetail.plugins import open_llm
from dovetail.ports import Json
from dovetail.settings import Settings

SETS = {
    "dense": (5, 10),
    "graph": (10,),
    "core-t": (10,),
    "core-t:0.3": (10,),
    "core-t:0.7": (10,),
    "core-t:compact": (10,),
    "core-t:compact+0.3": (10,),
    "core-t:compact+0.7": (10,),
    "hybrid:compact": (10,),
}
ANSWERS = {
    "oracle": (5,), "dense": (5, 10), "graph": (10,), "graph:0.4": (10,), "search": (10,),
    "core-t:unadjusted": (10,), "core-t": (10,),
    "core-t:compact+unadjusted": (10,), "core-t:compact": (10,),
}  # fmt: skip
# As the paper samples MMQA; only one database of Bird is there with all of its rows.
CHOICES = {
    "mmqa": QuestionFilter(share=Fraction(1, 3)),
    "bird_dev": QuestionFilter(sources=("superhero",)),
}
_MOST_WAITING = 0.15
SHOWN = (
    "selection", "stages", "sweep", "recovery", "connectors", "model-calls", "tokens", "lengths",
    "tertiles", "execution", "paired-execution", "answer-errors",
)  # fmt: skip


def measure(dataset: Dataset, config: RunConfig) -> Iterator[Json]:
    """The rows of sets and of answers, as far as there are replies."""
    question_filter = CHOICES.get(dataset.name, QuestionFilter())
    experiment = Experiment.of(dataset, question_filter, config)
    rows = [
        experiment.row(name, ran)
        for name, ks in SETS.items()
        for ran in experiment.found(experiment.key(name), ks)
        if _enough(len(ran.records), len(experiment.questions))
    ]
    yield from print_rows({"dataset": dataset.name, "results": rows})
    for name, ks in ANSWERS.items():
        for row in print_rows(bench_sql(dataset, [name], ks, question_filter, config)):
            if _enough(row["scored"], row["scored"] + row["pending"]):
                yield row


def _enough(answered: int, asked: int) -> bool:
    """Whether hardly any question waits for a reply."""
    return asked - answered <= _MOST_WAITING * answered


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*")
    parser.add_argument("--llm", required=True, help="openai:NAME, local:FILE or replay:FOLDER")
    parser.add_argument("--runs", type=Path, default=Path(".bench/runs"))
    parser.add_argument("--report", type=Path, default=Path("report/with-model"))
    parser.add_argument("--pages", type=Path, default=PAGES, help="a folder")
    parser.add_argument("--workers", type=int, default=2, help="questions asked at the same time")
    given = parser.parse_args(arguments)
    found = sorted(str(file.parent) for file in Path(".bench/data").glob("*/questions.json"))
    settings = Settings(llm=given.llm, sql_repair=False)
    model = open_llm(given.llm, workers=1).model_id.rpartition(":")[2]
    files: list[Path] = []
    for data in given.data or [one for one in found if Path(one).name != "beaver"]:
        config = RunConfig(given.runs, settings, given.workers, note=print, corpus=data)
        made = run_files(list(measure(open_dataset(data), config)))
        (chapter,) = make_report(made).chapters
        text = chapter_text(chapter, SHOWN)
        write_chapters(given.pages, {f"{chapter.dataset} with {model}": text})
        files += made
    if given.pages == PAGES:
        write_headlines()
    print(write_report(make_report(files), given.report)[0])


if __name__ == "__main__":
    main()
