"""What the sources hold, held against what is known of it: the plan of an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from dovetail.catalog.records import Records
from dovetail.domain import Skipped, TableId
from dovetail.errors import DovetailError, UsageError
from dovetail.plugins import open_source
from dovetail.ports import Json, Listing, Source, SourceSpec
from dovetail.settings import Settings
from dovetail.sources.resolve import expand, root

# Tables per job: enough that starting one costs little, few enough that jobs spread evenly. It
# depends on the number of tables alone, so that every engine and machine makes the same segments.
_JOBS, _FEWEST, _MOST = 32, 8, 256
_HEAVY_JOB = 256 << 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table that must be read."""

    spec: SourceSpec
    listing: Listing

    @property
    def id(self) -> TableId:
        return TableId(self.spec.label, self.listing.name)

    def to_json(self) -> Json:
        return {"spec": self.spec.to_json(), "listing": asdict(self.listing)}

    @classmethod
    def from_json(cls, data: Json) -> Wanted:
        return cls(SourceSpec.from_json(data["spec"]), Listing(**data["listing"]))


class Known:
    """Rows of tables read before: the catalog's, and those of interrupted runs."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._tokens: list[str] = records.tables["token"].to_pylist()
        self._places: dict[TableId, list[int]] = {}
        for row, table in enumerate(records.ids):
            self._places.setdefault(table, []).append(row)

    def vouched(self, table: Wanted, source: Source) -> tuple[int, str] | None:
        """The row that the source says still holds, and its newest token."""
        for row in self._places.get(table.id, ()):
            found = source.fingerprint(table.listing, self._tokens[row])
            if found.unchanged:
                return row, found.token
        return None


@dataclass(slots=True)
class Plan:
    """What an update will do."""

    wanted: list[Wanted] = field(default_factory=list)
    # Known rows that still hold, with their newest token.
    holding: dict[int, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    # Labels of roots and sources that could not be opened or listed.
    unreadable: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def look(self, place: SourceSpec, known: Known, *, check: bool) -> None:
        """Look into a root: which of its tables hold, and which must be read?"""
        try:
            specs = expand(place)
        except (DovetailError, OSError) as error:
            self._give_up(place.label, error)
            return
        for spec in specs:
            if spec.label not in self.seen:
                self.seen.add(spec.label)
                self._look_into(spec, known, check=check)

    def is_shut(self, table: TableId) -> bool:
        """Whether a table lies in a source, or a folder of one, that could not be looked into."""
        place = table.name if table.source == "." else f"{table.source}/{table.name}"
        return any(f"{place}/".startswith(f"{label}/") for label in self.unreadable)

    def _look_into(self, spec: SourceSpec, known: Known, *, check: bool) -> None:
        try:
            source = open_source(spec)
        except UsageError:
            raise
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
            return
        try:
            for listing in source.tables():
                if spec.wants(listing.name):
                    self._consider(listing, spec, source, None if check else known)
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
        finally:
            source.close()

    def _consider(
        self, listing: Listing, spec: SourceSpec, source: Source, known: Known | None
    ) -> None:
        want = Wanted(spec, listing)
        try:
            holding = known.vouched(want, source) if known else None
        except (DovetailError, OSError) as error:
            self.skipped.append(Skipped(spec.label, listing.name, reason(error)))
            return
        if holding:
            self.holding[holding[0]] = holding[1]
        else:
            self.wanted.append(want)

    def _give_up(self, label: str, error: Exception) -> None:
        self.unreadable.add(label)
        self.skipped.append(Skipped(label, "", reason(error)))


def reason(error: BaseException) -> str:
    """Why something could not be read, for the summary."""
    if isinstance(error, MemoryError):
        return "needs more memory than there is"
    text = error.strerror if isinstance(error, OSError) else None
    return " ".join((text or str(error)).split())


def jobs(wanted: Sequence[Wanted]) -> list[list[Wanted]]:
    """Tables to read, in portions of about equal work."""
    ordered = sorted(wanted, key=lambda want: want.id)
    size = min(_MOST, max(_FEWEST, len(ordered) // _JOBS))
    portions: list[list[Wanted]] = []
    weight = 0
    for want in ordered:
        if not portions or len(portions[-1]) == size or weight + want.listing.weight > _HEAVY_JOB:
            portions.append([])
            weight = 0
        portions[-1].append(want)
        weight += want.listing.weight
    return portions


def settle_roots(
    sources: Sequence[str], before: Sequence[SourceSpec], settings: Settings
) -> tuple[list[SourceSpec], list[SourceSpec]]:
    """All roots from now on, and those among them that were named this time."""
    roots = {place.label: place for place in before}
    named = []
    for argument in sources:
        place = replace(
            root(argument, Path.cwd()),
            views=settings.views,
            include=settings.include,
            exclude=settings.exclude,
        )
        place = _relabel(place, roots)
        roots[place.label] = place
        named.append(place)
    return list(roots.values()), named


def _relabel(place: SourceSpec, roots: dict[str, SourceSpec]) -> SourceSpec:
    """Keep the label that a place is known by; do not take another place's."""
    for known in roots.values():
        if (known.kind, known.location) == (place.kind, place.location):
            return replace(place, label=known.label, root=known.label)
    other = roots.get(place.label)
    if other is None or (other.kind == "path" and not Path(other.location).exists()):
        return place  # a new place, or one that was moved
    return replace(place, label=place.location, root=place.location)


def forgetting(labels: Sequence[str], roots: Sequence[SourceSpec]) -> set[str]:
    """The labels of the roots to forget; an unknown one is an error."""
    known = {place.label for place in roots}
    for label in labels:
        if label not in known:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"there is no source {label!r} to forget; there are: {there}")
    return set(labels)
