"""Delta Lake and Apache Iceberg tables: a folder with a log that says which files count now.

Only the log tells which Parquet files of the folder are the table: others are old versions. A
change of the table is a change of the log, so the data need not be looked at to notice one. A table
is read once every file that its log names is seen to lie in its folder.
"""

from __future__ import annotations

import gzip
import json
import os
import posixpath
import re
import zlib
from collections.abc import Callable, Container, Iterable, Sequence
from urllib.parse import unquote

from dovetail.atomic import require_regular
from dovetail.domain.sql import literal
from dovetail.errors import SourceError
from dovetail.sources import duck

_DELTA_LOG, _ICEBERG_LOG = "_delta_log", "metadata"
_DELTA_COMMIT = re.compile(r"\d{20}\.(?:json|checkpoint\..*parquet)|_last_checkpoint")
# `00003-….metadata.json` of most writers, `v3.metadata.json` of Hadoop tables.
_ICEBERG_VERSION = re.compile(r"v?(\d+)(?:-[^/]*)?\.(?:gz\.)?metadata\.json")
_HINT = "version-hint.text"
_LOGS = {"delta": _DELTA_LOG, "iceberg": _ICEBERG_LOG}
_GZIP = b"\x1f\x8b"
LAKES = tuple(_LOGS)
# Other words for the scheme of a store, by which some writers name files in it.
SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "azure": "az"}


def lake_format(folder: str) -> str:
    """What kind of table a folder is, told by its log: 'delta', 'iceberg', or '' for neither."""
    if os.path.isdir(os.path.join(folder, _DELTA_LOG)):
        return "delta"
    return "iceberg" if _in_order(_names(folder, _ICEBERG_LOG)) else ""


def log_files(folder: str, kind: str) -> list[str]:
    """The files of a table's log."""
    log = _LOGS[kind]
    files = (os.path.join(folder, log, name) for name in _names(folder, log))
    return log_among(files, folder, kind)


def log_among(files: Iterable[str], folder: str, kind: str) -> list[str]:
    """Those of some files that a change of the table shows in; the newest version comes last."""
    log = os.path.join(folder, _LOGS[kind])
    by_name = {name: file for file in files for at, _, name in [file.rpartition("/")] if at == log}
    if kind == "delta":
        return [by_name[name] for name in sorted(by_name) if _DELTA_COMMIT.fullmatch(name)]
    hint = [by_name[_HINT]] if _HINT in by_name else []
    return hint + [by_name[name] for name in _in_order(by_name)]


def newest_version(log: Sequence[str], read: Callable[[str], bytes]) -> str:
    """The file that describes the newest version of an Iceberg table, or the one hinted at."""
    files = {file.rpartition("/")[2]: file for file in log}
    versions = _in_order(files)
    if not versions:
        raise SourceError("its folder metadata holds no version of the table any more")
    newest = versions[-1]
    if _HINT in files:
        hint = read(files[_HINT])[:200].decode("utf-8", "replace").strip()
        hinted = (f"{v}{hint}{gz}.metadata.json" for v in ("v", "") for gz in ("", ".gz"))
        newest = next((name for name in hinted if name in files), newest)
    return files[newest]


def manifest_lists(version: bytes) -> list[str]:
    """The files that a version of an Iceberg table names itself: its lists of manifests."""
    try:
        about = json.loads(gzip.decompress(version) if version[:2] == _GZIP else version)
        current = about.get("current-snapshot-id")
        snapshots = [
            snapshot
            for snapshot in about.get("snapshots", ())
            if snapshot["snapshot-id"] == current
        ]
        return [
            str(snapshot["manifest-list"]) for snapshot in snapshots if "manifest-list" in snapshot
        ]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        raise SourceError("its newest metadata file is broken") from None
    except RecursionError:
        raise SourceError("its newest metadata file is nested too deeply") from None


def lake_relation(kind: str, location: str) -> str:
    """A call of DuckDB that reads a table: by its folder, or an Iceberg table by its version."""
    return f"{kind}_scan({literal(location)})"


