"""A catalog that can be asked: the reader of a catalog's folder, with search, models and SQL."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail import notebook
from dovetail.api.models import chosen_model, model_for_sql
from dovetail.api.noted_views import NotedViews
from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.purposes import purposes
from dovetail.catalog.reader import CatalogReader, notes_file
from dovetail.domain import Candidate, JoinEdge, Table, TableId, TableSet
from dovetail.errors import NotFoundError, UsageError
from dovetail.families.family import Families
from dovetail.families.stored import read_families
from dovetail.joins.graph import JOINABLE, JoinGraph
from dovetail.models.cache import open_model
from dovetail.notes.apply import marked_families, noted_graph
from dovetail.notes.notes import NO_NOTES, Notes
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.ask import open_retriever
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings, load_settings
from dovetail.text import fenced

if TYPE_CHECKING:
    from dovetail.answer.answer import Answer
    from dovetail.answer.execute import Executor
    from dovetail.api.learning import LearnSummary
    from dovetail.offline.summary import UpdateSummary

# Tables that a notebook shows of a catalog.
_SHOWN = 20


class Catalog(CatalogReader):
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

    def __init__(self, opened: CatalogReader, settings: Settings) -> None:
        self._adopt(opened, settings)

    @classmethod
    def open(cls, path: str | Path | None = None, settings: Settings | None = None) -> Catalog:
        """Open the catalog in a folder, as `dovetail.open` does."""
        chosen = settings or load_settings()
        folder = chosen.catalog if path is None else path
        return cls(CatalogReader.open(folder, chosen), chosen)

    @classmethod
    def over(cls, opened: CatalogReader, settings: Settings | None = None) -> Catalog:
        """A catalog that is open already, ready to be asked."""
        chosen = settings or load_settings()
        opened.notes_file = notes_file(opened.folder, chosen)
        return cls(opened, chosen)

    def _adopt(self, opened: CatalogReader, settings: Settings) -> None:
        """Show what another reader shows; whatever was worked out before is forgotten."""
        vars(self).clear()
        segments = {name: opened.segment(name) for name in opened.manifest.segments}
        super().__init__(opened.folder, opened.manifest, opened.records, segments, opened.parts)
        self.settings = settings
        self.notes_file = opened.notes_file
        self._views: NotedViews | None = None
        # What caches go by: another object after every refresh.
        self._opened = opened

    def refresh(self) -> UpdateSummary[Catalog]:
        """Bring the catalog up to date with its sources, in place, and say what changed.

        As `build` does, it has purposes written if the settings name a language model.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.refresh()
        <UpdateSummary shop: 6 tables unchanged>
        """
        from dovetail.offline import pipeline

        model = open_model(self.folder, self.settings)
        done = pipeline.update(into=self.folder, settings=self.settings, llm=model)
        self.close()
        done.catalog.notes_file = self.notes_file
        self._adopt(done.catalog, self.settings)
        return done.over(self)

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
        tables = notebook.count(len(self), "table")
        return f"<Catalog {self.folder}: {tables} of {notebook.count(sources, 'source')}>"

    def _repr_html_(self) -> str:
        """The first tables, for a notebook."""
        shown = (self[table] for table in self.ids[:_SHOWN])
        rows = ((t.name, t.id.source, f"{t.rows:,}", len(t.columns)) for t in shown)
        more = f", the first {_SHOWN} shown" if len(self) > _SHOWN else ""
        title = f"{self.folder}: {notebook.count(len(self), 'table')}{more}"
        return notebook.block(title, notebook.table(["table", "source", "rows", "columns"], rows))

    @property
    def notes(self) -> Notes:
        """What a person noted on this catalog; read again whenever the file has changed."""
        return self._noted.notes

    @property
    def _noted(self) -> NotedViews:
        self._views = NotedViews.now(self._views, self._opened)
        return self._views

    @property
    def searcher(self) -> Searcher:
        """Search over this catalog."""
        return self._noted.searcher(lambda: self._plain_searcher)

    @cached_property
    def _plain_searcher(self) -> Searcher:
        return open_searcher(self._opened, self.settings, notes=NO_NOTES)

    def search(self, question: str, k: int = 10) -> list[Candidate]:
        """The `k` tables that have most to do with a question, ranked.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> [candidate.name for candidate in catalog.search("products in orders", k=2)]
        ['order_items', 'products']
        """
        return self.searcher.search(question, k)

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        selector: str | None = None,
        llm: LLM | str | None = None,
        breadth: float | None = None,
        sources: str | Iterable[str] | None = None,
        explain: bool = False,
    ) -> TableSet:
        """The set of tables that a question needs, and how they join.

        `k` candidates are searched for (`graph`: 16, `llm`: 8 to 30 by need), and `selector`
        chooses among them: `graph` without a language model, by what the question says of them and
        how they join, `llm` by one call of a model, and `auto` is `llm` if there is a model
        (`llm`, or the one that the settings name), else `graph`. A retriever that another package
        offers goes by its name. `breadth`, from 0 to 1, is for `graph`: how many tables it takes.
        `sources` names the sources, by label or by a folder of them, whose tables are considered;
        without it all are. The set may be empty, where no table answers the question. With
        `explain`, the result's `explanation` says what decided, where `graph` chose.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> found = catalog.ask("Which products are in which orders?", breadth=0.5)
        >>> [table.name for table in found]
        ['products', 'order_items', 'orders']
        """
        if not question.strip():
            raise UsageError("the question is empty; ask one")
        model = chosen_model(self.folder, self.settings, llm)
        settings = self.settings.but(breadth=breadth)
        searcher = self.searcher
        if sources is not None:
            wanted = [sources] if isinstance(sources, str) else sources
            searcher = searcher.among(tables_of_sources(self.ids, wanted))
        name = selector or settings.selector
        made = partial(open_retriever, name, searcher, settings, k=k, llm=model, explain=explain)
        lasting = sources is None and model is None
        key = (searcher, name, settings, k, explain)
        retriever = self._noted.selector(key, made) if lasting else made()
        found = retriever.retrieve(question)
        return replace(found, details=tuple(self[table] for table in found.ids))

    def answer(self, found: TableSet | str, *, llm: LLM | str | None = None) -> Answer:
        """The rows that answer a question, or the one that a result of `ask` is for.

        A language model writes SQL over the set of tables. The query can only read, and only the
        tables of the set.
        """
        from dovetail.answer.answer import answer

        model = model_for_sql(self.folder, self.settings, llm)
        chosen = self.ask(found, llm=model) if isinstance(found, str) else found
        _refuse_empty(chosen)
        repair = self.settings.sql_repair
        return answer(self._executor, self, model, chosen, repair=repair)

    def write_sql(self, found: TableSet, *, llm: LLM | str | None = None) -> str:
        """SQL that answers the question of a result, in the dialect of DuckDB; it is not run."""
        from dovetail.answer.generate import generate, nearest_examples
        from dovetail.answer.relations import relations

        _refuse_empty(found)
        repair = self.settings.sql_repair
        shown = relations(found.details)
        model = model_for_sql(self.folder, self.settings, llm)
        like = nearest_examples(self.usage.examples, found.question, found.ids)
        joins = found.joins
        written = generate(model, found.question, shown, joins, examples=like, repair=repair)
        return written.sql

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

        The query calls tables by their names; `"source::name"` in double quotes tells two of a
        name apart. With `tables`, it may read those alone. `engine` is `duckdb`, or `sqlite` for
        SQLite files.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.sql("SELECT count(*) AS n FROM orders").to_arrow().to_pylist()
        [{'n': 600}]
        """
        from dovetail.answer.answer import execute
        from dovetail.answer.execute import tables_of_query

        given = None if tables is None else [self._table(table) for table in tables]
        names = self._executor.table_names(query, engine=engine)
        read = tables_of_query(self, names, given)
        ids = {relation.table.id for relation in read}
        known = self._graph.edges if len(ids) > 1 else []
        edges = [edge for edge in known if {edge.left, edge.right} <= ids]
        return execute(self._executor, query, read, edges=edges, engine=engine)

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
        from dovetail.api.learning import LearnOptions, learn

        options = LearnOptions(dialect, tuple(sources), keep_literals)
        summary, known = learn(self._opened, list(map(str, logs)), self.settings, options)
        if known is not self._opened:
            self._adopt(known, self.settings)
        return summary

    def forget_queries(self, *logs: str) -> LearnSummary:
        """Forget what was learnt from some logs, by name, or from all."""
        from dovetail.api.learning import forget_logs

        summary, known = forget_logs(self._opened, logs, self.settings)
        if known is not self._opened:
            self._adopt(known, self.settings)
        return summary

    def joins(
        self, table: TableId | str | None = None, *, least: float = JOINABLE
    ) -> list[JoinEdge]:
        """The joins that score above `least`, the surest first: of one table, or all of them.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> print(catalog.joins("order_items")[0])
        shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no  (1.00)
        """
        graph = self._graph
        if table is not None:
            return graph.joins(self._table(table).id, least=least)
        return [edge for edge in graph.edges if edge.score > least]

    def path(
        self, start: TableId | str, end: TableId | str, *, least: float = JOINABLE
    ) -> list[JoinEdge]:
        """The path of joins from one table to another that a person would take; empty if none.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> for edge in catalog.path("products", "orders"):
        ...     print(edge)
        shop.sqlite::order_items.product_id = shop.sqlite::products.product_id  (0.98)
        shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no  (1.00)
        """
        return self._graph.path(self._table(start).id, self._table(end).id, least=least)

    def join_graph(self) -> JoinGraph:
        """All joins of the catalog as a graph."""
        return self._graph

    def show(self, table: TableId | str) -> Json:
        """All that is known of a table, as JSON has it: what `dovetail show --json` prints.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> shown = catalog.show("orders")
        >>> shown["id"], shown["rows"], shown["columns"][0]["name"], shown["family"]
        ('shop.sqlite::orders', 600, 'order_no', None)
        """
        shown = self._table(table)
        purpose = purposes(self).get(shown.id)
        in_dbt, use = self.dbt.tables.get(shown.id), self.usage.tables.get(shown.id)
        family = self.families().of(shown.id)
        return {
            **shown.to_dict(),
            "purpose": purpose.text if purpose else None,
            "notes": [str(remark) for remark in self.notes.remarks_on(shown.id)],
            "dbt": in_dbt.to_dict() if in_dbt else None,
            "queries": use.queries if use else (0 if self.usage else None),
            "last_queried": (use.last or None) if use else None,
            "family": family.to_dict(shown.id) if family else None,
        }

    def families(self) -> Families:
        """Which tables are one logical table: partitions, copies, histories, views; and twins.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="shop")
        >>> catalog.families()
        <Families: 0 of 0 tables>
        """
        return marked_families(self._families, self.notes)

    @cached_property
    def _families(self) -> Families:
        return read_families(self._opened)

    @property
    def _graph(self) -> JoinGraph:
        return self._noted.graph(partial(noted_graph, self._opened))

    @cached_property
    def _executor(self) -> Executor:
        """Runs SQL in processes that stay until the catalog is closed, or nobody holds it."""
        from dovetail.answer.execute import Executor
        from dovetail.answer.results import Limits

        executor = Executor(self._opened, limits=Limits.of(self.settings))
        weakref.finalize(self, executor.close)
        return executor

    def _table(self, table: Table | TableId | str) -> Table:
        return table if isinstance(table, Table) else self[table]


def _refuse_empty(found: TableSet) -> None:
    """Refuse to write SQL over no table at all."""
    if not found:
        raise NotFoundError("; ".join(found.warnings))


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
    return Catalog.open(path, settings)
