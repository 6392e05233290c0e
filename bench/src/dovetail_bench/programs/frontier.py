"""What the `graph` selector finds at every breadth, beside the systems of the paper.

    dovetail bench run frontier SPIDER BIRD MMQA BEAVER [--plot docs/frontier.svg] [--json FILE]

Corpora are folders as `dovetail bench retrieval` reads them. The weights were trained on MMQA, so
it is scored out of sample: each question by weights that were trained without its database, as
`train_scorer.py --folds 5` wrote them into the folder `--folds`. All other corpora are scored with
the weights as shipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dovetail.retrieve.graph.selector import BREADTH
from dovetail.retrieve.graph.set_scorer import SetScorer
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.frontier import ConfidenceGroup, Corpus, Point, at
from dovetail_bench.measures import Retrieval
from dovetail_bench.reporting.plots import Curve, Layout, Mark, Panel, sheet

PLOT = Path(__file__).resolve().parents[4] / "docs" / "frontier.svg"
BREADTHS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.62, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
FITTED_ON = "mmqa"
EVIDENCE = "+evidence"


@dataclass(frozen=True, slots=True)
class Published:
    """A system of the paper, with Qwen2.5-7B where it asks a model: F1 at a perfect recall.

    `side` is where its name has room in the picture.
    """

    name: str
    pr: float
    f1: float
    side: str = "right"


# The paper's table of results; what is printed there as percent is so here.
PUBLISHED = {
    "spider_dev": (
        Published("selection alone", 90.8, 81.1, "left"),
        Published("CORE-T", 94.9, 66.8),
        Published("ReAct", 93.4, 75.5),
        Published("JAR@5", 96.3, 44.1),
        Published("REAR", 90.8, 42.1, "left"),
        Published("DR@5", 95.6, 43.9, "left"),
    ),
    "bird_dev": (
        Published("selection alone", 79.0, 80.0),
        Published("CORE-T", 87.0, 72.3),
        Published("ReAct", 81.3, 71.6, "above"),
        Published("ARM", 84.6, 68.3),
        Published("JAR@5", 86.0, 50.1, "above"),
        Published("REAR", 88.3, 51.0),
        Published("DR@5", 83.0, 49.4, "left"),
    ),
    "mmqa": (
        Published("selection alone", 51.3, 63.3),
        Published("CORE-T", 59.4, 56.4),
        Published("ReAct", 55.4, 50.4),
        Published("REAR", 47.8, 39.2),
        Published("DR@5", 50.3, 42.6),
    ),
    "beaver": (
        Published("selection alone", 15.3, 43.6, "left"),
        Published("CORE-T", 17.7, 43.0),
        Published("ReAct", 16.3, 25.3),
        Published("REAR", 8.1, 35.5),
        Published("DR@5", 13.9, 36.5),
    ),
}
# Where the frontier is read off: as asked of it, and where the paper's selectors are.
ASKED = {"spider_dev": (93, 95.5), "bird_dev": (80,), "mmqa": (57,), "beaver": (17,)}


@dataclass(frozen=True, slots=True)
class Frontier:
    """A corpus at every breadth, and its questions by how sure the selector was."""

    name: str
    questions: int
    points: Sequence[Point]
    by_confidence: Sequence[ConfidenceGroup]

    @property
    def published(self) -> Sequence[Published]:
        return PUBLISHED.get(self.name.removesuffix(EVIDENCE), ())


def frontier(folder: Path, folds: Path | None = None, *, evidence: bool = False) -> Frontier:
    """Score a corpus once, and cut at every breadth."""
    corpus = Corpus.of(open_dataset(folder), Settings(), evidence=evidence)
    if corpus.name == FITTED_ON and folds is not None:
        texts = [file.read_text("utf-8") for file in sorted(folds.glob("*.json"))]
        corpus = corpus.out_of_sample([SetScorer.of(json.loads(text)) for text in texts])
    name = corpus.name + (EVIDENCE if evidence else "")
    return Frontier(
        name, len(corpus.questions), corpus.points(BREADTHS), corpus.by_confidence(BREADTH)
    )


def markdown(results: Sequence[Frontier]) -> str:
    """The figures as tables."""
    lines = []
    for each in results:
        lines += [f"{each.name}, {each.questions} questions", ""]
        lines += ["| breadth | P | R | F1 | PR | tables |", "|---|---|---|---|---|---|"]
        lines += [f"| {point.breadth:g} | {_cells(point.measured)} |" for point in each.points]
        read = [*ASKED.get(each.name, ()), *(system.pr for system in each.published[:2])]
        found = ", ".join(f"{100 * at(each.points, pr / 100):.1f} @ {pr:g}" for pr in read)
        lines += ["", f"F1 @ PR: {found}; by quarters, the surest first:", ""]
        parts = each.by_confidence
        lines += [
            _listed("expected", [part.confidence for part in parts]),
            _listed("F1", [part.measured.f1 for part in parts]),
            _listed("PR", [part.measured.pr for part in parts]),
            "",
        ]
    return "\n".join(lines)


def _listed(name: str, shares: Sequence[float]) -> str:
    return f"- {name} {' / '.join(f'{100 * share:.0f}' for share in shares)}"


def _cells(measured: Retrieval) -> str:
    shares = (measured.p, measured.r, measured.f1, measured.pr)
    return " | ".join([*(f"{100 * share:.1f}" for share in shares), f"{measured.avg_tables:.1f}"])


LAYOUT = Layout(width=330, height=230, gap=58, top=46, columns=2)
F1_RANGE = (20, 90)


def plot(results: Sequence[Frontier]) -> str:
    """A panel for each corpus: F1 over perfect recall, ours a line, the paper's systems points."""
    return sheet(
        "F1 over perfect recall: graph at every breadth, and the paper's systems",
        [_panel(each) for each in results],
        notes=(
            "F1 over perfect recall, in percent. Points: the paper's systems, with a 7B model.",
            "Line: graph, without a language model, breadth 0 to 0.95; the ring is its default.",
        ),
        layout=LAYOUT,
    )


def _panel(shown: Frontier) -> Panel:
    prs = [system.pr for system in shown.published] or [0.0, 100.0]
    low, high = max(0.0, min(prs) // 10 * 10 - 10), min(100.0, max(prs) // 10 * 10 + 30)
    points = [
        (point.breadth, (100 * point.measured.pr, 100 * point.measured.f1))
        for point in shown.points
        if low <= 100 * point.measured.pr <= high
    ]
    ours = [
        Mark("ring", at, 5) if breadth == BREADTH else Mark("dot", at, 3) for breadth, at in points
    ]
    theirs = [
        Mark("other", (each.pr, each.f1), 4, each.name, each.side) for each in shown.published
    ]
    return Panel(
        f"{shown.name} ({shown.questions} questions)",
        {f"{pr}": pr for pr in range(int(low), int(high) + 1, 10)},
        [Curve("a", [at for _, at in points])],
        {f"{f1}": f1 for f1 in range(F1_RANGE[0], F1_RANGE[1] + 1, 10)},
        marks=[*ours, *theirs],
        across_range=(low, high),
        up_range=F1_RANGE,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+", help="folders of corpora")
    parser.add_argument("--evidence", action="store_true", help="ask with the questions' evidence")
    parser.add_argument("--folds", type=Path, help="weights by folds, for the corpus trained on")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--plot", type=Path, default=PLOT, help="where the picture is written")
    options = parser.parse_args()
    results = [
        frontier(folder, options.folds, evidence=options.evidence) for folder in options.data
    ]
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1), "utf-8")
    options.plot.write_text(plot(results), encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
