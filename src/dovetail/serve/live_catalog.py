"""The catalog that a server answers from: opened again when an update has landed."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from dovetail.api.catalog import Catalog
from dovetail.api.catalog import open as open_catalog
from dovetail.api.state import generation_stamp
from dovetail.errors import DovetailError
from dovetail.settings import Settings


class LiveCatalog:
    """Gives the catalog as it is now; whoever holds an older one can go on with it.

    `tables` are patterns of the tables that may be seen; without any, all may. A generation is
    gone, with its memory and its processes, as soon as nobody holds it.
    """

    def __init__(self, folder: str | Path, settings: Settings, tables: Sequence[str] = ()) -> None:
        self.folder = Path(folder)
        self.settings = settings
        self.tables = tuple(tables)
        self._lock = Lock()
        self._opening = Lock()
        self._generations: WeakSet[Catalog] = WeakSet()
        self._made = self._gone = 0
        self._stamp = generation_stamp(self.folder)
        self._narrow: dict[tuple[str, ...], Catalog] = {}
        self._catalog = self._opened()

    @property
    def generations(self) -> int:
        """How many generations of the catalog are held: one, or more while requests end."""
        return len(self._generations)

    def current(self, tables: Sequence[str] = ()) -> Catalog:
        """The catalog with the last update that landed, or those of its tables that fit patterns.

        Who comes first after an update opens the new generation; who comes meanwhile is given the
        old one and does not wait. While a new manifest cannot be read, the old catalog stays.
        """
        stamp, wanted = generation_stamp(self.folder), tuple(tables)
        if stamp is not None and stamp != self._stamp and self._opening.acquire(blocking=False):
            try:
                self._renew(stamp)
            finally:
                self._opening.release()
        with self._lock:
            gone, self._gone = self._gone, self._made - self.generations
            if wanted and wanted not in self._narrow:
                self._narrow[wanted] = self._catalog.narrowed(wanted)
            found = self._narrow[wanted] if wanted else self._catalog
        if self._gone > gone:
            _give_back_memory()
        return found

    def whole(self) -> Catalog:
        """All tables of the catalog, whoever may see them: what notes are held against."""
        return self.current().whole

    def _renew(self, stamp: tuple[int, int, int]) -> None:
        if stamp == self._stamp:  # another was quicker
            return
        opened = self._opened()
        if self._catalog.has_searched:
            with suppress(DovetailError):  # whoever searches is told
                _ = opened.searcher  # made here, so that nobody waits for it
        with self._lock:
            self._catalog, self._stamp = opened, stamp
            self._narrow.clear()

    def _opened(self) -> Catalog:
        opened = open_catalog(self.folder, self.settings).narrowed(self.tables)
        with self._lock:
            self._generations.add(opened)
            self._made += 1
        return opened


def _give_back_memory() -> None:
    """Return what a generation that is gone had to the system, where the C library can.

    The library keeps what threads have freed in an arena for each of them: with every generation a
    little more would stay. Small objects that refer to each other go first, since a page with one
    of them on it stays whole.
    """
    gc.collect()
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
