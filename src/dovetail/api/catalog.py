"""A catalog that can be asked: a generation of its folder, with search, models and SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack, cast

from dovetail.api.changes import ChangingCatalog
from dovetail.api.state import Narrowed
from dovetail.catalog.lookup import tables_of_sources
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Table, TableId, TableSet
from dovetail.domain.results import Ranked
from dovetail.domain.sql import table_sql
from dovetail.errors import EmbedderError, GuardError, NotFoundError, PendingError, UsageError
from dovetail.models.cache import chosen_model
from dovetail.models.waiting import within
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.ask import AUTO, GRAPH, MODEL, open_retriever
from dovetail.retrieve.look import phrases
from dovetail.retrieve.trace import Stage
from dovetail.settings import Settings, load_settings
from dovetail.telemetry import traced
from dovetail.text import fenced

if TYPE_CHECKING:
    from dovetail.answer.results import Answer
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


class Catalog(ChangingCatalog):
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
        definitions = self.searcher.definitions(found.question)
        return "; ".join(str(each) for each in definitions if each.text or each.columns)

    def prompt(self, found: TableSet) -> str:
        """The schema of a set and its question, for a language model that writes SQL."""
        return sql_prompt(found.ddl(), found.question)

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


def sql_prompt(schema: str, question: str) -> str:
    """A schema and a question, for a language model that writes SQL."""
    schema = fenced(schema.strip())
    return read_prompt("set").fill(schema=schema, question=question)[0].content


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
