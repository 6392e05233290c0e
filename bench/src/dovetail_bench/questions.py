"""Questions with their gold tables, and why some of them cannot be scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import UsageError
from dovetail.ports import Json
from dovetail_bench.directory import Directory
from dovetail_bench.errors import DatasetError
from dovetail_bench.gold import tables_of

_NAMED = (
    "question_id", "db_id", "question", "evidence", "difficulty", "sql", "gold_tables",
    "alternative_gold",
)  # fmt: skip
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `text` is all that a retriever sees of it.

    `gold` are the tables that answer it; none, if the dataset says that nothing in it does.
    `alternative_gold` are other sets that answer it as well. `families` are the logical tables
    among both that are stored as several (partitions): any member stands for its family. `extra`
    is whatever else the dataset says.
    """

    id: str
    text: str
    gold: tuple[TableId, ...]
    sql: str = ""
    evidence: str = ""
    difficulty: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)
    alternative_gold: tuple[tuple[TableId, ...], ...] = ()
    families: tuple[tuple[TableId, ...], ...] = ()

    @property
    def answerable(self) -> bool:
        """Whether any table of the dataset answers it."""
        return bool(self.gold)

    def with_evidence(self) -> Question:
        """The question with its evidence as a part of the text."""
        return replace(self, text=f"{self.text} {self.evidence}".strip())


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a question cannot be scored."""

    question: str
    reason: str

    def __str__(self) -> str:
        return f"question {self.question}: {self.reason}"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions that can be scored, in order, and the problems of those that cannot."""

    questions: tuple[Question, ...]
    problems: tuple[Problem, ...] = ()

    def over(
        self, tables: Iterable[TableId], families: Mapping[str, Sequence[str]] | None = None
    ) -> QuestionSet:
        """Resolve gold to these tables, whatever the case of names; others become problems.

        `families` are patterns of the names of tables that are one logical table, by its name.
        """
        directory = Directory(tables, families or {})
        good: list[Question] = []
        bad = list(self.problems)
        for question in self.questions:
            try:
                good.append(_resolved(question, directory))
            except DatasetError as error:
                bad.append(Problem(question.id, str(error)))
        return QuestionSet(tuple(good), tuple(bad))

    def refuse_bad(self, where: str) -> None:
        """Raise if there is any problem."""
        if self.problems:
            first = "; ".join(map(str, self.problems[:_SHOWN]))
            more = len(self.problems) - _SHOWN
            rest = f"; and {more} more" if more > 0 else ""
            raise DatasetError(
                f"{len(self.problems)} questions of {where} cannot be scored: {first}{rest}; "
                "mend them, or leave them out with --skip-bad"
            )


def _resolved(question: Question, directory: Directory) -> Question:
    """A question whose gold are tables of the catalog, with the families that these belong to."""
    gold, *others = (
        tuple(sorted({directory.find(table) for table in tables}))
        for tables in (question.gold, *question.alternative_gold)
    )
    wanted = {table for tables in (gold, *others) for table in tables}
    families = directory.families_of(wanted)
    return replace(question, gold=gold, alternative_gold=tuple(others), families=families)


def read_questions(rows: Sequence[Json], dialects: Sequence[str]) -> QuestionSet:
    """Questions from the rows of a `questions.json`; without given gold, its SQL is read for it."""
    good: dict[str, Question] = {}
    bad: list[Problem] = []
    for number, row in enumerate(rows, 1):
        given = row.get("question_id")
        question_id = f"entry {number}" if given is None else str(given)
        try:
            if question_id in good:
                raise DatasetError("its id is there twice")
            good[question_id] = _question(question_id, row, dialects)
        except DatasetError as error:
            bad.append(Problem(question_id, str(error)))
    return QuestionSet(tuple(good.values()), tuple(bad))


