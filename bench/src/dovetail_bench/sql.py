"""Measures answers on a dataset: the SQL a model writes over the tables that a retriever finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from dovetail.answer.execute import ENGINES, Executor
from dovetail.answer.results import Limits
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import MissingModelError, PendingError, UsageError
from dovetail.joins.graph import JoinGraph
from dovetail.models.cache import open_model
from dovetail.ports import LLM, Json
from dovetail_bench.datasets import Dataset
from dovetail_bench.errors import DatasetError
from dovetail_bench.measures import execution, score
from dovetail_bench.question_file import write_questions
from dovetail_bench.questions import Question, QuestionFilter
from dovetail_bench.retrieval import Experiment, RunResult
from dovetail_bench.retrievers import full_name
from dovetail_bench.run import RunConfig, fill
from dovetail_bench.run_file import Found, Record, Trace, Written, resumed
from dovetail_bench.run_key import ORACLE, RunKey, sql_key
from dovetail_bench.sql_answer import CLASSES, NO_GOLD, Author, without_gold
from dovetail_bench.sql_gold import GoldResults, sqlite_sources, unusable

# Runs that went on to SQL stand in a folder of their own: they are other files of the same form.
FOLDER = "sql"


def bench_sql(
    dataset: Dataset,
    retrievers: Sequence[str],
    ks: Sequence[int],
    question_filter: QuestionFilter,
    config: RunConfig,
    *,
    engine: str | None = None,
) -> Json:
    """Measure the SQL that a model writes over what each retriever finds at every k.

    `oracle` stands for the gold tables; it is the same at every k. The engine is SQLite's own
    where all sources are SQLite files and gold SQL is not DuckDB's, unless told.
    """
    if not retrievers:
        raise UsageError("no retriever is named; name one with --retriever")
    experiment = Experiment.of(dataset, question_filter, config)
    has_model = bool(config.settings.llm)
    retrievers = [full_name(name, has_model=has_model) for name in retrievers]
    keys = [experiment.key(name) for name in retrievers]
    llm = open_model(experiment.catalog.folder, config.settings)
    if llm is None:
        raise MissingModelError("writing SQL")
    chosen = engine or _engine(dataset, experiment.catalog)
    if chosen not in ENGINES:
        raise UsageError(f"engine {chosen!r} is not known; there are: {', '.join(ENGINES)}")
    with Executor(
        experiment.catalog, limits=Limits.of(config.settings), workers=config.workers
    ) as executor:
        bench = _Bench.of(dataset, experiment, llm, executor, chosen)
        results = [row for key in keys for row in bench.results(key, ks)]
    return {
        "dataset": dataset.name,
        "questions": len(experiment.questions),
        "tables": len(experiment.catalog),
        "results": results,
    }


@dataclass(frozen=True, slots=True)
class _Bench:
    """An experiment with all that answers its questions, without those marked unusable."""

    experiment: Experiment
    author: Author
    gold: GoldResults
    texts: Mapping[str, str]
    unusable: int

    @classmethod
    def of(
        cls, dataset: Dataset, experiment: Experiment, llm: LLM, executor: Executor, engine: str
    ) -> _Bench:
        settings = experiment.config.settings
        usable = tuple(question for question in experiment.questions if not unusable(question))
        joins = JoinGraph.of(experiment.catalog)
        return cls(
            experiment=replace(experiment, questions=usable),
            author=Author(experiment.catalog, joins, llm, executor, engine, settings.sql_repair),
            gold=GoldResults(experiment.catalog, executor, dataset.dialects),
            texts={question.id: question.text for question in dataset.question_set().questions},
            unusable=len(experiment.questions) - len(usable),
        )

    def results(self, key: RunKey, ks: Sequence[int]) -> Iterator[Json]:
        """A row for each k."""
        if key.retriever == ORACLE:
            ran = self._run(key, 0, [gold_record(each) for each in self.experiment.questions])
            yield from (self._row(ORACLE, replace(ran, k=k)) for k in ks)
            return
        for found in self.experiment.found(key, ks):
            yield self._row(key.retriever, self._run(key, found.k, found.records))

    def _run(self, key: RunKey, k: int, found: Sequence[Record]) -> RunResult:
        """The records with SQL."""
        by_question = {record.question: record for record in found}
        whole = sql_key(key, self.experiment.all_questions, self._decisive())
        config, question_filter = self.experiment.config, self.experiment.question_filter
        file = whole.file(config.runs / FOLDER, k)

        def ask(question: Question) -> tuple[Record, Trace]:
            if question.id not in by_question:
                raise PendingError(f"the tables of question {question.id} are not known yet")
            record = by_question[question.id]
            try:
                gold = self.gold.of(question)
            except DatasetError as error:
                return without_gold(record, str(error))
            evidence = question.evidence if question_filter.evidence else ""
            return self.author.answer(record, self.texts[question.id], evidence, gold)

        write_questions(
            config.runs / FOLDER,
            self.experiment.dataset,
            whole.questions,
            self.experiment.all_questions,
        )
        repair = "--repair" if config.settings.sql_repair else "--no-repair"
        provenance = self.experiment.provenance(key.retriever, max(k, 1), "sql", repair)
        with resumed(file, whole.about(k), made=provenance) as writer:
            questions = self.experiment.questions
            pending = fill(
                writer, questions, ask, workers=config.workers, on_progress=config.on_progress
            )
            if pending:
                where = key.retriever if key.retriever == ORACLE else f"{key.retriever} at k={k}"
                config.note(
                    f"{where}: {pending} of {len(questions)} questions wait for "
                    f"replies and are not scored; have the requests of {config.settings.llm} "
                    "answered, then run this again"
                )
            return RunResult(k, file, writer.of(questions))

    def _decisive(self) -> Json:
        """What decides about the SQL of a run and its verdicts, besides the tables."""
        settings = self.experiment.config.settings
        return {
            "sql_model": self.author.llm.model_id,
            "sql_engine": self.author.engine,
            "sql_repair": settings.sql_repair,
            "query_seconds": settings.query_seconds,
            "query_memory_mb": settings.query_memory_mb,
            "query_rows": settings.query_rows,
            "evidence": self.experiment.question_filter.evidence,
        }

    def _row(self, retriever: str, ran: RunResult) -> Json:
        """The measures of retrieval and of execution, over the questions that can be scored."""
        gold = {question.id: question.gold for question in self.experiment.questions}
        scored = [
            (record, record.written, score(record.ids, gold[record.question]))
            for record in ran.records
            if record.written and record.written.error != NO_GOLD
        ]
        written = [each for _, each, _ in scored]
        row = self.experiment.row(
            retriever, replace(ran, records=[record for record, _, _ in scored])
        )
        measured = execution(
            right=[not each.error for each in written],
            multiple=[len(gold[record.question]) > 1 for record, _, _ in scored],
            perfect=[each.perfect for _, _, each in scored],
        )
        return {
            **row,
            "settings": {**row["settings"], **self._decisive()},
            **{name: round(value, 6) for name, value in asdict(measured).items()},
            "errors": {
                "recall": sum(not each.perfect for _, _, each in scored),
                "precision": sum(
                    not set(record.ids) <= set(gold[record.question]) for record, _, _ in scored
                ),
                **{name: sum(each.error == name for each in written) for name in CLASSES},
            },
            "repairs": _repairs(written),
            "scored": len(scored),
            "pending": len(self.experiment.questions) - len(ran.records),
            "unusable": self.unusable + len(ran.records) - len(scored),
        }


def _repairs(written: Sequence[Written]) -> Json:
    """How often SQL was sent back, and how often what came then is right."""
    again = [each for each in written if each.again]
    return {"tried": len(again), "right": sum(not each.error for each in again)}


def gold_record(question: Question) -> Record:
    """The record of a question whose gold tables were found."""
    return Record(
        question=question.id,
        tables=tuple(Found(table.source, table.name, ORACLE, 1.0) for table in question.gold),
        tokens_in=0, tokens_out=0, llm_calls=0, fallback=False, seconds=0.0, trace="",
    )  # fmt: skip


def _engine(dataset: Dataset, catalog: CatalogReader) -> str:
    sources = {table.source for table in catalog.ids}
    own = dataset.dialects[0] != "duckdb" and sources <= sqlite_sources(catalog)
    return "sqlite" if own else "duckdb"
