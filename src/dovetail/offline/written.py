"""What people wrote down of the tables, made a part of the generation: declared keys and comments,
a dbt project, and past queries. What is known and not to be used for now is kept apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dovetail.catalog.dbt import NO_PROJECT, DbtProject, contradicted, declared_by
from dovetail.catalog.dbt_manifest import read_manifest_of
from dovetail.catalog.declarations import in_force
from dovetail.catalog.generation import DBT, QUERIES, UNUSED, Part
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.usage import NO_USAGE, Usage
from dovetail.catalog.writer import Draft
from dovetail.domain import TableId
from dovetail.errors import DamagedError, SourceError
from dovetail.offline.plan import ChangeLogs
from dovetail.settings import Settings

# What `target` of a project has, where the folder is named in place of the file.
_MANIFEST = "manifest.json"
# Tests that a notice names.
_NAMED = 3

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class Written:
    """What people wrote down, the records with it, and which tables it says other things of.

    `notices` are lines for the user on what of a dbt project was used.
    """

    records: Records
    dbt: DbtProject
    usage: Usage
    redeclared: frozenset[TableId]
    notices: tuple[str, ...]

    def write(self, draft: Draft, settings: Settings) -> None:
        """Add the parts of a generation that hold it."""
        for name, known, key, used in (
            (DBT, self.dbt, f"{self.dbt.digest} {self.dbt.manifest}", settings.use_dbt),
            (QUERIES, self.usage, self.usage.digest, settings.use_queries),
        ):
            part = name if used else f"{name}{UNUSED}"
            if known and draft.kept(part, key) is None:
                draft.write(part, key, known.write)


def with_what_people_wrote(
    records: Records,
    current: CatalogReader | None,
    settings: Settings,
    change_logs: ChangeLogs | None,
) -> Written:
    """The records with the keys and comments in force, and what else is known of their tables.

    `change_logs` says which past queries are known from now on; without it, those of before are.
    """
    notices: list[str] = []
    before = _known(current, DBT, DbtProject.read, NO_PROJECT, notices)
    usage = _known(current, QUERIES, Usage.read, NO_USAGE, notices)
    project = before
    if settings.use_dbt and (settings.dbt is not None or before):
        project = _project(records, before, settings, notices)
    declared = declared_by(project, records) if settings.use_dbt else {}
    return Written(
        in_force(
            records, declared, use_keys=settings.use_declared, use_comments=settings.use_comments
        ),
        project,
        usage if change_logs is None else Usage(tuple(change_logs(usage.logs))),
        frozenset(
            table for table in records.ids if before.tables.get(table) != project.tables.get(table)
        ),
        tuple(notices),
    )


def _known(
    current: CatalogReader | None,
    name: str,
    read: Callable[[Part], Known],
    nothing: Known,
    notices: list[str],
) -> Known:
    """What a generation knows of a kind, whether it is used or not; what is damaged is lost."""
    parts = current.parts if current is not None else {}
    part = parts.get(name) or parts.get(f"{name}{UNUSED}")
    try:
        return nothing if part is None else read(part)
    except DamagedError as error:
        notices.append(f"{name}: what was known is lost, name it again ({error})")
        return nothing


def _project(
    records: Records, before: DbtProject, settings: Settings, notices: list[str]
) -> DbtProject:
    """The dbt project from now on; lines for the user are added to the notices.

    `settings.dbt` names the manifest, or is empty to forget it; without it, the manifest of before
    is read.
    """
    if settings.dbt == "":
        notices += ["dbt: the project is forgotten"] if before else []
        return NO_PROJECT
    path = _manifest(settings.dbt) if settings.dbt else Path(before.manifest)
    try:
        now = read_manifest_of(path, records.ids, before)
    except SourceError as error:
        kept = "; what it said before is kept" if before else "; nothing of it is used"
        notices.append(f"dbt: {error}{kept}")
        return before
    notices += [_counts(now), *now.notices]
    if broken := contradicted(records, now):
        more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        notices.append(f"dbt: the data contradicts tests: {', '.join(broken[:_NAMED])}{more}")
    return now


def _manifest(named: str) -> Path:
    """The manifest that a user names: the file, its folder, or the project above that."""
    path = Path(named).expanduser().absolute()
    for below in (_MANIFEST, f"target/{_MANIFEST}"):
        if (path / below).is_file():
            return path / below
    return path


def _counts(project: DbtProject) -> str:
    """How much of a catalog a project speaks of, in a line."""
    tables = project.tables.values()
    counts = {
        "table": len(tables),
        "description": sum(bool(one.description) + len(one.column_descriptions) for one in tables),
        "key": sum(bool(one.primary) + len(one.unique) + len(one.foreign) for one in tables),
        "exposure": len({name for one in tables for name in one.exposures}),
    }
    parts = [f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items()]
    return f"dbt: {', '.join(parts)} of {Path(project.manifest).name}"
