"""The objects below a URL, with the sizes and times that the listing itself tells.

A bucket is listed by one request for a thousand objects, and none of them is asked about by itself
(Azure's are: DuckDB drops what its listing says of them).
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import duckdb

from dovetail.sources import duck
from dovetail.sources.lake_tables import lake_around, lakes_below
from dovetail.sources.store_login import Store
from dovetail.sources.walk import Found, is_hidden, table_suffix
from dovetail.sources.wildcards import WILD, fits

# The size of an object, and the second of its last change.
State = tuple[int, int]


class Objects:
    """What lies below a location: a folder, a pattern, one file, or a folder called like one."""

    def __init__(self, location: str, store: Store) -> None:
        self._listed = store.listed
        self._states: dict[str, State] = {}
        self._pattern = ""
        location = location.rstrip("/")
        self._base = location
        if anchor := _anchor(location):
            urls = self._list(anchor)
            literal = [url for url in urls if f"{url}/".startswith(location + "/")]
            if literal:  # its name holds what elsewhere is a wildcard
                urls = literal
            else:
                self._base, self._pattern = anchor, location.removeprefix(anchor + "/")
        else:
            urls = self._one(location) if table_suffix(location) else self._list(location)
        if self._base == location and table_suffix(location):
            self._base = location.rpartition("/")[0]
        cut = len(self._base) + 1
        # The path of each object from the folder that was looked into, and its URL.
        self._paths = {url[cut:]: url for url in urls if not url.endswith("/")}
        # The objects of each folder that is a table by its log.
        self.inside: dict[str, list[str]] = {}

    @property
    def top(self) -> str:
        """The name of the folder that was looked into, or of the bucket."""
        return self._base.rpartition("/")[2]

    def found(self) -> list[Found]:
        """The table files, and the folders that are a table by their log."""
        lakes = lakes_below(self._paths)
        files: list[Found] = []
        meant: set[str] = set()
        for path, url in self._paths.items():
            around = lake_around(path, lakes)
            if around is not None:
                self.inside.setdefault(self._url(around), []).append(url)
            if self._pattern and not _stands_for(self._pattern, path, lakes):
                continue
            if around is not None:
                meant.add(around)
            elif table_suffix(path) and (self._pattern or not _is_hidden(path)):
                files.append(Found(url, path))
        return files + [
            Found(self._url(folder), folder or self.top, lake=lakes[folder])
            for folder in sorted(meant)
            if not _is_hidden(folder)
        ]

    def states(self, urls: Sequence[str]) -> list[State]:
        """The size and time of objects; of one that is gone by now, zeros."""
        missing = [url for url in urls if url not in self._states]
        if missing:
            try:
                self._states |= look(duck.file_list(missing))
            except duckdb.Error:  # one of them is gone
                self._states |= {url: _state_or_zeros(url) for url in missing}
        return [self._states[url] for url in urls]

    def _url(self, folder: str) -> str:
        return f"{self._base}/{folder}" if folder else self._base

    def _list(self, folder: str) -> list[str]:
        pattern = duck.file_pattern(folder)[:-1] + "/**'"
        if self._listed:
            found = look(pattern)
            self._states |= found
            return list(found)
        return [str(file) for (file,) in duck.fetch(f"SELECT file FROM glob({pattern})")]

    def _one(self, location: str) -> list[str]:
        """The file of that name, or what is in the folder of that name."""
        try:
            self._states |= look(duck.file_pattern(location))
        except duckdb.Error:
            inside = self._list(location)
            if not inside:
                raise
            return inside
        return [location]


def _anchor(location: str) -> str:
    """The folder before the first wildcard; '' without one."""
    names = location.split("/")
    wild = next((at for at, name in enumerate(names) if not WILD.isdisjoint(name)), 0)
    return "/".join(names[:wild]) if wild > 2 else ""  # behind the scheme and the bucket


def _stands_for(pattern: str, path: str, lakes: Container[str]) -> bool:
    """Whether a pattern means a file, or a folder around it that is a table."""
    above = [path[:at] for at, char in enumerate(path) if char == "/"]
    tables = [folder for folder in above if table_suffix(folder) or folder in lakes]
    return any(fits(each, pattern) for each in (path, *tables))


def _is_hidden(path: str) -> bool:
    return any(map(is_hidden, path.split("/")))


def look(pattern: str) -> dict[str, State]:
    """The files that a pattern stands for, with their states."""
    rows = duck.fetch(
        f"SELECT filename, size, CAST(epoch(last_modified) AS BIGINT) FROM read_blob({pattern})"
    )
    return {str(url): (int(size), int(changed or 0)) for url, size, changed in rows}


def _state_or_zeros(url: str) -> State:
    try:
        return look(duck.file_pattern(url)).get(url, (0, 0))
    except duckdb.Error:
        return 0, 0
