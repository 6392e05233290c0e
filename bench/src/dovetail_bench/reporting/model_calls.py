"""What a language model adds to `graph`, by the share of questions that it is asked.

Two runs of the same questions are enough, one of `graph` and one that always asks: the least sure
questions get the model's set, the others keep the graph's. Runs of `hybrid` itself stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

from dovetail_bench.measures import Retrieval, Score, retrieval
from dovetail_bench.reporting.scored_run import ScoredRun, shared
from dovetail_bench.reporting.tabular import (
    LOW,
    Column,
    Line,
    Plot,
    Row,
    Table,
    cells,
    empty,
    measures,
)

CONFIDENCE, HYBRID = "confidence", "hybrid"
_SHARES = (0, 0.25, 0.5, 0.75, 1)
_POINTS = 20
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Mixed:
    """What comes of asking the model all questions with a confidence `below`.

    `asked` of `of` questions; tokens are per question of all.
    """

    asked: int
    of: int
    below: float | None
    measured: Retrieval
    tokens: float

    @property
    def share(self) -> float:
        return 100 * self.asked / self.of


@dataclass(frozen=True, slots=True)
class Mixture:
    """The scores of two runs on the same questions, the least sure first, and what a call costs."""

    sure: Sequence[float]
    free: Sequence[Score]
    paid: Sequence[Score]
    tokens: Sequence[int]

    @classmethod
    def of(cls, free: ScoredRun, paid: ScoredRun) -> Mixture:
        """The questions that both runs asked."""
        known = confidences_of(free)
        names = [name for name in shared(free, paid) if name in known]
        names.sort(key=lambda name: (known[name], name))
        records = [paid.records[name] for name in names]
        return cls(
            sure=[known[name] for name in names],
            free=[free.scores[name] for name in names],
            paid=[paid.scores[name] for name in names],
            tokens=[record.tokens_in + record.tokens_out for record in records],
        )

    def at(self, asked: int) -> Mixed:
        """The model's sets for so many questions, the graph's for the others."""
        of = len(self.sure)
        return Mixed(
            asked=asked,
            of=of,
            below=self.sure[asked] if asked < of else None,
            measured=retrieval([*self.paid[:asked], *self.free[asked:]]),
            tokens=sum(self.tokens[:asked]) / of,
        )

    def near(self, share: float) -> Mixed:
        """The most questions that can be asked without exceeding a share of them."""
        most = share * len(self.sure)
        return self.at(max(cut for cut in self._cuts if cut <= most + _ROUNDING))

    def equal(self) -> Mixed:
        """The fewest questions with which F1 is what it is when all are asked."""
        gains = self._gains
        return self.at(next(cut for cut in self._cuts if gains[cut] >= gains[-1] - _ROUNDING))

    def best(self) -> Mixed:
        """The fewest questions with which F1 is highest."""
        gains = self._gains
        most = max(gains[cut] for cut in self._cuts)
        return self.at(next(cut for cut in self._cuts if gains[cut] >= most - _ROUNDING))

    @property
    def _cuts(self) -> list[int]:
        """How many can be asked: those of one confidence are asked together or not at all."""
        sure = self.sure
        between = [n for n in range(1, len(sure)) if sure[n - 1] < sure[n]]
        return [0, *between, len(sure)]

    @property
    def _gains(self) -> list[float]:
        """What is gained in F1, summed over questions, by asking the first n."""
        pairs = zip(self.paid, self.free, strict=True)
        return list(accumulate((model.f1 - graph.f1 for model, graph in pairs), initial=0.0))


def model_calls(measured: Sequence[ScoredRun]) -> Table:
    """F1 and PR by the share of questions asked, and the fewest calls for the model's own F1."""
    name, title = "model-calls", "F1 by the share of questions sent to the model"
    free = [one for one in measured if confidences_of(one) and not _calls(one)]
    paid = [one for one in measured if _calls(one) and not _thresholds(one)]
    mixtures = {
        (one.label, other.label, one.number, other.number): mixture
        for one, other in product(free, paid)
        if (mixture := Mixture.of(one, other)).sure
    }
    if not mixtures:
        missing = "It needs a run of graph and one that always asks a model, on the same questions."
        return empty(name, title, missing)
    columns = (
        Column("systems"), Column("asked"), Column("asked %", LOW), Column("below", digits=3),
        *measures("tables", "F1", "PR"), Column("tokens", LOW),
    )  # fmt: skip
    rows: list[Row] = []
    lines: list[Line] = []
    for (one, other, *numbers), mixture in mixtures.items():
        label, runs = f"{one}, {other}", tuple(numbers)
        rows += [_row(label, "a share", mixture.near(share), runs) for share in _SHARES]
        rows.append(_row(label, "for equal F1", mixture.equal(), runs))
        rows.append(_row(label, "for the best F1", mixture.best(), runs))
        points = [mixture.near(part / _POINTS) for part in range(_POINTS + 1)]
        lines.append(Line(label, tuple((p.share, 100 * p.measured.f1) for p in points)))
        ends = tuple((p.share, 100 * p.measured.f1) for p in (points[0], points[-1]))
        lines.append(Line(f"{label}, asked at random", ends))
    rows += [_own(one, bound) for one in measured if (bound := _thresholds(one))]
    note = (
        "Where the confidence of graph is below the bound, the set is that of the run that asks. "
        "For equal F1: the fewest calls that reach the F1 of asking always; the others are saved."
    )
    plot = Plot("F1 over questions asked", "asked %", "F1 %", tuple(lines))
    return Table(name, title, columns, tuple(rows), note=note, plots=(plot,))


def confidences_of(one: ScoredRun) -> Mapping[str, float]:
    """How sure the graph was of each question, as its traces have it."""
    return {
        question: float(stage[CONFIDENCE])
        for question, stages in one.traces.items()
        for stage in stages
        if stage.get("stage") == "select" and isinstance(stage.get(CONFIDENCE), float | int)
    }


def _calls(one: ScoredRun) -> int:
    return sum(record.llm_calls for record in one.records.values())


def _thresholds(one: ScoredRun) -> set[float]:
    """The confidences below which a run of `hybrid` asked; none for others."""
    stages = (stage for stages in one.traces.values() for stage in stages)
    bounds = (
        stage.get("ask_below", stage.get("unsure"))  # the key that older runs have
        for stage in stages
        if stage.get("stage") == HYBRID
    )
    return {float(bound) for bound in bounds if bound is not None}


def _row(label: str, what: str, mixed: Mixed, runs: tuple[int, ...]) -> Row:
    means = mixed.measured
    return Row(
        cells(
            label, what, mixed.share, mixed.below, means.avg_tables, 100 * means.f1, 100 * means.pr,
            mixed.tokens,
        ),
        runs=runs,
    )  # fmt: skip


def _own(one: ScoredRun, bounds: set[float]) -> Row:
    """A run of `hybrid`, as it came out."""
    records = list(one.records.values())
    asked = sum(record.llm_calls > 0 for record in records)
    tokens = sum(record.tokens_in + record.tokens_out for record in records) / len(records)
    mixed = Mixed(asked, len(records), max(bounds), one.means, tokens)
    return _row(one.label, "by its own", mixed, (one.number,))
