"""The paper's tables, figure by figure, with ours beside each: docs/lab/results/paper.md.

    dovetail bench run paper

The paper's figures stand in dovetail/bench/reporting/published.toml, ours on the pages of the
corpora (programs/pages.py), which the benchmarks write. Nothing is measured here. A figure that
has none of ours beside it has a line that says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dovetail_bench.programs.pages import (
    NONE,
    ONE_DATABASE,
    PAGES,
    WITH,
    Row,
    Tables,
    read_chapters,
    unmarked,
)
from dovetail_bench.reporting.published import figures

PAGE = PAGES / "paper.md"
INTRO = """# The paper's tables, and ours beside them

Written by `dovetail bench run paper` from the paper's figures and from the pages of the
[corpora](../results.md); a test holds it against both. In each cell the paper's figure comes first,
ours after the dot. The last column says which row of ours that is, or why there is none.

Read them side by side, not as a race: the paper's models are a 7B or 8B selector, 3B and 4B models
or GPT-4o-mini for SQL, and UAE-Large-V1 for vectors; none of them can be had here. Ours are MiniLM,
and Qwen2.5-Coder-1.5B-Instruct where a model is asked. Bird's contents are complete for one
database of eleven, so rows of ours with a model are about that one (superhero, 129 questions); 27
of Bird's 75 tables and most of Beaver's have no rows here. MMQA is a third of its questions, as in
the paper, but not the same draw. Rows of ours with a model are over samples of 300 questions of
Spider and 300 of MMQA, drawn with seed 42. *The paper's setup*: tables have purposes by that small
model, and are embedded with them and their rows. `core-t` is CORE-T's prompt and adjustment over
our search and joins; how `core-t:paper` is measured with a model stands in
[evaluation](../evaluation.md). In paired tests `graph` stands in CORE-T's place. p = 0.0001 and
0.001 stand for anything below.
† in-sample, ‡ chosen in view: see [results](../results.md).
"""
CORPORA = {"bird": "bird_dev", "spider": "spider_dev", "mmqa": "mmqa", "beaver": "beaver"}
SHOWN = {"bird": "Bird", "spider": "Spider", "mmqa": "MMQA", "beaver": "Beaver"}
_NAMES = ("system", "pair", "scoring")
_PAPERS = "paper's setup"
_CORE_T = ("core-t:paper@10", "core-t@10")
_REAR = ("rear@5, no cross-encoder", "rear@5, no cross-encoder, no purposes")
SYSTEMS: Mapping[str, Sequence[str]] = {
    "DR@5": ("dense@5",), "DR@8": ("dense@8",), "DR@10": ("dense@10",), "DR@15": ("dense@15",),
    "ReAct": ("react@10", "react@10, no purposes"), "ARM": ("arm@5",), "REAR": _REAR,
    "JAR@5": ("jar@5", "jar@5, no sub-questions"), "CORE-T": _CORE_T, "Oracle": ("oracle",),
}  # fmt: skip
_ROUNDS = (
    "not measured: it takes rounds of replies by a model, which `make bench-with-model` asks "
    "for and no GPU has answered yet"
)
_NO_MODEL = "not measured: no model was asked on this corpus, whose gold SQL has nothing to run on"
_OTHER_EMBEDDER = "this embedder cannot be had here; ours stands beside UAE-Large-V1"
_WHY = {"ReAct": _ROUNDS, "ARM": _ROUNDS}


@dataclass(frozen=True, slots=True)
class Part:
    """A table of the paper: which of our tables holds its counterpart, and how rows correspond.

    `systems` are labels of ours by the paper's name, the best first. `places` are for columns that
    are rows of ours: by the paper's column, labels and column of ours. Where nothing of ours
    corresponds at all, `reason` says why.
    """

    analysis: str
    title: str
    source: str = ""
    systems: Mapping[str, Sequence[str]] = field(default_factory=lambda: SYSTEMS)
    places: Mapping[str, tuple[Sequence[str], str]] = field(default_factory=dict)
    only: tuple[str, str] | None = None
    reason: str = ""


def _against(ours: Sequence[str]) -> dict[str, list[str]]:
    """Labels of pairs: CORE-T against another, with a system of ours in its place."""
    return {
        f"CORE-T, {name}": [f"{one}, {other}" for one in ours for other in labels]
        for name, labels in SYSTEMS.items()
    }


_STAGES = {"DR@10": ("dense@10",), "+Adjustment": _CORE_T,
           "+Selection": ("core-t:paper+unadjusted@10", "core-t:unadjusted@10")}  # fmt: skip
PARTS = (
    Part("datasets", "Corpora", reason="ours stand in [evaluation](../evaluation.md), with these "
         "in brackets"),
    Part("selection", "Table selection", "Table-selection performance"),
    Part("depth", "Rankings at several k", "Rankings at several k"),
    Part("execution", "Execution accuracy", "Execution accuracy"),
    Part("tokens", "Tokens of selection, in millions", "Token efficiency"),
    Part("stages", "Step-wise ablation", "Step-wise ablation"),
    Part("trajectory", "Step-wise execution accuracy", "Execution accuracy", places={
        f"{stage} {column}": (labels, column)
        for stage, labels in _STAGES.items() for column in ("EX multi-table", "EX")}),
    Part("summary", "Execution ablation, counted over settings", reason="not measured: one "
         "selector and one SQL model are here, so there are no 24 settings to count over"),
    Part("joinability", "Compatibility scores", "Joinability",
         {"JAR": ("jar",), "CORE-T": ("paper",)}, only=("pairs", "all pairs")),
    Part("lengths", "Prompt lengths", "Prompt lengths"),
    Part("sweep", "The threshold of adjustment", "Table-selection performance", {
        f"CORE-T, threshold {value}": (f"core-t:paper{words}@10", f"core-t{ours}@10")
        for value, words, ours in
        (("0.3", "+0.3", ":0.3"), ("0.5", "", ""), ("0.7", "+0.7", ":0.7"))
    }),
    Part("tertiles", "Prompt-length tertiles", "Prompt-length tertiles"),
    Part("recovery", "Gold tables dropped and recovered", "Gold-table drop and recovery"),
    Part("connectors", "Connectors dropped and recovered", "Connector-table drop and recovery"),
    Part("errors", "Errors on Bird", reason="not comparable: the paper counts by patterns of "
         "SQLite's messages where the SQL uses exactly the gold tables; our classes over all "
         "answers stand on the pages of the corpora (Error classes of SQL)"),
    Part("paired", "Paired F1", "Paired F1",
         _against(("core-t:paper@10", "graph@5", "graph@10"))),
    Part("strata", "Strata of Bird with a significant difference",
         "F1 by difficulty and by number of gold tables",
         {f"CORE-T, {name}": labels for name, labels in SYSTEMS.items()}),
    Part("paired-execution", "Paired execution accuracy", "Paired execution accuracy",
         _against(("core-t:paper@10", "graph:0.4@10", "graph@10"))),
    Part("strata-execution", "Strata of Bird with a significant difference in execution accuracy",
         reason="not measured: it wants SQL over all of Bird, of which one database can be run"),
    Part("cases", "Cases of adjustment", reason="not measured here: cases are picked by rule in "
         "every report (`dovetail bench report`), over whatever questions it holds"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ours:
    """Our tables of one corpus, chapter by chapter, those of the paper's setup first."""

    chapters: Sequence[tuple[str, Tables]]

    @classmethod
    def of(cls, every: Mapping[str, Tables], dataset: str) -> Ours:
        mine = [name for name in every if name == dataset or name.startswith(f"{dataset}{WITH}")]
        # All questions before those over one database; without a model before with one.
        order = sorted(
            mine,
            key=lambda name: (ONE_DATABASE in name, _PAPERS not in name, WITH in name),
        )
        return cls([(name, every[name]) for name in order])

    def find(self, part: Part, labels: Sequence[str]) -> tuple[str, Row] | None:
        """The chapter and the row of the first label that has one."""
        for label in labels:
            for name, tables in self.chapters:
                for title, rows in tables.items():
                    if title.startswith(part.source):
                        for row in rows:
                            if _label(row) == label and _counts(row, part.only):
                                return name, row
        return None


