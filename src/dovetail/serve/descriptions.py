"""Descriptions by agents: tables that nobody described are shown, and what is said of them kept.

They hold for everybody who asks, and whoever describes a table sees the names of its neighbours: so
a server offers this only where it was started for it, and over the whole catalog alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field

from dovetail.api.catalog import Catalog
from dovetail.api.catalog import open as open_catalog
from dovetail.errors import AmbiguousTableError, NotFoundError
from dovetail.serve.views import find_table, safe

# Who wrote what comes in here; tables of a batch, tables and columns that are described at once.
_AUTHOR = "agent"
MOST_DESCRIBED, MOST_SAVED, _MOST_COLUMNS = 16, 50, 500
Name = Annotated[str, Field(max_length=1_000)]


class ToDescribe(BaseModel):
    """Tables that nobody described yet, as `text` shows them; `missing` counts all such."""

    tables: list[str]
    text: str
    missing: int


class TableWords(BaseModel):
    """What is said of a table, and of its columns by their names."""

    description: str = Field(
        "", max_length=2_000, description="One sentence: what a row stands for, and what it tells."
    )
    columns: dict[Name, Annotated[str, Field(max_length=500)]] = Field(
        default_factory=dict,
        max_length=_MOST_COLUMNS,
        description="For columns with cryptic names alone: what they mean, in 2 to 6 words.",
    )


Descriptions = Annotated[dict[Name, TableWords], Field(min_length=1, max_length=MOST_SAVED)]


class SavedWords(BaseModel):
    """How many tables are described now by what was given, the names that are of no table or
    column, had no description or are of what people described, and how many tables are left."""

    saved: int
    refused: list[str]
    missing: int


def may_describe(catalog: Catalog) -> bool:
    """Whether a catalog is whole: a part of one is not described by itself."""
    return catalog.whole is catalog


def to_describe(catalog: Catalog, limit: int) -> ToDescribe:
    """The next tables to describe."""
    batch = catalog.tables_to_describe(limit)
    return ToDescribe(
        tables=[safe(str(table)) for table in batch.tables],
        text=batch.text,
        missing=batch.missing,
    )


def save(served: Catalog, given: Mapping[str, TableWords]) -> SavedWords:
    """Keep descriptions; they are in force from the next request on.

    They are put in force by a catalog of its own: whoever reads the present one is not disturbed.
    """
    with open_catalog(served.folder, served.settings) as catalog:
        named = {_id(catalog, name): words.model_dump() for name, words in given.items()}
        result = catalog.save_descriptions(named, author=_AUTHOR)
        left = catalog.tables_to_describe(1).missing
    return SavedWords(saved=result.saved, refused=safe(result.refused), missing=left)


def _id(catalog: Catalog, name: str) -> str:
    """The id of the table that a name means; the name as it is where it means none, or several."""
    try:
        return str(find_table(catalog, name).id)
    except (AmbiguousTableError, NotFoundError):
        return name
