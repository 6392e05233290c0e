"""Sources that stay open from one job of a run to the next.

To open a source may take as long as reading hundreds of its tables: SQLite parses the definitions
of all of them, a server is logged in to. So a worker opens each source once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.plugins import open_source
from dovetail.ports import Source, SourceSpec


class OpenSources:
    """The sources that a run has opened in this thread."""

    def __init__(self, run: str | None) -> None:
        self.run = run
        self._opened: dict[str, Source] = {}

    def open(self, spec: SourceSpec) -> Source:
        """The source of a spec, opened the first time."""
        if spec.label not in self._opened:
            self._opened[spec.label] = open_source(spec)
        return self._opened[spec.label]

    def close_broken(self) -> None:
        """Close those that no longer answer, or cannot tell; they are opened again when needed.

        A server is asked, for to open it anew is to ask it for the columns of all its tables.
        """
        for label, source in list(self._opened.items()):
            answers = getattr(source, "answers", None)
            if answers is None or not answers():
                self._opened.pop(label).close()

    def close(self) -> None:
        """Close them all."""
        while self._opened:
            self._opened.popitem()[1].close()


class _Latest(threading.local):
    """The sources of the run that a thread works on."""

    sources = OpenSources(None)


_latest = _Latest()


@contextmanager
def opened_for(run: str | None) -> Iterator[OpenSources]:
    """The sources of a run, which stay open for its next job; without a run they are closed.

    Those of an earlier run are closed first. A job that fails leaves none open, for it may have
    failed over one of them.
    """
    if run is None or run != _latest.sources.run:
        _latest.sources.close()
        _latest.sources = OpenSources(run)
    sources = _latest.sources
    try:
        yield sources
    except BaseException:
        sources.close()
        raise
    if run is None:
        sources.close()


def close_sources() -> None:
    """Close what the last run of this thread left open."""
    _latest.sources.close()
