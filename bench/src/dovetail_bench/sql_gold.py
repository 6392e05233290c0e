"""Runs gold SQL on its own database, for the rows that generated SQL is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dovetail.answer.execute import Executor
from dovetail.answer.tree import base_tables, parse
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.domain.sql import query_names
from dovetail.errors import GuardError, QueryError
from dovetail.sources.resolve import expand
from dovetail_bench.compare import Order, order_of
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import Question

# What a dataset may say of its gold SQL, of all that it may say, when it can be used.
_RUNS = ("", "ok", "empty")


@dataclass(frozen=True, slots=True)
class Gold:
    """The rows of a gold query, whether their order counts, and of how many columns they are."""

    rows: list[tuple[Any, ...]]
    order: Order
    width: int


class GoldResults:
    """Runs each gold query once, over the tables that it reads and no others.

    SQLite's own engine runs it where all of them are in SQLite files and the dialect allows.
    """

    def __init__(self, catalog: CatalogReader, executor: Executor, dialects: Sequence[str]) -> None:
        self._catalog = catalog
        self._executor = executor
        self._dialects = dialects
        self._in_sqlite = sqlite_sources(catalog)
        self._known: dict[str, Gold | DatasetError] = {}

    def of(self, question: Question) -> Gold:
        """The result of a question's gold SQL; one that cannot run is an error."""
        if question.id not in self._known:
            try:
                self._known[question.id] = self._run(question)
            except (GuardError, QueryError, DatasetError) as error:
                self._known[question.id] = DatasetError(f"its gold SQL cannot be used: {error}")
        found = self._known[question.id]
        if isinstance(found, DatasetError):
            raise found
        return found

    def _run(self, question: Question) -> Gold:
        tree, dialect = _parsed(question.sql, self._dialects)
        tables = _put_in_place(tree, question, self._catalog.ids)
        own = dialect != "duckdb" and all(table.source in self._in_sqlite for table in tables)
        ran = self._executor.run(
            tree.sql(dialect),
            [self._catalog[table] for table in tables],
            engine="sqlite" if own else "duckdb",
            dialect=dialect,
        )
        if ran.truncated:
            raise DatasetError(f"it returns more than {ran.rows.num_rows:,} rows")
        return Gold(ran.tuples(), order_of(question.sql, dialect), ran.rows.num_columns)


def unusable(question: Question) -> str:
    """Why the gold SQL of a question cannot be held against, as far as its dataset says."""
    if not question.sql.strip():
        return "it has no gold SQL"
    status = str(question.extra.get("exec_status") or "")
    if question.extra.get("sql_usable") is False or status not in _RUNS:
        return f"its gold SQL is marked unusable {status}".rstrip()
    return ""


def sqlite_sources(catalog: CatalogReader) -> frozenset[str]:
    """The labels of the sources that are SQLite files."""
    specs = (spec for root in catalog.manifest.roots for spec in expand(root))
    return frozenset(spec.label for spec in specs if spec.kind == "sqlite")


def _parsed(sql: str, dialects: Sequence[str]) -> tuple[exp.Expr, str]:
    """The query as the first dialect that can read it understands it."""
    problem: GuardError | None = None
    for dialect in dialects:
        try:
            return parse(sql, dialect), dialect
        except GuardError as error:
            problem = problem or error
    raise problem or DatasetError("its dataset names no dialect")


def _put_in_place(
    tree: exp.Expr, question: Question, tables: Sequence[TableId]
) -> tuple[TableId, ...]:
    """The tables that a query reads; in the tree they get the names that the executor knows."""
    places = [(node, _meant(node, question, tables)) for node in base_tables(tree)]
    names = query_names(table for _, table in places)
    for node, table in places:
        if node.args.get("db") or node.name.casefold() != names[table].casefold():
            if not node.alias:
                alias = exp.to_identifier(node.name, quoted=True)
                node.set("alias", exp.TableAlias(this=alias))
            node.set("this", exp.to_identifier(names[table], quoted=True))
            node.set("db", None)
            node.set("catalog", None)
    for column in tree.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)
    return tuple(names)


def _meant(node: exp.Table, question: Question, tables: Sequence[TableId]) -> TableId:
    """The table of the catalog that a name in gold SQL means.

    Its qualifier is the label of a source; without one it is in a source of the gold tables.
    """
    homes = {node.db} if node.db else {table.source for table in question.gold}
    folded = {home.casefold() for home in homes}
    found = [
        table
        for table in tables
        if table.name.casefold() == node.name.casefold() and table.source.casefold() in folded
    ]
    if len(found) != 1:
        said = "is not in the catalog" if not found else "may be any of several"
        raise DatasetError(f"its table {node.sql()} {said}")
    return found[0]
