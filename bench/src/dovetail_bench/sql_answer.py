"""Answers one question: SQL is written over the tables found, run, and compared with the gold."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from dovetail.answer.execute import Executor
from dovetail.answer.generate import Generated, generate
from dovetail.answer.relations import Relation
from dovetail.answer.results import Answer
from dovetail.answer.tree import base_tables, parse
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Chosen, Table
from dovetail.errors import DovetailError, GuardError, LimitError, QueryError
from dovetail.joins.graph import JoinGraph
from dovetail.ports import LLM
from dovetail.retrieve.trace import table_set
from dovetail_bench.compare import same_result
from dovetail_bench.run_file import Record, Trace, Written, trace_id
from dovetail_bench.sql_gold import Gold

# What can be wrong with an answer; each wrong one has exactly one of these.
FORMATTING, SCHEMA_LINKING, EXECUTION, TIMEOUT, RESULT = CLASSES = (
    "formatting", "schema_linking", "execution", "timeout", "result",
)  # fmt: skip
# A question that cannot be scored, since its gold SQL does not run.
NO_GOLD = "gold"

# How the two engines say that a name means nothing to them.
_UNKNOWN = re.compile(
    r"no such (?:column|table)|ambiguous column name|Referenced (?:column|table)"
    r"|(?:Table|Column) with name .* does not exist|Ambiguous reference to column",
    re.IGNORECASE,
)
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Author:
    """Writes SQL with a model and runs it; all questions of a run are answered alike."""

    catalog: CatalogReader
    joins: JoinGraph
    llm: LLM
    executor: Executor
    engine: str
    repair: bool

    def answer(
        self, record: Record, question: str, evidence: str, gold: Gold
    ) -> tuple[Record, Trace]:
        """The record of what was found, with the SQL that was written over it.

        The joins shown to the model are those of the catalog among the tables found, so that all
        retrievers are measured by their tables alone.
        """
        began = time.perf_counter()
        chosen = [Chosen(each.id, each.relevance, each.stage, "") for each in record.tables]
        found = table_set(question, self.joins, chosen, ())
        known = _numbered([self.catalog[table] for table in found.ids])
        generated = generate(
            self.llm,
            question,
            known,
            found.joins,
            dialect=self.engine,
            evidence=evidence,
            repair=self.repair,
        )
        written, rows = self._judged(generated, known, gold)
        trace = (_stage(generated), {"stage": "run", "rows": rows, "gold_rows": len(gold.rows)})
        spent = time.perf_counter() - began
        return (
            replace(
                record,
                tokens_in=record.tokens_in + generated.tokens_in,
                tokens_out=record.tokens_out + generated.tokens_out,
                llm_calls=record.llm_calls + generated.calls,
                seconds=round(record.seconds + spent, 6),
                trace=trace_id(trace),
                written=written,
            ),
            trace,
        )

    def _judged(
        self, generated: Generated, known: Sequence[Relation], gold: Gold
    ) -> tuple[Written, int | None]:
        """What came of the SQL, and the number of its rows if it gave any."""

        def verdict(error: str, reason: str = "") -> Written:
            return Written(generated.sql, error, reason[:_LONGEST], generated.calls > 1)

        if not generated.sql:
            return verdict(FORMATTING, generated.left), None
        try:
            ran = self.executor.run(generated.sql, known, engine=self.engine)
        except (GuardError, QueryError) as error:
            return verdict(_class_of(error, generated, known, self.engine), str(error)), None
        wrong = difference(ran, gold)
        return verdict(RESULT if wrong else "", wrong), ran.rows.num_rows


def without_gold(record: Record, reason: str) -> tuple[Record, Trace]:
    """The record of a question that cannot be scored."""
    trace: Trace = ({"stage": "gold", "reason": reason},)
    written = Written("", NO_GOLD, reason[:_LONGEST], again=False)
    return replace(record, trace=trace_id(trace), written=written), trace


def difference(ran: Answer, gold: Gold) -> str:
    """What is wrong with the rows of a query; nothing if they are those of the gold SQL."""
    if ran.truncated:
        return f"it returns more than {ran.rows.num_rows:,} rows"
    if ran.rows.num_columns != gold.width:
        # Of results without rows, this is all that can be told apart.
        return f"it has {ran.rows.num_columns} columns, the gold SQL {gold.width}"
    if same_result(gold.rows, ran.tuples(), gold.order):
        return ""
    return f"its {ran.rows.num_rows:,} rows are not the {len(gold.rows):,} of the gold SQL"


def _class_of(
    error: DovetailError, generated: Generated, known: Sequence[Relation], engine: str
) -> str:
    if isinstance(error, LimitError):
        return TIMEOUT
    if isinstance(error, QueryError):
        # Columns that are in no table were found before it ran, or the engine found them.
        unknown = generated.left or _UNKNOWN.search(str(error))
        return SCHEMA_LINKING if unknown else EXECUTION
    return SCHEMA_LINKING if _reads_others(generated.sql, known, engine) else FORMATTING


def _reads_others(sql: str, known: Sequence[Relation], dialect: str) -> bool:
    """Whether what was refused is a query that names a table which is not in the set."""
    try:
        tree = parse(sql, dialect)
    except GuardError:
        return False
    names = {relation.name.casefold() for relation in known}
    return isinstance(tree, exp.Query) and any(
        isinstance(table.this, exp.Identifier) and table.name.casefold() not in names
        for table in base_tables(tree)
    )


def _stage(generated: Generated) -> dict[str, object]:
    """What the trace says of the writing."""
    return {
        "stage": "sql",
        "first": generated.first,
        "complaint": generated.complaint,
        "left": generated.left,
        "llm_calls": generated.calls,
        "tokens_in": generated.tokens_in,
        "tokens_out": generated.tokens_out,
    }


def _numbered(tables: Sequence[Table]) -> tuple[Relation, ...]:
    """Tables under their own names, those that share one numbered: sources, which are the databases
    of a benchmark, must not show."""
    shared = Counter(table.name.casefold() for table in tables)
    numbers = {name: count(1) for name, times in shared.items() if times > 1}
    called = (
        f"{table.name}_{next(numbers[folded])}" if (folded := table.name.casefold()) in numbers
        else table.name
        for table in tables
    )  # fmt: skip
    return tuple(Relation(table, name, (name,)) for table, name in zip(tables, called, strict=True))
