"""What the `graph` selector finds at every breadth, beside the systems of the paper.

    python benchmarks/frontier.py SPIDER BIRD MMQA BEAVER [--plot docs/frontier.svg] [--json FILE]

Corpora are folders as `dovetail bench retrieval` reads them. The weights were fitted on MMQA, so it
is scored out of sample: each question by weights that are fitted anew on the other databases, in
five folds. All other corpora are scored with the weights as shipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from dovetail.bench.datasets import open_dataset
from dovetail.bench.frontier import Corpus, Part, Point, at
from dovetail.bench.measures import Retrieval
from dovetail.retrieve.graph.selector import BREADTH
from dovetail.settings import Settings

PLOT = Path(__file__).resolve().parent.parent / "docs" / "frontier.svg"
DIAL = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
FITTED_ON = "mmqa"
EVIDENCE = "+evidence"


@dataclass(frozen=True, slots=True)
class Rival:
    """A system of the paper, with Qwen2.5-7B where it asks a model: F1 at a perfect recall.

    `side` is where its name has room in the picture.
    """

    name: str
    pr: float
    f1: float
    side: str = "right"


# The paper's table of results; what is printed there as percent is so here.
RIVALS = {
    "spider_dev": (
        Rival("selection alone", 90.8, 81.1, "left"),
        Rival("CORE-T", 94.9, 66.8),
        Rival("ReAct", 93.4, 75.5),
        Rival("JAR@5", 96.3, 44.1),
        Rival("REAR", 90.8, 42.1, "left"),
        Rival("DR@5", 95.6, 43.9, "left"),
    ),
    "bird_dev": (
        Rival("selection alone", 79.0, 80.0),
        Rival("CORE-T", 87.0, 72.3),
        Rival("ReAct", 81.3, 71.6, "above"),
        Rival("ARM", 84.6, 68.3),
        Rival("JAR@5", 86.0, 50.1, "above"),
        Rival("REAR", 88.3, 51.0),
        Rival("DR@5", 83.0, 49.4, "left"),
    ),
    "mmqa": (
        Rival("selection alone", 51.3, 63.3),
        Rival("CORE-T", 59.4, 56.4),
        Rival("ReAct", 55.4, 50.4),
        Rival("REAR", 47.8, 39.2),
        Rival("DR@5", 50.3, 42.6),
    ),
    "beaver": (
        Rival("selection alone", 15.3, 43.6, "left"),
        Rival("CORE-T", 17.7, 43.0),
        Rival("ReAct", 16.3, 25.3),
        Rival("REAR", 8.1, 35.5),
        Rival("DR@5", 13.9, 36.5),
    ),
}
# Where the frontier is read off: as asked of it, and where the paper's selectors are.
ASKED = {"spider_dev": (93, 95.5), "bird_dev": (80,), "mmqa": (57,), "beaver": (17,)}


@dataclass(frozen=True, slots=True)
class Frontier:
    """A corpus along the dial, and its questions by how sure the selector was."""

    name: str
    questions: int
    points: Sequence[Point]
    by_confidence: Sequence[Part]

    @property
    def rivals(self) -> Sequence[Rival]:
        return RIVALS.get(self.name.removesuffix(EVIDENCE), ())


def frontier(folder: Path, *, evidence: bool = False) -> Frontier:
    """Look at a corpus once, and cut at every breadth."""
    corpus = Corpus.of(open_dataset(folder), Settings(), evidence=evidence)
    if corpus.name == FITTED_ON:
        corpus = corpus.out_of_sample()
    name = corpus.name + (EVIDENCE if evidence else "")
    return Frontier(name, len(corpus.seen), corpus.points(DIAL), corpus.by_confidence(BREADTH))


def markdown(results: Sequence[Frontier]) -> str:
    """The figures as tables."""
    lines = []
    for each in results:
        lines += [f"{each.name}, {each.questions} questions", ""]
        lines += ["| breadth | P | R | F1 | PR | tables |", "|---|---|---|---|---|---|"]
        lines += [f"| {point.breadth:g} | {_cells(point.measured)} |" for point in each.points]
        read = [*ASKED.get(each.name, ()), *(rival.pr for rival in each.rivals[:2])]
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


# Measures of the plot, in pixels: a panel, the room around it.
WIDE, HIGH, GAP, TOP = 330, 230, 58, 46
ACROSS = 2
STYLE = """
  svg { font: 12px system-ui, sans-serif }
  .paper { fill: #ffffff } .ink { fill: #24292f } .faint { fill: #6e7781 }
  .grid { stroke: #d0d7de } .ours { fill: none; stroke: #0969da; stroke-width: 2.5 }
  .dot { fill: #0969da } .usual { fill: #ffffff; stroke: #0969da; stroke-width: 2.5 }
  .rival { fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 }
    .grid { stroke: #30363d } .ours { stroke: #4493f8 } .dot { fill: #4493f8 }
    .usual { fill: #0d1117; stroke: #4493f8 } .rival { fill: #f0883e }
  }
"""


def plot(results: Sequence[Frontier]) -> str:
    """A panel for each corpus: F1 over perfect recall, ours a line, the paper's systems points."""
    rows = -(-len(results) // ACROSS)
    width, height = ACROSS * (WIDE + GAP) + GAP // 2, rows * (HIGH + TOP + GAP // 2) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>F1 over perfect recall: graph along its dial, and the paper's systems</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
    ]
    for place, each in enumerate(results):
        parts += _Panel(place, each).drawn()
    legend = (
        "F1 over perfect recall, in percent. Points: the systems of the paper, with a 7B model.",
        "Line: graph, without a language model, breadth 0 to 0.95; the ring is its default.",
    )
    parts += [
        _text(GAP, height - 30 + 17 * line, text, "faint", "start")
        for line, text in enumerate(legend)
    ]
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Panel:
    place: int
    shown: Frontier

    @property
    def left(self) -> float:
        return GAP + self.place % ACROSS * (WIDE + GAP)

    @property
    def top(self) -> float:
        return TOP + self.place // ACROSS * (HIGH + TOP + GAP // 2)

    def spot(self, pr: float, f1: float) -> tuple[float, float]:
        """Where a pair of percents stands."""
        low, high = self.range
        return self.left + WIDE * (pr - low) / (high - low), self.top + HIGH * (90 - f1) / 70

    @property
    def range(self) -> tuple[float, float]:
        """The perfect recalls shown: where the paper's systems are, and some room."""
        prs = [rival.pr for rival in self.shown.rivals] or [0.0, 100.0]
        return max(0.0, min(prs) // 10 * 10 - 10), min(100.0, max(prs) // 10 * 10 + 30)

    def drawn(self) -> list[str]:
        low, high = self.range
        title = f"{self.shown.name} ({self.shown.questions} questions)"
        parts = [_text(self.left, self.top - 14, title, "ink", "start")]
        for f1 in range(20, 91, 10):
            x, y = self.spot(low, f1)
            parts.append(f'<line class="grid" x1="{x:g}" x2="{x + WIDE:g}" y1="{y:g}" y2="{y:g}"/>')
            parts.append(_text(x - 8, y + 4, f"{f1}", "faint", "end"))
        parts += [
            _text(self.spot(pr, 20)[0], self.top + HIGH + 18, f"{pr}", "faint")
            for pr in range(int(low), int(high) + 1, 10)
        ]
        inside = [point for point in self.shown.points if low <= 100 * point.measured.pr <= high]
        spots = [self.spot(100 * p.measured.pr, 100 * p.measured.f1) for p in inside]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline class="ours" points="{line}"/>')
        for point, (x, y) in zip(inside, spots, strict=True):
            style, size = ("usual", 5) if point.breadth == BREADTH else ("dot", 3)
            parts.append(f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>')
        return parts + [mark for rival in self.shown.rivals for mark in self.mark(rival)]

    def mark(self, rival: Rival) -> list[str]:
        x, y = self.spot(rival.pr, rival.f1)
        right, down, anchor = _SIDES[rival.side]
        return [
            f'<circle class="rival" cx="{x:.1f}" cy="{y:.1f}" r="4"/>',
            _text(x + right, y + down, rival.name, "faint", anchor),
        ]


_SIDES = {
    "right": (7, 4, "start"),
    "left": (-7, 4, "end"),
    "above": (0, -8, "middle"),
}


def _text(x: float, y: float, text: str, style: str, anchor: str = "middle") -> str:
    place = f'x="{x:g}" y="{y:g}"'
    return f'<text class="{style}" {place} text-anchor="{anchor}">{escape(text)}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+", help="folders of corpora")
    parser.add_argument("--evidence", action="store_true", help="ask with the questions' evidence")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--plot", type=Path, default=PLOT, help="where the picture is written")
    options = parser.parse_args()
    results = [frontier(folder, evidence=options.evidence) for folder in options.data]
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1), "utf-8")
    options.plot.write_text(plot(results), encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
