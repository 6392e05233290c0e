"""A catalog that can be asked: a generation of its folder, with search, models and SQL."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack, cast

from dovetail import notebook
from dovetail.api.state import Narrowed, State
from dovetail.catalog.generation import FILE
from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.reader import CatalogReader, notes_file
from dovetail.domain import (
    Candidate,
    Description,
    HasId,
    JoinEdge,
    KeyDomain,
    Skipped,
    Table,
    TableId,
    TableSet,
)
from dovetail.domain.joins import Joins
from dovetail.domain.results import Ranked
from dovetail.domain.sql import table_sql
from dovetail.errors import (
    EmbedderError,
    GuardError,
    MissingModelError,
    NotFoundError,
    PendingError,
    UsageError,
)
from dovetail.families.family import Families
from dovetail.joins.graph import JOINABLE, JoinGraph, each_once, path_notes
from dovetail.models.cache import chosen_model, open_model
from dovetail.models.waiting import within
from dovetail.notes.apply import noted_description, noted_domains, noted_table
from dovetail.notes.notes import Notes
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.ask import AUTO, GRAPH, MODEL, open_retriever
from dovetail.retrieve.look import phrases
from dovetail.retrieve.trace import Stage
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings, load_settings
from dovetail.telemetry import traced
from dovetail.text import count, fenced

if TYPE_CHECKING:
    from dovetail.answer.execute import Executor
    from dovetail.answer.join_check import JoinCheck
    from dovetail.answer.results import Answer
    from dovetail.catalog.usage import JoinUse
    from dovetail.learn.learning import LearnSummary
    from dovetail.offline.describe import DescribePlan, SavedDescriptions, TablesToDescribe
    from dovetail.offline.summary import DescribeSummary, ProgressCallback, UpdateSummary
    from dovetail.retrieve.considered import Considered
    from dovetail.retrieve.proposals import Proposal


class AskOptions(TypedDict, total=False):
    """What `ask` can be told besides the question and the model."""

    k: int | None
    selector: str | None
    breadth: float | None
    sources: str | Iterable[str] | None
    looking_for: Sequence[str]


# The selectors of our own; those of other packages are made over a whole catalog.
SELECTORS = (AUTO, GRAPH, MODEL)
T = TypeVar("T")
# Tables that a notebook shows of a catalog.
_SHOWN = 20


class Catalog:
    """The tables of a catalog's folder, ready to be searched, asked and queried.

    Iterating gives every `Table` in the order of ids, `len` counts them. `catalog["orders"]` finds
    one by name, the end of a name, `source::name` or `TableId`, and `"orders" in catalog` says
    whether there is any. The view stays as it was when it was opened, however many updates land
    meanwhile; `refresh` brings it up to date. `settings` name the models and limits in use.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", "exports", into="catalog")
    >>> catalog
    <Catalog catalog: 16 tables of 2 sources>
    >>> catalog["orders"].rows, "nonsense" in catalog
    (600, False)
    >>> catalog["order_item"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dovetail.errors.TableNotFoundError: there is no table 'order_item' in catalog; did you mean ...
    """

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
        """Whether the searcher is made already: for the package's own stages, no part of the API."""
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

    def narrowed(self, patterns: Iterable[str]) -> Catalog:
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
        narrow = Catalog(self.reader, self.settings)
        narrow._state = Narrowed(self._state, chosen)
        return narrow

    @property
    def whole(self) -> Catalog:
        """The catalog that these tables are of, where it is narrowed; else itself."""
        if not isinstance(self._state, Narrowed):
            return self
        whole = Catalog(self._state.whole.reader, self.settings)
        whole._state = self._state.whole
        return whole

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

    def refresh(self) -> UpdateSummary[Catalog]:
        """Bring the catalog up to date with its sources, in place, and say what changed.

        As `build` does, it has tables described if the settings name a language model.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.refresh()
        <UpdateSummary shop: 6 tables unchanged>
        """
        from dovetail.offline import pipeline

        model = open_model(self.folder, self.settings)
        done = pipeline.update(into=self.folder, settings=self.settings, llm=model)
        self._adopt(done.catalog)
        return done.over(self)

    def _adopt(self, reader: CatalogReader) -> None:
        """Go on with another generation."""
        self.close()
        reader.notes_file = self.reader.notes_file
        self._state = State(reader, self.settings)

    def close(self) -> None:
        """End the processes that run SQL. The catalog can still be used; they start again."""
        if "_executor" in vars(self):
            self._executor.close()
            del self._executor

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        sources = len({table.source for table in self.ids})
        tables = count(len(self), "table")
        return f"<Catalog {self.folder}: {tables} of {count(sources, 'source')}>"

    def _repr_html_(self) -> str:
        """The first tables, for a notebook."""
        shown = (self[table] for table in self.ids[:_SHOWN])
        short = self.reader.source_names
        rows = ((t.name, short[t.source], f"{t.rows:,}", len(t.columns)) for t in shown)
        more = f", the first {_SHOWN} shown" if len(self) > _SHOWN else ""
        title = f"{self.folder}: {count(len(self), 'table')}{more}"
        return notebook.block(title, notebook.table(["table", "source", "rows", "columns"], rows))

    @property
    def embedder(self) -> str | None:
        """The embedder that search goes by; None where it goes by words alone."""
        embedder = self.searcher.embedder
        return embedder.model_id if embedder else None

    def proposals(self) -> list[Proposal]:
        """Pins and definitions that the questions with known tables (`notes`) suggest."""
        from dovetail.retrieve.proposals import proposals

        return proposals(self.searcher)

    def search(
        self,
        question: str,
        k: int = 10,
        *,
        looking_for: Sequence[str] = (),
        explain: bool = False,
    ) -> list[Candidate]:
        """The `k` tables that have most to do with a question, ranked; `explain` gives reasons.

        `looking_for` describes the tables that the question needs, a phrase for each: what is
        found for them takes turns with what is found for the question.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> [candidate.name for candidate in catalog.search("products in orders", k=2)]
        ['order_items', 'products']
        """

        def ranking() -> list[Candidate]:
            searcher = self.searcher
            query = searcher.analyse(question)
            ranked = searcher.search(query, k, looking_for=phrases(looking_for))
            if not explain:
                return Ranked(ranked)
            reasons = searcher.reasons(query, [candidate.id for candidate in ranked])
            return Ranked(
                replace(candidate, reasons=tuple(why))
                for candidate, why in zip(ranked, reasons, strict=True)
            )

        return self._with_or_without_embedder(ranking)

    def _with_or_without_embedder(self, step: Callable[[], T]) -> T:
        """What a step gives, by words and values alone where the embedder cannot be asked."""
        try:
            return step()
        except EmbedderError as error:
            self._state.do_without_embedder(str(error))
            return step()

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        selector: str | None = None,
        llm: LLM | str | None = None,
        breadth: float | None = None,
        sources: str | Iterable[str] | None = None,
        looking_for: Sequence[str] = (),
        explain: bool = False,
    ) -> TableSet:
        """The set of tables that a question needs, and how they join.

        `k` candidates are searched for (`graph`: 16, `llm`: 8 to 24 by need), and `selector`
        chooses among them: `graph` without a language model, by what the question says of them and
        how they join, `llm` by a model that first says what to look for, and `auto` is `llm` if
        there is a model (`llm`, or the one that the settings name) and `graph` is not sure. A
        retriever that another package offers goes by its name. `breadth`, from 0 to 1, is for
        `graph`: how many tables it takes. `looking_for` describes the tables that the question
        needs, a phrase for each, where you know or have a model of your own.
        `sources` names the sources, by label or by a folder of them, whose tables are considered;
        without it all are. The set may be empty, where no table answers the question. With
        `explain`, the result's `explanation` says what decided, where `graph` chose.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> found = catalog.ask("Which products are in which orders?", breadth=0.5)
        >>> [table.name for table in found]
        ['products', 'orders', 'order_items']
        """
        if not question.strip():
            raise UsageError("the question is empty; ask one")
        settings = self.settings.but(breadth=breadth)
        name = selector or settings.selector
        model = chosen_model(self.folder, self.settings, llm, named=selector == MODEL)
        wanted = [sources] if isinstance(sources, str) else sources
        among = None if wanted is None else tables_of_sources(self.ids, wanted)
        narrow = among is not None or isinstance(self._state, Narrowed)
        _refuse_selector(name, narrow=narrow, phrases=bool(looking_for))
        more = {"looking_for": looking_for} if looking_for else {}

        def selection() -> TableSet:
            searcher = self.searcher if among is None else self.searcher.among(among)
            made = partial(
                open_retriever, name, searcher, settings, k=k, llm=model, explain=explain
            )
            key = (searcher, name, settings, k, explain)
            lasting = among is None and model is None
            retriever = self._state.selector(key, made) if lasting else made()
            retrieve = cast(Callable[..., TableSet], retriever.retrieve)
            return self.completed(retrieve(question, **more))

        with traced("ask", selector=name):
            answer = self._with_or_without_embedder(selection)
        stages = _searched_without(self._state.without_embedder)
        return replace(answer, trace=(*stages, *answer.trace)) if stages else answer

    def completed(self, found: TableSet, parts: Json | None = None) -> TableSet:
        """A set with the profiles of its tables, what queries call them, and a query to begin with.

        `ask` gives sets that are; a set that somebody made of other tables is not. With `parts`, as
        a set has them, changed or not, the query is the one that they ask for.
        """
        from dovetail.retrieve.skeleton import with_skeleton

        details = tuple(self._noted(self.reader[table]) for table in found.ids)
        found = replace(found, details=details, names=self.reader.query_names.of(found.ids))
        return with_skeleton(self.searcher, found, parts)

    def considered(self, found: TableSet) -> Considered:
        """The candidates that a result of `ask` left out, and how these join the others.

        Each has what it is (`description`) and the columns that the question speaks of, with what
        they mean and hold: enough to choose otherwise.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> others = catalog.considered(catalog.ask("products in stock", breadth=0))
        >>> others.tables[0].id.name, others.joins[0].pairs
        ('order_items', 'shop.sqlite::order_items.product_id = shop.sqlite::products.product_id')
        """
        from dovetail.retrieve.considered import considered

        return self._with_or_without_embedder(lambda: considered(self.searcher, found))

    def answer(self, found: TableSet | str, *, llm: LLM | str | None = None) -> Answer:
        """The rows that answer a question, or the one that a result of `ask` is for.

        A language model writes SQL over the set of tables; where there is none, it is the set's
        skeleton. The query can only read, and only the tables of the set.
        """
        from dovetail.answer.generate import answer

        model = chosen_model(self.folder, self.settings, llm)
        chosen = self.ask(found, llm=model) if isinstance(found, str) else found
        _refuse_empty(chosen)
        if model is None:
            return self.sql(chosen.skeleton, chosen.ids)
        repair, terms = self.settings.sql_repair, self._defined_terms(chosen)
        with within(self.settings.llm_seconds):
            return answer(self._executor, self.reader, model, chosen, evidence=terms, repair=repair)

    def write_sql(
        self, found: TableSet, *, llm: LLM | str | None = None, dialect: str | None = None
    ) -> str:
        """SQL that answers the question of a result; it is not run.

        A language model writes it, or it is the result's skeleton where there is none. It is in
        the dialect of DuckDB, as `sql` takes it. With `dialect` (`postgres`, `mysql`, `sqlite` …)
        it is what the source itself takes, if all tables that it reads are of one.
        """
        from dovetail.answer.generate import write_sql
        from dovetail.answer.relations import relations
        from dovetail.answer.tree import native_sql

        _refuse_empty(found)
        model, sql = chosen_model(self.folder, self.settings, llm), found.skeleton
        if model is not None:
            repair, terms = self.settings.sql_repair, self._defined_terms(found)
            with within(self.settings.llm_seconds):
                sql = write_sql(self.reader, model, found, evidence=terms, repair=repair).sql
        if dialect is None:
            return sql
        tables = (self[table] for table in found.ids)
        return native_sql(sql, relations(tables, self.reader.query_names), dialect)

    def _defined_terms(self, found: TableSet) -> str:
        """What notes say that terms of a question mean, but for their tables: the set has these."""
        said = self.searcher.definitions(found.question)
        return "; ".join(str(each) for each in said if each.text or each.columns)

    def prompt(self, found: TableSet) -> str:
        """The schema of a set and its question, for a language model that writes SQL."""
        schema = fenced(found.ddl().strip())
        return read_prompt("set").fill(schema=schema, question=found.question)[0].content

    def sql(
        self,
        query: str,
        tables: Iterable[Table | TableId | str] | None = None,
        *,
        engine: str = "duckdb",
    ) -> Answer:
        """Run a query of your own; it can only read, and its tables may be of any sources.

        The query calls tables by their names; where two have the same, the end of its source's
        label before it says which (`erp.orders`). With `tables`, it may read those alone. `engine`
        is `duckdb`, or `sqlite` for SQLite files.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.sql("SELECT count(*) AS n FROM orders").to_arrow().to_pylist()
        [{'n': 600}]
        """
        from dovetail.answer.execute import tables_of_query

        given = None if tables is None else [self[table] for table in tables]
        with self._ids_told(query):
            names = self._executor.table_names(query, engine=engine)
            read = tables_of_query(self.reader, names, given)
            ids = {relation.table.id for relation in read}
            known = self.join_graph().edges if len(ids) > 1 else []
            edges = [edge for edge in known if {edge.left, edge.right} <= ids]
            return self._executor.run(query, read, edges=edges, engine=engine)

    @contextmanager
    def _ids_told(self, query: str) -> Iterator[None]:
        """Where a query is refused, say what it should call the tables that it names by ids."""
        try:
            yield
        except GuardError as error:
            ids = [
                table
                for table in (self.ids if "::" in query else ())
                if re.search(rf"{re.escape(str(table))}(?![\w\"])", query)
            ]
            if not ids:
                raise
            names = self.reader.query_names
            called = [f"{table} is {table_sql(names[table])} in a query" for table in ids]
            raise type(error)("; ".join((str(error).rstrip("."), *called))) from None

    def learn(
        self,
        *logs: str | Path,
        dialect: str = "",
        sources: Iterable[str] = (),
        keep_literals: bool = False,
    ) -> LearnSummary:
        """Learn from past queries which tables are used and how people join them, in place.

        Each log is a file (`.sql`; CSV, JSON, JSON lines or Parquet with a column of queries) or
        the URL of a server that counts statements. `sources` says whose tables they are about.
        Nothing of a query's literals is kept without `keep_literals`. `LearnSummary` has an
        example; `forget_queries` takes it back.
        """
        from dovetail.learn.learning import learn

        summary, reader = learn(
            self.reader,
            list(map(str, logs)),
            self.settings,
            dialect=dialect,
            sources=tuple(sources),
            keep_literals=keep_literals,
        )
        return self._learnt(summary, reader)

    def forget_queries(self, *logs: str) -> LearnSummary:
        """Forget what was learnt from some logs, by name, or from all."""
        from dovetail.learn.learning import forget_logs

        return self._learnt(*forget_logs(self.reader, logs, self.settings))

    def _learnt(self, summary: LearnSummary, reader: CatalogReader) -> LearnSummary:
        """Go on with the generation that other logs made, if there is a new one."""
        if reader is not self.reader:
            self._adopt(reader)
        return summary

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

    def describe(
        self,
        *,
        llm: LLM | str | None = None,
        on_progress: ProgressCallback | None = None,
        again: bool = False,
    ) -> DescribeSummary:
        """Have a language model describe the tables that it has not described yet, in place.

        Each logical table gets a sentence, and its cryptic columns glosses, which act as comments
        wherever no person wrote one. What is finished is kept if this is interrupted. With `again`
        the model describes anew what it has described.
        """
        from dovetail.offline import pipeline

        self._refuse_narrowed()
        model = chosen_model(self.folder, self.settings, llm)
        if model is None:
            raise MissingModelError("describing tables")
        described, summary = pipeline.update_descriptions(
            self.reader, self.settings, model, on_progress, again=again
        )
        self._adopt(described)
        return summary

    def describe_plan(self, *, llm: LLM | str | None = None, again: bool = False) -> DescribePlan:
        """How many tables `describe` would ask about, and what that takes; nothing is asked."""
        from dovetail.offline.describe import Describer, Prices

        self._refuse_narrowed()
        model = chosen_model(self.folder, self.settings, llm, named=False)
        prices = Prices(self.settings.llm_price_in, self.settings.llm_price_out)
        name = model.model_id if model else None
        return Describer(self.reader, name, again=again).plan(prices)

    def preview(
        self,
        question: str | None = None,
        *,
        sql: bool = False,
        again: bool = False,
        **options: Unpack[AskOptions],
    ) -> list[Json]:
        """The requests that a language model would be sent next, in full; nothing is sent.

        Those of `ask` for a question, with `sql` those of `write_sql` once the set is known;
        without a question those of `describe`, with `again` for all tables. What follows a reply
        that is not there yet cannot be told.
        """
        from dovetail.models.cache import preview_model

        model, seen = preview_model(self.folder, self.settings)
        if question is None:
            from dovetail.offline.describe import Describer

            self._refuse_narrowed()
            describer = Describer(self.reader, model.model_id, again=again)
            list(describer.ask(model, describer.batches))
            return seen.requests
        with suppress(PendingError):
            chosen = self.ask(question, llm=model, **options)
            if sql and chosen:
                self.write_sql(chosen, llm=model)
        return seen.requests

    def tables_to_describe(self, limit: int = 10) -> TablesToDescribe:
        """The next tables that nobody described yet, as a text that shows them.

        Whoever reads it, a person or an agent, may describe them with `save_descriptions`.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="undescribed")
        >>> batch = catalog.tables_to_describe(limit=2)
        >>> [table.name for table in batch.tables], batch.missing
        (['accounts', 'group'], 6)
        """
        from dovetail.offline.describe import tables_to_describe

        self._refuse_narrowed()
        return tables_to_describe(self.reader, limit)

    def save_descriptions(
        self, descriptions: Mapping[str, object], *, author: str
    ) -> SavedDescriptions:
        """Keep descriptions of tables and put them in force, in place.

        Each is given under a table's name: `{"description": "…", "columns": {"COLUMN": "…"}}`. It
        holds for all members of the table's family. Comments and notes that persons wrote win over
        it; what is not in force is `refused`.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="described")
        >>> about = {"order_items": {"description": "A line of an order.", "columns": {}}}
        >>> catalog.save_descriptions(about, author="me").saved
        1
        >>> catalog.description("order_items").text
        'A line of an order.'
        """
        from dovetail.offline import pipeline
        from dovetail.offline.describe import save_descriptions

        self._refuse_narrowed()
        result = save_descriptions(self.reader, descriptions, author)
        if result.saved:
            self._adopt(pipeline.reindex(self.folder, self.settings))
        return result

    def _refuse_narrowed(self) -> None:
        """Refuse to describe some tables alone: their neighbours are named beside them."""
        if isinstance(self._state, Narrowed):
            raise UsageError("tables are described in the whole catalog, not in a part of it")

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


