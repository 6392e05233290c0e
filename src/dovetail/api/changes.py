"""What changes a catalog in place: its sources, past queries, and descriptions of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dovetail.api.state import Narrowed, State
from dovetail.api.tables import CatalogTables
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import MissingModelError, UsageError
from dovetail.models.cache import chosen_model, open_model
from dovetail.ports import LLM

if TYPE_CHECKING:
    from dovetail.learn.learning import LearnSummary
    from dovetail.offline.describe import DescribePlan, SavedDescriptions, TablesToDescribe
    from dovetail.offline.summary import DescribeSummary, ProgressCallback, UpdateSummary


class ChangingCatalog(CatalogTables):
    """The tables of a catalog, which can be brought up to date, taught and described."""

    def refresh(self) -> UpdateSummary[Self]:
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

    def _adopt(self, reader: CatalogReader) -> None:
        """Go on with another generation."""
        self.close()
        reader.notes_file = self.reader.notes_file
        self._state = State(reader, self.settings)
