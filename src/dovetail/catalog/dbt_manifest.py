"""Reads the manifest of a dbt project for the tables of a catalog.

It has descriptions, and keys that are tested (`unique`, `not_null`, `relationships`) or declared.

Manifests of the versions 10 to 12 are what dbt 1.6 and later write. Of others, whatever has the
same shape is read; of a part that has another, nothing is, and the rest counts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.catalog.dbt import DbtProject, DbtTable
from dovetail.catalog.lookup import TableNames
from dovetail.catalog.usage import digest_of_tables
from dovetail.domain import DeclaredForeignKey, TableId
from dovetail.errors import SourceError
from dovetail.ports import Json
from dovetail.text import encodable

KNOWN_VERSIONS = ("v10", "v11", "v12")
# Characters of a description that are kept, as of any comment.
_LONGEST = 1000
_MOST_EXPOSURES = 20
_TABLES = ("model", "source", "seed", "snapshot")
_SCHEMA_VERSION = re.compile(r"/manifest/(v\d+)\.json")
_NAMED = 3
# Steps that are gone back through nodes that are no tables, for all tables together: each of them
# may stand behind thousands of such nodes.
_MOST_STEPS = 3_000_000
# Who declared a key, where that is not its source.
DBT = "dbt"
_REF = re.compile(r"(?:ref|source)\(([^()]*+)\)")
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")
# The tests that state a key, and the constraints that state the same.
_TESTS = {
    "unique": "unique",
    "unique_combination_of_columns": "unique",
    "not_null": "not_null",
    "relationships": "foreign_key",
}
# A manifest of ten thousand models has about 150 MB.
MOST_BYTES = 400 << 20


def read_manifest_of(path: Path, tables: Iterable[TableId], previous: DbtProject) -> DbtProject:
    """What a manifest says of some tables; `previous` itself if neither it nor the tables changed.

    What cannot be used is among the notices; a manifest that cannot be read is a `SourceError`.
    """
    ids = list(tables)
    manifest, content = read_json(path)
    digest = hashlib.sha256(content)
    digest.update(digest_of_tables(ids).encode())
    name = digest.hexdigest()[:16]
    if (previous.manifest, previous.digest) == (str(path), name):
        return previous
    notices = _version_notice(manifest, path)
    project = _Project(manifest, TableNames(ids))
    by_table = dict(sorted(project.tables()))
    return DbtProject(str(path), name, by_table, (*notices, *project.notices()))


def _version_notice(manifest: Json, path: Path) -> list[str]:
    if not isinstance(manifest.get("nodes"), dict):
        raise SourceError(f"{path} is no manifest of dbt: it has no nodes")
    match = _SCHEMA_VERSION.search(text(inner(manifest, "metadata").get("dbt_schema_version")))
    version = match[1] if match else "an unknown version"
    if version in KNOWN_VERSIONS:
        return []
    return [
        f"dbt: the manifest is of {version}, and {KNOWN_VERSIONS[0]} to {KNOWN_VERSIONS[-1]} are "
        "known; what is there in their form was read"
    ]


class _Project:
    """The nodes of a manifest, and which of them are tables of the catalog."""

    def __init__(self, manifest: Json, names: TableNames) -> None:
        self._names = names
        listed = [*objects(manifest.get("nodes")), *objects(manifest.get("sources"))]
        self._nodes = {text(node.get("unique_id")): node for node in listed}
        self._nodes.pop("", None)
        self._table_of: dict[str, TableId] = {}
        self._missing: list[Json] = []
        taken: set[TableId] = set()
        for key, node in self._nodes.items():
            if not _is_table(node):
                continue
            table = names.find_relation(_relation(node))
            if table is None:
                self._missing.append(node)
            elif table not in taken:
                taken.add(table)
                self._table_of[key] = table
        self._steps_left = _MOST_STEPS
        self._named_by: dict[str, list[str]] = {}
        self._parents = {key: list(self._parents_of(key)) for key in self._table_of}
        self._exposed = _exposed(objects(manifest.get("exposures")))

    def tables(self) -> Iterator[tuple[TableId, DbtTable]]:
        """What is said of each table that is one of the catalog."""
        feeds: dict[str, list[TableId]] = {}
        for key, parents in self._parents.items():
            for parent in parents:
                feeds.setdefault(parent, []).append(self._table_of[key])
        stated = _keys(self._nodes, self._table_of)
        for key, table in self._table_of.items():
            node, keys = self._nodes[key], stated[key]
            yield (
                table,
                DbtTable(
                    kind=text(node.get("resource_type")),
                    description=_description(node),
                    column_descriptions=_columns(node),
                    primary=keys.primary,
                    unique=tuple(keys.unique),
                    not_null=tuple(keys.not_null),
                    foreign=tuple(keys.foreign),
                    exposures=tuple(self._exposed.get(key, ())[:_MOST_EXPOSURES]),
                    built_from=tuple(self._table_of[parent] for parent in self._parents[key]),
                    feeds=tuple(sorted(feeds.get(key, ()))),
                    deprecated=_deprecated(node),
                ),
            )

    def notices(self) -> list[str]:
        """A line on the models that are not in the catalog, and on what was not gone through."""
        return [*self._of_missing(), *self._of_lineage()]

    def _of_lineage(self) -> list[str]:
        if self._steps_left > 0:
            return []
        return ["dbt: what tables are built from is told in part: too many models lie between them"]

    def _of_missing(self) -> list[str]:
        if not self._missing:
            return []
        count = len(self._missing)
        message = f"dbt: {count} model{'s are' if count > 1 else ' is'} not in the catalog"
        views = sum(inner(node, "config").get("materialized") == "view" for node in self._missing)
        if views:
            message += f", {views} of them view{'s' * (views > 1)} (indexed with --views)"
        others = [n for n in self._missing if inner(n, "config").get("materialized") != "view"]
        shown = [self._named(node) for node in others[:_NAMED]]
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        return [f"{message}: {', '.join(shown)}{more}" if shown else message]

    def _named(self, node: Json) -> str:
        _, schema, name = _relation(node)
        near = self._names.near(name)
        hint = f" (did you mean {near}?)" if near else ""
        return f"{schema}.{name}{hint}" if schema else f"{name}{hint}"

    def _parents_of(self, key: str) -> Iterator[str]:
        """The nearest nodes before one that are tables: through ephemeral models, and views."""
        seen, waiting = {key}, [key]
        while waiting and self._steps_left > 0:
            parents = self._depends_on(waiting.pop())
            self._steps_left -= 1 + len(parents)
            for parent in parents:
                if parent in seen:
                    continue
                seen.add(parent)
                if parent in self._table_of:
                    yield parent
                else:
                    waiting.append(parent)

    def _depends_on(self, key: str) -> list[str]:
        """The nodes that one is made from, in order."""
        if key not in self._named_by:
            named = texts(inner(self._nodes.get(key, {}), "depends_on").get("nodes"))
            self._named_by[key] = sorted(named)
        return self._named_by[key]


def _is_table(node: Json) -> bool:
    """Whether a node is something that stands in a database; disabled and ephemeral ones do not."""
    config = inner(node, "config")
    if node.get("resource_type") not in _TABLES or config.get("enabled") is False:
        return False
    return config.get("materialized") != "ephemeral"


def _relation(node: Json) -> tuple[str, str, str]:
    name = node.get("alias") or node.get("identifier") or node.get("name")
    return text(node.get("database")), text(node.get("schema")), text(name)


def _description(node: Json) -> str:
    """What dbt says of a table or column."""
    return " ".join(text(node.get("description")).split())[:_LONGEST]


def _columns(node: Json) -> Mapping[str, str]:
    """The descriptions of columns by name, as the project spells them."""
    return {
        text(column.get("name")) or text(name): description
        for name, column in inner(node, "columns").items()
        if isinstance(column, dict) and (description := _description(column))
    }


def _deprecated(node: Json) -> bool:
    """Whether a model has a date of deprecation, or a tag or its meta say that it is deprecated."""
    tags = [*texts(node.get("tags")), *texts(inner(node, "config").get("tags"))]
    meta = inner(node, "meta") | inner(node, "config", "meta")
    return (
        bool(node.get("deprecation_date"))
        or any(tag.casefold() == "deprecated" for tag in tags)
        or meta.get("deprecated") is True
    )


def _exposed(exposures: list[Json]) -> dict[str, list[str]]:
    """What people look at, by the nodes that it reads: a dashboard, a notebook, an application."""
    exposed: dict[str, list[str]] = {}
    for exposure in exposures:
        if inner(exposure, "config").get("enabled") is False:
            continue
        name = text(exposure.get("label")) or text(exposure.get("name"))
        called = " ".join(f"{text(exposure.get('type'))} {name}".split())[:_LONGEST]
        for node in texts(inner(exposure, "depends_on").get("nodes")):
            if called:
                exposed.setdefault(node, []).append(called)
    return exposed


@dataclass(slots=True)
class _Keys:
    """The keys of one table, each once, as tests and constraints state them."""

    primary: tuple[str, ...] = ()
    unique: dict[tuple[str, ...], None] = field(default_factory=dict)
    not_null: dict[str, None] = field(default_factory=dict)
    foreign: dict[DeclaredForeignKey, None] = field(default_factory=dict)

    def add(
        self, kind: str, columns: list[str], table: TableId | None, key_columns: list[str]
    ) -> None:
        """Add what is stated of some columns; a foreign key refers to the columns of a table."""
        if not columns or not all(columns):
            return
        key = tuple(columns)
        if kind == "primary_key":
            self.primary = self.primary or key
        elif kind == "unique":
            self.unique[key] = None
        elif kind == "not_null":
            self.not_null |= dict.fromkeys(columns)
        elif kind == "foreign_key" and table and len(key) == len(key_columns) and all(key_columns):
            to = tuple(key_columns)
            self.foreign[DeclaredForeignKey(key, table.name, to, table.source, DBT)] = None


def _keys(nodes: Mapping[str, Json], table_of: Mapping[str, TableId]) -> dict[str, _Keys]:
    """The keys of the nodes that are tables: constraints of their contracts, then tests."""
    keys = {node: _Keys() for node in table_of}

    def named(words: str, node: Json) -> str:
        """Of what a node depends on, the table that `ref('a')`, `source('a', 'b')` or a relation
        means; empty if none."""
        call = _REF.search(words)
        names = _QUOTED.findall(call[1]) if call else []
        for used in texts(inner(node, "depends_on").get("nodes")):
            about = nodes.get(used, {})
            means = text(about.get("name")) == names[-1] if names else _is_relation(about, words)
            if means and used in table_of:
                return used
        return ""

    for own in table_of:
        for columns, stated in _declared(nodes[own]):
            to = table_of.get(named(text(stated.get("to")), nodes[own]))
            key_columns = [_plain(one) for one in texts(stated.get("to_columns"))]
            keys[own].add(text(stated.get("type")), columns, to, key_columns)
    for node in nodes.values():
        # A test of some rows says nothing of a key.
        if node.get("resource_type") != "test" or inner(node, "config").get("where"):
            continue
        stated = inner(node, "test_metadata", "kwargs")
        stated = stated | inner(stated, "arguments")
        attached = text(node.get("attached_node"))
        own = attached if attached in table_of else named(text(stated.get("model")), node)
        if not own:
            continue
        name = text(inner(node, "test_metadata").get("name"))
        columns = [text(node.get("column_name")) or text(stated.get("column_name"))]
        if name == "unique_combination_of_columns":
            columns = texts(stated.get("combination_of_columns"))
        to = table_of.get(named(text(stated.get("to")), node))
        field_ = _plain(text(stated.get("field")))
        keys[own].add(_TESTS.get(name, ""), [_plain(one) for one in columns], to, [field_])
    return keys


def _declared(node: Json) -> Iterator[tuple[list[str], Json]]:
    """The constraints of a node, with the columns that each is on."""
    for constraint in objects(node.get("constraints")):
        yield [_plain(one) for one in texts(constraint.get("columns"))], constraint
    for name, column in inner(node, "columns").items():
        for constraint in objects(column.get("constraints") if isinstance(column, dict) else None):
            yield [_plain(text(column.get("name")) or name)], constraint


def _is_relation(node: Json, words: str) -> bool:
    """Whether words are the name of a node in its database, as dbt has put it in already."""
    return bool(words) and text(node.get("relation_name")) == words


def _plain(column: str) -> str:
    """A column's name without the quotes that a project writes around it."""
    return column.strip().strip('"`[]')