def _question(question_id: str, row: Json, dialects: Sequence[str]) -> Question:
    text = str(row.get("question") or "").strip()
    if not text:
        raise DatasetError("it has no text")
    database, sql = str(row.get("db_id") or ""), str(row.get("sql") or "")
    given = row.get("gold_tables")
    if given or (given == [] and not sql):  # an empty list says that no table answers it
        gold = _listed(given, database)
    else:
        gold = tuple(sorted(gold_of(sql, database, dialects)))
    others = row.get("alternative_gold") or []
    if not isinstance(others, list):
        raise DatasetError("its alternative_gold is no list of lists of names")
    return Question(
        id=question_id,
        text=text,
        gold=gold,
        alternative_gold=tuple(_listed(other, database) for other in others),
        sql=sql,
        evidence=str(row.get("evidence") or ""),
        difficulty=str(row.get("difficulty") or ""),
        extra={key: value for key, value in row.items() if key not in _NAMED},
    )


def _listed(names: object, database: str) -> tuple[TableId, ...]:
    if not isinstance(names, list):
        raise DatasetError("its gold_tables are no list of names")
    return tuple(sorted({table_of(str(name), database) for name in names}))


def table_of(name: str, database: str) -> TableId:
    """The table that a gold name stands for: `source::name`, or a name in the question's database.

    >>> table_of("shop::orders", ""), table_of("orders", "shop")
    (TableId(source='shop', name='orders'), TableId(source='shop', name='orders'))
    """
    source, colons, rest = name.partition("::")
    return TableId(source, rest) if colons else TableId(database, name)


def gold_of(sql: str, database: str, dialects: Sequence[str]) -> set[TableId]:
    """The tables that a SQL statement reads, in the question's database if it has one."""
    found = {TableId(database or qualifier, name) for qualifier, name in tables_of(sql, dialects)}
    if not found:
        raise DatasetError("its SQL reads no table")
    return found


def disagreements(questions: Iterable[Question], dialects: Sequence[str]) -> list[Problem]:
    """Where the gold that is given and the tables that the SQL reads are not the same."""
    found: list[Problem] = []
    for question in questions:
        if not question.sql:
            continue
        try:
            read = {name.casefold() for _, name in tables_of(question.sql, dialects)}
        except DatasetError as error:
            found.append(Problem(question.id, str(error)))
            continue
        given = {table.name.casefold() for table in question.gold}
        if odd := sorted(read ^ given):
            found.append(Problem(question.id, f"SQL and gold differ in {', '.join(odd)}"))
    return found


def stratified(questions: Sequence[Question], share: Fraction, seed: int) -> tuple[Question, ...]:
    """A share of the questions, drawn from each number of gold tables alike; their order stays."""
    strata: dict[int, list[str]] = {}
    for question in questions:
        strata.setdefault(len(question.gold), []).append(question.id)
    chosen: set[str] = set()
    for size, ids in strata.items():
        rng = Random(f"{seed}/{size}")  # noqa: S311  a seeded draw, no secret
        chosen.update(rng.sample(ids, round(len(ids) * share)))
    return tuple(question for question in questions if question.id in chosen)


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """A choice among the questions of a dataset, and what is asked with them.

    `evidence` adds each question's evidence to its text. `share` draws a part of the questions by
    `seed`, `limit` takes the first so many, `sources` those whose gold tables all stand in these
    sources. `descriptions`: a language model writes these of the tables first (datasets.py).
    """

    evidence: bool = False
    share: Fraction = Fraction(1)
    seed: int = 42
    limit: int | None = None
    skip_bad: bool = False
    sources: tuple[str, ...] = ()
    descriptions: str = ""

    def apply(self, questions: Sequence[Question], catalog: CatalogReader) -> tuple[Question, ...]:
        """The questions that are asked."""
        known = {table.source for table in catalog.ids}
        if unknown := sorted(set(self.sources) - known):
            there = ", ".join(sorted(known))
            raise UsageError(f"there is no source {unknown[0]!r}; there are: {there}")
        about = set(self.sources) or known
        return tuple(
            question
            for question in stratified(questions, self.share, self.seed)
            if {table.source for table in question.gold} <= about
        )[: self.limit]

    def options(self) -> list[str]:
        """The same as command-line options."""
        found = ["--evidence"] * self.evidence + ["--skip-bad"] * self.skip_bad
        found += [f"--{self.descriptions}"] * bool(self.descriptions)
        found += ["--source", ",".join(self.sources)] if self.sources else []
        if self.share != 1:
            found += ["--share", str(self.share), "--seed", str(self.seed)]
        return found + (["--limit", str(self.limit)] if self.limit else [])
