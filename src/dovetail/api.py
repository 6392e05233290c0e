"""What a user holds: a catalog that can be asked, and what it answers with.

The catalog's reader knows nothing of search or models; this is the reader with both at hand. A
`TableSet` names tables alone, so that it can be kept, compared and sent; a `FoundSet` adds the
tables themselves, which schema slices and prompts are made of.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.catalog.reader import CatalogReader
from dovetail.ddl import ddl
from dovetail.domain import Candidate, Chosen, JoinEdge, Table, TableSet
from dovetail.errors import MissingModelError, NotFoundError, UsageError
from dovetail.markdown import fenced
from dovetail.offline import pipeline, summary
from dovetail.offline.progress import ProgressCallback
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.opening import open_model
from dovetail.retrieve.registry import COMPACT, open_selector
from dovetail.search.opening import open_searcher
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings, deprecated

if TYPE_CHECKING:
    from dovetail.answer.answer import Answer


@dataclass(frozen=True, slots=True)
class FoundSet:
    """The tables found for a question, and all that the catalog knows of them."""

    set: TableSet
    details: tuple[Table, ...]

    @property
    def question(self) -> str:
        return self.set.question

    @property
    def tables(self) -> tuple[Chosen, ...]:
        """The tables in order, each with its stage of entry and why it is here."""
        return self.set.tables

    @property
    def joins(self) -> tuple[JoinEdge, ...]:
        """How they join, by which columns and on what evidence."""
        return self.set.joins

    @property
    def connected(self) -> bool:
        """Whether the joins hold all of them together."""
        return self.set.connected

    @property
    def warning(self) -> str:
        """What to look out for before joining them; empty if nothing."""
        if not self.tables:
            nearest = ", ".join(self.set.nearest)
            return "nothing here seems to answer this" + (f"; nearest: {nearest}" * bool(nearest))
        if self.connected:
            return ""
        parts = " | ".join(", ".join(map(str, part)) for part in self.set.components)
        return f"no joins are known between these parts of the set: {parts}"

    def ddl(self) -> str:
        """A compact slice of schema: example values in comments, and how the tables join."""
        return ddl(self.details, self.joins)

    def prompt(self) -> str:
        """The slice and the question, for a model that writes SQL."""
        filled = read_prompt("set").fill(schema=fenced(self.ddl().strip()), question=self.question)
        return filled[0].content

    def to_dict(self) -> Json:
        """The set as JSON has it."""
        return self.set.to_dict()


class Catalog(CatalogReader):
    """A catalog that can be searched and asked, with the models that its settings name."""

    settings = Settings()

    @classmethod
    def open(cls, path: str | Path, settings: Settings | None = None) -> Catalog:
        """Open the catalog in a folder."""
        return cls.over(CatalogReader.open(path), settings)

    @classmethod
    def over(cls, opened: CatalogReader, settings: Settings | None = None) -> Catalog:
        """An open catalog, ready to be asked."""
        segments = {name: opened.segment(name) for name in opened.manifest.segments}
        catalog = cls(opened.path, opened.manifest, opened.records, segments)
        catalog.settings = settings or cls.settings
        return catalog

    @cached_property
    def searcher(self) -> Searcher:
        """Search over this catalog; what it needs is made by whoever searches first."""
        return open_searcher(self, self.settings)

    def search(self, question: str, k: int = 10) -> list[Candidate]:
        """The `k` tables that have most to do with a question, ranked."""
        return self.searcher.search(question, k)

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        selector: str | None = None,
        llm: LLM | str | None = None,
        prompt: str = COMPACT,
        breadth: float | None = None,
        recall: float | None = None,
    ) -> FoundSet:
        """The set of tables that a question needs, and how they join.

        `k` candidates are searched for (10; for `graph` 16), and `selector` chooses among them:
        `graph` without a language model, by what the question says of them and how they join,
        `llm` by one call of a model with the prompt `full` or `compact`, `hybrid` asks the model
        where `graph` is not confident, `search` takes them all, and `auto` is `llm` if there is a
        model (`llm`, or the one that the settings name), else `graph`. Any other retriever goes by
        the name it has in `bench`, a plug-in's too. `breadth`, from 0 to 1, is for `graph`: how
        many tables it takes (`recall` is its old name). The set may be empty: a model may say that
        no table answers the question.

        >>> import dovetail
        >>> catalog = dovetail.build("shop.sqlite", into="catalog")
        >>> found = catalog.ask("Who ordered what?", selector="search", k=2)
        >>> [chosen.table.name for chosen in found.tables]
        ['orders', 'order_items']
        """
        if not question.strip():
            raise UsageError("the question is empty; ask one")
        model = self._model(llm)
        if recall is not None:
            deprecated("recall", "breadth", "ask()")
            breadth = recall if breadth is None else breadth
        settings = self.settings.but(breadth=breadth)
        retriever = open_selector(
            selector, self, settings=settings, k=k, prompt=prompt, llm=model, searcher=self.searcher
        )
        found = retriever.retrieve(question)
        return FoundSet(found, tuple(self[table] for table in found.ids))

    def answer(self, found: FoundSet | str, *, llm: LLM | str | None = None) -> Answer:
        """The rows that answer a question, or one that tables were found for: a language model
        writes SQL over the set, which can only read, and only the tables of the set.
        """
        from dovetail.answer.answer import answer
        from dovetail.answer.execute import Executor
        from dovetail.answer.results import Limits

        model = self._needed_model(llm)
        chosen = self.ask(found, llm=model) if isinstance(found, str) else found
        _refuse_empty(chosen)
        with Executor(self, limits=Limits.of(self.settings), workers=1) as executor:
            repair = self.settings.sql_repair
            return answer(executor, self, model, chosen.set, repair=repair)

    def write_sql(self, found: FoundSet, *, llm: LLM | str | None = None) -> str:
        """SQL that answers the question tables were found for, in the dialect of DuckDB."""
        from dovetail.answer.generate import generate
        from dovetail.answer.relations import relations

        _refuse_empty(found)
        repair = self.settings.sql_repair
        shown = relations(found.details)
        model = self._needed_model(llm)
        return generate(model, found.question, shown, found.joins, repair=repair).sql

    def _needed_model(self, llm: LLM | str | None) -> LLM:
        model = self._model(llm)
        if model is None:
            raise MissingModelError("writing SQL")
        return model

    def _model(self, llm: LLM | str | None) -> LLM | None:
        if not isinstance(llm, str | None):
            return llm
        return open_model(self.path, self.settings.but(llm=llm))


def _refuse_empty(found: FoundSet) -> None:
    """Refuse to write SQL over no table at all."""
    if not found.tables:
        raise NotFoundError(found.warning)


@dataclass(frozen=True, slots=True)
class UpdateSummary(summary.UpdateSummary):
    """What an update did, with the catalog ready to be asked."""

    catalog: Catalog


def open(path: str | Path, settings: Settings | None = None) -> Catalog:  # noqa: A001 - as dovetail.open
    """Open the catalog in a folder."""
    return Catalog.open(path, settings)


def build(
    *sources: str,
    into: str | Path = ".dovetail",
    settings: Settings | None = None,
    purposes: bool | None = None,
    on_progress: ProgressCallback | None = None,
    watch: ProgressCallback | None = None,
) -> Catalog:
    """Bring the catalog at `into` up to date with sources, and open it.

    Each source is a SQLite or DuckDB file, a CSV, TSV, Parquet or JSON file, a folder or glob of
    them, or a `postgresql://` or `mysql://` URL; `name=…` gives it a label. Their tables are
    added, read again where they changed, or dropped; sources of earlier calls stay. Without any
    source, all of those are brought up to date.

    As with `dovetail index`, a language model writes the purposes of tables if the settings name
    one (`llm`), and none is asked otherwise; `purposes=False` leaves them out, and `purposes=True`
    is an error where no model is set. `on_progress` is called with a `Progress` now and
    then; `watch` is its name in earlier versions.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", "exports", into="catalog")
    >>> catalog["order_items"].rows
    1288
    """
    heard = on_progress or _renamed(watch)
    summary = update(sources, into=into, settings=settings, purposes=purposes, on_progress=heard)
    return summary.catalog


def update(
    sources: Sequence[str] = (),
    *,
    into: str | Path,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    joins: bool = True,
    search: bool = True,
    purposes: bool | None = None,
    on_progress: ProgressCallback | None = None,
    watch: ProgressCallback | None = None,
) -> UpdateSummary:
    """Do what `build` does, and say what it came to.

    `forget` drops sources by label; `check` reads every table again, whatever its source says.
    Without `joins`, join evidence is left to whoever asks for it first; without `search`, so are
    embeddings and search index. The summary tells the seconds of each stage.
    """
    done = pipeline.update(
        sources,
        into=into,
        settings=settings,
        forget=forget,
        check=check,
        joins=joins,
        search=search,
        llm=_purpose_model(Path(into), settings or Settings(), purposes),
        on_progress=on_progress or _renamed(watch),
    )
    told = {each.name: getattr(done, each.name) for each in fields(done)}
    return UpdateSummary(**told | {"catalog": Catalog.over(done.catalog, settings)})


def _purpose_model(into: Path, settings: Settings, purposes: bool | None) -> LLM | None:
    """The language model that is to write purposes, or None if none shall."""
    if purposes is False:
        return None
    model = open_model(into, settings)
    if purposes and model is None:
        raise UsageError(
            "to write purposes a language model is asked and none is set: give --llm NAME, or set "
            "llm in dovetail.toml"
        )
    return model


def _renamed(watch: ProgressCallback | None) -> ProgressCallback | None:
    """The callback given by the keyword of earlier versions, with a word about its new name."""
    if watch is not None:
        warnings.warn("watch= is now on_progress=", DeprecationWarning, stacklevel=3)
    return watch
