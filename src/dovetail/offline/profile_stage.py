"""The first stage of the offline line: from sources to profiled tables in a committed catalog.

Only what changed is read; everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dovetail.catalog.declarations import redeclared, with_declarations
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.writer import CatalogWriter
from dovetail.domain import Skipped, TableId
from dovetail.errors import SourceError, UsageError
from dovetail.offline.merge import merge_records
from dovetail.offline.plan import Plan
from dovetail.offline.previous import EarlierRecords, PreviousCatalog
from dovetail.offline.profile_tables import Profiled, profile_tables
from dovetail.offline.progress import Progress, ProgressCallback
from dovetail.offline.roots import Roots, resolve_roots
from dovetail.offline.summary import UpdateSummary
from dovetail.ports import Engine, Json, SourceSpec
from dovetail.profile.batch import profile_key
from dovetail.profile.profiler import ProfileOptions
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What an update is asked for.

    `sources` are brought up to date (those the catalog has, if none is named), `forget` drops
    sources by label, and `check` reads every table again, whatever its source says.
    """

    sources: Sequence[str] = ()
    forget: Sequence[str] = ()
    check: bool = False


def profile_stage(
    writer: CatalogWriter,
    request: UpdateRequest,
    settings: Settings,
    engine: Engine,
    on_progress: ProgressCallback,
) -> UpdateSummary:
    """Read what changed, commit the catalog, and say what was added, changed and dropped."""
    options = ProfileOptions(settings.sample_rows, settings.seed)
    profile = profile_key(options)
    previous = PreviousCatalog.of(writer, profile)
    roots = resolve_roots(request.sources, request.forget, previous.roots, settings)
    visited = roots.to_visit(every=not previous.same_profile)
    earlier, segments = _earlier(writer, previous, profile)

    plan = Plan()
    for number, place in enumerate(visited):
        on_progress(Progress("list", number, len(visited), place.label))
        plan.inspect(place, earlier, check=request.check)

    profiled = profile_tables(plan.to_read, writer, options, engine, on_progress)
    plan.skipped += profiled.skipped
    _refuse_nothing(writer, visited, plan, profiled)

    records, retained = merge_records(
        plan,
        earlier,
        Records.concat(profiled.records),
        previous,
        visited={place.label for place in visited},
        forgotten=roots.forgotten,
    )
    records = with_declarations(
        records,
        plan.declared,
        plan.declaring,
        untold_keys=plan.untold_keys,
        untold_comments=plan.untold_comments,
    )
    catalog, pooled = writer.current, not settings.join_sources
    plan.skipped += _still_left_out(catalog.skipped if catalog else (), plan, earlier, records)
    skipped = tuple(sorted(plan.skipped, key=lambda skip: (skip.source, skip.table)))
    same_pooling = catalog is not None and catalog.manifest.pooled == pooled
    if (
        catalog is None
        or not same_pooling
        or not _as_it_was(catalog, previous, records, roots, skipped)
    ):
        on_progress(Progress("write", 0, 1))
        catalog = writer.commit(
            records,
            segments | profiled.segments,
            profile=profile,
            roots=roots.all,
            skipped=skipped,
            pooled=pooled,
        )
    summary = _summary(catalog, previous.records, records, retained, skipped)
    return replace(summary, notices=tuple(sorted(plan.notices)))


def _earlier(
    writer: CatalogWriter, previous: PreviousCatalog, profile: Json
) -> tuple[EarlierRecords, dict[str, Segment]]:
    """The records that may still hold: the catalog's, and those of interrupted updates."""
    segments = dict(previous.segments)
    records = [previous.records] if previous.same_profile else []
    for segment in writer.leftovers(profile):
        segments[segment.about["name"]] = segment
        records.append(segment.records())
    return EarlierRecords(Records.concat(records)), segments


def _still_left_out(
    before: Sequence[Skipped], plan: Plan, earlier: EarlierRecords, now: Records
) -> list[Skipped]:
    """The parts that were left out of tables which did not change, and so were not read again."""
    known = {TableId(skip.source, skip.table) for skip in plan.skipped} | set(now.ids)
    unchanged = {earlier.records.ids[place] for place in plan.unchanged}
    return [
        skip
        for skip in before
        if TableId(skip.source, skip.table) not in known
        and any(TableId(skip.source, above) in unchanged for above in _prefixes(skip.table))
    ]


def _prefixes(name: str) -> list[str]:
    """The names that a part's name begins with, folder by folder."""
    folders = name.split("/")
    return ["/".join(folders[:at]) for at in range(1, len(folders))]


def _refuse_nothing(
    writer: CatalogWriter, visited: Sequence[SourceSpec], plan: Plan, profiled: Profiled
) -> None:
    """A first run that could read nothing leaves no catalog behind, only its reason."""
    if writer.current is not None:
        return
    if plan.skipped and not plan.unchanged and not profiled.records:
        more = f" (and {len(plan.skipped) - 1} more)" if len(plan.skipped) > 1 else ""
        raise SourceError(f"{plan.skipped[0]}{more}")
    if not visited:
        raise UsageError("there is nothing to index yet; name a source")


def _as_it_was(
    catalog: CatalogReader,
    previous: PreviousCatalog,
    records: Records,
    roots: Roots,
    skipped: tuple[Skipped, ...],
) -> bool:
    """Whether a commit would write what is there already."""
    return (
        previous.same_profile
        and records.tables.equals(previous.records.tables)
        and records.columns.equals(previous.records.columns)
        and [place.stored() for place in roots.all] == [place.stored() for place in previous.roots]
        and skipped == catalog.skipped
    )


def _summary(
    catalog: CatalogReader,
    before: Records,
    now: Records,
    retained: tuple[TableId, ...],
    skipped: tuple[Skipped, ...],
) -> UpdateSummary:
    old = dict(zip(before.ids, before.tables["digest"].to_pylist(), strict=True))
    new = dict(zip(now.ids, now.tables["digest"].to_pylist(), strict=True))
    changed = tuple(table for table in new if table in old and old[table] != new[table])
    added = tuple(table for table in new if table not in old)
    retold = redeclared(before, now).difference(changed)
    return UpdateSummary(
        catalog=catalog,
        added=added,
        changed=changed,
        dropped=tuple(table for table in old if table not in new),
        retained=retained,
        unchanged=len(new) - len(added) - len(changed) - len(retained),
        skipped=skipped,
        redeclared=tuple(sorted(retold)),
    )
