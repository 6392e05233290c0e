"""From query logs to what a catalog knows of how its tables are used.

The same log counts once, however often it is learnt; one that changed takes the place of its older
self. No source is read, and nothing else of the catalog changes.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.answer.tree import parse
from dovetail.catalog.lookup import TableNames
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import (
    Join,
    JoinUse,
    LearntLog,
    QueryExample,
    TableUse,
    digest_of_tables,
)
from dovetail.domain import TableId
from dovetail.errors import GuardError, NotFoundError, SourceError
from dovetail.learn.logs import LONGEST, MOST_STATEMENTS, Log, Statement, open_log
from dovetail.learn.statements import QueryReader, literals, masked, without_literals
from dovetail.offline.pipeline import reindex
from dovetail.offline.plan import ChangeLogs
from dovetail.ports import Json
from dovetail.settings import Settings

# What is kept of one log, at most: the most frequent first.
_MOST_JOINS, _MOST_PAIRS, _MOST_EXAMPLES = 20_000, 50_000, 5_000
# What is kept of a query: another number where it changes, so that a log can be learnt again.
_KEPT = 2
# Characters of a sample, and of the SQL of an example.
_SAMPLE, _EXAMPLE = 300, 4_000
# Tables of one query whose pairs are counted: a query over a hundred tables says little of any two.
_MOST_TABLES = 30


_T = TypeVar("_T", Join, tuple[TableId, TableId])


def learn_log(catalog: CatalogReader, log: Log, *, keep_literals: bool = False) -> LearntLog:
    """What a log says of the tables of a catalog."""
    ids = log.tables or tuple(catalog.ids)
    reader = QueryReader(TableNames(ids), _columns(catalog))
    counts, digest = _Counts(reader, log.dialects, keep_literals), hashlib.sha256()
    digest.update(f"{_KEPT} {log.dialects} {keep_literals}\0".encode())
    with _quiet_parser():
        for statement in islice(log.statements, MOST_STATEMENTS):
            text = f"{statement.sql}\0{statement.count}\0{statement.last}\0{statement.question}\0"
            digest.update(text.encode(errors="replace"))
            if statement.sql:
                counts.take(statement)
    return counts.learnt(log.name, digest.hexdigest()[:16], digest_of_tables(ids))


class _Counts:
    """What a log comes to, statement by statement."""

    def __init__(self, reader: QueryReader, dialects: Sequence[str], keep_literals: bool) -> None:
        self._reader, self._dialects, self._keep = reader, dialects, keep_literals
        self._queries = self._others = self._broken = 0
        self._tables: Counter[TableId] = Counter()
        self._joins: Counter[Join] = Counter()
        self._together: Counter[tuple[TableId, TableId]] = Counter()
        self._last: dict[object, str] = {}
        self._samples: dict[Join, str] = {}
        self._examples: dict[str, QueryExample] = {}

    def take(self, statement: Statement) -> None:
        """Count one statement."""
        if not _is_query(statement.sql):
            self._others += 1
            return
        try:
            self._read(statement)
        except (RecursionError, SqlglotError):  # nested in a way that the parser alone can follow
            self._broken += 1

    def learnt(self, name: str, content: str, known: str) -> LearntLog:
        """What is kept of the log."""
        joins = [
            JoinUse(*join, count, self._samples[join], self._last[join])
            for join, count in _most(self._joins, _MOST_JOINS)
        ]
        return LearntLog(
            name,
            content,
            known,
            self._queries,
            self._others,
            self._broken,
            {table: TableUse(n, self._last[table]) for table, n in sorted(self._tables.items())},
            tuple(joins),
            dict(_most(self._together, _MOST_PAIRS)),
            tuple(self._examples.values()),
        )

    def _read(self, statement: Statement) -> None:
        tree, dialect = _parsed(statement.sql, self._dialects)
        if tree is None:
            self._broken += 1
            return
        use = self._reader.read(tree)
        if not use.tables:
            self._others += 1
            return
        is_example = statement.question and use.whole and len(self._examples) < _MOST_EXAMPLES
        is_sample = not self._samples.keys() >= set(use.joins)
        # Before anything is counted, for some queries can be read and not written.
        sql = self._shown(tree, dialect, use.tables) if is_example or is_sample else ""
        self._queries += 1
        for table in use.tables:
            self._tables[table] += statement.count
        for join in use.joins:
            self._joins[join] += statement.count
            self._samples.setdefault(join, sql[:_SAMPLE])
        for used in (*use.tables, *use.joins):
            self._last[used] = max(self._last.get(used, ""), statement.last)
        pairs = combinations(use.tables[:_MOST_TABLES], 2)
        self._together.update(dict.fromkeys(pairs, statement.count))
        if is_example and len(sql) <= _EXAMPLE:
            asked = statement.question
            question = asked if self._keep else masked(asked, literals(tree))
            self._examples[question] = QueryExample(question[:1000], sql, use.tables)

    def _shown(self, tree: exp.Expr, dialect: str, tables: Sequence[TableId]) -> str:
        """The query in one line, without its literals unless they are to be kept."""
        if self._keep:
            return " ".join(tree.sql(dialect=dialect, comments=False).split())
        return without_literals(tree, dialect, self._reader.names_of(tables))


def _most(counted: Counter[_T], most: int) -> list[tuple[_T, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most]


def _is_query(sql: str) -> bool:
    """Whether a text begins as a query does; what writes or sets is none of ours."""
    head = sql[:2000]
    while head.startswith(("--", "/*", "(")) or head[:1].isspace():
        if head.startswith("--"):
            head = head.partition("\n")[2]
        elif head.startswith("/*"):
            head = head.partition("*/")[2]
        head = head[1:] if head.startswith("(") else head.lstrip()
    return head[:6].casefold() == "select" or head[:4].casefold() in ("with", "from")


def _parsed(sql: str, dialects: Sequence[str]) -> tuple[exp.Expr | None, str]:
    """A query as the first dialect that can reads it, with that; None where none can."""
    if len(sql) > LONGEST:
        return None, ""
    for dialect in dialects:
        try:
            return parse(sql, dialect), dialect
        except GuardError:
            continue
    return None, ""


@contextmanager
def _quiet_parser() -> Iterator[None]:
    """Keep the parser's warnings about strange queries from whoever learns them."""
    logger = logging.getLogger("sqlglot")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _columns(catalog: CatalogReader) -> dict[TableId, dict[str, str]]:
    """The columns of every table by their names, whatever the case."""
    names = catalog.records.columns["name"].to_pylist()
    bounds = catalog.records.bounds.tolist()
    return {
        table: {name.casefold(): name for name in reversed(names[bounds[row] : bounds[row + 1]])}
        for row, table in enumerate(catalog.ids)
    }


