"""The second stage of the offline line: what a dbt project says of the tables is read and stored.

The path of a manifest is remembered beside the catalog, so every later update reads it again; it
takes part only if it changed, and no source is read for it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dovetail.catalog.knowledge.dbt_manifest import read_manifest_of
from dovetail.catalog.knowledge.dbt_overlay import contradicted
from dovetail.catalog.knowledge.dbt_project import (
    KIND,
    NO_PROJECT,
    DbtProject,
    read_project,
    write_project,
)
from dovetail.catalog.knowledge.stored import remove_stored
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import SourceError
from dovetail.offline.summary import UpdateSummary
from dovetail.settings import Settings

# What `target` of a project has, where the folder is named in place of the file.
_MANIFEST = "manifest.json"
# Tests that a notice names.
_NAMED = 3


def has_dbt(folder: Path, settings: Settings) -> bool:
    """Whether a manifest is named, or known from before."""
    return settings.use_dbt and (settings.dbt is not None or bool(read_project(folder)))


def dbt_stage(summary: UpdateSummary, settings: Settings) -> UpdateSummary:
    """Bring what is known of a dbt project up to date; the summary tells what came of it.

    `settings.dbt` names the manifest, or is empty to forget it; without it, the manifest of before
    is read.
    """
    catalog = summary.catalog
    before = read_project(catalog.folder)
    if settings.dbt == "":
        forgotten = remove_stored(catalog.folder, KIND)
        now, notices = NO_PROJECT, ["dbt: the project is forgotten"] if forgotten else []
    else:
        place = _manifest(settings.dbt) if settings.dbt else Path(before.manifest)
        now, notices = _read(place, catalog, before)
    retold = {
        table
        for table in catalog.ids
        if before.tables.get(table) != now.tables.get(table) and table not in summary.changed
    }
    told = tuple(sorted({*summary.redeclared, *retold.difference(summary.added)}))
    return replace(summary, redeclared=told, notices=(*summary.notices, *notices))


def _manifest(named: str) -> Path:
    """The manifest that a user names: the file, its folder, or the project above that."""
    place = Path(named).expanduser().absolute()
    for below in (_MANIFEST, f"target/{_MANIFEST}"):
        if (place / below).is_file():
            return place / below
    return place


def _read(place: Path, catalog: CatalogReader, before: DbtProject) -> tuple[DbtProject, list[str]]:
    """What a manifest says now, stored; what was known before where it cannot be read."""
    try:
        now = read_manifest_of(place, catalog.ids, before)
    except SourceError as error:
        kept = "; what it said before is kept" if before else "; nothing of it is used"
        return before, [f"dbt: {error}{kept}"]
    if now is not before:
        write_project(catalog.folder, now)
    notices = [_counts(now), *now.notices]
    if broken := contradicted(catalog.records, now):
        more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        notices.append(f"dbt: the data contradicts tests: {', '.join(broken[:_NAMED])}{more}")
    return now, notices


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
