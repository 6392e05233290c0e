"""The plan of an update: which sources it visits, which tables must be read, and which records
of before still hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dovetail.catalog.generation import Manifest
from dovetail.catalog.key import key_id, open_cipher
from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.usage import LearntLog
from dovetail.catalog.writer import CatalogWriter
from dovetail.domain import Skipped, TableId
from dovetail.domain.tables import short_sources
from dovetail.errors import DovetailError, PartlyDeclaredError, UsageError
from dovetail.hashing import HashCipher
from dovetail.offline.summary import Progress, ProgressCallback
from dovetail.plugins import open_source
from dovetail.ports import Declaration, DeclaringSource, Json, Listing, Source, SourceSpec
from dovetail.profile.batch import TableToRead, profile_key, reason
from dovetail.profile.profiler import ProfileOptions
from dovetail.settings import Settings
from dovetail.sources.declarations import (
    FILE as DESCRIPTIONS,
)
from dovetail.sources.declarations import (
    described,
    descriptions_file,
    merged,
    read_descriptions,
)
from dovetail.sources.delimited import csv_options
from dovetail.sources.logins import holds_login, note_named, remember, without_login
from dovetail.sources.resolve import expand, root
from dovetail.sources.server_source import announce
from dovetail.sources.store import STORES
from dovetail.sources.warehouse_dialects import DIALECTS
from dovetail.text import cut

# Names of a kind that are told.
_TOLD = 5
# Letters of a table's name: what is made of names takes room for them, for every table anew.
_LONGEST_NAME, _SHOWN_NAME = 1 << 14, 100
# From the logs of past queries that are known to those that are known from now on.
ChangeLogs = Callable[[Sequence[LearntLog]], Sequence[LearntLog]]


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What an update is asked for.

    `sources` are brought up to date (those the catalog has, if none is named), `forget` drops
    sources by label, and `check` reads every table again, whatever its source says. Without `visit`
    no source is looked at. `change_logs` says which past queries are known from now on.
    `damage` says what of the catalog is lost and has to be read again.
    """

    sources: Sequence[str] = ()
    forget: Sequence[str] = ()
    check: bool = False
    visit: bool = True
    change_logs: ChangeLogs | None = None
    damage: Lost | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The names of segments, or of the records, that are damaged, and the roots of their tables."""

    names: frozenset[str]
    roots: frozenset[str]


def plan_update(
    request: UpdateRequest,
    writer: CatalogWriter,
    settings: Settings,
    on_progress: ProgressCallback,
) -> Plan:
    """Look at the sources that a request is about, and say what is to be read of them."""
    current = writer.current
    manifest = current.manifest if current is not None else None
    cipher = _cipher(writer, settings) if request.visit else None
    options = ProfileOptions(
        settings.sample_rows,
        settings.seed,
        settings.mask,
        # What was once not to be shown is not shown by a later run that does not say so.
        tuple(sorted({*settings.mask_columns, *_masked_before(manifest)})),
        "" if cipher is None else key_id(cipher),
    )
    profile = profile_key(options)
    if manifest is not None and (not request.visit or request.damage is not None):
        profile = manifest.profile  # nothing is profiled another way
        options = ProfileOptions.from_json({name: profile[name] for name in options.to_json()})
    same_profile = manifest is None or manifest.profile == profile
    before = current.records if current is not None else Records.none()
    roots = resolve_roots(
        request.sources, request.forget, manifest.roots if manifest is not None else (), settings
    )
    visited = roots.to_visit(every=not same_profile) if request.visit else ()
    if request.damage is not None:
        visited = tuple(visit for visit in roots.all if visit.label in request.damage.roots)
    segments = (
        {name: current.segment(name) for name in current.manifest.segments} if current else {}
    )
    records = [before] if same_profile else []
    for segment in writer.leftovers(profile):
        segments[segment.about["name"]] = segment
        records.append(segment.records())
    earlier = EarlierRecords(Records.concat(records))
    plan = Plan(roots, visited, before, same_profile, earlier, segments, options, profile, cipher)
    for number, visit in enumerate(visited):
        on_progress(Progress("list", number, len(visited), visit.label))
        plan.inspect(visit, check=request.check or visit.label in roots.reread)
    plan.keep_opened(manifest.roots if manifest is not None else ())
    plan.tell_undescribed()
    return plan


def _cipher(writer: CatalogWriter, settings: Settings) -> HashCipher | None:
    """What hashes are keyed with: nothing where the catalog keeps values, which it then goes on to
    do, as one without them goes on without."""
    current = writer.current
    if current is not None and settings.no_values and not current.no_values:
        raise UsageError(
            f"{writer.folder} holds values already; remove it, or choose another folder"
        )
    if current is not None and current.no_values:
        return open_cipher(writer.folder, current.manifest.profile["key_id"])
    return open_cipher(writer.folder) if settings.no_values else None


def _masked_before(manifest: Manifest | None) -> Sequence[str]:
    return manifest.profile.get("mask_columns", ()) if manifest is not None else ()


@dataclass(slots=True)
class Plan:
    """What an update will do, filled in root by root.

    `visited` are the roots whose tables it inspects. `before` are the records of the last
    generation; unless `same_profile`, they were profiled in another way and say nothing about those
    to come. `earlier` are records that may still hold, with those of interrupted updates;
    `segments` have their values. With a `cipher` no value is kept. `listed` are the tables of the
    visited roots, of which `to_read` must be read. `unchanged` maps the rows of those that do to
    their newest tokens; `unreadable` are labels of roots and sources that could not be opened or
    listed. `declared` is what the sources declare of the tables in `declaring`, which are those
    that were asked about; of some of these, keys or comments could not be read in full, as
    `notices` say. `undescribed` are
    names that a file of descriptions has, and no table seen so far.
    """

    roots: Roots
    visited: tuple[SourceSpec, ...]
    before: Records
    same_profile: bool
    earlier: EarlierRecords
    segments: dict[str, Segment]
    options: ProfileOptions
    profile: Json
    cipher: HashCipher | None = None
    listed: dict[TableId, TableToRead] = field(default_factory=dict)
    to_read: list[TableToRead] = field(default_factory=list)
    unchanged: dict[int, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    declared: dict[TableId, Declaration] = field(default_factory=dict)
    declaring: set[TableId] = field(default_factory=set)
    untold_keys: set[TableId] = field(default_factory=set)
    untold_comments: set[TableId] = field(default_factory=set)
    inspected: set[str] = field(default_factory=set)
    undescribed: set[str] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)

    def inspect(self, root: SourceSpec, *, check: bool) -> None:
        """List the tables of a root, and sort them into unchanged ones and those to read.

        With `check`, every table is read, whatever its source says.
        """
        try:
            specs = expand(root)
        except (DovetailError, OSError) as error:
            self._give_up(root.label, error)
            return
        descriptions = self._descriptions(root)
        for spec in specs:
            if spec.label not in self.inspected:
                self.inspected.add(spec.label)
                self._inspect_source(spec, None if check else self.earlier, descriptions)

    def keep_opened(self, before: Sequence[SourceSpec]) -> None:
        """Keep what was named for later runs, if it could be opened; else all is as it was."""
        known = {spec.label: spec for spec in before}
        failed = {spec.label for spec in self.roots.named if spec.label in self.unreadable}
        for spec in self.roots.named:
            if spec.label not in failed:
                remember(spec)
            elif spec.label not in known:
                self.notices.append(f"{spec.label} is not kept; name it again when it can be read")
        kept = (known.get(spec.label) if spec.label in failed else spec for spec in self.roots.all)
        self.roots = replace(self.roots, all=tuple(spec for spec in kept if spec is not None))

    def tell_undescribed(self) -> None:
        """Tell which names of a file of descriptions are of no table."""
        tables = [Listing(table.name, "", 0) for table in self.before.ids]
        existing = {called for _, called in described(tables, "", dict.fromkeys(self.undescribed))}
        unknown = sorted(self.undescribed - existing)
        if unknown:
            more = ", …" if len(unknown) > _TOLD else ""
            named = ", ".join(map(without_login, unknown[:_TOLD]))
            self.notices.append(
                f"{DESCRIPTIONS} describes what is no table here: {named}{more}; "
                "dovetail tables lists their names"
            )

    def _descriptions(self, root: SourceSpec) -> Mapping[str, Declaration]:
        """What a file next to a root says of tables; one that cannot be read is skipped."""
        file = descriptions_file(root.location) if root.kind == "path" else None
        try:
            descriptions = read_descriptions(file) if file is not None else {}
            self.undescribed |= descriptions.keys()
            return descriptions
        except (DovetailError, OSError) as error:
            self.skipped.append(Skipped(root.label, "", reason(error)))
            return {}

    def is_unreadable(self, table: TableId) -> bool:
        """Whether a table is in a source, or a folder of one, that could not be inspected."""
        location = table.name if table.source == "." else f"{table.source}/{table.name}"
        return any(f"{location}/".startswith(f"{label}/") for label in self.unreadable)

    def _inspect_source(
        self,
        spec: SourceSpec,
        earlier: EarlierRecords | None,
        descriptions: Mapping[str, Declaration],
    ) -> None:
        try:
            source = open_source(spec)
        except UsageError:
            raise
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
            return
        try:
            wanted = self._named_in_bounds(spec, source)
            if earlier is not None:
                tokens = earlier.tokens(spec.label)
                recorded = [listing for listing in wanted if listing.name in tokens]
                announce(source, recorded, tokens, rows=False)
            for listing in wanted:
                self._inspect_table(TableToRead(spec, listing), source, earlier)
            self._note_declarations(spec, source, wanted)
            self._note_descriptions(spec, wanted, descriptions)
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
        finally:
            source.close()

    def _named_in_bounds(self, spec: SourceSpec, source: Source) -> list[Listing]:
        """The tables of a source that are wanted; one with a name without end is left out."""
        wanted = []
        # A file that was named by itself is read as was said of it, and not once more.
        apart = {root.location for root in self.roots.all} - {spec.location}
        for listing in source.tables():
            if listing.place in apart:
                continue
            if len(listing.name) > _LONGEST_NAME:
                why = (
                    f"its name has {len(listing.name):,} letters, and a name may have "
                    f"{_LONGEST_NAME:,}; give it a shorter one, or a view"
                )
                self.skipped.append(Skipped(spec.label, cut(listing.name, _SHOWN_NAME), why))
            elif spec.wants(listing.name):
                wanted.append(listing)
        return wanted

    def _inspect_table(
        self, table: TableToRead, source: Source, earlier: EarlierRecords | None
    ) -> None:
        self.listed[table.id] = table
        try:
            valid = earlier.still_valid(table.id, table.listing, source) if earlier else None
        except (DovetailError, OSError) as error:
            self.skipped.append(Skipped(table.id.source, table.id.name, reason(error)))
            return
        if valid:
            self.unchanged[valid[0]] = valid[1]
        else:
            self.to_read.append(table)

    def _note_declarations(
        self, spec: SourceSpec, source: Source, tables: Sequence[Listing]
    ) -> None:
        """Note what a source declares of its tables; what it cannot say, the earlier word holds."""
        try:
            declared = source.declarations(tables) if isinstance(source, DeclaringSource) else {}
        except PartlyDeclaredError as error:
            why = f"not all of its declared keys and comments can be read: {reason(error)}"
            self.notices.append(f"{spec.label}: {why}")
            declared = error.told
            about = {TableId(spec.label, table.name) for table in tables}
            self.untold_keys |= about if error.keys else set()
            self.untold_comments |= about if error.comments else set()
        except (DovetailError, OSError) as error:
            why = f"its declared keys and comments cannot be read: {reason(error)}"
            self.skipped.append(Skipped(spec.label, "", why))
            return
        self.declaring |= {TableId(spec.label, table.name) for table in tables}
        self.declared |= {
            TableId(spec.label, name): declaration for name, declaration in declared.items()
        }

    def _note_descriptions(
        self, spec: SourceSpec, tables: Sequence[Listing], descriptions: Mapping[str, Declaration]
    ) -> None:
        """Note what a file next to the source says of its tables."""
        for name, called in described(tables, spec.label, descriptions):
            self.undescribed.discard(called)
            table, own = TableId(spec.label, name), Declaration()
            self.declared[table] = merged(self.declared.get(table, own), descriptions[called])

    def _give_up(self, label: str, error: Exception) -> None:
        self.unreadable.add(label)
        self.skipped.append(Skipped(label, "", reason(error)))


@dataclass(frozen=True, slots=True)
class Roots:
    """All roots of a catalog from now on, those named this time, and the labels to forget.

    The files of those in `reread` are read in another way than before.
    """

    all: tuple[SourceSpec, ...]
    named: tuple[SourceSpec, ...]
    forgotten: frozenset[str]
    reread: frozenset[str] = frozenset()

    def to_visit(self, *, every: bool) -> tuple[SourceSpec, ...]:
        """The roots whose tables this update inspects.

        Those that were named; all of them if none was, or if `every` table must be read again. To
        forget a source takes no visit to the others.
        """
        if every:
            return self.all
        return self.named if self.named or self.forgotten else self.all


def resolve_roots(
    sources: Sequence[str],
    forget: Sequence[str],
    before: Sequence[SourceSpec],
    settings: Settings,
) -> Roots:
    """Add the sources that a user names to the roots there were, and drop those to forget."""
    by_label = {spec.label: spec for spec in before}
    options = {spec.label: dict(spec.options) for spec in before}
    named = []
    for argument in sources:
        spec = root(argument, Path.cwd())
        spec = replace(
            spec,
            views=settings.views,
            include=settings.include,
            exclude=settings.exclude,
            options=_reading(spec, settings),
        )
        note_named(spec)
        spec = _relabel(spec, by_label)
        by_label[spec.label] = spec
        named.append(spec)
    short = {name: label for label, name in short_sources(by_label).items()}
    forget = [
        label if label in by_label else short.get(label) or _bare_location(label)
        for label in forget
    ]
    for label in forget:
        if label not in by_label:
            there = ", ".join(sorted(by_label)) or "none"
            shown = without_login(label)
            raise UsageError(f"there is no source {shown!r} to forget; there are: {there}")
    remaining = tuple(spec for label, spec in by_label.items() if label not in forget)
    reread = {spec.label for spec in named if options.get(spec.label, {}) != dict(spec.options)}
    return Roots(remaining, tuple(named), frozenset(forget), frozenset(reread))


def _reading(spec: SourceSpec, settings: Settings) -> Mapping[str, int | str]:
    """How a warehouse is to be read, or the CSV files of a source; others are read as they are."""
    if spec.kind in DIALECTS:
        return {"sample": settings.sample, "max_scan_bytes": settings.max_scan_bytes}
    return csv_options(settings.csv) if spec.kind in ("path", "http", "https", *STORES) else {}


def _bare_location(label: str) -> str:
    """A URL without its login, which is what a source is called that was given no name."""
    if not holds_login(label):
        return label
    try:
        return root(label, Path.cwd()).location
    except UsageError:
        return label


def _relabel(spec: SourceSpec, roots: dict[str, SourceSpec]) -> SourceSpec:
    """Keep the label that a location is known by; do not take another location's."""
    for existing in roots.values():
        if (existing.kind, existing.location) == (spec.kind, spec.location):
            return replace(spec, label=existing.label, root=existing.label)
    other = roots.get(spec.label)
    if other is None or (other.kind == "path" and not Path(other.location).exists()):
        return spec  # a new source, or one that was moved
    return replace(spec, label=spec.location, root=spec.location)


class EarlierRecords:
    """Records of tables read before: the catalog's, and those of interrupted updates."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._tokens: list[str] = records.tables["token"].to_pylist()
        self._rows: dict[TableId, list[int]] = {}
        for row, table in enumerate(records.ids):
            self._rows.setdefault(table, []).append(row)

    def tokens(self, source: str) -> dict[str, str]:
        """The tokens that tables of a source are compared with first, by the tables' names."""
        return {
            table.name: self._tokens[rows[0]]
            for table, rows in self._rows.items()
            if table.source == source
        }

    def still_valid(
        self, table: TableId, listing: Listing, source: Source
    ) -> tuple[int, str] | None:
        """The row of the record that the source vouches for, and the table's newest token."""
        for row in self._rows.get(table, ()):
            fingerprint = source.fingerprint(listing, self._tokens[row])
            if fingerprint.unchanged:
                return row, fingerprint.token
        return None
