"""What is written down of the tables, made a part of the generation: declared keys and comments, a
dbt project, past queries, and descriptions where no person wrote a comment."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from dovetail.catalog.dbt import NO_PROJECT, DbtProject, contradicted, declared_by
from dovetail.catalog.dbt_manifest import read_manifest_of
from dovetail.catalog.descriptions import (
    DescriptionFile,
    laid_over,
    part_text,
    write_part,
)
from dovetail.catalog.generation import DATA_DICTIONARY, DBT, DESCRIPTIONS, QUERIES, Part
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.usage import NO_USAGE, Usage
from dovetail.catalog.writer import CatalogWriter, Draft
from dovetail.domain import Description, TableId
from dovetail.errors import DamagedError, SourceError
from dovetail.offline.dictionary import Dictionary, standard_descriptions
from dovetail.offline.plan import ChangeLogs
from dovetail.ports import Declaration
from dovetail.settings import Settings
from dovetail.text import count, encodable

# What `target` of a project has, where the folder is named in place of the file.
_MANIFEST = "manifest.json"
# Tests that a notice names.
_NAMED = 3

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class WrittenParts:
    """What people wrote down, the records with it, and which tables it says other things of.

    `notices` are lines for the user on what of a dbt project was used.
    """

    records: Records
    dbt: DbtProject
    usage: Usage
    dictionary: Dictionary
    descriptions: Mapping[TableId, Description]
    redeclared: frozenset[TableId]
    notices: tuple[str, ...]

    def write(self, draft: Draft) -> None:
        """Add the parts of a generation that hold it."""
        for name, known, key in (
            (DBT, self.dbt, f"{self.dbt.digest} {self.dbt.manifest}"),
            (QUERIES, self.usage, self.usage.digest),
        ):
            if known and draft.kept(name, key) is None:
                draft.write(name, key, known.write)
        dictionary = self.dictionary
        if dictionary.key and draft.kept(DATA_DICTIONARY, dictionary.key) is None:
            draft.write(DATA_DICTIONARY, dictionary.key, dictionary.write)
        if self.descriptions:
            key = hashlib.sha256(part_text(self.descriptions).encode()).hexdigest()[:16]
            if draft.kept(DESCRIPTIONS, key) is None:
                draft.write(DESCRIPTIONS, key, partial(write_part, self.descriptions))


def with_what_people_wrote(
    records: Records,
    dictionary: Dictionary,
    writer: CatalogWriter,
    settings: Settings,
    change_logs: ChangeLogs | None,
) -> WrittenParts:
    """The records with the keys and comments in force, and what else is known of their tables.

    `change_logs` says which past queries are known from now on; without it, those of before are.
    """
    notices: list[str] = []
    current = writer.current
    before = _known(current, DBT, DbtProject.read, NO_PROJECT, notices)
    usage = _known(current, QUERIES, Usage.read, NO_USAGE, notices)
    project = before
    if settings.dbt is not None or before:
        project = _project(records, before, settings, notices)
    by_people = in_force(
        records,
        declared_by(project, records),
        use_keys=settings.use_declared,
        use_comments=settings.use_comments,
    )
    notices += dictionary.notices
    described, laid = laid_over(
        by_people,
        dictionary.descriptions,
        standard_descriptions(records),
        DescriptionFile(writer.folder).of(records),
    )
    return WrittenParts(
        described,
        project,
        usage if change_logs is None else Usage(tuple(change_logs(usage.logs))),
        dictionary,
        laid,
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
    """What a generation knows of a kind; what is damaged is lost."""
    part = current.parts.get(name) if current is not None else None
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
    parts = [count(number, noun) for noun, number in counts.items()]
    return f"dbt: {', '.join(parts)} of {Path(project.manifest).name}"


def with_declarations(
    records: Records,
    declared: Mapping[TableId, Declaration],
    asked: Collection[TableId],
    *,
    untold_keys: Collection[TableId] = (),
    untold_comments: Collection[TableId] = (),
) -> Records:
    """The records with what their sources declare of the tables that were asked about.

    The declarations of other tables stay. Of some tables keys or comments could not be read in
    full: where nothing is declared of these now, what was declared before stays. Neither the
    contents' digest nor anything derived from the rows is touched.
    """
    now = {table: declared.get(table, Declaration()) for table in asked}
    texts = _declared_texts(records, now, untold_keys, untold_comments)
    return _with_texts(records, "source_", *texts)


def in_force(
    records: Records,
    added: Mapping[TableId, Declaration],
    *,
    use_keys: bool,
    use_comments: bool,
) -> Records:
    """The records with the keys and comments that count from now on: those that `added` has of a
    table, else those of its source, and none of a kind that is not to be used."""
    keys, comments, on_columns = _declared_texts(records, added)
    if not use_keys:
        keys = [""] * len(records)
    if not use_comments:
        comments, on_columns = [""] * len(records), [""] * records.columns.num_rows
    return _with_texts(records, "", keys, comments, on_columns)


def _with_texts(
    records: Records, prefix: str, keys: list[str], comments: list[str], on_columns: list[str]
) -> Records:
    changed = records.with_column(f"{prefix}keys", keys).with_column(f"{prefix}comment", comments)
    return changed.with_column_comments(f"{prefix}comment", on_columns)


def _declared_texts(
    records: Records,
    declared: Mapping[TableId, Declaration],
    untold_keys: Collection[TableId] = (),
    untold_comments: Collection[TableId] = (),
) -> tuple[list[str], list[str], list[str]]:
    """Keys and comments of tables, and comments of columns: as declared here, else by the source.

    Of untold tables, what the source declared stays where nothing is declared here.
    """
    keys = records.tables["source_keys"].to_pylist()
    comments = records.tables["source_comment"].to_pylist()
    on_columns = records.columns["source_comment"].to_pylist()
    names, bounds = records.columns["name"].to_pylist(), records.bounds.tolist()
    for row, table in enumerate(records.ids):
        if table not in declared:
            continue
        now, columns = declared[table], slice(bounds[row], bounds[row + 1])
        new = [encodable(now.column_comments.get(name, "")) for name in names[columns]]
        comment = encodable(now.comment)
        if table in untold_comments:
            comment = comment or comments[row]
            new = [text or old for text, old in zip(new, on_columns[columns], strict=True)]
        on_columns[columns], comments[row] = new, comment
        keys[row] = now.keys.to_text() or (keys[row] if table in untold_keys else "")
    return keys, comments, on_columns


def redeclared(before: Records, now: Records) -> set[TableId]:
    """The tables of both of which the sources declare other keys or comments than before."""
    old, new = _declared(before), _declared(now)
    return {table for table in old.keys() & new.keys() if old[table] != new[table]}


def _declared(records: Records) -> dict[TableId, tuple[object, ...]]:
    keys, comments = (records.tables[f"source_{kind}"].to_pylist() for kind in ("keys", "comment"))
    on_columns = records.by_table("source_comment")
    declared = zip(records.ids, keys, comments, on_columns, strict=True)
    return {table: (key, comment, *texts) for table, key, comment, texts in declared}
