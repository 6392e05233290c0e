"""What a dbt project says of the tables of a catalog, and how that is kept beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import Part
from dovetail.domain import DeclaredForeignKey, TableId
from dovetail.ports import Json

_FILE = "dbt.json"


@dataclass(frozen=True, slots=True)
class DbtTable:
    """A model, source, seed or snapshot that is a table of the catalog.

    `unique` are column sets with a test or constraint that says so, `not_null` columns without
    nulls, `foreign` the tests of relationships. `built_from` and `feeds` are the tables before and
    after it, through whatever is no table; `exposures` say what people look at that reads it.
    """

    kind: str = "model"
    description: str = ""
    column_descriptions: Mapping[str, str] = field(default_factory=dict)
    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    not_null: tuple[str, ...] = ()
    foreign: tuple[DeclaredForeignKey, ...] = ()
    exposures: tuple[str, ...] = ()
    built_from: tuple[TableId, ...] = ()
    feeds: tuple[TableId, ...] = ()
    deprecated: bool = False

    @property
    def only_feeds(self) -> bool:
        """Whether the table is there for others to be built from: nobody is said to look at it."""
        return bool(self.feeds) and not self.exposures

    @property
    def reasons(self) -> list[str]:
        """What speaks for the table, or against it, when it is chosen: who reads it."""
        said = [f"{self.exposures[0]} reads it"] if self.exposures else []
        return [*said, *(["dbt marks it as deprecated"] if self.deprecated else [])]

    @property
    def lines(self) -> list[str]:
        """What there is to know of its use, in a line each."""
        said = [f"dbt: used by {', '.join(self.exposures)}"] if self.exposures else []
        if self.built_from:
            said.append(f"dbt: built from {_listed(self.built_from)}")
        if self.feeds:
            only = "only feeds" if self.only_feeds else "feeds"
            said.append(f"dbt: {only} {_listed(self.feeds)}")
        return [*said, *(["dbt: deprecated"] if self.deprecated else [])]

    def to_dict(self) -> Json:
        """The table as JSON has it."""
        return {
            "kind": self.kind,
            "description": self.description,
            "column_descriptions": dict(self.column_descriptions),
            "primary": list(self.primary),
            "unique": [list(key) for key in self.unique],
            "not_null": list(self.not_null),
            "foreign": [key.to_dict() for key in self.foreign],
            "exposures": list(self.exposures),
            "built_from": [[table.source, table.name] for table in self.built_from],
            "feeds": [[table.source, table.name] for table in self.feeds],
            "deprecated": self.deprecated,
        }

    @classmethod
    def from_dict(cls, data: Json) -> DbtTable:
        """The table that `to_dict` wrote."""
        columns = {str(name): str(said) for name, said in data["column_descriptions"].items()}
        return cls(
            str(data["kind"]),
            str(data["description"]),
            columns,
            tuple(map(str, data["primary"])),
            tuple(tuple(map(str, key)) for key in data["unique"]),
            tuple(map(str, data["not_null"])),
            tuple(map(DeclaredForeignKey.from_dict, data["foreign"])),
            tuple(map(str, data["exposures"])),
            _ids(data["built_from"]),
            _ids(data["feeds"]),
            data["deprecated"] is True,
        )


@dataclass(frozen=True, slots=True)
class DbtProject:
    """All that is known from a manifest: where it stands, its digest, and its tables by id."""

    manifest: str = ""
    digest: str = ""
    tables: Mapping[TableId, DbtTable] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.manifest)

    @classmethod
    def read(cls, part: Part) -> DbtProject:
        """The project that a generation knows."""
        stored = part.json(_FILE)
        try:
            tables = {
                TableId(*map(str, one)): DbtTable.from_dict(told) for one, told in stored["tables"]
            }
            notices = tuple(map(str, stored["notices"]))
            return cls(str(stored["manifest"]), str(stored["digest"]), tables, notices)
        except DAMAGE as error:
            raise part.damaged(_FILE, repr(error)) from None

    def write(self, folder: Path) -> None:
        """Write the project into the folder of a part."""
        known = {
            "manifest": self.manifest,
            "digest": self.digest,
            "notices": list(self.notices),
            "tables": [
                [[table.source, table.name], told.to_dict()]
                for table, told in sorted(self.tables.items())
            ],
        }
        (folder / _FILE).write_text(json.dumps(known, ensure_ascii=False), "utf-8")

    def ancestors(self, table: TableId) -> set[TableId]:
        """The tables that a table is built from, directly or through others."""
        seen, waiting = {table}, [table]
        while waiting:
            known = self.tables.get(waiting.pop())
            fresh = [one for one in known.built_from if one not in seen] if known else []
            seen.update(fresh)
            waiting += fresh
        return seen - {table}


NO_PROJECT = DbtProject()


def _ids(listed: list[list[str]]) -> tuple[TableId, ...]:
    return tuple(TableId(str(source), str(name)) for source, name in listed)


def _listed(tables: tuple[TableId, ...], most: int = 5) -> str:
    more = f" and {len(tables) - most} more" if len(tables) > most else ""
    return ", ".join(table.name for table in tables[:most]) + more
