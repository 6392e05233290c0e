"""Learning from past queries by the Python API and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.catalog.knowledge.usage import LearntLog, read_usage, write_usage
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.writer import writing
from dovetail.errors import NotFoundError, SourceError, UsageError
from dovetail.learn.learning import learn_log, merged
from dovetail.learn.logs import open_log
from dovetail.offline.pipeline import apply_knowledge
from dovetail.ports import Json
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How logs are read: in which dialect, about the tables of which sources, what is kept."""

    dialect: str = ""
    sources: tuple[str, ...] = ()
    keep_literals: bool = False


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
    catalog: CatalogReader, logs: Sequence[str], settings: Settings, options: LearnOptions
) -> tuple[LearnSummary, CatalogReader]:
    """Learn logs, and bring the catalog up to date with them; it is returned as it is then."""
    if not settings.use_queries:
        raise UsageError("past queries are not used (the setting use_queries); turn them on")
    learnt, unchanged, failed = [], [], []
    found = []
    for place in logs:
        try:
            log = open_log(catalog, place, dialect=options.dialect, sources=options.sources)
            found.append(learn_log(catalog, log, keep_literals=options.keep_literals))
        except SourceError as error:
            failed.append(str(error))
    with writing(catalog.folder):
        known = list(read_usage(catalog.folder).logs)
        for new in found:
            known, is_new = merged(known, new)
            learnt += [new] if is_new else []
            unchanged += [] if is_new else [new.name]
        if learnt:
            write_usage(catalog.folder, known)
    summary = LearnSummary(tuple(learnt), tuple(unchanged), tuple(failed))
    return summary, apply_knowledge(catalog.folder, settings) if learnt else catalog


def forget_logs(
    catalog: CatalogReader, names: Sequence[str], settings: Settings
) -> tuple[LearnSummary, CatalogReader]:
    """Forget what was learnt from some logs, or from all."""
    with writing(catalog.folder):
        known = read_usage(catalog.folder).logs
        there = {log.name for log in known}
        if missing := set(names) - there:
            listed = ", ".join(sorted(there)) or "none"
            raise NotFoundError(f"no log {sorted(missing)[0]!r} was learnt; there are: {listed}")
        gone = set(names) or there
        write_usage(catalog.folder, [log for log in known if log.name not in gone])
    summary = LearnSummary(forgotten=tuple(sorted(gone)))
    return summary, apply_knowledge(catalog.folder, settings) if gone else catalog
