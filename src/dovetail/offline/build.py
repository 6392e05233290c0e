"""Building and updating a catalog: what changed is read, everything else stays as it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.catalog.reader import Catalog
from dovetail.catalog.records import Rows
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
from dovetail.plugins import open_engine
from dovetail.ports import Json, SourceSpec
from dovetail.search.opening import make_searchable
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: a phase, how much of it is done, and what it is at."""

    phase: str
    done: int
    total: int
    detail: str = ""


Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What an update did. `kept` are tables it could not read, left as they were.

    `note` says what search has to go without, if anything.
    """

    catalog: Catalog
    added: tuple[TableId, ...]
    changed: tuple[TableId, ...]
    dropped: tuple[TableId, ...]
    kept: tuple[TableId, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    seconds: float
    note: str = ""


def update(
    sources: Sequence[str] = (),
    *,
    into: str | Path,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    joins: bool = True,
    search: bool = True,
    watch: Watch | None = None,
) -> Report:
    """Bring a catalog up to date with sources (those it has, if none is named), and say how.

    `forget` drops sources by label; `check` reads every table again, whatever its source says.
    Without `joins`, join evidence is left to whoever asks for it first; without `search`, so is
    what search needs.
    """
    path = Path(into)
    chosen, seen = settings or Settings(), watch or (lambda _: None)
    try:
        with writing(path) as writer:
            run = _Update(writer, chosen, seen, joins=joins)
            report = run(sources, forget, check=check)
        return searchable(report, chosen, watch=watch) if search else report
    except OSError as error:
        # Those of sources were caught where they were read, so this one is about the catalog.
        raise CatalogError(
            f"cannot write to {path}: {error.strerror or error}; the catalog is as it was before, "
            "and what was finished is kept for the next run"
        ) from None


def searchable(report: Report, settings: Settings, *, watch: Watch | None = None) -> Report:
    """Bring what search needs up to date after an update, and after purposes were written."""

    def done(count: int, total: int) -> None:
        if watch:
            watch(Progress("embed", count, total))

    return replace(report, note=make_searchable(report.catalog, settings, done))


class _Update:
    """One update of a catalog whose lock is held."""

    def __init__(
        self, writer: CatalogWriter, settings: Settings, watch: Watch, *, joins: bool
    ) -> None:
        self._joins = joins
        self._started = time.perf_counter()
        self._writer = writer
        self._settings = settings
        self._watch = watch
        self._options = ProfileOptions(
            _comparison(settings.comparison), settings.sample_rows, settings.seed
        )
        self._profile = profile_key(self._options)
        manifest = writer.current.manifest if writer.current else None
        self._roots = manifest.roots if manifest else ()
        # Rows that another way of profiling made say nothing about this one.
        self._alike = manifest is None or manifest.profile == self._profile
        self._old = writer.current.rows if writer.current else Rows.none()
        self._segments: dict[str, Segment] = (
            {name: writer.current.segment(name) for name in manifest.segments}
            if writer.current and manifest
            else {}
        )

    def __call__(self, sources: Sequence[str], forget: Sequence[str], *, check: bool) -> Report:
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
        rows, kept = self._merge(plan, known, fresh, {place.label for place in visited}, gone)
        return self._finish(rows, tuple(roots), tuple(plan.skipped), kept)

    def _known(self) -> Known:
        parts = [self._old] if self._alike else []
        for segment in self._writer.leftovers(self._profile):
            self._segments[segment.about["name"]] = segment
            parts.append(segment.rows())
        return Known(Rows.concat(parts))

    def _read(self, plan: Plan) -> Rows:
        """Have the engine read what must be read; returns the rows of all that could be."""
        portions = jobs(plan.wanted)
        if not portions:
            return Rows.none()
        watching = _Watching(self._watch, len(plan.wanted))
        parts, lost = self._map(portions, plan, watching, apart=False)
        if lost:
            # Some table took its worker down: one by one, only the culprit is left behind.
            single = [[want] for portion in lost for want in portion]
            again, _ = self._map(single, plan, watching, apart=True)
            parts += again
        return Rows.concat(parts)

    def _map(
        self, portions: list[list[Wanted]], plan: Plan, watching: _Watching, *, apart: bool
    ) -> tuple[list[Rows], list[list[Wanted]]]:
        parts: list[Rows] = []
        lost: list[list[Wanted]] = []
        engine = open_engine(
            self._settings.engine,
            workers=self._settings.workers,
            address=self._settings.ray_address,
        )
        requests = [self._request(portion) | {"apart": apart} for portion in portions]
        with (
            self._writer.staging() as folder,
            closing(engine.map(TASK, requests, folder, watching.tick)) as replies,
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
                    parts.append(segment.rows())
                watching.finished(portion)
        return parts, lost

    def _request(self, portion: list[Wanted]) -> Json:
        return {
            "tables": [want.to_json() for want in portion],
            "options": self._options.to_json(),
            "weight": sum(want.listing.weight for want in portion),
        }

    def _refuse_nothing(self, visited: Sequence[SourceSpec], plan: Plan, fresh: Rows) -> None:
        """A first run that could read nothing leaves no catalog behind, only its reason."""
        if self._writer.current is None and plan.skipped and not plan.holding and not len(fresh):
            more = f" (and {len(plan.skipped) - 1} more)" if len(plan.skipped) > 1 else ""
            raise SourceError(f"{plan.skipped[0]}{more}")
        if not visited and self._writer.current is None:
            raise UsageError(
                "there is nothing to index yet; name a source: dovetail index SOURCE..."
            )

    def _merge(
        self, plan: Plan, known: Known, fresh: Rows, visited: set[str], gone: set[str]
    ) -> tuple[Rows, tuple[TableId, ...]]:
        """The rows from now on, and the ids of those kept because they could not be read."""
        parts = [_with_tokens(known.rows, plan.holding)]
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
        kept: list[TableId] = []
        of_root = self._old.tables["root"].to_pylist()
        for table, row in old_places.items():
            if table in have or of_root[row] in gone:
                continue
            if of_root[row] not in visited:
                held.append(row)
            elif table in missed or of_root[row] in plan.unreadable or plan.is_shut(table):
                held.append(row)
                kept.append(table)
        parts += [_with_tokens(self._old, same), fresh.take(new), self._old.take(held)]
        return Rows.concat(parts).sorted(), tuple(kept)

    def _finish(
        self,
        rows: Rows,
        roots: tuple[SourceSpec, ...],
        skipped: tuple[Skipped, ...],
        kept: tuple[TableId, ...],
    ) -> Report:
        skipped = tuple(sorted(skipped, key=lambda skip: (skip.source, skip.table)))
        current = self._writer.current
        before = dict(zip(self._old.ids, self._old.tables["digest"].to_pylist(), strict=True))
        after = dict(zip(rows.ids, rows.tables["digest"].to_pylist(), strict=True))
        as_it_was = (
            current is not None
            and self._alike
            and rows.tables.equals(self._old.tables)
            and [place.stored() for place in roots] == [place.stored() for place in self._roots]
            and skipped == current.skipped
        )
        if current is None or not as_it_was:
            self._watch(Progress("write", 0, 1))
            current = self._writer.commit(
                rows, self._segments, profile=self._profile, roots=roots, skipped=skipped
            )
        if self._joins:
            usual = Thresholds(self._settings.join_rows, self._settings.join_unique)
            bring_up_to_date(
                current, usual, lambda done, total: self._watch(Progress("join", done, total))
            )
        changed = tuple(t for t in after if t in before and before[t] != after[t])
        added = tuple(t for t in after if t not in before)
        return Report(
            catalog=current,
            added=added,
            changed=changed,
            dropped=tuple(t for t in before if t not in after),
            kept=kept,
            unchanged=len(after) - len(added) - len(changed) - len(kept),
            skipped=skipped,
            seconds=time.perf_counter() - self._started,
        )


class _Watching:
    """Turns the news of workers into progress."""

    def __init__(self, watch: Watch, total: int) -> None:
        self._watch = watch
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


def _with_tokens(rows: Rows, tokens: dict[int, str]) -> Rows:
    """Some rows, by place, with their newest tokens."""
    return rows.take(list(tokens)).with_column("token", list(tokens.values()))


def _comparison(name: str) -> Comparison:
    try:
        return Comparison(name)
    except ValueError:
        known = ", ".join(Comparison)
        raise UsageError(f"comparison {name!r} is not known; there are: {known}") from None
