"""What is made of a catalog and a person's notes: its searcher, its join graph, its selectors.

They are kept until the notes file changes, since making them takes longer than most questions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.joins.graph import JoinGraph
from dovetail.notes.notes import Notes, read_notes
from dovetail.ports import Retriever
from dovetail.search.searcher import Searcher

# Options that selectors are kept for.
_SELECTORS_KEPT = 8


@dataclass(slots=True)
class NotedViews:
    """The notes of one state of their file, with the views made of them so far."""

    state: tuple[int, int] | None
    notes: Notes
    _searcher: Searcher | None = None
    _graph: JoinGraph | None = None
    _selectors: dict[Hashable, Retriever] = field(default_factory=dict)

    @classmethod
    def now(cls, earlier: NotedViews | None, catalog: CatalogReader) -> NotedViews:
        """The earlier views where the notes file is as it was, else new ones."""
        state = _state(catalog.notes_file)
        if earlier is not None and earlier.state == state:
            return earlier
        return cls(state, read_notes(catalog))

    def searcher(self, plain: Callable[[], Searcher]) -> Searcher:
        """A searcher that goes by the notes, made of one that does not."""
        if self._searcher is None:
            self._searcher = plain().noted(self.notes)
        return self._searcher

    def selector(self, key: Hashable, made: Callable[[], Retriever]) -> Retriever:
        """The selector of some options; what it works out of the whole catalog is kept with it."""
        found = self._selectors.get(key)
        if found is None:
            if len(self._selectors) >= _SELECTORS_KEPT:
                self._selectors.clear()
            found = self._selectors.setdefault(key, made())
        return found

    def graph(self, made: Callable[[Notes], JoinGraph]) -> JoinGraph:
        """The join graph with pins and bans."""
        if self._graph is None:
            self._graph = made(self.notes)
        return self._graph


def _state(file: Path | None) -> tuple[int, int] | None:
    """Size and time of change of a file; None where there is none."""
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_size, found.st_mtime_ns)
