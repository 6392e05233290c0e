"""What a dbt project says of the tables of a catalog, and what counts of it beside their sources.

dbt's description comes first and the source's own comment after it. A test counts as a declared key
unless the data contradicts it; of relationships, the join says how many values have no partner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import Part
from dovetail.catalog.records import Records
from dovetail.domain import DeclaredForeignKey, DeclaredKeys, TableId
from dovetail.ports import Declaration, Json

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
        reasons = [f"{self.exposures[0]} reads it"] if self.exposures else []
        return [*reasons, *(["dbt marks it as deprecated"] if self.deprecated else [])]

    @property
    def lines(self) -> list[str]:
        """What there is to know of its use, in a line each."""
        lines = [f"dbt: used by {', '.join(self.exposures)}"] if self.exposures else []
        if self.built_from:
            lines.append(f"dbt: built from {_listed(self.built_from)}")
        if self.feeds:
            only = "only feeds" if self.only_feeds else "feeds"
            lines.append(f"dbt: {only} {_listed(self.feeds)}")
        return [*lines, *(["dbt: deprecated"] if self.deprecated else [])]

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
        columns = {str(name): str(text) for name, text in data["column_descriptions"].items()}
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
                TableId(*map(str, one)): DbtTable.from_dict(described)
                for one, described in stored["tables"]
            }
            notices = tuple(map(str, stored["notices"]))
            return cls(str(stored["manifest"]), str(stored["digest"]), tables, notices)
        except DAMAGE as error:
            raise part.damaged(_FILE, repr(error)) from None

    def write(self, folder: Path) -> None:
        """Write the project into the folder of a part."""
        content = {
            "manifest": self.manifest,
            "digest": self.digest,
            "notices": list(self.notices),
            "tables": [
                [[table.source, table.name], described.to_dict()]
                for table, described in sorted(self.tables.items())
            ],
        }
        (folder / _FILE).write_text(json.dumps(content, ensure_ascii=False), "utf-8")

    def ancestors(self, table: TableId) -> set[TableId]:
        """The tables that a table is built from, directly or through others."""
        seen, waiting = {table}, [table]
        while waiting:
            entry = self.tables.get(waiting.pop())
            added = [one for one in entry.built_from if one not in seen] if entry else []
            seen.update(added)
            waiting += added
        return seen - {table}


NO_PROJECT = DbtProject()


def _ids(listed: list[list[str]]) -> tuple[TableId, ...]:
    return tuple(TableId(str(source), str(name)) for source, name in listed)


def _listed(tables: tuple[TableId, ...], limit: int = 5) -> str:
    more = f" and {len(tables) - limit} more" if len(tables) > limit else ""
    return ", ".join(table.name for table in tables[:limit]) + more


@dataclass(frozen=True, slots=True)
class _Stored:
    """A table of the records: its columns by name, whatever the case, with what they hold."""

    rows: int
    names: Mapping[str, str]
    holds: Mapping[str, tuple[int, int]]  # nulls and distinct values
    declared: Declaration

    def is_unique(self, column: str) -> bool:
        nulls, distinct = self.holds[column]
        return distinct == self.rows - nulls

    def spelled(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns as the table spells them; none if one of them is not there."""
        spelled = [self.names.get(column.casefold()) for column in columns]
        return tuple(name for name in spelled if name is not None) if all(spelled) else ()


def declared_by(project: DbtProject, records: Records) -> dict[TableId, Declaration]:
    """The keys and comments of the tables that a dbt project knows: its own with the sources'."""
    return {
        table: Declaration(
            _keys(stored.declared.keys, project.tables[table], stored),
            _joined(project.tables[table].description, stored.declared.comment),
            _column_comments(project.tables[table], stored),
        )
        for table, stored in _tables(records, project)
    }


def contradicted(records: Records, project: DbtProject) -> list[str]:
    """The tests of single columns that the data contradicts, in words."""
    contradictions = []
    for table, stored in _tables(records, project):
        entry = project.tables[table]
        keys = [stored.spelled(key) for key in (entry.primary, *entry.unique) if len(key) == 1]
        contradictions += [
            f"{table.name}.{key[0]} is not unique" for key in keys if _broken(key, stored)
        ]
        columns = (stored.spelled((column,)) for column in entry.not_null)
        contradictions += [
            f"{table.name}.{c[0]} has nulls" for c in columns if c and stored.holds[c[0]][0]
        ]
    return sorted(contradictions)


def _keys(own: DeclaredKeys, entry: DbtTable, stored: _Stored) -> DeclaredKeys:
    """The keys of a source, and after them those of dbt that it does not declare itself."""
    tested = [stored.spelled(key) for key in entry.unique]
    unique = [key for key in dict.fromkeys(tested) if key and not _broken(key, stored)]
    primary = own.primary or stored.spelled(entry.primary)
    if not own.primary and _broken(primary, stored):
        primary = ()
    filled = {column for each in entry.not_null for column in stored.spelled((each,))}
    # Unique and never null is what a primary key is, where there is only one such column.
    filled_keys = [key for key in unique if filled.issuperset(key) and not stored.holds[key[0]][0]]
    if not primary and len(filled_keys) == 1:
        primary = filled_keys[0]
    more = [key for key in unique if key != primary and key not in own.unique]
    have = {(key.columns, key.table) for key in own.foreign}
    foreign = [_spelled(key, stored) for key in entry.foreign]
    added = [key for key in foreign if key and (key.columns, key.table) not in have]
    return DeclaredKeys(primary, (*own.unique, *more), (*own.foreign, *added))


def _spelled(key: DeclaredForeignKey, stored: _Stored) -> DeclaredForeignKey | None:
    columns = stored.spelled(key.columns)
    if not columns:
        return None
    return DeclaredForeignKey(columns, key.table, key.key_columns, key.source, key.by)


def _broken(key: tuple[str, ...], stored: _Stored) -> bool:
    """Whether the data has a value twice of what one column alone is said to have once."""
    return len(key) == 1 and not stored.is_unique(key[0])


def _column_comments(entry: DbtTable, stored: _Stored) -> dict[str, str]:
    comments = dict(stored.declared.column_comments)
    for name, description in entry.column_descriptions.items():
        for column in stored.spelled((name,)):
            comments[column] = _joined(description, comments.get(column, ""))
    return comments


def _joined(first: str, second: str) -> str:
    """Two comments as one; the second is left out where the first says it already."""
    if not first or not second:
        return first or second
    end = "" if first[-1] in ".!?;:" else "."
    return first if second.strip(" .") in first else f"{first}{end} {second}"


def _tables(records: Records, project: DbtProject) -> Iterator[tuple[TableId, _Stored]]:
    """The tables of the records that the project knows."""
    if not project.tables:
        return
    columns = ("name", "nulls", "distinct", "source_comment")
    tables = ("rows", "source_keys", "source_comment")
    of_columns = (records.by_table(name) for name in columns)
    of_tables = (records.tables[name].to_pylist() for name in tables)
    for table, rows, keys, comment, names, nulls, distinct, comments in zip(
        records.ids, *of_tables, *of_columns, strict=True
    ):
        if table in project.tables:
            described = {name: text for name, text in zip(names, comments, strict=True) if text}
            yield (
                table,
                _Stored(
                    rows,
                    {name.casefold(): name for name in reversed(names)},
                    dict(zip(names, zip(nulls, distinct, strict=True), strict=True)),
                    Declaration(DeclaredKeys.from_text(keys), comment or "", described),
                ),
            )
