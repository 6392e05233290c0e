"""The catalog that a server answers from: opened again when an update has landed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from dovetail.api.catalog import Catalog
from dovetail.api.catalog import open as open_catalog
from dovetail.api.narrowed import narrowed
from dovetail.catalog.knowledge.stored import FOLDER
from dovetail.catalog.manifest import FILE
from dovetail.settings import Settings

# What tells one state of a catalog from the next: inode, time and size of its manifest, and of what
# is known of it besides.
_Stamp = tuple[tuple[int, int, int], ...]


class LiveCatalog:
    """Gives the catalog as it is now; whoever holds an older one can go on with it.

    `tables` are patterns of the tables that may be seen; without any, all may.
    """

    def __init__(self, folder: str | Path, settings: Settings, tables: Sequence[str] = ()) -> None:
        self.folder = Path(folder)
        self.settings = settings
        self._tables = tuple(tables)
        self._lock = Lock()
        self._stamp = self._now()
        self._narrow: dict[tuple[str, ...], Catalog] = {}
        self._catalog = self._opened()

    def current(self, tables: Sequence[str] = ()) -> Catalog:
        """The catalog with the last update that landed, or those of its tables that fit patterns.

        While a new manifest cannot be read, the old catalog stays.
        """
        stamp, wanted = self._now(), tuple(tables)
        with self._lock:
            if stamp is not None and stamp != self._stamp:
                self._catalog, self._stamp = self._opened(), stamp
                self._narrow.clear()
            if not wanted:
                return self._catalog
            if wanted not in self._narrow:
                self._narrow[wanted] = narrowed(self._catalog, wanted)
            return self._narrow[wanted]

    def _opened(self) -> Catalog:
        return narrowed(open_catalog(self.folder, self.settings), self._tables)

    def _now(self) -> _Stamp | None:
        try:
            known = sorted((self.folder / FOLDER).glob("*.json"))
            found = [file.stat() for file in (self.folder / FILE, *known)]
        except OSError:
            return None
        return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)
