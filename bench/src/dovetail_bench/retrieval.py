"""Measures retrievers on a dataset: which tables they find, against the gold tables.

A retriever that ranks is run once and cut at every k; any other is run once per k.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dovetail.catalog.descriptions import laid_descriptions
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import DovetailError, PendingError, UsageError
from dovetail.ports import Json
from dovetail.settings import PREFIX, Settings
from dovetail_bench.datasets import Dataset, described_catalog
from dovetail_bench.in_sample import in_sample
from dovetail_bench.measures import retrieval, score_of, set_measures
from dovetail_bench.question_file import write_questions
from dovetail_bench.questions import Question, QuestionFilter
from dovetail_bench.retrievers import full_name, open_retriever, ranks, retriever_names
from dovetail_bench.run import RunConfig, ask_all, check_tables
from dovetail_bench.run_file import Record, resumed
from dovetail_bench.run_key import RunKey, key_of, settings_in

ALL = "all"
# Settings that the dataset decides, where it does.
_DECIDED: Json = {"use_sources": False, "refuse_below": 0.0}


def bench_retrieval(
    dataset: Dataset,
    retrievers: Sequence[str],
    ks: Sequence[int],
    question_filter: QuestionFilter,
    config: RunConfig,
) -> Json:
    """Measure retrievers at every k; `all` is each one that can run with what is configured.

    Retrievers that wait for recorded replies have no result yet; the others do.
    """
    experiment = Experiment.of(dataset, question_filter, config)
    has_model = bool(config.settings.llm)
    retrievers = [full_name(name, has_model=has_model) for name in retrievers]
    results: list[Json] = []
    waiting: list[PendingError] = []
    for name in retrievers:
        for each in retriever_names() if name == ALL else [name]:
            try:
                results += experiment.results(each, ks)
            except PendingError as error:
                waiting.append(error)
            except DovetailError as error:
                if name != ALL:
                    raise
                config.note(f"{each} cannot run: {error}")
    if waiting and not results:
        raise PendingError("; ".join(map(str, waiting)))
    for late in waiting:
        config.note(str(late))
    if not results:
        raise UsageError("no retriever can run; see above, or name one with --retriever")
    return {
        "dataset": dataset.name,
        "questions": len(experiment.questions),
        "tables": len(experiment.catalog),
        "results": results,
    }


@dataclass(frozen=True, slots=True)
class RunResult:
    """The records of a run at some k, without questions that wait for a reply, and its file."""

    k: int
    file: Path
    records: list[Record]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A dataset ready to be asked: its catalog, all questions that can be scored, those chosen."""

    dataset: str
    catalog: CatalogReader
    all_questions: tuple[Question, ...]
    questions: tuple[Question, ...]
    question_filter: QuestionFilter
    config: RunConfig

    @classmethod
    def of(cls, dataset: Dataset, question_filter: QuestionFilter, config: RunConfig) -> Experiment:
        """Bring the catalog up to date and find the gold tables of the questions in it."""
        config = replace(config, settings=_fair(dataset, config.settings))
        if kind := question_filter.descriptions:
            catalog = described_catalog(
                dataset, config.settings, kind, on_progress=config.on_progress, note=config.note
            )
        else:
            catalog = dataset.catalog(config.settings, config.on_progress)
        asked = dataset.question_set().over(catalog.ids, dataset.families())
        if question_filter.skip_bad:
            for problem in asked.problems:
                config.note(f"left out {problem}")
        else:
            asked.refuse_bad(dataset.name)
        all_questions = asked.questions
        if question_filter.evidence:
            all_questions = tuple(question.with_evidence() for question in all_questions)
        chosen = question_filter.apply(all_questions, catalog)
        if not chosen:
            raise UsageError(f"{dataset.name} has no question to ask")
        if all(question.answerable for question in all_questions):
            # Where every question has an answer, none is refused: other systems refuse none.
            config = replace(config, settings=replace(config.settings, refuse_below=0.0))
        return cls(dataset.name, catalog, all_questions, chosen, question_filter, config)

    @property
    def knows(self) -> list[str]:
        """What retrievers know beside the tables: declared keys, comments."""
        records = self.catalog.records
        told = {"declared keys": records.keys_digest, "comments": records.comments_digest}
        return [name for name, digest in told.items() if digest]

    def results(self, retriever: str, ks: Sequence[int]) -> list[Json]:
        """A row for each k; none, but an error, while any question waits for a recorded reply."""
        rows = []
        for ran in self.found(self.key(retriever), ks):
            if pending := len(self.questions) - len(ran.records):
                raise PendingError(
                    f"{retriever} at k={ran.k} waits for replies to {pending} of "
                    f"{len(self.questions)} questions; have the requests of "
                    f"{self.config.settings.llm} answered, then run this again"
                )
            rows.append(self.row(retriever, ran))
        return rows

    def key(self, retriever: str) -> RunKey:
        """What decides the outcome of a run over this dataset; its questions are kept beside."""
        key = key_of(
            self.dataset, self.all_questions, retriever, self.catalog, self.config.settings
        )
        write_questions(self.config.runs, self.dataset, key.questions, self.all_questions)
        return key

    def found(self, key: RunKey, ks: Sequence[int]) -> Iterator[RunResult]:
        """For each k the records of the chosen questions."""
        if ranks(key.retriever):
            deepest = self._run(key, key.depth(self.config.runs, max(ks)))
            yield from (_cut(deepest, k) for k in ks)
            return
        yield from (self._run(key, k) for k in ks)

    def _run(self, key: RunKey, k: int) -> RunResult:
        """The records of the chosen questions; a retriever is opened for those that are missing."""
        file = key.file(self.config.runs, k)
        provenance = {**self.provenance(key.retriever, k), "ranks": ranks(key.retriever)}
        with resumed(file, key.about(k), made=provenance) as writer:
            if any(question.id not in writer.records for question in self.questions):
                settings = self.config.settings
                ask_all(
                    open_retriever(key.retriever, self.catalog, k=k, settings=settings),
                    self.questions,
                    writer,
                    workers=self.config.workers,
                    on_progress=self.config.on_progress,
                )
            records = writer.of(self.questions)
        check_tables(records, self.catalog, str(file))
        return RunResult(k, file, records)

    def provenance(self, retriever: str, k: int, bench: str = "retrieval", *more: str) -> Json:
        """The provenance of a run: the command that makes it again, and what it reads besides."""
        return {
            "command": self._command(bench, retriever, k, *more),
            "evidence": self.question_filter.evidence,
            "purposes": any(each.text for each in laid_descriptions(self.catalog).values()),
        }

    def _command(self, bench: str, retriever: str, k: int, *more: str) -> str:
        settings, question_filter = self.config.settings, self.question_filter
        words = ["dovetail", "bench", bench, self.config.corpus or self.dataset]
        words += ["--retriever", retriever, "--k", str(k)]
        words += [*question_filter.options(), *more]
        words += [f"--{name.split()[0]}" for name in self.knows]
        words += ["-C", settings.catalog] if settings.catalog != Settings().catalog else []
        usual = settings_in(Settings())
        chosen = settings_in(settings).items()
        given = [
            f"{PREFIX}{name.upper()}={value}"
            for name, value in chosen
            if value != usual[name] and value != _DECIDED.get(name, usual[name])
        ]
        return " ".join([*map(shlex.quote, given), shlex.join(words)])

    def row(self, retriever: str, ran: RunResult) -> Json:
        """A result row: the measures of a run, each question counting alike, and what it cost."""
        records, decisive = ran.records, settings_in(self.config.settings)
        by_id = {question.id: question for question in self.questions}
        asked = [by_id[record.question] for record in records]
        scores = [score_of(*pair) for pair in zip(asked, records, strict=True)]
        measured = {name: round(value, 6) for name, value in asdict(retrieval(scores)).items()}
        sets = asdict(set_measures(asked, records))
        return {
            "retriever": retriever,
            "knows": self.knows,
            "k": ran.k,
            "run": str(ran.file),
            "settings": {
                **decisive,
                "evidence": self.question_filter.evidence,
                "share": str(self.question_filter.share),
            },
            **measured,
            **{name: value and round(value, 6) for name, value in sets.items()},
            "llm_calls": _mean(record.llm_calls for record in records),
            "tokens_in": _mean(record.tokens_in for record in records),
            "tokens_out": _mean(record.tokens_out for record in records),
            "fallbacks": sum(record.fallback for record in records),
            "timeouts": sum(record.timeout for record in records),
            "seconds_per_question": _mean(record.seconds for record in records),
            "in_sample": in_sample(retriever, self.dataset) or None,
        }


def _fair(dataset: Dataset, settings: Settings) -> Settings:
    """The settings without what a pooled corpus forbids: to go by the sources of its tables."""
    return replace(settings, use_sources=settings.use_sources and not dataset.pooled)


def _cut(ran: RunResult, k: int) -> RunResult:
    """What was found, as it would be for a smaller k."""
    shorter = [replace(record, tables=record.tables[:k]) for record in ran.records]
    return RunResult(k, ran.file, shorter)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 6) if listed else 0.0
