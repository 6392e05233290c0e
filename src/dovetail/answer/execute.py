"""Execution: a query over exactly the tables of a set, in a process of its own that can only read.

Engine `duckdb` joins tables of any sources in one query; `sqlite` runs it in SQLite itself, over
SQLite files, for results that are SQLite's to the letter.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from dovetail.answer import check
from dovetail.answer.pool import Pool
from dovetail.answer.relations import (
    Guarded,
    Joined,
    Relation,
    fold,
    names_in_warehouse,
    private_name,
    private_names,
    relations,
    reveal,
)
from dovetail.answer.results import Answer, Limits
from dovetail.called_off import CALLED_OFF, Cancelled
from dovetail.catalog.lookup import TableNames
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Column, JoinEdge, Table, TableId
from dovetail.errors import (
    AmbiguousTableError,
    DovetailError,
    GuardError,
    NotFoundError,
    QueryError,
    UsageError,
)
from dovetail.ports import Json, SourceSpec
from dovetail.sources.resolve import expand
from dovetail.sources.warehouse_dialects import DIALECTS
from dovetail.telemetry import traced

if TYPE_CHECKING:
    import pyarrow as pa


ENGINES = ("duckdb", "sqlite")
_MOST_ATTACHED = 10
_MOST_WORKERS = 4
# What Arrow's format adds to the rows it carries.
_FORMAT_BYTES = 16 << 20
# A column with such a share of nulls is worth a warning.
_HALF = 0.5


class Executor:
    """Runs queries over a catalog's tables; its processes stay warm until it is closed.

    `sources` are those that the settings name, which may have logins that no catalog keeps.
    """

    def __init__(
        self,
        catalog: CatalogReader,
        *,
        limits: Limits | None = None,
        workers: int = 0,
        sources: Sequence[str] = (),
    ) -> None:
        self._catalog = catalog
        self._named = sources
        self._limits = limits or Limits()
        self._pool = Pool(workers or min(os.cpu_count() or 1, _MOST_WORKERS))
        self._specs: dict[str, SourceSpec] = {}

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def table_names(self, sql: str, *, engine: str = "duckdb") -> tuple[str, ...]:
        """The names of the tables that a query would read, as it writes them."""
        _require_engine(engine)
        return check.ask_names(self._pool, sql, dialect=engine, limits=self._limits)

    def run(
        self,
        sql: str,
        tables: Sequence[Table | Relation],
        *,
        engine: str = "duckdb",
        dialect: str | None = None,
        limits: Limits | None = None,
        edges: Iterable[JoinEdge] = (),
        cancelled: Cancelled | None = None,
    ) -> Answer:
        """Run a query, written in `dialect` (the engine's own unless given), over these tables.

        The query calls them as `relations` names them; a `Relation` has its name already. If they
        are all in one warehouse the query runs there, unless it cannot be written for it. `edges`
        are the joins that are known between them. Where `cancelled` says yes, it ends; without it,
        where `CALLED_OFF` does.
        """
        _require_engine(engine)
        self._require_values()
        called_off = cancelled or CALLED_OFF.get()
        chosen = limits or self._limits
        began = time.perf_counter()
        given = relations(tables, self._catalog.query_names)
        asked = partial(check.ask, self._pool, sql, dialect=dialect or engine)
        ask = partial(asked, limits=chosen, cancelled=called_off)
        engine, placed, checked = self._checked(given, engine, ask)
        let_through = time.perf_counter()
        request = self._request(checked, placed, engine, chosen)
        originals = {**private_names(placed), **checked.private}
        with _original_names(originals), traced("query", engine=engine):
            header, body = self._pool.ask(
                request,
                seconds=chosen.seconds,
                spent=checked.seconds,
                most=2 * chosen.bytes + _FORMAT_BYTES,
                cancelled=called_off,
            )
        rows = _read_rows(body, originals)
        total = time.perf_counter() - began
        stages = {"guard": let_through - began, **header["seconds"]}
        stages["process"] = max(total - sum(stages.values()), 0.0)
        return Answer(
            sql=sql,
            ran=checked.shown,
            rows=rows,
            truncated=header["truncated"],
            tables=checked.tables,
            joins=checked.joins,
            names={relation.table.id: relation.name for relation in placed},
            warnings=(
                *header["warnings"],
                *_warnings(rows, header["truncated"], checked.joins, given, tuple(edges)),
            ),
            seconds=stages,
        )

    def _require_values(self) -> None:
        if self._catalog.no_values:
            raise UsageError(
                f"{self._catalog.folder} leaves every value in its source, so no rows are read by "
                "it; run the query where the tables are"
            )

    def _checked(
        self, given: tuple[Relation, ...], engine: str, ask: Callable[..., Guarded]
    ) -> tuple[str, tuple[Relation, ...], Guarded]:
        """Where a query runs, where its tables are there, and what the guard made of it."""
        placed = names_in_warehouse(given, self._spec) if engine == "duckdb" else None
        if placed is not None:
            language = DIALECTS[self._spec(placed[0].table.id.source).kind].name
            with suppress(GuardError):
                return "warehouse", placed, ask(placed, engine=language)
        placed = self._located(given, engine)
        return engine, placed, ask(placed, engine=engine)

    def _request(
        self, checked: Guarded, placed: Sequence[Relation], engine: str, limits: Limits
    ) -> Json:
        """What the process that runs a query is sent: the query, and the tables that it reads."""
        wanted = [relation for relation in placed if relation.table.id in checked.tables]
        databases = {relation.table.id.source for relation in wanted}
        if engine == "sqlite" and len(databases) > _MOST_ATTACHED:
            raise QueryError(
                f"engine sqlite joins at most {_MOST_ATTACHED} databases, not {len(databases)}; "
                "use engine duckdb"
            )
        return {
            "task": "run",
            "engine": engine,
            "sql": checked.sql,
            "private": list(checked.private),
            "relations": [self._described(relation) for relation in wanted],
            "limits": asdict(limits),
        }

    def _located(self, given: tuple[Relation, ...], engine: str) -> tuple[Relation, ...]:
        """Tables where the engine has them: in SQLite, in the database they come from.

        In DuckDB under private names, so that no name of a query can mean one of them by itself.
        """
        if engine == "duckdb":
            return tuple(relation.at(private_name()) for relation in given)
        sources = sorted({relation.table.id.source for relation in given})
        for source in sources:
            if self._spec(source).kind != "sqlite":
                raise UsageError(
                    f"engine sqlite reads SQLite files, which {source} is not; use engine duckdb"
                )
        at = {source: f"s{number}" for number, source in enumerate(sources)}
        return tuple(
            relation.at(at[relation.table.id.source], relation.table.name) for relation in given
        )

    def _described(self, relation: Relation) -> Json:
        """A table for the process that reads it; credentials go over the pipe and nowhere else."""
        table = relation.table
        return {
            "spec": self._spec(table.id.source).to_json(),
            "table": table.name,
            "engine_name": list(relation.engine_name),
            "types": [_type_in_query(column) for column in table.columns],
            "rows": table.rows,
        }

    def _spec(self, source: str) -> SourceSpec:
        """Where a source is. Of what the user named, the root of the same label is likeliest."""
        if source not in self._specs:
            roots = self._catalog.manifest.roots
            for root in sorted(roots, key=lambda root: root.label != source):
                try:
                    self._specs |= {spec.label: spec for spec in expand(root, self._named)}
                except (DovetailError, OSError):
                    if root.label == source and root.kind != "path":
                        raise
                    continue
                if source in self._specs:
                    break
            else:
                raise NotFoundError(f"the source {source} is no longer there; index again")
        return self._specs[source]


def tables_of_query(
    catalog: CatalogReader, names: Iterable[str], tables: Sequence[Table] | None = None
) -> tuple[Relation, ...]:
    """The tables that a query may read, under the names that it calls them by.

    A name in the query is looked up like any other (`orders`, `sales.customers`, `shop.orders` of
    `shop.sqlite`): among `tables` where they are given, which also go by the names that
    `relations` gives them, else in the whole catalog. A name that fits no table of the catalog, or
    several, is an error; one that fits none of the given tables is left for the guard to refuse.
    """
    meant = {
        fold(relation.name): relation for relation in relations(tables or (), catalog.query_names)
    }
    listed = {table.id: table for table in tables or ()}
    by_name = catalog.names if tables is None else TableNames(listed)
    for name in names:
        if fold(name) in meant or (tables is not None and not by_name.matches(name)):
            continue
        try:
            table = by_name.find(name, catalog.folder)
        except AmbiguousTableError as error:
            raise AmbiguousTableError(f"{error} (in double quotes)") from None
        meant[fold(name)] = Relation(listed.get(table) or catalog[table], name, (name,))
    return tuple(meant.values())


def _type_in_query(column: Column) -> str:
    """The type to give a column: whole numbers that no BIGINT holds are wider or stay text."""
    ends = [text for text in (column.profile.minimum, column.profile.maximum) if text]
    if column.type != "BIGINT" or not ends:
        return column.type
    try:
        largest = max(abs(int(text)) for text in ends)
    except ValueError:
        return "VARCHAR"
    if largest < 1 << 63:
        return column.type
    return "HUGEINT" if largest < 1 << 127 else "VARCHAR"


def _require_engine(name: str) -> None:
    if name not in ENGINES:
        raise UsageError(f"engine {name!r} is not known; there are: {', '.join(ENGINES)}")


@contextmanager
def _original_names(originals: Mapping[str, str]) -> Iterator[None]:
    """Errors of the engine name tables and columns as the query's author does."""
    try:
        yield
    except QueryError as error:
        raise type(error)(reveal(str(error), originals)) from None


def _read_rows(body: bytes, originals: Mapping[str, str]) -> pa.Table:
    """The rows; an engine may name a column by the text of a subquery, with our names in it."""
    import pyarrow as pa

    with pa.ipc.open_stream(body) as reader:
        rows = reader.read_all()
    named = [reveal(name, originals) for name in rows.column_names]
    return rows if named == rows.column_names else rows.rename_columns(named)


def _warnings(
    result: pa.Table,
    truncated: bool,
    joined: Sequence[Joined],
    given: Sequence[Relation],
    edges: Sequence[JoinEdge],
) -> Iterator[str]:
    """What to know before trusting rows, a sentence each."""
    import pyarrow.compute as pc

    by_id = {relation.table.id: relation for relation in given}
    for join in joined:
        if not _one_side_unique(join, by_id, edges):
            left, right = by_id[join.left].name, by_id[join.right].name
            on = " and ".join(f"{left}.{a} = {right}.{b}" for a, b in join.columns)
            yield f"the join {on} multiplies rows: values repeat on both sides"
    rows = result.num_rows
    for name, column in zip(result.column_names, result.columns, strict=True):
        nulls = pc.sum(pc.is_null(column, nan_is_null=False)).as_py() if rows else 0
        if rows > 1 and nulls >= _HALF * rows:
            yield f"column {name} is {nulls / rows:.0%} null"
    if truncated:
        yield f"only the first {rows:,} rows are shown: there are more"


def _one_side_unique(
    join: Joined, relations_by_id: Mapping[TableId, Relation], edges: Sequence[JoinEdge]
) -> bool:
    left = relations_by_id[join.left].table
    right = relations_by_id[join.right].table
    for a, b in join.columns:
        if left.column(a).profile.unique or right.column(b).profile.unique:
            return True
    pairs = set(join.columns)
    for edge in edges:
        turned = [(b, a) for a, b in edge.columns]
        here = (edge.left, edge.right) == (join.left, join.right) and set(edge.columns) <= pairs
        there = (edge.right, edge.left) == (join.left, join.right) and set(turned) <= pairs
        if (here or there) and edge.cardinality != "n:m":
            return True
    return False
