"""What adjustment is worth after a model has chosen: the paper's, by need, and none.

    dovetail bench run adjustment REPLIES DATA:SHARE ... [--model NAME] [--runs .bench/adjustment]

REPLIES has a folder of recorded replies (`--llm replay:FOLDER`) for each corpus, by its name; DATA
is a corpus and SHARE the part of its questions that the replies are for, such as `bird_dev:1/15`.
Prompts are the same in all three rows, so each question is answered once. A question whose prompt
has changed since the replies were recorded has none, and is left out. Prints F1 @ PR in percent and
the mean number of tables, a row for each adjustment.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run_config import RunConfig

ROWS = {
    "unadjusted": "core-t:compact+unadjusted",
    "paper": "core-t:compact",
    "auto": "core-t:compact+auto",
}
CANDIDATES = 10


def measure(data: str, share: Fraction, llm: str, runs: Path) -> Json:
    """Run the three adjustments over a corpus, by replies that were recorded."""
    config = RunConfig(runs, Settings(llm=llm), corpus=data)
    dataset = open_dataset(data)
    experiment = Experiment.of(dataset, QuestionFilter(share=share), config)
    ran = [
        (name, one)
        for name in ROWS.values()
        for one in experiment.found(experiment.key(name), [CANDIDATES])
    ]
    return {
        "dataset": dataset.name,
        "questions": len(ran[0][1].records),
        "asked": len(experiment.questions),
        "results": [experiment.row(name, one) for name, one in ran],
    }


def cell(row: Json) -> str:
    """F1 @ PR and the number of tables of one run."""
    return f"{100 * row['f1']:.1f} @ {100 * row['pr']:.1f} ({row['avg_tables']:.2f})"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replies", type=Path)
    parser.add_argument("data", nargs="+", metavar="DATA:SHARE")
    parser.add_argument("--model", default="frontier")
    parser.add_argument("--runs", type=Path, default=Path(".bench/adjustment"))
    given = parser.parse_args()
    found: list[Json] = []
    for each in given.data:
        data, _, share = each.rpartition(":")
        llm = f"replay:{given.replies / Path(data).name}?model={given.model}"
        found.append(measure(data, Fraction(share), llm, given.runs))
    print(f"| adjustment | {' | '.join(one['dataset'] for one in found)} |")
    print("|---" * (len(found) + 1) + "|")
    counts = [f"{one['questions']} of {one['asked']}" for one in found]
    print(f"| questions | {' | '.join(counts)} |")
    for place, name in enumerate(ROWS):
        cells = " | ".join(cell(one["results"][place]) for one in found)
        print(f"| `{name}` | {cells} |")


if __name__ == "__main__":
    main()