def read_json(path: Path, most: int = MOST_BYTES) -> tuple[Json, bytes]:
    """The object that a file holds, and its bytes; a `SourceError` of one line where it has none.

    Never more than `most` bytes are read, whatever the file turns out to be.
    """
    try:
        if not path.is_file():
            raise SourceError(f"there is no file {path}; check the path")
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}; check its permissions") from None
    if len(content) > most:
        raise SourceError(f"{path} has more than {most >> 20:,} MB; it is not read")
    try:
        parsed = json.loads(content)
    except RecursionError:
        raise SourceError(f"{path} is nested too deeply to be read") from None
    except (MemoryError, UnicodeDecodeError, ValueError) as error:
        why = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise SourceError(f"{path} is no JSON: {why}") from None
    if not isinstance(parsed, dict):
        raise SourceError(f"{path} holds no JSON object")
    return parsed, content


def objects(value: object) -> list[Json]:
    """The objects that stand in a list, or under the keys of an object; nothing else counts."""
    if isinstance(value, dict):
        value = list(value.values())
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def inner(value: object, *keys: str) -> Json:
    """The object under some keys, one inside the other; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    """The texts of a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A text, with whatever is no character of Unicode replaced; empty for anything else."""
    return encodable(value.strip()) if isinstance(value, str) else ""
