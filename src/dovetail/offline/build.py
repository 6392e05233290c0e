"""Building and updating a catalog: what changed is read, everything else stays as it is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.writer import CatalogWriter, writing
from dovetail.domain import Skipped, TableId
from dovetail.errors import CatalogError, SourceError, UsageError
from dovetail.hashing import Comparison
from dovetail.joins.cache import bring_up_to_date
from dovetail.joins.column_arrays import Thresholds
from dovetail.offline.batch import TASK, profile_key
from dovetail.offline.plan import Known, Plan, Wanted, forgetting, jobs, settle_roots
from dovetail.offline.profiling import ProfileOptions
from dovetail.offline.progress import Progress, ProgressCallback
from dovetail.plugins import open_engine
from dovetail.ports import Json, SourceSpec
from dovetail.search.opening import make_searchable
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class UpdateSummary:
    """What an update did. `retained` are tables it could not read, left as they were.

    `note` says what search has to go without, if anything.
    """

    catalog: CatalogReader
    added: tuple[TableId, ...]
    changed: tuple[TableId, ...]
    dropped: tuple[TableId, ...]
    retained: tuple[TableId, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    seconds: float
    note: str = ""

    @property
    def kept(self) -> tuple[TableId, ...]:
        """The name of `retained` in earlier versions."""
        warnings.warn("kept is now retained", DeprecationWarning, stacklevel=2)
        return self.retained


def update(
    sources: Sequence[str] = (),
    *,
    into: str | Path,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    joins: bool = True,
    search: bool = True,
    on_progress: ProgressCallback | None = None,
) -> UpdateSummary:
    """Bring a catalog up to date with sources (those it has, if none is named), and say how.

    `forget` drops sources by label; `check` reads every table again, whatever its source says.
    Without `joins`, join evidence is left to whoever asks for it first; without `search`, so is
    what search needs.
    """
    path = Path(into)
    chosen, seen = settings or Settings(), on_progress or (lambda _: None)
    try:
        with writing(path) as writer:
            run = _Update(writer, chosen, seen, joins=joins)
            report = run(sources, forget, check=check)
        return searchable(report, chosen, on_progress=on_progress) if search else report
    except OSError as error:
        # Those of sources were caught where they were read, so this one is about the catalog.
        raise CatalogError(
            f"cannot write to {path}: {error.strerror or error}; the catalog is as it was before, "
            "and what was finished is kept for the next run"
        ) from None


def searchable(
    report: UpdateSummary, settings: Settings, *, on_progress: ProgressCallback | None = None
) -> UpdateSummary:
    """Bring what search needs up to date after an update, and after purposes were written."""

    def done(count: int, total: int) -> None:
        if on_progress:
            on_progress(Progress("embed", count, total))

    return replace(report, note=make_searchable(report.catalog, settings, done))


class _Update:
    """One update of a catalog whose lock is held."""

    def __init__(
        self,
        writer: CatalogWriter,
        settings: Settings,
        on_progress: ProgressCallback,
        *,
        joins: bool,
    ) -> None:
        self._joins = joins
        self._started = time.perf_counter()
        self._writer = writer
        self._settings = settings
        self._watch = on_progress
        self._options = ProfileOptions(
            _comparison(settings.comparison), settings.sample_rows, settings.seed
        )
        self._profile = profile_key(self._options)
        manifest = writer.current.manifest if writer.current else None
        self._roots = manifest.roots if manifest else ()
        # Rows that another way of profiling made say nothing about this one.
        self._alike = manifest is None or manifest.profile == self._profile
        self._old = writer.current.records if writer.current else Records.none()
        self._segments: dict[str, Segment] = (
            {name: writer.current.segment(name) for name in manifest.segments}
            if writer.current and manifest
            else {}
        )

    def __call__(
        self, sources: Sequence[str], forget: Sequence[str], *, check: bool
    ) -> UpdateSummary:
        roots, named = settle_roots(sources, self._roots, self._settings)
        gone = forgetting(forget, roots)
        roots = [place for place in roots if place.label not in gone]
        visited = named if named and self._alike else roots
        if forget and not named and self._alike:
            visited = []
        known = self._known()
        plan = Plan()
        for number, place in enumerate(visited):
            self._watch(Progress("look", number, len(visited), place.label))
            plan.look(place, known, check=check)
        fresh = self._read(plan)
        self._refuse_nothing(visited, plan, fresh)
        records, retained = self._merge(
            plan, known, fresh, {place.label for place in visited}, gone
        )
        return self._finish(records, tuple(roots), tuple(plan.skipped), retained)

    def _known(self) -> Known:
        parts = [self._old] if self._alike else []
        for segment in self._writer.leftovers(self._profile):
            self._segments[segment.about["name"]] = segment
            parts.append(segment.records())
        return Known(Records.concat(parts))

    def _read(self, plan: Plan) -> Records:
        """Have the engine read what must be read; returns the rows of all that could be."""
        portions = jobs(plan.wanted)
        if not portions:
            return Records.none()
        tracker = _ReadProgress(self._watch, len(plan.wanted))
        parts, lost = self._map(portions, plan, tracker, apart=False)
        if lost:
            # Some table took its worker down: one by one, only the culprit is left behind.
            single = [[want] for portion in lost for want in portion]
            again, _ = self._map(single, plan, tracker, apart=True)
            parts += again
        return Records.concat(parts)

    def _map(
        self, portions: list[list[Wanted]], plan: Plan, tracker: _ReadProgress, *, apart: bool
    ) -> tuple[list[Records], list[list[Wanted]]]:
        parts: list[Records] = []
        lost: list[list[Wanted]] = []
        engine = open_engine(
            self._settings.engine,
            workers=self._settings.workers,
            address=self._settings.ray_address,
        )
        requests = [self._request(portion) | {"apart": apart} for portion in portions]
        with (
            self._writer.staging() as folder,
            closing(engine.map(TASK, requests, folder, tracker.tick)) as replies,
        ):
            for reply in replies:
                portion = portions[reply.job]
                if reply.lost and len(portion) > 1:
                    lost.append(portion)
                    continue
                if reply.lost:
                    table = portion[0].id
                    why = f"{reply.lost} while reading it"
                    plan.skipped.append(Skipped(table.source, table.name, why))
                plan.skipped.extend(Skipped(*skip) for skip in reply.result.get("skipped", ()))
                if name := reply.result.get("segment"):
                    segment = self._writer.adopt(folder / str(reply.job), name)
                    self._segments[name] = segment
                    parts.append(segment.records())
                tracker.finished(portion)
        return parts, lost

    def _request(self, portion: list[Wanted]) -> Json:
        return {
            "tables": [want.to_json() for want in portion],
            "options": self._options.to_json(),
            "weight": sum(want.listing.weight for want in portion),
        }

    def _refuse_nothing(self, visited: Sequence[SourceSpec], plan: Plan, fresh: Records) -> None:
        """A first run that could read nothing leaves no catalog behind, only its reason."""
        if self._writer.current is None and plan.skipped and not plan.holding and not len(fresh):
            more = f" (and {len(plan.skipped) - 1} more)" if len(plan.skipped) > 1 else ""
            raise SourceError(f"{plan.skipped[0]}{more}")
        if not visited and self._writer.current is None:
            raise UsageError(
                "there is nothing to index yet; name a source: dovetail index SOURCE..."
            )

    def _merge(
        self, plan: Plan, known: Known, fresh: Records, visited: set[str], gone: set[str]
    ) -> tuple[Records, tuple[TableId, ...]]:
        """The rows from now on, and the ids of those kept because they could not be read."""
        parts = [_with_tokens(known.records, plan.holding)]
        have = set(parts[0].ids)
        old_places = {table: row for row, table in enumerate(self._old.ids)} if self._alike else {}
        digests = self._old.tables["digest"].to_pylist()
        same: dict[int, str] = {}
        new: list[int] = []
        fresh_digests, tokens = (
            fresh.tables["digest"].to_pylist(),
            fresh.tables["token"].to_pylist(),
        )
        for row, table in enumerate(fresh.ids):
            place = old_places.get(table)
            if place is not None and digests[place] == fresh_digests[row]:
                same[place] = tokens[row]
            else:
                new.append(row)
        have |= set(fresh.ids)
        missed = {TableId(skip.source, skip.table) for skip in plan.skipped if skip.table}
        held: list[int] = []
        retained: list[TableId] = []
        of_root = self._old.tables["root"].to_pylist()
        for table, row in old_places.items():
            if table in have or of_root[row] in gone:
                continue
            if of_root[row] not in visited:
                held.append(row)
            elif table in missed or of_root[row] in plan.unreadable or plan.is_shut(table):
                held.append(row)
                retained.append(table)
        parts += [_with_tokens(self._old, same), fresh.take(new), self._old.take(held)]
        return Records.concat(parts).sorted(), tuple(retained)

    def _finish(
        self,
        records: Records,
        roots: tuple[SourceSpec, ...],
        skipped: tuple[Skipped, ...],
        retained: tuple[TableId, ...],
    ) -> UpdateSummary:
        skipped = tuple(sorted(skipped, key=lambda skip: (skip.source, skip.table)))
        current = self._writer.current
        before = dict(zip(self._old.ids, self._old.tables["digest"].to_pylist(), strict=True))
        after = dict(zip(records.ids, records.tables["digest"].to_pylist(), strict=True))
        as_it_was = (
            current is not None
            and self._alike
            and records.tables.equals(self._old.tables)
            and [place.stored() for place in roots] == [place.stored() for place in self._roots]
            and skipped == current.skipped
        )
        if current is None or not as_it_was:
            self._watch(Progress("write", 0, 1))
            current = self._writer.commit(
                records, self._segments, profile=self._profile, roots=roots, skipped=skipped
            )
        if self._joins:
            usual = Thresholds(self._settings.join_rows, self._settings.join_unique)
            bring_up_to_date(
                current, usual, lambda done, total: self._watch(Progress("join", done, total))
            )
        changed = tuple(t for t in after if t in before and before[t] != after[t])
        added = tuple(t for t in after if t not in before)
        return UpdateSummary(
            catalog=current,
            added=added,
            changed=changed,
            dropped=tuple(t for t in before if t not in after),
            retained=retained,
            unchanged=len(after) - len(added) - len(changed) - len(retained),
            skipped=skipped,
            seconds=time.perf_counter() - self._started,
        )


class _ReadProgress:
    """Turns the news of workers into progress."""

    def __init__(self, on_progress: ProgressCallback, total: int) -> None:
        self._watch = on_progress
        self._total = total
        self._done: set[str] = set()

    def tick(self, news: Json) -> None:
        if news.get("done"):
            self._done.add(news["table"])
        detail = f"{news['table']}, {news['rows']:,} rows" if "rows" in news else ""
        self._watch(Progress("read", len(self._done), self._total, detail))

    def finished(self, portion: list[Wanted]) -> None:
        self._done.update(str(want.id) for want in portion)
        self._watch(Progress("read", len(self._done), self._total))


def _with_tokens(records: Records, tokens: dict[int, str]) -> Records:
    """Some records, by place, with their newest tokens."""
    return records.take(list(tokens)).with_column("token", list(tokens.values()))


def _comparison(name: str) -> Comparison:
    try:
        return Comparison(name)
    except ValueError:
        known = ", ".join(Comparison)
        raise UsageError(f"comparison {name!r} is not known; there are: {known}") from None
