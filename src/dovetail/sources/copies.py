"""Copies of files that are elsewhere, on this machine for as long as they are needed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from dovetail.errors import SourceError
from dovetail.sources.walk import table_suffix

# Small files that are fetched side by side: most of the time each takes is waiting.
_AT_ONCE = 8


class Copies:
    """Files fetched by their URL, each once; `read` gives their bytes."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self.read = read
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._places: dict[str, str] = {}

    def fetch(self, url: str) -> str:
        """Where the copy of a file lies; it keeps the suffix that says what it holds."""
        if url not in self._places:
            place = os.path.join(self._folder.name, f"{len(self._places)}{table_suffix(url)}")
            self._write(url, place)
            self._places[url] = place
        return self._places[url]

    def fetch_many(self, urls: Sequence[str]) -> None:
        """Fetch files several at a time; one that cannot be says so when it is asked for."""
        missing = [url for url in urls if url not in self._places]
        places = [
            os.path.join(self._folder.name, f"many{len(self._places) + at}{table_suffix(url)}")
            for at, url in enumerate(missing)
        ]
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            for url, place in zip(missing, pool.map(self._try, missing, places), strict=True):
                if place:
                    self._places[url] = place
        finally:
            pool.shutdown(cancel_futures=True)  # an interrupt waits for those that have begun

    def __contains__(self, url: str) -> bool:
        return url in self._places

    def folder(self, url: str) -> str:
        """A folder for copies of what is in a folder elsewhere."""
        if url not in self._places:
            self._places[url] = os.path.join(self._folder.name, f"{len(self._places)}")
        return self._places[url]

    def fill(self, folder: str, files: Mapping[str, str]) -> None:
        """Copy files into a folder, each to a path in it; what is there already stays."""
        for path, url in files.items():
            place = os.path.join(folder, path)
            if not os.path.exists(place):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                self._write(url, place)

    def close(self) -> None:
        self._folder.cleanup()

    def _try(self, url: str, place: str) -> str:
        try:
            self._write(url, place)
        except (SourceError, OSError):
            return ""
        return place

    def _write(self, url: str, place: str) -> None:
        content = self.read(url)
        with open(place, "wb") as out:
            out.write(content)
