"""From a question and its tables to SQL, and to rows.

The SQL takes one call of a model, and one more where it cannot run.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dovetail.answer import check as checking
from dovetail.answer.relations import Relation, relations
from dovetail.answer.results import Answer, Limits
from dovetail.catalog.usage import QueryExample
from dovetail.domain import JoinEdge, TableId, TableSet
from dovetail.domain.schema import ddl
from dovetail.errors import GuardError, LimitError, ModelError, QueryError
from dovetail.models.chat import LIMIT, fenced_blocks, without_thoughts
from dovetail.ports import LLM, Completion, Message
from dovetail.prompts import read_prompt
from dovetail.search.query import query_words
from dovetail.text import PromptText, fenced, one_line

if TYPE_CHECKING:
    from dovetail.answer.execute import Executor
    from dovetail.catalog.reader import CatalogReader

# Questions answered before that a prompt shows.
_SHOWN = 3
# An example over other tables shows how questions are put, one over the same how they are joined.
_OTHER_TABLES = 0.5
# A query that cannot be read in this time is not worth repairing.
_CHECK_SECONDS = 10.0
_SPOKEN = {"duckdb": "DuckDB", "sqlite": "SQLite"}
_THOUGHT_LEFT_OPEN = re.compile(r"<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)
_INLINE = re.compile(r"`{1,3}\s*((?:SELECT|WITH)\b[^`]+)`{1,3}", re.DOTALL | re.IGNORECASE)
_TAGGED = re.compile(r"<sql>(.*?)(?:</sql>|\Z)", re.DOTALL | re.IGNORECASE)
# Repetitions are bounded: a reply is hostile input, and must be read in linear time.
_BARE = re.compile(
    r"\b(?:SELECT\b|WITH\s{1,9}(?:RECURSIVE\s{1,9})?[\w\"]{1,99}\s{0,9}"
    r"(?:\([^)]{0,999}\)\s{0,9})?AS\b)",
    re.IGNORECASE,
)
_END = re.compile(r";[^\S\n]*(?:\n|\Z)|\n[^\S\n]*\n(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Generated:
    """SQL for a question, and what it took.

    `first` is what the first call gave, so that a run can be counted with and without repair;
    `complaint` is what was wrong with it, and `left` what is still wrong with `sql`.
    """

    sql: str
    first: str
    complaint: str
    left: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    replies: tuple[Completion, ...] = field(default=(), compare=False, repr=False)

    @property
    def repaired(self) -> bool:
        """Whether a second call put right what was wrong."""
        return bool(self.complaint) and not self.left

    def forget(self) -> None:
        """Have the model asked again the next time: its SQL is of no use."""
        for reply in self.replies:
            reply.forget()


def generate(
    llm: LLM,
    question: str,
    relations: Sequence[Relation],
    joins: Iterable[JoinEdge] = (),
    *,
    dialect: str = "duckdb",
    evidence: str = "",
    examples: Sequence[QueryExample] = (),
    draft: str = "",
    repair: bool = True,
) -> Generated:
    """Have a model write SQL; with `repair` it may try once more when told what cannot run.

    `draft` is a query that it may mend.

    The SQL is empty where the model wrote none.
    """
    asked = Message("user", prompt(question, relations, joins, dialect, evidence, examples, draft))
    spent = [llm.complete([asked])]
    first = sql = extract_sql(spent[0].text)
    complaint = left = check(sql, relations, dialect)
    if complaint and repair:
        why = "\n".join(map(one_line, complaint.splitlines()))
        again = read_prompt("sql_repair").fill(complaint=fenced(why))
        try:
            spent.append(llm.complete([asked, Message("assistant", spent[0].text), *again]))
        except ModelError:
            spent[0].forget()
            raise
        sql = extract_sql(spent[1].text) or first
        left = check(sql, relations, dialect)
    written = Generated(
        sql,
        first,
        complaint,
        left,
        calls=len(spent),
        tokens_in=sum(each.tokens_in for each in spent),
        tokens_out=sum(each.tokens_out for each in spent),
        seconds=sum(each.seconds for each in spent),
        replies=tuple(spent),
    )
    if left:
        written.forget()
    return written


def prompt(
    question: str,
    relations: Sequence[Relation],
    joins: Iterable[JoinEdge],
    dialect: str,
    evidence: str,
    examples: Sequence[QueryExample] = (),
    draft: str = "",
) -> str:
    """The messages that ask a model for SQL: schema, joins, question, evidence and dialect.

    `examples` are questions that were answered before, as data like the schema. `draft` is a query
    that rules read off the question, to be mended.
    """
    tables = [relation.table for relation in relations]
    names = {relation.table.id: relation.name for relation in relations}
    begun = f"A draft that rules made; mend what is wrong:\n\n{fenced(draft)}\n\n" if draft else ""
    hint = f"Known besides: {one_line(' '.join(evidence.split()))}\n" if evidence.strip() else ""
    filled = read_prompt("sql").fill(
        dialect=_SPOKEN[dialect],
        schema=fenced(ddl(tables, joins, names=names).strip()),
        examples=PromptText(_shown(examples) + begun + hint),
        question=question,
    )
    return filled[0].content


def _shown(examples: Sequence[QueryExample]) -> str:
    """Questions that were answered before, with their SQL; nothing where there are none."""
    if not examples:
        return ""
    pairs = [f"{one_line(each.question)}\n{one_line(each.sql)}" for each in examples]
    head = "Questions like it that were answered before (`?` stands for a value left out; data too)"
    return "\n\n".join([f"{head}:", fenced("\n\n".join(pairs)), ""])


def extract_sql(text: str) -> str:
    """The SQL in a reply, however it is wrapped; empty when there is none.

    >>> extract_sql("Here you are:\\n```sql\\nSELECT 1;\\n```\\nGood luck!")
    'SELECT 1'
    """
    text = _THOUGHT_LEFT_OPEN.sub("", without_thoughts(text[:LIMIT]))
    blocks = fenced_blocks(text)
    candidates = [body for language, body in blocks if language in ("sql", "sqlite", "duckdb")]
    candidates = candidates or [body for _, body in blocks if _BARE.search(body)]
    candidates = candidates or [match[1] for match in _TAGGED.finditer(text)]
    candidates = candidates or [match[1] for match in _INLINE.finditer(text)]
    if not candidates:
        candidates = _from_json(text) or [
            text[match.start() :] for match in [_BARE.search(text)] if match
        ]
        candidates = [_END.split(body, maxsplit=1)[0] for body in candidates]
    sql = (_from_json(candidates[-1]) or candidates)[-1] if candidates else ""
    sql = sql.encode("utf-8", "replace").decode()  # JSON may hold halves of characters
    return sql.strip().rstrip(";").strip()


def check(sql: str, relations: Sequence[Relation], dialect: str) -> str:
    """What is wrong with a query, before it runs; empty when nothing is."""
    if not sql:
        return "there is no SQL in the answer"
    try:
        checked = checking.ask(
            checking.shared_pool(),
            sql,
            relations,
            dialect=dialect,
            engine=dialect,
            limits=Limits(seconds=_CHECK_SECONDS),
            complain=True,
        )
    except (GuardError, LimitError) as error:
        return str(error)
    return "\n".join(checked.complaints)


def _from_json(text: str) -> list[str]:
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return []
    sql = reply.get("sql") if isinstance(reply, dict) else None
    return [sql] if isinstance(sql, str) else []


def nearest_examples(
    examples: Sequence[QueryExample], question: str, tables: Collection[TableId]
) -> list[QueryExample]:
    """The examples whose questions share most with a question, at most three, the nearest first.

    Words count by how rare they are among the examples. Ties go by the text of the question, so
    that the same logs give the same prompt.
    """
    if not examples:
        return []
    words = [set(query_words(example.question)) for example in examples]
    spread = Counter(word for each in words for word in each)
    rare = {word: math.log(1 + len(examples) / count) for word, count in spread.items()}
    asked = set(query_words(question))
    scored = []
    for example, spoken in zip(examples, words, strict=True):
        shared = sum(rare[word] for word in spoken & asked)
        total = sum(rare[word] for word in spoken) + sum(rare.get(word, 1.0) for word in asked)
        same = bool(set(example.tables) & set(tables))
        if shared and total:
            scored.append((2 * shared / total * (1 if same else _OTHER_TABLES), example))
    scored.sort(key=lambda each: (-each[0], each[1].question))
    return [example for _, example in scored[:_SHOWN]]


def write_sql(
    catalog: CatalogReader, llm: LLM, chosen: TableSet, *, evidence: str = "", repair: bool = True
) -> Generated:
    """Have a model write SQL for a question over the tables found for it.

    `evidence` is what is known of the question besides, such as what its terms mean.
    """
    details = {table.id: table for table in chosen.details}
    tables = (details.get(table) or catalog[table] for table in chosen.ids)
    written = generate(
        llm,
        chosen.question,
        relations(tables, catalog.query_names),
        chosen.joins,
        evidence=evidence,
        examples=nearest_examples(catalog.usage.examples, chosen.question, chosen.ids),
        draft=chosen.skeleton,
        repair=repair,
    )
    if not written.sql:
        raise ModelError(f"{llm.model_id} wrote no SQL; ask again, or use another model")
    return written


def answer(
    executor: Executor,
    catalog: CatalogReader,
    llm: LLM,
    chosen: TableSet,
    *,
    evidence: str = "",
    repair: bool = True,
) -> Answer:
    """Write SQL for a question over the tables found for it, and run it."""
    written = write_sql(catalog, llm, chosen, evidence=evidence, repair=repair)
    tables = [catalog[table] for table in chosen.ids]
    try:
        ran = executor.run(written.sql, tables, edges=chosen.joins)
    except (GuardError, QueryError):
        written.forget()
        raise
    return replace(
        ran,
        seconds={"generate": written.seconds, **ran.seconds},
        tokens_in=written.tokens_in,
        tokens_out=written.tokens_out,
        generated=written,
    )
