"""Are the probabilities of `graph` right? A reliability diagram: dovetail bench run reliability

    dovetail bench run reliability DATA ... [--plot docs/reliability.svg]

The candidates of all questions of a corpus in tenths by the probability that they are needed;
beside its mean in each, the share of them that gold has. The weights were trained on MMQA and on
Spider's training set, so other corpora are out of sample.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.frontier import Corpus
from dovetail_bench.reporting.plots import Curve, Layout, Mark, Panel, sheet

PLOT = Path(__file__).resolve().parents[4] / "docs" / "reliability.svg"
TENTHS = 10
LAYOUT = Layout(width=210, height=210, gap=50, top=46, columns=3)
AXIS = {"0": 0.0, "0.5": 0.5, "1": 1.0}


@dataclass(frozen=True, slots=True)
class Tenth:
    """Candidates of about the same probability: how many, its mean, and the share needed."""

    candidates: int
    expected: float
    needed: float


def tenths(probabilities: Sequence[float], needed: Sequence[bool]) -> list[Tenth]:
    """The candidates by tenths of probability; those without any are left out.

    >>> tenths([0.02, 0.08, 0.95], [False, True, True])
    [Tenth(candidates=2, expected=0.05, needed=0.5), Tenth(candidates=1, expected=0.95, needed=1.0)]
    """
    given, right = np.array(probabilities), np.array(needed, dtype=float)
    place = np.minimum((given * TENTHS).astype(int), TENTHS - 1)
    found = []
    for each in range(TENTHS):
        inside = place == each
        if inside.any():
            means = round(float(given[inside].mean()), 4), round(float(right[inside].mean()), 4)
            found.append(Tenth(int(inside.sum()), *means))
    return found


def error(found: Sequence[Tenth]) -> float:
    """The expected calibration error: how far the two are apart, weighted by candidates."""
    total = sum(one.candidates for one in found)
    return sum(one.candidates * abs(one.expected - one.needed) for one in found) / total


def measure(corpus: Corpus) -> list[Tenth]:
    """The tenths of a corpus whose questions have been scored."""
    pairs = [
        (probability, table in one.question.gold)
        for one in corpus.questions
        for table, probability in one.scored.by_table.items()
    ]
    return tenths([p for p, _ in pairs], [needed for _, needed in pairs])


def picture(found: dict[str, list[Tenth]]) -> str:
    """A panel for each corpus: the share needed over the probability, and where they are equal."""
    panels = [
        Panel(
            f"{name}, error {error(parts):.3f}",
            AXIS,
            [
                Curve("b", [(0.0, 0.0), (1.0, 1.0)]),
                Curve("a", [(one.expected, one.needed) for one in parts]),
            ],
            AXIS,
            [Mark("dot", (one.expected, one.needed)) for one in parts],
        )
        for name, parts in found.items()
    ]
    notes = ("across: the probability that a candidate is needed; up: the share of them that is",)
    return sheet("Reliability of graph", panels, notes=notes, layout=LAYOUT)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--plot", type=Path, default=PLOT)
    given = parser.parse_args(arguments)
    found: dict[str, list[Tenth]] = {}
    for data in given.data:
        corpus = Corpus.of(open_dataset(data), Settings())
        found[corpus.name] = parts = measure(corpus)
        print(f"{corpus.name}: expected calibration error {error(parts):.3f}")
        for one in parts:
            shares = f"{one.expected:.2f} expected, {one.needed:.2f} needed"
            print(f"  {one.candidates:6} candidates, {shares}")
    given.plot.write_text(picture(found), "utf-8")


if __name__ == "__main__":
    main()
