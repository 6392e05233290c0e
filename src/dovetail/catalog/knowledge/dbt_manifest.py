"""Reads the manifest of a dbt project (and `catalog.json` beside it) for the tables of a catalog.

Manifests of the versions 10 to 12 are what dbt 1.6 and later write. Of others, whatever has the
same shape is read; of a part that has another, nothing is, and the rest counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dovetail.catalog.knowledge.dbt_keys import Tests
from dovetail.catalog.knowledge.dbt_project import DbtProject, DbtTable
from dovetail.catalog.knowledge.json_file import inner, objects, read_json, text, texts
from dovetail.catalog.knowledge.relations import Relations
from dovetail.domain import TableId
from dovetail.errors import SourceError
from dovetail.ports import Json

KNOWN_VERSIONS = ("v10", "v11", "v12")
CATALOG = "catalog.json"
# Characters of a description that are kept, as of any comment.
_LONGEST = 1000
_MOST_EXPOSURES = 20
_TABLES = ("model", "source", "seed", "snapshot")
_VERSION = re.compile(r"/manifest/(v\d+)\.json")
_NAMED = 3


def read_manifest_of(path: Path, tables: Iterable[TableId], known: DbtProject) -> DbtProject:
    """What a manifest says of some tables; `known` itself if neither it nor the tables changed.

    What cannot be used is among the notices; a manifest that cannot be read is a `SourceError`.
    """
    ids = list(tables)
    manifest, content = read_json(path)
    notices: list[str] = []
    described: Json = {}
    digest = hashlib.sha256(content)
    beside = path.with_name(CATALOG)
    if beside.is_file():
        try:
            described, content = read_json(beside)
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
    told = dict(sorted(project.tables()))
    return DbtProject(str(path), name, told, (*notices, *project.notices()))


def _version_notice(manifest: Json, path: Path) -> list[str]:
    if not isinstance(manifest.get("nodes"), dict):
        raise SourceError(f"{path} is no manifest of dbt: it has no nodes")
    found = _VERSION.search(text(inner(manifest, "metadata").get("dbt_schema_version")))
    version = found[1] if found else "an unknown version"
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
            key: found
            for part in ("nodes", "sources")
            for key, found in inner(described, part).items()
            if isinstance(found, dict)
        }
        self._found: dict[str, TableId] = {}
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
                self._found[key] = table
        self._parents = {key: list(self._parents_of(key)) for key in self._found}
        self._exposed = _exposed(objects(manifest.get("exposures")))

    def tables(self) -> Iterator[tuple[TableId, DbtTable]]:
        """What is said of each table that is one of the catalog."""
        feeds: dict[str, list[TableId]] = {}
        for key, parents in self._parents.items():
            for parent in parents:
                feeds.setdefault(parent, []).append(self._found[key])
        tests = Tests(self._nodes, self._found)
        for key, table in self._found.items():
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
                    built_from=tuple(self._found[parent] for parent in self._parents[key]),
                    feeds=tuple(sorted(feeds.get(key, ()))),
                    deprecated=_deprecated(node),
                ),
            )

    def notices(self) -> list[str]:
        """One line on the models that are not in the catalog, if there are any."""
        if not self._missing:
            return []
        count = len(self._missing)
        said = f"dbt: {count} model{'s are' if count > 1 else ' is'} not in the catalog"
        views = sum(inner(node, "config").get("materialized") == "view" for node in self._missing)
        if views:
            said += f", {views} of them view{'s' * (views > 1)} (indexed with --views)"
        others = [n for n in self._missing if inner(n, "config").get("materialized") != "view"]
        shown = [self._named(node) for node in others[:_NAMED]]
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        return [f"{said}: {', '.join(shown)}{more}" if shown else said]

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
                if parent in self._found:
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
    said = text(node.get("description")) or text(stored.get("comment"))
    return " ".join(said.split())[:_LONGEST]


def _columns(node: Json, stored: Json) -> Mapping[str, str]:
    """The descriptions of columns by name, as the project spells them."""
    found: dict[str, str] = {}
    for part in (inner(stored, "columns"), inner(node, "columns")):
        for name, column in part.items():
            if isinstance(column, dict) and (said := _description(column, column)):
                found[text(column.get("name")) or text(name)] = said
    return found


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
    found: dict[str, list[str]] = {}
    for exposure in exposures:
        if inner(exposure, "config").get("enabled") is False:
            continue
        name = text(exposure.get("label")) or text(exposure.get("name"))
        called = " ".join(f"{text(exposure.get('type'))} {name}".split())[:_LONGEST]
        for node in texts(inner(exposure, "depends_on").get("nodes")):
            if called:
                found.setdefault(node, []).append(called)
    return found
