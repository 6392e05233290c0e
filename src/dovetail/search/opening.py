"""Opens a searcher as the settings say: which embedder, which purposes, which joins."""

from __future__ import annotations

from dovetail.catalog.purposes import purposes
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import ModelError
from dovetail.families.stored import families_of
from dovetail.joins.column_arrays import Thresholds
from dovetail.notes.notes import Notes
from dovetail.notes.reading import read_notes
from dovetail.plugins import open_embedder
from dovetail.ports import Embedder
from dovetail.search.embeddings import EmbedProgress
from dovetail.search.index import IndexInputs, refuse_other_models
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings


def open_searcher(
    catalog: CatalogReader,
    settings: Settings,
    on_progress: EmbedProgress | None = None,
    notes: Notes | None = None,
) -> Searcher:
    """Search over a catalog; what its index lacks is made first.

    Without `notes`, those of the catalog's file are read.
    """
    inputs, note = index_inputs(catalog, settings)
    try:
        if note:
            refuse_other_models(catalog, inputs)
        known = families_of(catalog, inputs.thresholds) if settings.families else None
        searcher = Searcher(catalog, inputs, families=known, on_progress=on_progress)
        return searcher.noted(read_notes(catalog) if notes is None else notes)
    except ModelError as error:
        # Indexed with the usual embedder, whose weights are missing here: that is what to mend.
        raise ModelError(f"{error}; {note}") if note else error from None


def chosen_embedder(settings: Settings) -> tuple[Embedder | None, str]:
    """The embedder that the settings name, and a note for the user, or nothing.

    Without the weights of the default embedder there is none, and the note says so. Any other
    embedder that cannot be opened is an error.
    """
    try:
        return open_embedder(settings.embedder), ""
    except ModelError as error:
        if settings.embedder != Settings().embedder:
            raise
        return None, f"search goes by words, values and joins alone: {error}"


def index_inputs(catalog: CatalogReader, settings: Settings) -> tuple[IndexInputs, str]:
    """What the search index depends on besides the catalog, as the settings have it.

    With them comes a note for the user on what search has to go without, or nothing.
    """
    embedder, note = chosen_embedder(settings)
    texts = {table: found.text for table, found in purposes(catalog).items() if found.text}
    thresholds = Thresholds(settings.join_rows, settings.join_unique)
    return IndexInputs(embedder, texts, thresholds), note
