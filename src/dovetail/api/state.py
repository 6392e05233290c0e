"""One generation of a catalog in use: search, joins and families, made once for all questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from dovetail.catalog.descriptions import descriptions
from dovetail.catalog.generation import DESCRIPTIONS, FILE
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Description, TableId
from dovetail.families.family import Families, Family, read_families
from dovetail.joins.graph import JoinGraph
from dovetail.notes.apply import marked_families, noted_graph
from dovetail.notes.notes import NO_NOTES, Notes, read_notes
from dovetail.ports import Retriever
from dovetail.search.searcher import Searcher, open_searcher
from dovetail.settings import Settings

T = TypeVar("T")
# Options that selectors are kept for.
_SELECTORS_KEPT = 8
# Seconds in which an embedder that failed is not asked again: each try may take long to fail.
_PAUSE = 60.0


class State:
    """One generation of a catalog, with what is worked out of it once for all questions.

    Notes may change under it: what goes by them is made anew when their file has changed.
    """

    def __init__(self, reader: CatalogReader, settings: Settings) -> None:
        self.reader = reader
        self.settings = settings
        self._notes_of: tuple[tuple[int, ...] | None, Notes] | None = None
        self._made_of: Notes | None = None
        self._made: dict[Hashable, Any] = {}
        self._without: tuple[float, str] = (0.0, "")

    @property
    def notes(self) -> Notes:
        """What a person noted; read again whenever the file has changed."""
        file = self.reader.notes_file
        stamp = None
        with suppress(OSError):
            if file is not None:
                status = file.stat()
                stamp = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        if self._notes_of is None or self._notes_of[0] != stamp:
            self._notes_of = stamp, read_notes(self.reader)
        return self._notes_of[1]

    def by_notes(self, key: Hashable, make: Callable[[Notes], T]) -> T:
        """What was made of the notes under a key, made now where they have changed."""
        notes = self.notes
        if self._made_of is not notes:
            self._made_of, self._made = notes, {}
        if key not in self._made:
            self._made[key] = make(notes)
        made: T = self._made[key]
        return made

    def do_without_embedder(self, why: str) -> None:
        """Search by words, values and joins alone for a while, as the embedder cannot be asked."""
        self._without = time.monotonic() + _PAUSE, why

    @property
    def without_embedder(self) -> str:
        """Why the embedder is not asked now; nothing where it is."""
        until, why = self._without
        return why if time.monotonic() < until else ""

    @property
    def searcher(self) -> Searcher:
        return self.by_notes(("searcher", bool(self.without_embedder)), self.noted_searcher)

    @property
    def has_searched(self) -> bool:
        """Whether the searcher, which takes most of the memory of a generation, is made already."""
        return not {"_plain_searcher", "_words_searcher"}.isdisjoint(vars(self))

    def noted_searcher(self, notes: Notes) -> Searcher:
        """What searches the tables by these notes."""
        plain = self._words_searcher if self.without_embedder else self._plain_searcher
        return plain.noted(notes)

    @cached_property
    def _plain_searcher(self) -> Searcher:
        return open_searcher(self.reader, self.settings, notes=NO_NOTES)

    @cached_property
    def _words_searcher(self) -> Searcher:
        return open_searcher(self.reader, self.settings.but(embedder="none"), notes=NO_NOTES)

    @cached_property
    def descriptions(self) -> Mapping[TableId, Description]:
        return descriptions(self.reader)

    @property
    def graph(self) -> JoinGraph:
        return self.by_notes("graph", lambda notes: noted_graph(self.reader, notes))

    @property
    def families(self) -> Families:
        return self.by_notes("families", lambda notes: marked_families(self._families, notes))

    @cached_property
    def _families(self) -> Families:
        return read_families(self.reader)

    def selector(self, key: Hashable, make: Callable[[], Retriever]) -> Retriever:
        """The selector of some options; what it works out of the whole catalog is kept with it."""
        kept = self.by_notes("selectors", lambda _: cast(dict[Hashable, Retriever], {}))
        if key not in kept and len(kept) >= _SELECTORS_KEPT:
            kept.clear()
        return kept[key] if key in kept else kept.setdefault(key, make())


class Narrowed(State):
    """Some tables of a generation: no other is found, joined, sampled or queried."""

    def __init__(self, whole: State, tables: Collection[TableId]) -> None:
        self.whole, reader, allowed = whole, whole.reader, set(tables)
        rows = [row for row, table in enumerate(reader.ids) if table in allowed]
        segments = {name: reader.segment(name) for name in reader.manifest.segments}
        # Of what is derived, only descriptions are of one table each.
        parts = {name: part for name, part in reader.parts.items() if name == DESCRIPTIONS}
        records = reader.records.take(rows)
        narrow = CatalogReader(reader.folder, reader.manifest, records, segments, parts)
        super().__init__(narrow, whole.settings)
        self._own_notes: tuple[Notes, Notes] | None = None

    @property
    def notes(self) -> Notes:
        """What a person says of these tables alone: no other note is applied or told."""
        every = self.whole.notes
        if self._own_notes is None or self._own_notes[0] is not every:
            self._own_notes = every, every.only_about(self.reader.ids)
        return self._own_notes[1]

    def do_without_embedder(self, why: str) -> None:
        self.whole.do_without_embedder(why)

    @property
    def without_embedder(self) -> str:
        return self.whole.without_embedder

    @property
    def has_searched(self) -> bool:
        return self.whole.has_searched

    def noted_searcher(self, notes: Notes) -> Searcher:
        return self.whole.noted_searcher(notes).among(self.reader.ids)

    @property
    def graph(self) -> JoinGraph:
        return self.by_notes("graph", lambda _: self.whole.graph.among(self.reader.ids))

    @property
    def families(self) -> Families:
        return self.by_notes("families", lambda _: self._families_left())

    def _families_left(self) -> Families:
        """The families of what is left, each represented by its first member left."""
        left = set(self.reader.ids)
        families = []
        for family in self.whole.families:
            members = tuple(one for one in family.members if one.id in left)
            if len(members) == len(family.members):
                families.append(family)
            elif len(members) > 1:  # its name and evidence may tell of those that are not left
                canonical = family.canonical if family.canonical in left else members[0].id
                members = tuple(replace(one, evidence="") for one in members)
                families.append(Family(canonical.name, canonical, members))
        return Families(families)


def generation_stamp(folder: Path) -> tuple[int, int, int] | None:
    """What tells one generation of a catalog from the next: inode, time and size of its manifest.

    None where there is none to be read.
    """
    try:
        manifest = (folder / FILE).stat()
    except OSError:
        return None
    return manifest.st_ino, manifest.st_mtime_ns, manifest.st_size
