"""A searcher as the settings want it: which embedder, which purposes, which joins."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.catalog.purposes import purposes
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import ModelError
from dovetail.joins.column_arrays import Thresholds
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder
from dovetail.search.index import Done, IndexInputs, bring_up_to_date, refuse_other_models
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings


def open_searcher(catalog: CatalogReader, settings: Settings, done: Done | None = None) -> Searcher:
    """A catalog, ready to be asked; what it lacks for that is made first."""
    embedder, note = chosen_embedder(settings)
    inputs = _index_inputs(catalog, settings, embedder)
    try:
        if note:
            refuse_other_models(catalog, inputs)
        return Searcher(catalog, inputs, done=done)
    except ModelError as error:
        # Indexed with the usual embedder, whose weights are missing here: that is what to mend.
        raise ModelError(f"{error}; {note}") if note else error from None


def make_searchable(catalog: CatalogReader, settings: Settings, done: Done | None = None) -> str:
    """Bring what search needs up to date; returns what the user should know, or nothing."""
    embedder, note = chosen_embedder(settings)
    bring_up_to_date(catalog, _index_inputs(catalog, settings, embedder), done)
    return note


def chosen_embedder(settings: Settings) -> tuple[Embedder | None, str]:
    """The embedder that is set; without the weights of the usual one search goes without, and
    the text says so. Any other that cannot be opened is an error.
    """
    try:
        return open_embedder(settings.embedder), ""
    except ModelError as error:
        if settings.embedder != Settings().embedder:
            raise
        return None, f"search goes by words, values and joins alone: {error}"


def _index_inputs(
    catalog: CatalogReader, settings: Settings, embedder: Embedder | None
) -> IndexInputs:
    thresholds = Thresholds(settings.join_rows, settings.join_unique)
    return IndexInputs(embedder, _texts(catalog), thresholds)


def _texts(catalog: CatalogReader) -> Mapping[TableId, str]:
    return {table: found.text for table, found in purposes(catalog).items() if found.text}
