"""Arguments and options that several commands of `dovetail bench` take, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dovetail.cli.options import Catalog as CatalogOption
from dovetail.cli.options import Json as JsonOption
from dovetail.cli.options import Model as LLMOption
from dovetail.cli.output import note, settings_for
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dovetail.offline.summary import ProgressCallback
    from dovetail.ports import Json
    from dovetail_bench.datasets import Dataset
    from dovetail_bench.questions import QuestionFilter
    from dovetail_bench.run import RunConfig


DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        readable=False,
        help="A corpus: sample, or a folder with databases/, questions.json and foreign_keys.json.",
    ),
]
EvidenceOption = Annotated[
    bool, typer.Option("--evidence", help="Ask with the evidence that questions carry.")
]
SkipBadOption = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave out questions that cannot be scored, and name them."),
]

SourceOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Only questions whose gold tables all stand in these sources."
    ),
]
PurposesOption = Annotated[
    bool, typer.Option("--purposes", help="Have the model write the paper's purposes first.")
]
DescriptionsOption = Annotated[
    bool, typer.Option("--descriptions", help="Have the model describe tables first, as we do.")
]
DeclaredOption = Annotated[
    bool, typer.Option("--declared", help="Once more, with the keys that the sources declare.")
]
CommentsOption = Annotated[
    bool, typer.Option("--comments", help="Once more, with comments on tables and columns.")
]
ShareOption = Annotated[
    str,
    typer.Option(
        metavar="SHARE", help="Only so many questions, like 1/3, of each number of gold tables."
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Draws the share.")]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only the first N questions.")
]
KOption = Annotated[str, typer.Option("--k", metavar="NUMBERS", help="Candidates to ask for.")]
RunsOption = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Where runs are kept and gone on with.")
]
WorkersOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Questions asked at the same time.")
]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `bench retrieval` and `bench sql` both take: which questions, how, and where runs go."""

    evidence: EvidenceOption = False
    share: ShareOption = "1"
    seed: SeedOption = 42
    limit: LimitOption = None
    source: SourceOption = ""
    skip_bad: SkipBadOption = False
    llm: LLMOption = None
    purposes: PurposesOption = False
    descriptions: DescriptionsOption = False
    declared: DeclaredOption = False
    comments: CommentsOption = False
    catalog: CatalogOption = None
    runs: RunsOption = Path("runs")
    workers: WorkersOption = 1
    as_json: JsonOption = False

    def question_filter(self) -> QuestionFilter:
        """Which questions are asked."""
        from dovetail_bench.questions import QuestionFilter

        return QuestionFilter(
            self.evidence, share_of(self.share), self.seed, self.limit, self.skip_bad,
            tuple(named(self.source)), self._descriptions(),
        )  # fmt: skip

    def _descriptions(self) -> str:
        """What a model writes of the tables first, if anything."""
        from dovetail_bench.datasets import DESCRIBED, PURPOSES

        if self.purposes and self.descriptions:
            raise UsageError("tables have --purposes or --descriptions, not both")
        return PURPOSES if self.purposes else DESCRIBED if self.descriptions else ""

    def measured(self, data: Path, measure: Callable[[Dataset], Json]) -> Json:
        """What is measured on a corpus; with the rows of a second time, if more may be known."""
        from dovetail_bench.datasets import open_dataset

        plain = open_dataset(data, catalog=self.catalog)
        result = measure(plain)
        if self.declared or self.comments:
            told = measure(replace(plain, declared=self.declared, comments=self.comments))
            result = {**result, "results": [*result["results"], *told["results"]]}
        return result

    def run_config(
        self, corpus: Path, on_progress: ProgressCallback | None, **settings: Any
    ) -> RunConfig:
        """How runs over a corpus are made, with further settings where a command takes some."""
        from dovetail_bench.run import RunConfig

        chosen = settings_for(self.catalog, llm=self.llm, **settings)
        return RunConfig(self.runs, chosen, self.workers, on_progress, note, str(corpus))


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter `options` is a `RunOptions`, as typer wants it: one by one."""
    own = signature(command, eval_str=True).parameters
    types = get_type_hints(RunOptions, include_extras=True)
    shared = [
        Parameter(
            each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=types[each.name]
        )
        for each in fields(RunOptions)
    ]

    @wraps(command)
    def spread(**given: Any) -> None:
        options = RunOptions(**{each.name: given.pop(each.name) for each in shared})
        command(**given, options=options)

    kept = [
        each.replace(kind=Parameter.KEYWORD_ONLY) for each in own.values() if each.name != "options"
    ]
    spread.__dict__["__signature__"] = Signature([*kept, *shared])
    return spread


def named(text: str) -> list[str]:
    """The names of a list like `dense,graph`."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(text: str) -> list[int]:
    """The numbers of a list like `5,10`, ascending, each once."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"--k must be numbers like 5,10, not {text!r}") from None
    if found[0] < 1:
        raise UsageError(f"--k must be at least 1, not {found[0]}")
    return found


def share_of(text: str) -> Fraction:
    """A share like 1/3 or 0.5."""
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--share must be a number like 1/3 or 0.5, not {text!r}") from None
    if not 0 < share <= 1:
        raise UsageError(f"--share must be above 0 and at most 1, not {text}")
    return share


def marked_name(row: Json) -> str:
    """The retriever of a result, how it has seen the corpus, and what else it knows, if at all."""
    from dovetail_bench.in_sample import MARKS

    told = "".join(f" + {name}" for name in row.get("knows", ()))
    return str(row["retriever"]) + MARKS.get(row["in_sample"], "") + told


def mark_notes(rows: Iterable[Json]) -> list[str]:
    """What the marks of these results mean, a line each."""
    from dovetail_bench.in_sample import NOTES

    used = {row["in_sample"] for row in rows}
    return [note for kind, note in NOTES.items() if kind in used]
