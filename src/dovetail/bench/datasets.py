"""Benchmark corpora on disk: databases to pool, declared keys and questions to score against.

Layout: `databases/<db>/<db>.sqlite`, `foreign_keys.json`, `questions.json`. What belongs to which
database is for scoring only: catalogs are pooled, and nothing that retrieves sees it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.catalog.reader import Catalog
from dovetail.domain import TableId
from dovetail.errors import NotFoundError
from dovetail.offline.build import Watch, build
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A declared key: a column of one table refers to a column of another."""

    database: str
    table: str
    column: str
    ref_table: str
    ref_column: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def databases(self) -> dict[str, Path]:
        """The databases by name."""
        found = sorted((self.path / "databases").glob("*/*.sqlite"))
        return {file.stem: file for file in found}

    def foreign_keys(self) -> list[ForeignKey]:
        """The declared keys between two different tables."""
        rows: list[dict[str, Any]] = json.loads(
            (self.path / "foreign_keys.json").read_text("utf-8")
        )
        keys = [
            ForeignKey(r["db_id"], r["table"], r["column"], r["ref_table"], r["ref_column"])
            for r in rows
        ]
        return [key for key in keys if key.table.lower() != key.ref_table.lower()]

    def catalog(self, settings: Settings | None = None, watch: Watch | None = None) -> Catalog:
        """All databases pooled into one catalog, kept beside them and brought up to date."""
        chosen = settings or Settings()
        sources = [f"{name}={path}" for name, path in self.databases.items()]
        into = self.path / f".dovetail-{chosen.comparison}"
        return build(*sources, into=into, settings=chosen, watch=watch)


def open_dataset(path: str | Path) -> Dataset:
    """A dataset in a folder of the expected layout."""
    folder = Path(path)
    for name in ("databases", "foreign_keys.json"):
        if not (folder / name).exists():
            raise NotFoundError(f"{folder} is no dataset: it has no {name}")
    return Dataset(folder.resolve())


def database_of(table: TableId) -> str:
    """The database a pooled table came from: for scoring, never for retrieval."""
    return table.source