def generation_stamp(folder: Path) -> tuple[int, int, int] | None:
    """What tells one generation of a catalog from the next: inode, time and size of its manifest.

    None where there is none to be read.
    """
    try:
        manifest = (folder / FILE).stat()
    except OSError:
        return None
    return manifest.st_ino, manifest.st_mtime_ns, manifest.st_size


def _id_of(table: HasId | TableId | str) -> TableId | str:
    return table if isinstance(table, str) else table.id


def _refuse_empty(chosen: TableSet) -> None:
    """Refuse to write SQL over no table at all."""
    if not chosen:
        raise NotFoundError("; ".join(chosen.warnings))


def _searched_without(why: str) -> list[Mapping[str, object]]:
    """What the trace says of an embedder that is not asked; nothing where it is."""
    if not why:
        return []
    stage = Stage("embed")
    stage.fall_back(f"{why}; searched by words, values and joins alone", warn=True)
    return [stage.entry]


def _refuse_selector(name: str, *, narrow: bool, phrases: bool) -> None:
    """Refuse a retriever of another package where it would see or do what it cannot."""
    if name in SELECTORS:
        return
    if narrow:
        raise UsageError(
            f"selector {name!r} sees every table of the catalog; over some of them alone, "
            f"choose one of: {', '.join(SELECTORS)}"
        )
    if phrases:
        raise UsageError(f"selector {name!r} takes no phrases to look for: leave them out")


def open(path: str | Path | None = None, settings: Settings | None = None) -> Catalog:  # noqa: A001 - as dovetail.open
    """Open the catalog in a folder; without one, in the folder that the settings name.

    Without `settings`, those of `dovetail.toml` in the current folder and of the environment hold
    (`load_settings`). As a context manager the catalog ends its SQL workers on leaving.

    >>> import dovetail
    >>> _ = dovetail.build("shop.sqlite", into="shop")
    >>> with dovetail.open("shop") as catalog:
    ...     len(catalog), "orders" in catalog
    (6, True)
    """
    chosen = settings or load_settings()
    return Catalog(CatalogReader.open(chosen.catalog if path is None else path), chosen)