def _label(row: Row) -> str:
    if row.get("run", "").startswith("published"):
        return ""
    return next((unmarked(row[name])[0] for name in _NAMES if name in row), "")


def _counts(row: Row, only: tuple[str, str] | None) -> bool:
    return only is None or row[only[0]] == only[1]


def _named(row: Row, chapter: str) -> str:
    """How the last column names a row of ours."""
    name = next(row[name] for name in _NAMES if name in row)
    label, mark = unmarked(name)
    about = [ONE_DATABASE] if ONE_DATABASE in chapter else []
    about += ["the " + _PAPERS] if _PAPERS in chapter else []
    return f"`{label}`{mark}" + (f" ({', '.join(about)})" if about else "")


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _cells(
    part: Part, system: str, columns: Sequence[str], ours: Ours
) -> tuple[list[str], dict[str, None]]:
    """Our figure under each column, and the rows they are of."""
    names: dict[str, None] = {}
    found = ours.find(part, part.systems.get(system, ())) if not part.places else None
    values = []
    for column in columns:
        labels, mine = part.places.get(column, ((), column))
        there = ours.find(part, labels) if labels else found
        value = there[1].get(mine, NONE) if there else NONE
        values.append(unmarked(value)[0])
        if there:
            names[_named(there[1], there[0])] = None
    return values, names


def rows_of(part: Part, every: Mapping[str, Tables]) -> Iterator[list[str]]:
    """The rows of a table: corpus, system, models, cells, and what ours are."""
    section = figures()[part.analysis]
    columns = section["columns"]
    for models, corpora in section.items():
        for corpus, systems in corpora.items() if models != "columns" else ():
            ours = Ours.of(every, CORPORA.get(corpus, corpus))
            for system, values in systems.items():
                other = part.analysis == "depth" and not models.startswith("UAE")
                mine, names = ([NONE] * len(columns), {}) if other else _cells(
                    part, system, columns, ours
                )  # fmt: skip
                last = ", ".join(names) or part.reason or _why(system, corpus, other)
                if names and NONE in mine:
                    last += f"; what is {NONE} is not in our table"
                shown = [f"{_text(a)} · {b}" for a, b in zip(values, mine, strict=True)]
                yield [SHOWN.get(corpus, corpus), system, models, *shown, last]


def _why(system: str, corpus: str, other: bool) -> str:
    if other:
        return _OTHER_EMBEDDER
    named = system.rpartition(", ")[2]
    return _WHY.get(named) or (_NO_MODEL if corpus == "beaver" else _MISSING)


_MISSING = "not measured: `make bench-with-model` would, with a model on a GPU"


def page(every: Mapping[str, Tables]) -> str:
    """The whole page."""
    parts = [INTRO]
    for part in PARTS:
        columns = figures()[part.analysis]["columns"]
        heads = ["corpus", "system", "models", *columns, "ours"]
        lines = [heads, ["---"] * 3 + ["---:"] * len(columns) + ["---"], *rows_of(part, every)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"## {part.title}\n\n{table}\n")
    return "\n".join(parts)


def write(folder: Path = PAGES) -> None:
    """Write the page from the others of its folder."""
    (folder / PAGE.name).write_text(page(read_chapters(folder)), encoding="utf-8")


if __name__ == "__main__":
    write()
