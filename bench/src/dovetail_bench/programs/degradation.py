"""How much do noise and other tables cost? Retrieval over a corpus that is made worse step by step.

    dovetail bench run degradation [DATA ...] [--levels 5,10,20,50] [--times 1,10] [--others DATA]
        [--share 1/4] [--seed 1] [--into .bench/degraded] [--pages docs/results] [--json]

DATA are corpora as `dovetail bench retrieval` takes them, by default the sample. Every variant is
written below --into, indexed and asked; what is there already is neither made nor asked again.
The chapter of the corpus and its picture are written to its page in docs/results.

noise   orphans, columns renamed and values removed, in percent: see programs/variants.py
growth  distractors, so many times the tables of the corpus, or the tables of --others, pooled in
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import NotFoundError
from dovetail.retrieve.registry import open_retriever
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.programs import noise_kinds, variants
from dovetail_bench.programs.pages import MADE_WORSE, PAGES, write_chapters
from dovetail_bench.programs.profiling import cpu_seconds
from dovetail_bench.programs.results import environment
from dovetail_bench.programs.variants import NOISE, Corpus
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.questions import Question, stratified
from dovetail_bench.reporting.as_markdown import table_markdown
from dovetail_bench.reporting.marking import marked
from dovetail_bench.reporting.plots import SHARES, STYLES, Curve, Panel, rounded, sheet
from dovetail_bench.reporting.tabular import Column, Row, Table, cells
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.run_config import RunConfig

# At the k where each is at its best in F1: rankings are cut short, `graph` chooses from more.
SYSTEMS = {"dense": 5, "search": 5, "ppr": 5, "graph": 10}
CLEAN, DISTRACTORS, TIMES = "clean", "distractors", "\N{MULTIPLICATION SIGN}"
# Questions that are timed, by their CPU time in the second of two rounds.
TIMED = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """What is made of a corpus, and how it is asked."""

    levels: tuple[int, ...] = (5, 10, 20, 50)
    times: tuple[int, ...] = (1, 10)
    others: str = ""
    share: Fraction = Fraction(1)
    seed: int = 1

    def command(self, data: str) -> str:
        """What measures a corpus so."""
        words = ["python", "-m", "dovetail_bench.programs.degradation", data]
        usual = asdict(Plan())
        for name, value in asdict(self).items():
            if value != usual[name]:
                given = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words += [f"--{name}", given]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Measured:
    """One system over one variant: quality from 0 to 1, CPU milliseconds per question.

    Noise changes no times, so there they are not taken. `indexed` are CPU seconds to index the
    variant, embedding included.
    """

    kind: str
    level: int
    tables: int
    questions: int
    indexed: float
    system: str
    f1: float
    pr: float
    ms: float


def measure(data: str, plan: Plan, into: Path) -> list[Measured]:
    """Every system over every variant of a corpus."""
    dataset = open_dataset(data)
    corpus = variants.read_corpus(dataset)
    code = [Path(module.__file__ or "").read_bytes() for module in (variants, noise_kinds)]
    home = into / f"{dataset.name}-{variants.contents_of(dataset, plan.seed, *code)}"
    found: list[Measured] = []
    for kind, level, make in _variants(dataset, corpus, plan):
        name = "-".join([dataset.name, kind.replace(" ", "_"), *([str(level)] if level else [])])
        folder = home / name
        variant = variants.write_variant(folder, dataset, make)
        for each in _asked(variant, kind, level, plan, into / "runs"):
            print(
                f"{name}, {each.tables} tables, {each.system}: F1 {each.f1:.3f}, PR {each.pr:.3f}",
                file=sys.stderr,
                flush=True,
            )
            found.append(each)
    return found


def _variants(
    dataset: Dataset, corpus: Corpus, plan: Plan
) -> Iterator[tuple[str, int, Callable[[], Corpus]]]:
    """Kind, level and maker of every variant; without declared keys there are no orphans."""
    try:
        refers = variants.references(corpus, dataset.foreign_keys())
    except NotFoundError as error:
        print(f"no orphans: {error}", file=sys.stderr)
        refers = {}
    yield CLEAN, 0, lambda: corpus
    for kind, add_noise in NOISE.items():
        for level in plan.levels if refers or kind != "orphans" else ():
            yield kind, level, partial(add_noise, corpus, refers, level / 100, plan.seed)
    for times in plan.times:
        yield DISTRACTORS, times, partial(variants.distractors, corpus, refers, times, plan.seed)
    if plan.others:
        other = open_dataset(plan.others)
        yield other.name, 0, partial(variants.strangers, corpus, other)


def _asked(variant: Dataset, kind: str, level: int, plan: Plan, runs: Path) -> Iterator[Measured]:
    settings = Settings()
    catalog, indexed = _indexed(variant, settings)
    question_filter = QuestionFilter(share=plan.share)
    questions = stratified(variant.questions(), plan.share, question_filter.seed)
    for name, k in SYSTEMS.items():
        config = RunConfig(runs, settings, corpus=str(variant.home))
        (row,) = bench_retrieval(variant, [name], [k], question_filter, config)["results"]
        yield Measured(
            kind, level, len(catalog), len(questions), indexed, f"{name}@{k}",
            row["f1"], row["pr"],
            0.0 if kind in NOISE else _milliseconds(catalog, name, k, questions, settings),
        )  # fmt: skip


def _indexed(variant: Dataset, settings: Settings) -> tuple[CatalogReader, float]:
    """The catalog, and what indexing it took when that was done."""
    note = variant.home / "indexed.json"
    began = cpu_seconds()
    catalog = variant.catalog(settings)
    if not note.is_file():
        note.write_text(json.dumps(round(cpu_seconds() - began, 2)))
    return catalog, float(json.loads(note.read_text()))


def _milliseconds(
    catalog: CatalogReader, name: str, k: int, questions: Sequence[Question], settings: Settings
) -> float:
    retriever = open_retriever(name, catalog, k=k, settings=settings)
    spent: list[float] = []
    for _ in range(2):
        spent = []
        for question in questions[:TIMED]:
            began = time.process_time()
            retriever.retrieve(question.text)
            spent.append(1e3 * (time.process_time() - began))
    return float(np.median(spent))


def noise_table(results: Sequence[Measured]) -> Table:
    """Quality by kind of noise, system and share of noise."""
    levels = sorted({each.level for each in results if each.kind in NOISE})
    clean = {each.system: each for each in results if each.kind == CLEAN}
    at = {(each.kind, each.system, each.level): each for each in results}
    shares = [f"{level}%" for level in (0, *levels)]
    columns = [Column("noise"), Column("system"), *(Column(f"F1 {share}") for share in shares)]
    columns += [Column(f"PR {share}") for share in shares]
    rows = []
    for kind in (kind for kind in NOISE if any(each.kind == kind for each in results)):
        for system, first in clean.items():
            line = [first, *(at[kind, system, level] for level in levels)]
            values = [100 * each.f1 for each in line] + [100 * each.pr for each in line]
            rows.append(Row(cells(kind, system, *values)))
    return Table(
        "noise", "Noise", tuple(columns), tuple(rows),
        note="orphans: of the values of declared references; renamed columns: of all columns, to "
        "f1, f2 and so on; removed values: of all cells.",
    )  # fmt: skip


def growth_table(results: Sequence[Measured]) -> Table:
    """Quality and cost by the number of tables."""
    columns = (
        Column("pooled in"), Column("tables"), Column("system"), Column("questions"), Column("F1"),
        Column("PR"), Column("ms"), Column("index s"),
    )  # fmt: skip
    rows = [
        Row(
            cells(
                _pooled(each), each.tables, each.system, each.questions, 100 * each.f1,
                100 * each.pr, each.ms, each.indexed,
            )
        )
        for each in _grown(results)
    ]  # fmt: skip
    return Table(
        "growth", "Growth", columns, tuple(rows),
        note="ms: CPU time per question, the median, the vector of the question at hand; index s: "
        "CPU time to index it all.",
    )  # fmt: skip


def _grown(results: Sequence[Measured]) -> list[Measured]:
    """The corpus as it is and with other tables, the fewest first."""
    found = [each for each in results if each.kind not in NOISE]
    return sorted(found, key=lambda each: (each.tables, each.kind))


def _pooled(each: Measured) -> str:
    if each.kind == CLEAN:
        return "nothing"
    return f"{each.kind} {TIMES}{each.level}" if each.kind == DISTRACTORS else each.kind


def plot(title: str, results: Sequence[Measured]) -> str:
    """The figures as a picture: noise in panels by kind, growth by what it costs."""
    systems = dict(zip(dict.fromkeys(each.system for each in results), STYLES, strict=False))
    panels = [
        panel
        for kind in NOISE
        if any(each.kind == kind for each in results)
        for panel in [_noise_panel(kind, results, systems)]
    ]
    drawn = [each for each in _grown(results) if each.kind in (CLEAN, DISTRACTORS)]
    panels += [_growth_panel(name, drawn, systems) for name in ("F1", "PR", "ms")]
    return sheet(title, panels, systems)


def _noise_panel(kind: str, results: Sequence[Measured], systems: Mapping[str, str]) -> Panel:
    own = [each for each in results if each.kind in (CLEAN, kind)]
    most = max(each.level for each in own)
    across = {f"{level}%": level / most for level in {each.level for each in own} if level != 5}
    curves = [
        Curve(style, [(each.level / most, each.f1) for each in own if each.system == system])
        for system, style in systems.items()
    ]
    return Panel(f"F1, {kind}", across, curves, SHARES)


def _growth_panel(name: str, drawn: Sequence[Measured], systems: Mapping[str, str]) -> Panel:
    """Over the number of tables, by its logarithm."""
    sizes = sorted({each.tables for each in drawn})
    low, high = math.log(sizes[0]), math.log(max(sizes[-1], sizes[0] + 1))
    across = {f"{size:,}": (math.log(size) - low) / (high - low) for size in sizes}
    top = rounded(max(each.ms for each in drawn)) if name == "ms" else 1
    up = {f"{top * share:g}": share for share in SHARES.values()}
    curves = [
        Curve(
            style,
            [
                ((math.log(each.tables) - low) / (high - low), getattr(each, name.lower()) / top)
                for each in drawn
                if each.system == system
            ],
        )
        for system, style in systems.items()
    ]
    return Panel(f"{name} over tables", across, curves, up)


def chapter(name: str, command: str, results: Sequence[Measured], picture: str) -> str:
    """What the page says of a corpus."""
    tables = [table for table in (noise_table(results), growth_table(results)) if table.rows]
    parts = [
        environment() + "\n",
        f"`{command}`; what is made of the corpus is said in `programs/variants.py`.\n",
        *(table_markdown(marked(table, name)) for table in tables),
        f"![F1 over noise; F1, PR and time over the number of tables, {name}]({picture})\n",
    ]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", default=["sample"])
    parser.add_argument("--levels", type=_numbers, default=Plan().levels, help="percent of noise")
    parser.add_argument(
        "--times", type=_numbers, default=Plan().times, help="distractors per table"
    )
    parser.add_argument("--others", default="", help="a corpus whose tables are pooled in")
    parser.add_argument("--share", type=Fraction, default=Fraction(1), help="of the questions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", type=Path, default=Path(".bench/degraded"))
    parser.add_argument("--pages", type=Path, default=PAGES, help="a folder")
    parser.add_argument("--json", action="store_true", help="print one JSON document besides")
    given = parser.parse_args(arguments)
    plan = Plan(given.levels, given.times, given.others, given.share, given.seed)
    documents: dict[str, list[dict[str, object]]] = {}
    for data in given.data:
        name, results = open_dataset(data).name, measure(data, plan, given.into)
        given.pages.mkdir(parents=True, exist_ok=True)
        picture = given.pages / f"degradation-{name}.svg"
        picture.write_text(plot(f"Retrieval over {name}, made worse", results), encoding="utf-8")
        text = chapter(name, plan.command(data), results, picture.name)
        write_chapters(given.pages, {name + MADE_WORSE: text})
        documents[name] = [asdict(each) for each in results]
    if given.json:
        print(json.dumps(documents, indent=1))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


if __name__ == "__main__":
    main()