def require_inside(folder: str, files: Iterable[str]) -> None:
    """Refuse a table whose log names files elsewhere: a stranger's log could name any of yours.

    Here they must be plain files too: whoever opens a pipe waits for a writer.
    """
    here = "://" not in folder
    inside = _in_folder if here else _in_bucket
    for file in files:
        if not all(inside(folder, read_as) for read_as in (file, unquote(file))):
            raise SourceError(
                "its log names a file outside of its folder, which is not read; "
                "write the table anew in one folder, or index the files themselves"
            )
        if here:
            require_regular(*(read_as.removeprefix("file://") for read_as in (file, unquote(file))))


def _in_folder(folder: str, file: str) -> bool:
    """Whether a path leads to a file below a folder, also where links are on the way."""
    path, top = file.removeprefix("file://"), os.path.realpath(folder) + os.sep
    named = (os.path.abspath(folder) + os.sep, top)
    written = "://" not in path and os.path.normpath(path).startswith(named)
    return written and os.path.realpath(path).startswith(top)


def _require_plain_files(folder: str) -> None:
    """Refuse a table in whose folder is a pipe or a device: its readers open more than is told,
    as checksums of its log and deletion vectors."""
    for above, _, names in os.walk(folder):
        require_regular(*(os.path.join(above, name) for name in names))


def _in_bucket(folder: str, file: str) -> bool:
    """Whether an object is in a folder; writers have several words for the scheme of a store."""
    scheme, _, path = file.partition("://")
    own, _, top = folder.partition("://")
    below = path.removeprefix(f"{top}/")
    plain = below == posixpath.normpath(below) and not below.startswith(("/", ".."))
    return SCHEMES.get(scheme, scheme) == own and below != path and plain and "://" not in below


def lakes_below(paths: Iterable[str]) -> dict[str, str]:
    """The folders of tables with a log among the paths of files, with their format.

    A folder within one of them is no table of its own.
    """
    lakes: dict[str, str] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        above, _, log = folder.rpartition("/")
        if log == _DELTA_LOG and _DELTA_COMMIT.fullmatch(name):
            lakes[above] = "delta"
        elif log == _ICEBERG_LOG and _ICEBERG_VERSION.fullmatch(name):
            lakes.setdefault(above, "iceberg")
    return {at: kind for at, kind in sorted(lakes.items()) if lake_around(at, lakes) in (None, at)}


def lake_around(path: str, lakes: Container[str]) -> str | None:
    """The outermost of some folders that a path is in, or is itself; '' holds everything."""
    ends = [0, *(at for at, char in enumerate(path) if char == "/"), len(path)]
    return next((path[:end] for end in ends if path[:end] in lakes), None)


def _in_order(names: Iterable[str]) -> list[str]:
    """The files among some that describe a version of an Iceberg table, the newest last."""
    versions = [(match, name) for name in names if (match := _ICEBERG_VERSION.fullmatch(name))]
    return [name for _, name in sorted((int(match[1]), name) for match, name in versions)]


def _names(folder: str, log: str) -> list[str]:
    try:
        return os.listdir(os.path.join(folder, log))
    except (FileNotFoundError, NotADirectoryError):
        return []


def checked_relation(
    kind: str, folder: str, log: Sequence[str], read: Callable[[str], bytes]
) -> str:
    """A call of DuckDB that reads the newest version of a table; `read` gives a file's bytes.

    What names files is looked at before it is followed: the version, its lists of manifests, the
    manifests, and only then the data.
    """
    load_lake(kind)
    location = folder
    if "://" not in folder:
        _require_plain_files(folder)
    require_inside(folder, log)
    if kind == "iceberg":
        location = newest_version(log, read)
        lists = manifest_lists(read(location))
        require_inside(folder, lists)
        for file in lists:
            at = duck.file_pattern(file.removeprefix("file://"))
            named = duck.fetch(f"SELECT manifest_path FROM read_avro({at})")
            require_inside(folder, (manifest for (manifest,) in named))
    require_inside(folder, data_files(kind, location))
    return lake_relation(kind, location)


def load_lake(kind: str) -> None:
    duck.load_extension("avro")  # which the lists of an Iceberg table's files are in
    duck.load_extension(kind)


def data_files(kind: str, location: str) -> list[str]:
    """The files that a table names, without reading them."""
    if kind == "delta":
        query = f"SELECT data_file FROM delta_list_files({literal(location)})"
    else:
        named = f"iceberg_metadata({literal(location)})"
        query = f"SELECT unnest([manifest_path, file_path]) FROM {named}"
    return [str(file) for (file,) in duck.fetch(query)]
