"""The ways to choose tables with a model, on the same questions: dovetail bench run paths DATA …

DATA is a corpus, or a company's pile as FOLDER=CATALOG (questions as in programs/company.py), with
a catalog that nobody described for the earlier ways, FOLDER=CATALOG=PLAIN. The ways:

    no model   `graph`
    paper      CORE-T as published: purposes, its prompt and adjustment, 10 candidates (core_t/)
    no purposes   the same without purposes, where nobody wrote one for every table
    earlier    the model chooses once among 8 candidates
    today      it looks, chooses among up to 24, and chooses again for what it misses

Replies come from the recordings, `bench/recordings/NAME.jsonl.xz`, by the name of the corpus or
folder; `--llm` names another model, with {} for that name (`replay:rec/{}` writes down what is to
be answered). A way that waits for replies has no row. `offered` is how often all wanted tables are
among those that it chooses among, a family by any of its members; `or copies` how often each is in
the set itself or as a table of another database with equal columns and values.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import mean

import dovetail
from dovetail.domain import TableId
from dovetail.errors import PendingError
from dovetail.families.contents import Contents, family_tables
from dovetail.ports import Json
from dovetail.settings import Settings, load_settings
from dovetail_bench.datasets import PURPOSES, open_dataset
from dovetail_bench.directory import logical
from dovetail_bench.programs.company import Names, outcome, read_questions, summary
from dovetail_bench.programs.paper import CONTEXT
from dovetail_bench.questions import Question, QuestionFilter, table_of
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run import RunConfig
from dovetail_bench.run_file import traces_of

_MEASURES = ("f1", "all found", "or copies", "perfect", "offered", "calls", "tokens")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to choose tables: a retriever, its candidates, and whether descriptions are its own.

    `purposes` has a model write the paper's purposes first; `recording` is where replies lie.
    """

    name: str
    retriever: str
    k: int
    calls: int = 3
    described: bool = False
    purposes: bool = False
    recording: str = "{}"


WAYS = (
    Way("no model", "graph", 16, described=True),
    Way("paper", "core-t:paper", 10, purposes=True, recording="paper/strong/{}"),
    Way("no purposes", "core-t:paper+no-purposes", 10),
    Way("earlier", "llm", 8, calls=1),
    Way("today", "llm", 24, described=True),
)


def of_corpus(place: str, way: Way, settings: Settings, sample: int, runs: Path) -> Json:
    """The measures of a way over a sample of a corpus's questions."""
    dataset = open_dataset(place)
    count = len(dataset.question_set().questions)
    share = Fraction(min(sample, count), count)
    config = RunConfig(runs, settings.but(llm_calls=way.calls), corpus=place)
    chosen = QuestionFilter(
        share=share, skip_bad=True, descriptions=PURPOSES if way.purposes else ""
    )
    experiment = Experiment.of(dataset, chosen, config)
    (row,) = experiment.results(way.retriever, [way.k])
    tokens = row["tokens_in"] + row["tokens_out"]
    return {
        "f1": row["f1"],
        "all found": row["pr"],
        "or copies": _found_or_copied(Path(row["run"]), experiment),
        "perfect": row["exact"],
        "offered": _offered(Path(row["run"]), experiment.questions),
        "calls": row["llm_calls"],
        "tokens": tokens,
    }


def _offered(run: Path, questions: Sequence[Question]) -> float:
    """How often all wanted tables were among those that a run chose among, by its traces."""
    lines = map(json.loads, traces_of(run).read_text("utf-8").splitlines())
    shown = {
        line["question"]: [
            table_of(row["table"], "")
            for stage in line["stages"]
            for row in stage.get("candidates", ())
        ]
        for line in lines
    }
    return mean(
        set(logical(one.gold, one.families)) <= set(logical(shown[one.id], one.families))
        for one in questions
    )


def _found_or_copied(run: Path, experiment: Experiment) -> float:
    """How often each wanted table was in the set, or one of equal columns and values."""
    tables = {one.id: one for one in family_tables(experiment.catalog)}
    contents = Contents(experiment.catalog)

    def stands_for(one: TableId, wanted: TableId, families: Sequence[Sequence[TableId]]) -> bool:
        if one == wanted or any(one in family and wanted in family for family in families):
            return True
        alike = tables[one].names == tables[wanted].names
        return alike and contents.equal(tables[one], tables[wanted]) is not None

    lines = [json.loads(line) for line in run.read_text("utf-8").splitlines()]
    sets = {
        line["question"]: [TableId(one["source"], one["name"]) for one in line["tables"]]
        for line in lines
        if "question" in line
    }
    return mean(
        all(
            any(stands_for(one, wanted, asked.families) for one in sets[asked.id])
            for wanted in asked.gold
        )
        for asked in experiment.questions
    )


def of_pile(folder: Path, catalog: str, way: Way, settings: Settings) -> Json:
    """The measures of a way over all questions of a company's pile, which has no purposes."""
    names = Names(folder)
    options = {"selector": way.retriever, "k": None if way.described else way.k}
    with dovetail.open(catalog, settings.but(llm_calls=way.calls)) as opened:
        outcomes, waiting = [], 0
        for asked in read_questions(folder, names):
            try:
                outcomes.append(outcome(opened, asked, names, **options))
            except PendingError:
                waiting += 1
    if waiting:
        raise PendingError(f"{waiting} questions wait for replies")
    measured = summary(outcomes)
    return {
        "f1": measured["f1"],
        "all found": measured["all_found"],
        "or copies": measured["all_found"],
        "perfect": measured["perfect"],
        "offered": measured["offered"],
        "calls": sum(each.calls for each in outcomes) / len(outcomes),
        "tokens": measured["tokens_mean"],
    }


def table(rows: Sequence[tuple[str, str, Json]]) -> Iterator[str]:
    """The rows as a table in Markdown."""
    yield f"| questions of | way | {' | '.join(_MEASURES)} |"
    yield f"|{'---|' * (len(_MEASURES) + 2)}"
    for data, way, row in rows:
        shown = (f"{row[name]:,.{0 if name == 'tokens' else 3}f}" for name in _MEASURES)
        yield f"| {data} | {way} | {' | '.join(shown)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="a corpus, or FOLDER=CATALOG[=PLAIN]")
    parser.add_argument("--llm", help="{} is the corpus or folder [the recordings]")
    parser.add_argument("--way", choices=[way.name for way in WAYS], action="append")
    parser.add_argument("--sample", type=int, default=100, help="questions of a corpus [100]")
    parser.add_argument("--runs", type=Path, default=Path(".bench/runs"))
    given = parser.parse_args(arguments)
    rows: list[tuple[str, str, Json]] = []
    for data in given.data:
        folder, *catalogs = data.split("=")
        name = Path(folder).name
        for way in WAYS:
            if (given.way and way.name not in given.way) or (catalogs and way.purposes):
                continue
            llm = given.llm or f"replay:bench/recordings/{way.recording}.jsonl.xz"
            model = None if way.retriever == "graph" else llm.replace("{}", name)
            settings = replace(load_settings(), llm=model)
            if way.retriever.startswith("core-t"):
                settings = settings.but(llm_context=CONTEXT)
            try:
                if catalogs:
                    catalog = catalogs[0] if way.described else catalogs[-1]
                    row = of_pile(Path(folder), catalog, way, settings)
                else:
                    row = of_corpus(folder, way, settings, given.sample, given.runs)
            except PendingError as error:
                print(f"{name}, {way.name}: {error}")
                continue
            rows.append((name, way.name, row))
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
