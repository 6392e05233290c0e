"""Delta Lake and Apache Iceberg tables: a folder with a log that says which files count now.

Only the log tells which Parquet files of the folder are the table: others are old versions. A
change of the table is a change of the log, so the data need not be looked at to notice one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote

from dovetail.errors import SourceError
from dovetail.sources.quoting import literal

_DELTA_LOG, _ICEBERG_LOG = "_delta_log", "metadata"
_DELTA_COMMIT = re.compile(r"\d{20}\.(?:json|checkpoint\..*parquet)|_last_checkpoint")
# `00003-….metadata.json` of most writers, `v3.metadata.json` of Hadoop tables.
_ICEBERG_VERSION = re.compile(r"v?(\d+)(?:-[^/]*)?\.(?:gz\.)?metadata\.json")
_HINT = "version-hint.text"


def lake_format(folder: str) -> str:
    """What kind of table a folder is, told by its log: 'delta', 'iceberg', or '' for neither."""
    if os.path.isdir(os.path.join(folder, _DELTA_LOG)):
        return "delta"
    return "iceberg" if _iceberg_versions(folder) else ""


def log_files(folder: str, kind: str) -> list[str]:
    """The files of a table's log."""
    if kind == "delta":
        names = [name for name in _names(folder, _DELTA_LOG) if _DELTA_COMMIT.fullmatch(name)]
        return [os.path.join(folder, _DELTA_LOG, name) for name in sorted(names)]
    hint = os.path.join(folder, _ICEBERG_LOG, _HINT)
    files = [os.path.join(folder, _ICEBERG_LOG, name) for name in _iceberg_versions(folder)]
    return [*files, *([hint] if os.path.exists(hint) else [])]


def lake_relation(folder: str, kind: str) -> str:
    """A call of DuckDB that reads the newest version of a table."""
    if kind == "delta":
        return f"delta_scan({literal(folder)})"
    return f"iceberg_scan({literal(_newest_version(folder))})"


def data_files_query(folder: str, kind: str) -> str:
    """A query for the files that the newest version of a table names, without reading them."""
    if kind == "delta":
        return f"SELECT data_file FROM delta_list_files({literal(folder)})"
    newest = literal(_newest_version(folder))
    return f"SELECT unnest([manifest_path, file_path]) FROM iceberg_metadata({newest})"


def require_inside(folder: str, files: Iterable[str]) -> None:
    """Refuse a table whose log names files elsewhere: a stranger's log could name any of yours."""
    tops = {os.path.abspath(folder) + os.sep, os.path.realpath(folder) + os.sep}
    for file in files:
        path = file.removeprefix("file://")
        for read_as in {path, unquote(path)}:
            if "://" in read_as or not os.path.normpath(read_as).startswith(tuple(tops)):
                raise SourceError(
                    "its log names a file outside of its folder, which is not read; "
                    "write the table anew in one folder, or index the files themselves"
                )


def lakes_below(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The folders of tables with a log among the paths of files: their format, and a file of it."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        above, _, log = folder.rpartition("/")
        if log == _DELTA_LOG and _DELTA_COMMIT.fullmatch(name):
            found[above] = ("delta", path)
        elif log == _ICEBERG_LOG and _ICEBERG_VERSION.fullmatch(name):
            found[above] = ("iceberg", path)
    return found


def _newest_version(folder: str) -> str:
    """The file that describes the newest version of an Iceberg table, or the one hinted at."""
    versions = _iceberg_versions(folder)
    if not versions:
        raise SourceError("its folder metadata holds no version of the table any more")
    newest = versions[-1]
    hint = os.path.join(folder, _ICEBERG_LOG, _HINT)
    if os.path.exists(hint):
        with open(hint, encoding="utf-8", errors="replace") as file:
            hinted = f"v{file.read(20).strip()}.metadata.json"
        newest = hinted if hinted in versions else newest
    return os.path.join(folder, _ICEBERG_LOG, newest)


def _iceberg_versions(folder: str) -> list[str]:
    """The files that describe a version of an Iceberg table, the newest last."""
    found = [
        (match, name)
        for name in _names(folder, _ICEBERG_LOG)
        if (match := _ICEBERG_VERSION.fullmatch(name))
    ]
    return [name for _, name in sorted((int(match[1]), name) for match, name in found)]


def _names(folder: str, log: str) -> list[str]:
    try:
        return os.listdir(os.path.join(folder, log))
    except (FileNotFoundError, NotADirectoryError):
        return []