def merged(logs: Sequence[LearntLog], new: LearntLog) -> tuple[list[LearntLog], bool]:
    """The logs with a new one among them, and whether that says anything new.

    A log of the same name is replaced; the same contents under another name count once.
    """
    for at, log in enumerate(logs):
        if log.content == new.content:
            if log.known == new.known:
                return list(logs), False
            return [*logs[:at], replace(new, name=log.name), *logs[at + 1 :]], True
    return [*(log for log in logs if log.name != new.name), new], True


@dataclass(frozen=True, slots=True)
class LearnSummary:
    """What was learnt from some logs.

    `learnt` are the logs that said something new, `unchanged` the names of those that were known,
    `failed` says of each other in a line why it could not be read. `forgotten` are names too.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> with open("log.sql", "w") as log:
    ...     _ = log.write("SELECT * FROM order_items JOIN orders USING (order_no);")
    >>> catalog.learn("log.sql").learnt[0].queries
    1
    >>> catalog.joins("order_items")[0].evidence["queries"]
    1.0
    """

    learnt: tuple[LearntLog, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """The summary as JSON has it."""
        logs = [
            {
                "log": log.name,
                "queries": log.queries,
                "others": log.others,
                "broken": log.broken,
                "tables": len(log.tables),
                "joins": len(log.joins),
                "examples": len(log.examples),
            }
            for log in self.learnt
        ]
        return {
            "learnt": logs,
            "unchanged": list(self.unchanged),
            "failed": list(self.failed),
            "forgotten": list(self.forgotten),
        }


def learn(
    catalog: CatalogReader,
    logs: Sequence[str],
    settings: Settings,
    *,
    dialect: str = "",
    sources: Sequence[str] = (),
    keep_literals: bool = False,
) -> tuple[LearnSummary, CatalogReader]:
    """Learn logs, and bring the catalog up to date with them; it is returned as it is then."""
    learnt: list[LearntLog] = []
    unchanged: list[str] = []
    failed: list[str] = []
    counted = []
    for location in logs:
        try:
            log = open_log(
                catalog, location, dialect=dialect, sources=sources, settled=settings.sources
            )
            counted.append(learn_log(catalog, log, keep_literals=keep_literals))
        except SourceError as error:
            failed.append(str(error))

    def added(logs: Sequence[LearntLog]) -> Sequence[LearntLog]:
        for new in counted:
            logs, is_new = merged(logs, new)
            learnt.extend([new] if is_new else [])
            unchanged.extend([] if is_new else [new.name])
        return logs

    known = _applied(catalog, settings, added) if counted else catalog
    return LearnSummary(tuple(learnt), tuple(unchanged), tuple(failed)), known


def forget_logs(
    catalog: CatalogReader, names: Sequence[str], settings: Settings
) -> tuple[LearnSummary, CatalogReader]:
    """Forget what was learnt from some logs, or from all."""
    gone: set[str] = set()

    def left(logs: Sequence[LearntLog]) -> Sequence[LearntLog]:
        there = {log.name for log in logs}
        if missing := set(names) - there:
            listed = ", ".join(sorted(there)) or "none"
            raise NotFoundError(f"no log {sorted(missing)[0]!r} was learnt; there are: {listed}")
        gone.update(names or there)
        return [log for log in logs if log.name not in gone]

    reader = _applied(catalog, settings, left)
    return LearnSummary(forgotten=tuple(sorted(gone))), reader


def _applied(catalog: CatalogReader, settings: Settings, change: ChangeLogs) -> CatalogReader:
    """The generation with other logs than before; the catalog itself if they are the same."""
    reader = reindex(catalog.folder, settings, change)
    if reader.manifest.generation == catalog.manifest.generation:
        return catalog
    reader.notes_file = catalog.notes_file
    return reader
