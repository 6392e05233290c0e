"""Roots: the sources that a catalog is made from, by the labels the user knows them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.errors import UsageError
from dovetail.ports import SourceSpec
from dovetail.settings import Settings
from dovetail.sources.logins import holds_login, remember, without_login
from dovetail.sources.resolve import root
from dovetail.sources.warehouse_dialects import DIALECTS


@dataclass(frozen=True, slots=True)
class Roots:
    """All roots of a catalog from now on, those named this time, and the labels to forget."""

    all: tuple[SourceSpec, ...]
    named: tuple[SourceSpec, ...]
    forgotten: frozenset[str]

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
    known = {place.label: place for place in before}
    named = []
    for argument in sources:
        place = root(argument, Path.cwd())
        place = replace(
            place,
            views=settings.views,
            include=settings.include,
            exclude=settings.exclude,
            options=_reading(place, settings),
        )
        remember(place)
        place = _relabel(place, known)
        known[place.label] = place
        named.append(place)
    forget = [label if label in known else _bare_location(label) for label in forget]
    for label in forget:
        if label not in known:
            there = ", ".join(sorted(known)) or "none"
            shown = without_login(label)
            raise UsageError(f"there is no source {shown!r} to forget; there are: {there}")
    remaining = tuple(place for label, place in known.items() if label not in forget)
    return Roots(remaining, tuple(named), frozenset(forget))


def _reading(place: SourceSpec, settings: Settings) -> dict[str, int]:
    """How a warehouse is to be read; any other source is read whole."""
    if place.kind not in DIALECTS:
        return {}
    return {"sample": settings.sample, "max_scan_bytes": settings.max_scan_bytes}


def _bare_location(label: str) -> str:
    """A URL without its login, which is what a source is called that was given no name."""
    if not holds_login(label):
        return label
    try:
        return root(label, Path.cwd()).location
    except UsageError:
        return label


def _relabel(place: SourceSpec, roots: dict[str, SourceSpec]) -> SourceSpec:
    """Keep the label that a place is known by; do not take another place's."""
    for known in roots.values():
        if (known.kind, known.location) == (place.kind, place.location):
            return replace(place, label=known.label, root=known.label)
    other = roots.get(place.label)
    if other is None or (other.kind == "path" and not Path(other.location).exists()):
        return place  # a new place, or one that was moved
    return replace(place, label=place.location, root=place.location)
