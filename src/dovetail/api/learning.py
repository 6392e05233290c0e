"""Learning from past queries by the Python API and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.usage import LearntLog
from dovetail.errors import NotFoundError, SourceError, UsageError
from dovetail.learn.learning import learn_log, merged
from dovetail.learn.logs import open_log
from dovetail.offline.pipeline import reindex
from dovetail.offline.plan import ChangeLogs
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
    learnt: list[LearntLog] = []
    unchanged: list[str] = []
    failed: list[str] = []
    found = []
    for place in logs:
        try:
            log = open_log(catalog, place, dialect=options.dialect, sources=options.sources)
            found.append(learn_log(catalog, log, keep_literals=options.keep_literals))
        except SourceError as error:
            failed.append(str(error))

    def added(known: Sequence[LearntLog]) -> Sequence[LearntLog]:
        for new in found:
            known, is_new = merged(known, new)
            learnt.extend([new] if is_new else [])
            unchanged.extend([] if is_new else [new.name])
        return known

    known = _applied(catalog, settings, added) if found else catalog
    return LearnSummary(tuple(learnt), tuple(unchanged), tuple(failed)), known


def forget_logs(
    catalog: CatalogReader, names: Sequence[str], settings: Settings
) -> tuple[LearnSummary, CatalogReader]:
    """Forget what was learnt from some logs, or from all."""
    gone: set[str] = set()

    def left(known: Sequence[LearntLog]) -> Sequence[LearntLog]:
        there = {log.name for log in known}
        if missing := set(names) - there:
            listed = ", ".join(sorted(there)) or "none"
            raise NotFoundError(f"no log {sorted(missing)[0]!r} was learnt; there are: {listed}")
        gone.update(names or there)
        return [log for log in known if log.name not in gone]

    known = _applied(catalog, settings, left)
    return LearnSummary(forgotten=tuple(sorted(gone))), known


def _applied(catalog: CatalogReader, settings: Settings, change: ChangeLogs) -> CatalogReader:
    """The generation with other logs than before; the catalog itself if they are the same."""
    known = reindex(catalog.folder, settings, change)
    if known.manifest.generation == catalog.manifest.generation:
        return catalog
    known.notes_file = catalog.notes_file
    return known
