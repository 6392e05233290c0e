"""Reads runs from disk and scores them: the input of every analysis; nothing is asked again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dovetail.errors import NotFoundError, UsageError
from dovetail.ports import Json
from dovetail_bench.errors import DatasetError
from dovetail_bench.measures import Retrieval, Score, retrieval, score_of
from dovetail_bench.question_file import SUFFIX, read_questions_beside
from dovetail_bench.questions import Question
from dovetail_bench.run_file import Record, Run, read_run, traces_of
from dovetail_bench.run_key import ORACLE

# Where rankings are cut: for most tables, and to see how deep they go.
USUAL, DEPTHS = (5, 10), (5, 8, 10, 15)
# Systems that go by vectors alone.
_BY_VECTORS = ("dense", "jar", "arm", "react", "rear")


@dataclass(frozen=True)
class ScoredRun:
    """A run, or the top `k` of one that ranks, held against the gold of its questions.

    `number` is what the report calls the run; `label` tells it from the others of its dataset.
    """

    number: int
    label: str
    run: Run
    k: int
    questions: tuple[Question, ...]

    @property
    def dataset(self) -> str:
        return str(self.run.about["dataset"])

    @property
    def retriever(self) -> str:
        return str(self.run.about["retriever"])

    @property
    def settings(self) -> Json:
        return dict(self.run.about.get("settings", {}))

    @property
    def command(self) -> str:
        return str(self.run.made.get("command", "not recorded"))

    @property
    def ranks(self) -> bool:
        return bool(self.run.made.get("ranks"))

    @cached_property
    def records(self) -> dict[str, Record]:
        """The records of the questions, in their order, cut to `k` where they are rankings."""
        kept = {question.id: self.run.records[question.id] for question in self.questions}
        if not self.ranks:
            return kept
        return {name: replace(each, tables=each.tables[: self.k]) for name, each in kept.items()}

    @cached_property
    def scores(self) -> dict[str, Score]:
        """By question, how its tables agree with the gold."""
        return {
            question.id: score_of(question, self.records[question.id])
            for question in self.questions
        }

    @cached_property
    def means(self) -> Retrieval:
        return retrieval(list(self.scores.values()))

    @cached_property
    def traces(self) -> Mapping[str, list[Json]]:
        """The stages of every question, from the file beside the run; without it, none."""
        file = traces_of(self.run.path)
        if not file.is_file():
            return {}
        content = file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1].splitlines()
        lines = (json.loads(line) for line in whole)
        return {str(line["question"]): line["stages"] for line in lines}


def find_files(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The run files and the other JSON documents among files and folders, in order."""
    runs: set[Path] = set()
    documents: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise NotFoundError(f"there is no run file or folder {path}")
        for file in sorted(path.rglob("*.json*")) if path.is_dir() else [path]:
            if file.suffix == ".json":
                documents.add(file)
            elif file.suffix == ".jsonl" and not file.name.endswith((SUFFIX, ".traces.jsonl")):
                runs.add(file)
    if not runs and not documents:
        raise UsageError("no run is there to report; make one with dovetail bench retrieval")
    return sorted(runs), sorted(documents)


def read_scored_runs(files: Sequence[Path], ks: Sequence[int] = USUAL) -> list[ScoredRun]:
    """Runs with their gold, numbered in order of dataset, retriever and k.

    A run that ranks stands for each of `ks` and `DEPTHS` that it reaches, and for its own.
    """
    runs = sorted((read_run(file) for file in files), key=_order)
    found: list[ScoredRun] = []
    for number, run in enumerate(runs, start=1):
        about = run.about
        try:
            asked = read_questions_beside(run.path, about["dataset"], about["questions"])
            deepest = int(about["k"])
        except KeyError as error:
            raise DatasetError(f"{run.path} does not say of which {error} it is a run") from None
        questions = tuple(question for question in asked if question.id in run.records)
        if not questions:
            raise DatasetError(f"{run.path} has no record of any of its questions; run it first")
        cuts = {deepest}
        if run.made.get("ranks"):
            cuts |= {k for k in (*ks, *DEPTHS) if k <= deepest}
        found += [ScoredRun(number, "", run, k, questions) for k in sorted(cuts)]
    return _labelled(found)


def shared(one: ScoredRun, other: ScoredRun) -> list[str]:
    """The questions that both runs asked."""
    return [name for name in one.scores if name in other.scores]


def by_dataset(measured: Iterable[ScoredRun]) -> dict[str, list[ScoredRun]]:
    """What belongs together, in order of appearance."""
    found: dict[str, list[ScoredRun]] = {}
    for one in measured:
        found.setdefault(one.dataset, []).append(one)
    return found


def _order(run: Run) -> tuple[str, str, int, str]:
    about = run.about
    return (
        str(about.get("dataset")), str(about.get("retriever")), int(about.get("k", 0)),
        run.path.name,
    )  # fmt: skip


def _labelled(measured: Sequence[ScoredRun]) -> list[ScoredRun]:
    """Each with a label: retriever, k, and whatever else tells it from one of the same name.

    A run that went on to SQL may be called as the one it went on from: no table has both.
    """
    alike: dict[tuple[str, str, int, bool], list[ScoredRun]] = {}
    for one in measured:
        alike.setdefault(_name(one), []).append(one)
    return [replace(one, label=_label(one, alike[_name(one)])) for one in measured]


def _name(one: ScoredRun) -> tuple[str, str, int, bool]:
    with_sql = any(record.written for record in one.run.records.values())
    return one.dataset, one.retriever, one.k, with_sql


def _label(one: ScoredRun, alike: Sequence[ScoredRun]) -> str:
    parts = [one.retriever if one.retriever == ORACLE else f"{one.retriever}@{one.k}"]
    parts += ["evidence"] if one.run.made.get("evidence") else []
    parts += lacking(one.retriever, one.settings, purposes=bool(one.run.made.get("purposes")))
    varied = varying(alike)
    parts += [f"{name} {one.settings.get(name)}" for name in varied]
    twins = [
        other for other in alike if all(
            other.settings.get(name) == one.settings.get(name) for name in varied
        )
    ]  # fmt: skip
    if len(twins) > 1:
        parts.append(f"run {one.number}")
    return ", ".join(parts)


def lacking(retriever: str, settings: Json, *, purposes: bool) -> list[str]:
    """What a published system needs and runs without, so that no row hides it.

    >>> lacking("rear", {"embedder": "minilm"}, purposes=True)
    ['no cross-encoder']
    >>> lacking("jar", {"embedder": "minilm", "llm": "openai:m"}, purposes=False)
    []
    """
    system, _, argument = retriever.partition(":")
    words = argument.split("+")
    paper = "paper" in words and "no-purposes" not in words
    found = {
        "no sub-questions": system == "jar" and "authors" not in words and not settings.get("llm"),
        "no cross-encoder": system == "rear" and argument in ("", "paper"),
        "no purposes": (system in ("rear", "react") or paper) and not purposes,
        "no embedder": system in _BY_VECTORS and settings.get("embedder") == "none",
    }
    return [part for part, missing in found.items() if missing]


def varying(measured: Sequence[ScoredRun]) -> list[str]:
    """The settings in which runs differ."""
    names = dict.fromkeys(name for one in measured for name in one.settings)
    return [name for name in names if len({str(one.settings.get(name)) for one in measured}) > 1]
