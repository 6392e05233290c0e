"""Reads a table with a log, once every file that the log names is seen to lie in its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from dovetail.errors import SourceError
from dovetail.sources import duck
from dovetail.sources.copies import Copies
from dovetail.sources.lake_tables import (
    data_files_query,
    lake_relation,
    manifest_lists,
    newest_version,
    require_inside,
)


def checked_relation(
    kind: str, folder: str, log: Sequence[str], read: Callable[[str], bytes]
) -> str:
    """A call of DuckDB that reads the newest version of a table; `read` gives a file's bytes.

    What names files is looked at before it is followed: the version, its lists of manifests, the
    manifests, and only then the data.
    """
    _load(kind)
    place = folder
    if kind == "iceberg":
        place = newest_version(log, read)
        lists = manifest_lists(read(place))
        require_inside(folder, lists)
        for file in lists:
            at = duck.file_pattern(file.removeprefix("file://"))
            named = duck.fetch(f"SELECT manifest_path FROM read_avro({at})")
            require_inside(folder, (manifest for (manifest,) in named))
    require_inside(folder, _data_files(kind, place))
    return lake_relation(kind, place)


def copied_delta(folder: str, files: Sequence[str], copies: Copies) -> str:
    """The same for a Delta table in a store that DuckDB's reader of them does not find.

    `files` is all that the folder holds. The log is copied here, then the files that it names.
    """
    _load("delta")
    here = copies.folder(folder)
    by_path = {file.removeprefix(f"{folder}/"): file for file in files}
    kept = (path for path in by_path if path.startswith("_delta_log/") or path.endswith(".bin"))
    copies.fill(here, {path: by_path[path] for path in kept})
    named = _data_files("delta", here)
    require_inside(here, named)
    for file in named:
        path = os.path.relpath(file.removeprefix("file://"), here)
        own = next((each for each in (path, unquote(path)) if each in by_path), "")
        if not own:
            raise SourceError(f"its log names {path}, which is not there; index again")
        copies.fill(here, {own: by_path[own]})
    return lake_relation("delta", here)


def _load(kind: str) -> None:
    duck.load_extension("avro")  # which the lists of an Iceberg table's files are in
    duck.load_extension(kind)


def _data_files(kind: str, place: str) -> list[str]:
    return [str(file) for (file,) in duck.fetch(data_files_query(kind, place))]
