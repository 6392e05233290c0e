"""What a catalog knows: its tables, what is said of them, how they join, which are one."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dovetail import notebook
from dovetail.api.state import Narrowed, State
from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.reader import CatalogReader, notes_file
from dovetail.domain import Description, HasId, JoinEdge, KeyDomain, Skipped, Table, TableId
from dovetail.domain.joins import Joins
from dovetail.domain.sql import table_sql
from dovetail.errors import NotFoundError
from dovetail.families.family import Families
from dovetail.joins.graph import JOINABLE, JoinGraph, each_once, path_notes
from dovetail.notes.apply import noted_description, noted_domains, noted_table
from dovetail.notes.notes import Notes
from dovetail.ports import Json
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings, load_settings
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail.answer.execute import Executor
    from dovetail.answer.join_check import JoinCheck
    from dovetail.catalog.usage import JoinUse

# Tables that a notebook shows of a catalog.
_SHOWN = 20


class CatalogTables:
    """The tables of a catalog's folder; settings name the models and limits in use."""

    def __init__(self, reader: CatalogReader, settings: Settings | None = None) -> None:
        chosen = settings or load_settings()
        reader.notes_file = notes_file(reader.folder, chosen)
        self._state = State(reader, chosen)

    @property
    def reader(self) -> CatalogReader:
        """What reads the generation in use: for the package's own stages, no part of the API."""
        return self._state.reader

    @property
    def searcher(self) -> Searcher:
        """What searches the tables: for the package's own stages, no part of the API."""
        return self._state.searcher

    @property
    def has_searched(self) -> bool:
        """Whether the searcher is made: for the package's own stages, no part of the API."""
        return self._state.has_searched

    @property
    def folder(self) -> Path:
        """The folder that the catalog is in."""
        return self.reader.folder

    @property
    def settings(self) -> Settings:
        """The models and limits in use."""
        return self._state.settings

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in order."""
        return self.reader.ids

    @property
    def billed(self) -> frozenset[str]:
        """The sources that bill for queries, where none runs unless somebody says so."""
        from dovetail.sources.warehouse_dialects import DIALECTS

        if self.settings.run_billed:
            return frozenset()
        roots = {root.label for root in self.reader.manifest.roots if root.kind in DIALECTS}
        tables = self.reader.records.tables
        listed = zip(tables["root"].to_pylist(), tables["source"].to_pylist(), strict=True)
        return frozenset(source for root, source in listed if root in roots)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What the last update could not read."""
        return self.reader.skipped

    @property
    def notes(self) -> Notes:
        """What a person noted on this catalog; read again whenever the file has changed."""
        return self._state.notes

    def __len__(self) -> int:
        return len(self.reader)

    def __iter__(self) -> Iterator[Table]:
        return map(self._noted, self.reader)

    def __getitem__(self, table: HasId | TableId | str) -> Table:
        if isinstance(table, Table):
            return table
        profile = self._noted(self.reader[_id_of(table)])
        return replace(profile, called=self.reader.query_names[profile.id])

    def _noted(self, table: Table) -> Table:
        """A table with what notes say of it."""
        if not self.notes.remarks:
            return table
        return noted_table(table, self.notes, self._state.descriptions.get(table.id))

    def __contains__(self, table: object) -> bool:
        return (_id_of(table) if isinstance(table, HasId) else table) in self.reader

    def narrowed(self, patterns: Iterable[str]) -> Self:
        """The tables whose name or `source::name` fits one of some patterns (`sales.*`).

        No other is found, joined, sampled or queried. Without a pattern it is the whole catalog; a
        pattern that fits nothing is an error.
        """
        wanted = tuple(patterns)
        if not wanted:
            return self
        chosen: set[TableId] = set()
        for pattern in wanted:
            fits = {t for t in self.ids if any(fnmatchcase(x, pattern) for x in (t.name, str(t)))}
            if not fits:
                raise NotFoundError(
                    f"no table of {self.folder} fits {pattern!r}; `dovetail tables` lists them"
                )
            chosen |= fits
        return self._over(Narrowed(self._state, chosen))

    @property
    def whole(self) -> Self:
        """The catalog that these tables are of, where it is narrowed; else itself."""
        return self._over(self._state.whole) if isinstance(self._state, Narrowed) else self

    def _over(self, state: State) -> Self:
        """The same catalog with other tables of it in use, and processes of its own."""
        other = copy(self)
        vars(other).pop("_executor", None)
        other._state = state  # noqa: SLF001 - of the same class
        return other

    def tables(
        self, patterns: Iterable[str] = (), *, sources: Iterable[str] | None = None
    ) -> list[Table]:
        """The tables whose name or `source::name` holds one of some patterns, in order of ids.

        `*` and `?` in a pattern are any letters. `sources` are labels, or folders of sources.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> [table.name for table in catalog.tables(["ORDER"])]
        ['order_items', 'orders']
        """
        wild = [one if set("*?[") & set(one) else f"*{one}*" for one in patterns]
        ids = self.ids if sources is None else tables_of_sources(self.ids, sources)
        return [
            self[table]
            for table in ids
            if not wild
            or any(
                fnmatchcase(name.casefold(), pattern.casefold())
                for pattern in wild
                for name in (table.name, str(table))
            )
        ]

    def show(self, table: HasId | TableId | str) -> Json:
        """All that is known of a table, as JSON has it: what `dovetail show --json` prints.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> shown = catalog.show("orders")
        >>> shown["id"], shown["sql"], shown["rows"], shown["columns"][0]["name"]
        ('shop.sqlite::orders', 'orders', 600, 'order_no')
        """
        shown, reader = self[table], self.reader
        description = self.description(shown)
        in_dbt, use = reader.dbt.tables.get(shown.id), reader.usage.tables.get(shown.id)
        family = self.families().of(shown.id)
        return {
            **shown.to_dict(),
            "sql": table_sql(reader.query_names[shown.id]),
            "description": description.to_dict() if description else None,
            "notes": [str(remark) for remark in self.notes.remarks_on(shown.id)],
            "dbt": in_dbt.to_dict() if in_dbt else None,
            "queries": use.queries if use else (0 if reader.usage else None),
            "last_queried": (use.last or None) if use else None,
            "family": family.to_dict(shown.id) if family else None,
            "domains": [
                domain.told_of(column)
                for domain in self.domains(shown)
                for column in domain.columns
                if column.table == shown.id
            ],
            "calendars": [
                f"{edge.columns[0][0]}: a day of {edge.right}.{edge.columns[0][1]}"
                for edge in self.calendar_joins(shown)
                if edge.left == shown.id
            ],
        }

    def description(self, table: HasId | TableId | str) -> Description | None:
        """What is said of a table, and by whom; None where nothing is."""
        at = self[table].id
        return noted_description(self._state.descriptions.get(at), self.notes, at)

    def joins(
        self, table: HasId | TableId | str | None = None, *, least: float = JOINABLE
    ) -> list[JoinEdge]:
        """The joins that score above `least`, the surest first: of one table, or all of them.

        Where each of two columns may refer to the other, that is one join, the surer way round.
        Joins of days with a calendar, which are no surer than even, are told by `calendar_joins`.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> print(catalog.joins("order_items")[0])
        shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no  (1.00)
        """
        graph = self.join_graph()
        edges = graph.edges if table is None else graph.joins(self[table].id, least=least)
        return Joins(each_once(edge for edge in edges if edge.score > least))

    def calendar_joins(self, table: HasId | TableId | str | None = None) -> list[JoinEdge]:
        """The joins of columns of days with calendars: of one table, or all of them.

        They count where a question asks for what only the calendar knows (weeks, holidays, fiscal
        periods), and connect no two tables.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.calendar_joins("orders")
        []
        """
        graph = self.join_graph()
        edges = graph.edges if table is None else graph.joins(self[table].id, calendars=True)
        return Joins(each_once(edge for edge in edges if edge.by_days))

    def domains(self, table: HasId | TableId | str | None = None) -> list[KeyDomain]:
        """The key domains, those of the most columns first: of one table, or all of them.

        A key domain is columns that hold the same identifiers, with the master of each source.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> [domain.name for domain in catalog.domains("order_items")]
        ['order numbers', 'product ids']
        """
        from dovetail.joins.domains import KeyDomains

        edges = (edge for edge in self.join_graph().edges if edge.score > JOINABLE)
        every = self._state.by_notes("domains", lambda _: KeyDomains(self.reader, edges))
        at = None if table is None else self[table].id
        return noted_domains(every.of(at), self._state.notes)

    def path(
        self,
        start: HasId | TableId | str,
        end: HasId | TableId | str,
        *,
        least: float = JOINABLE,
    ) -> list[JoinEdge]:
        """The path of joins from one table to another that a person would take; empty if none.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> for edge in catalog.path("products", "orders"):
        ...     print(edge)
        shop.sqlite::order_items.product_id = shop.sqlite::products.product_id  (0.98)
        shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no  (1.00)
        """
        return Joins(self.join_graph().path(self[start].id, self[end].id, least=least))

    def path_notes(self, path: Sequence[JoinEdge], start: HasId | TableId | str) -> list[str]:
        """What to know of a path: tables that only link its ends, and joins that multiply rows."""
        return path_notes(path, self[start].id)

    def join_graph(self) -> JoinGraph:
        """All joins of the catalog as a graph."""
        return self._state.graph

    def query_use(self, edge: JoinEdge) -> JoinUse | None:
        """What past queries say of a join, if any made it."""
        from dovetail.joins.queried import use_of

        return use_of(edge, self.reader.usage) if "queries" in edge.evidence else None

    def check_join(self, edge: JoinEdge) -> JoinCheck:
        """What the rows of its tables say of a join: sources are read for it.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> check = catalog.check_join(catalog.joins("order_items")[0])
        >>> check.rows == check.matched, check.multiplied, check.orphans
        (True, 1.0, ())
        """
        from dovetail.answer.join_check import check_join
        from dovetail.answer.relations import relations

        ends = relations((self[edge.left], self[edge.right]), self.reader.query_names)
        return check_join(self._executor, edge, ends)

    def families(self) -> Families:
        """Which tables are one logical table: partitions, copies, histories, views; and twins.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.families()
        <Families: 0 of 0 tables>
        """
        return self._state.families if self.settings.families else Families()

    @cached_property
    def _executor(self) -> Executor:
        """Runs SQL in processes that stay until the catalog is closed, or nobody holds it."""
        from dovetail.answer.execute import Executor
        from dovetail.answer.results import Limits

        executor = Executor(
            self.reader, limits=Limits.of(self.settings), sources=self.settings.sources
        )
        weakref.finalize(self, executor.close)
        return executor

    def close(self) -> None:
        """End the processes that run SQL. The catalog can still be used; they start again."""
        if "_executor" in vars(self):
            self._executor.close()
            del self._executor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        sources = len({table.source for table in self.ids})
        tables = count(len(self), "table")
        return f"<{type(self).__name__} {self.folder}: {tables} of {count(sources, 'source')}>"

    def _repr_html_(self) -> str:
        """The first tables, for a notebook."""
        shown = (self[table] for table in self.ids[:_SHOWN])
        short = self.reader.source_names
        rows = ((t.name, short[t.source], f"{t.rows:,}", len(t.columns)) for t in shown)
        more = f", the first {_SHOWN} shown" if len(self) > _SHOWN else ""
        title = f"{self.folder}: {count(len(self), 'table')}{more}"
        return notebook.block(title, notebook.table(["table", "source", "rows", "columns"], rows))


def _id_of(table: HasId | TableId | str) -> TableId | str:
    return table if isinstance(table, str) else table.id
