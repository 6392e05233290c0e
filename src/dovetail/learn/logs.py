"""Where logs come from: files by name, and the statistics of statements that a server keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from sqlglot.dialects import Dialect

from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import SourceError, UsageError
from dovetail.learn.learning import Log
from dovetail.learn.statements import MOST_STATEMENTS, Statement, statements_in
from dovetail.plugins import open_source
from dovetail.ports import SourceSpec
from dovetail.sources.logins import require_named
from dovetail.sources.resolve import root
from dovetail.sources.walk import DATABASE_SUFFIXES

# The dialect of each kind of source, in the parser's words.
_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}
_USUAL = "duckdb"


def open_log(
    catalog: CatalogReader, place: str, *, dialect: str = "", sources: Sequence[str] = ()
) -> Log:
    """The log that a user names: a file, the URL of a server, or the label of a source that is one.

    Without a `dialect`, that of the catalog's sources is tried, and then DuckDB's. `sources` says
    whose tables the log is about.
    """
    if dialect and dialect not in Dialect.classes:
        known = ", ".join(sorted(filter(None, Dialect.classes)))
        raise UsageError(f"the dialect {dialect!r} is not known; there are: {known}")
    spec = next((one for one in catalog.manifest.roots if one.label == place), None)
    if spec is None:
        spec = root(place, Path.cwd())
    elif spec.kind != "path":
        require_named(spec)
    if spec.kind == "path":
        file = Path(spec.location)
        if not file.is_file():
            raise SourceError(f"there is no file {place}; check the path")
        about = tuple(tables_of_sources(catalog.ids, sources)) if sources else ()
        spoken = (dialect,) if dialect else _dialects(catalog, about)
        return Log(place, spoken, statements_in(file), about)
    label = next(
        (one.label for one in catalog.manifest.roots if one.location == spec.location), None
    )
    wanted = list(sources) or ([label] if label else [])
    about = tuple(tables_of_sources(catalog.ids, wanted)) if wanted else ()
    return Log(spec.location, (dialect or _DIALECTS.get(spec.kind, _USUAL),), _kept(spec), about)


def _kept(spec: SourceSpec) -> Iterator[Statement]:
    """The statements that a server has counted."""
    with closing(open_source(spec)) as source:
        counted = getattr(source, "statements", None)
        if counted is None:
            raise UsageError(f"{spec.location} keeps no statistics of statements; name a file")
        for sql, count, last in counted(MOST_STATEMENTS):
            yield Statement(str(sql).strip().rstrip(";"), max(int(count), 1), str(last or "")[:19])


def _dialects(catalog: CatalogReader, about: Sequence[TableId]) -> tuple[str, ...]:
    """The dialects that queries over some tables, or all, may be written in: the usual one last."""
    kinds = {root.label: root.kind for root in catalog.manifest.roots}
    labels = dict.fromkeys(table.source for table in about or catalog.ids)
    found = []
    for label in labels:
        kind = kinds.get(label, "")
        if kind in ("", "path"):
            files = label.lower().endswith(DATABASE_SUFFIXES)
            duck = label.lower().endswith((".duckdb", ".ddb"))
            kind = "sqlite" if files and not duck else "duckdb"
        found.append(_DIALECTS.get(kind, _USUAL))
    return tuple(dict.fromkeys([*found, _USUAL]))
