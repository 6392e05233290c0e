"""Reads the manifest of a dbt project (and `catalog.json` beside it) for the tables of a catalog.

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
from dovetail.catalog.lookup import Relations
from dovetail.domain import DeclaredForeignKey, TableId
from dovetail.errors import SourceError
from dovetail.ports import Json

KNOWN_VERSIONS = ("v10", "v11", "v12")
CATALOG = "catalog.json"
# Characters of a description that are kept, as of any comment.
_LONGEST = 1000
_MOST_EXPOSURES = 20
_TABLES = ("model", "source", "seed", "snapshot")
_SCHEMA_VERSION = re.compile(r"/manifest/(v\d+)\.json")
_NAMED = 3
# Who declared a key, where that is not its source.
DBT = "dbt"
_REF = re.compile(r"(?:ref|source)\(\s*(.*?)\s*\)")
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")
# A manifest of ten thousand models has about 150 MB.
MOST_BYTES = 400 << 20


def read_manifest_of(path: Path, tables: Iterable[TableId], known: DbtProject) -> DbtProject:
    """What a manifest says of some tables; `known` itself if neither it nor the tables changed.

    What cannot be used is among the notices; a manifest that cannot be read is a `SourceError`.
    """
    ids = list(tables)
    manifest, content = read_json(path)
    notices: list[str] = []
    described: Json = {}
    digest = hashlib.sha256(content)
    catalog_file = path.with_name(CATALOG)
    if catalog_file.is_file():
        try:
            described, content = read_json(catalog_file)
            digest.update(content)
        except SourceError as error:
            notices.append(f"dbt: {error}")
    for table in ids:
        digest.update(f"{table}\0".encode(errors="replace"))
    name = digest.hexdigest()[:16]
    if (known.manifest, known.digest) == (str(path), name):
        return known
    notices += _version_notice(manifest, path)
    project = _Project(manifest, described, Relations(ids))
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

    def __init__(self, manifest: Json, described: Json, relations: Relations) -> None:
        self._relations = relations
        listed = [*objects(manifest.get("nodes")), *objects(manifest.get("sources"))]
        self._nodes = {text(node.get("unique_id")): node for node in listed}
        self._nodes.pop("", None)
        self._stored = {
            key: entry
            for part in ("nodes", "sources")
            for key, entry in inner(described, part).items()
            if isinstance(entry, dict)
        }
        self._table_of: dict[str, TableId] = {}
        self._missing: list[Json] = []
        taken: set[TableId] = set()
        for key, node in self._nodes.items():
            if not _is_table(node):
                continue
            table = relations.find(_relation(node))
            if table is None:
                self._missing.append(node)
            elif table not in taken:
                taken.add(table)
                self._table_of[key] = table
        self._parents = {key: list(self._parents_of(key)) for key in self._table_of}
        self._exposed = _exposed(objects(manifest.get("exposures")))

    def tables(self) -> Iterator[tuple[TableId, DbtTable]]:
        """What is said of each table that is one of the catalog."""
        feeds: dict[str, list[TableId]] = {}
        for key, parents in self._parents.items():
            for parent in parents:
                feeds.setdefault(parent, []).append(self._table_of[key])
        tests = Tests(self._nodes, self._table_of)
        for key, table in self._table_of.items():
            node, keys = self._nodes[key], tests.of(key)
            stored = self._stored.get(key, {})
            yield (
                table,
                DbtTable(
                    kind=text(node.get("resource_type")),
                    description=_description(node, inner(stored, "metadata")),
                    column_descriptions=_columns(node, stored),
                    primary=keys.primary,
                    unique=keys.unique,
                    not_null=keys.not_null,
                    foreign=keys.foreign,
                    exposures=tuple(self._exposed.get(key, ())[:_MOST_EXPOSURES]),
                    built_from=tuple(self._table_of[parent] for parent in self._parents[key]),
                    feeds=tuple(sorted(feeds.get(key, ()))),
                    deprecated=_deprecated(node),
                ),
            )

    def notices(self) -> list[str]:
        """One line on the models that are not in the catalog, if there are any."""
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
        near = self._relations.near(name)
        hint = f" (did you mean {near}?)" if near else ""
        return f"{schema}.{name}{hint}" if schema else f"{name}{hint}"

    def _parents_of(self, key: str) -> Iterator[str]:
        """The nearest nodes before one that are tables: through ephemeral models, and views."""
        seen, waiting = {key}, [key]
        while waiting:
            node = self._nodes.get(waiting.pop(), {})
            for parent in sorted(texts(inner(node, "depends_on").get("nodes"))):
                if parent in seen:
                    continue
                seen.add(parent)
                if parent in self._table_of:
                    yield parent
                else:
                    waiting.append(parent)


def _is_table(node: Json) -> bool:
    """Whether a node is something that stands in a database; disabled and ephemeral ones do not."""
    config = inner(node, "config")
    if node.get("resource_type") not in _TABLES or config.get("enabled") is False:
        return False
    return config.get("materialized") != "ephemeral"


def _relation(node: Json) -> tuple[str, str, str]:
    name = node.get("alias") or node.get("identifier") or node.get("name")
    return text(node.get("database")), text(node.get("schema")), text(name)


def _description(node: Json, stored: Json) -> str:
    """What dbt says of a table or column; else the comment in the database that dbt found."""
    description = text(node.get("description")) or text(stored.get("comment"))
    return " ".join(description.split())[:_LONGEST]


def _columns(node: Json, stored: Json) -> Mapping[str, str]:
    """The descriptions of columns by name, as the project spells them."""
    descriptions: dict[str, str] = {}
    for part in (inner(stored, "columns"), inner(node, "columns")):
        for name, column in part.items():
            if isinstance(column, dict) and (description := _description(column, column)):
                descriptions[text(column.get("name")) or text(name)] = description
    return descriptions


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
class Keys:
    """The keys of one table, as they are found."""

    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    not_null: tuple[str, ...] = ()
    foreign: tuple[DeclaredForeignKey, ...] = field(default=())

    def add_unique(self, columns: list[str]) -> None:
        if columns and all(columns) and tuple(columns) not in self.unique:
            self.unique = (*self.unique, tuple(columns))

    def add_not_null(self, column: str) -> None:
        if column and column not in self.not_null:
            self.not_null = (*self.not_null, column)

    def add_foreign(self, columns: list[str], table: TableId, key_columns: list[str]) -> None:
        key = DeclaredForeignKey(
            tuple(columns), table.name, tuple(key_columns), source=table.source, by=DBT
        )
        right = columns and len(columns) == len(key_columns) and all([*columns, *key_columns])
        if right and key not in self.foreign:
            self.foreign = (*self.foreign, key)


class Tests:
    """The tests and constraints of a manifest, by the table that they are about."""

    __test__ = False  # for pytest: this is no test of ours

    def __init__(self, nodes: Mapping[str, Json], tables: Mapping[str, TableId]) -> None:
        self._nodes, self._table_of = nodes, tables
        self._keys: dict[str, Keys] = {}
        for key in tables:
            self._constraints(key, nodes[key])
        for node in nodes.values():
            # A test of some rows says nothing of a key.
            if node.get("resource_type") == "test" and not inner(node, "config").get("where"):
                self._test(node)

    def of(self, key: str) -> Keys:
        """The keys of the table that a node is."""
        return self._keys.get(key) or Keys()

    def _test(self, node: Json) -> None:
        about = inner(node, "test_metadata")
        given = inner(about, "kwargs")
        given = given | inner(given, "arguments")
        own = self._about(node, given)
        if own is None:
            return
        keys = self._keys.setdefault(own, Keys())
        column = text(node.get("column_name")) or text(given.get("column_name"))
        name = text(about.get("name"))
        if name == "unique":
            keys.add_unique([_plain(column)])
        elif name == "unique_combination_of_columns":
            keys.add_unique([_plain(one) for one in texts(given.get("combination_of_columns"))])
        elif name == "not_null":
            keys.add_not_null(_plain(column))
        elif name == "relationships":
            other = self._named(text(given.get("to")), self._used(node))
            if other is not None:
                field_ = _plain(text(given.get("field")))
                keys.add_foreign([_plain(column)], self._table_of[other], [field_])

    def _about(self, node: Json, given: Json) -> str | None:
        """The node that a test is about: the attached one, or the one its model names."""
        attached = text(node.get("attached_node"))
        if attached in self._table_of:
            return attached
        return self._named(text(given.get("model")), self._used(node))

    def _used(self, node: Json) -> list[str]:
        return texts(inner(node, "depends_on").get("nodes"))

    def _named(self, words: str, among: list[str]) -> str | None:
        """The node that `ref('a')`, `source('a', 'b')` or a relation means, if it is a table."""
        call = _REF.search(words)
        named = _QUOTED.findall(call[1]) if call else []
        for key in among:
            node = self._nodes.get(key, {})
            means = text(node.get("name")) == named[-1] if named else _is_relation(node, words)
            if means and key in self._table_of:
                return key
        return None

    def _constraints(self, key: str, node: Json) -> None:
        """The constraints of a model's contract, on the model and on its columns."""
        keys = self._keys.setdefault(key, Keys())
        for columns, constraint in _declared(node):
            kind = text(constraint.get("type"))
            if kind == "primary_key":
                keys.primary = keys.primary or tuple(columns)
            elif kind == "unique":
                keys.add_unique(columns)
            elif kind == "not_null":
                for column in columns:
                    keys.add_not_null(column)
            elif kind == "foreign_key":
                other = self._named(text(constraint.get("to")), self._used(node))
                to_columns = [_plain(one) for one in texts(constraint.get("to_columns"))]
                if other is not None and to_columns:
                    keys.add_foreign(columns, self._table_of[other], to_columns)


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
    if not isinstance(value, str):
        return ""
    return value.strip().encode(errors="replace").decode()
