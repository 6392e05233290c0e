"""From what a user names (a file, folder, glob or URL) to the sources it stands for."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from dovetail.errors import SourceError
from dovetail.ports import SourceSpec
from dovetail.sources import duckdb_file, sqlite
from dovetail.sources.server import without_credentials
from dovetail.sources.walk import DATABASE_SUFFIXES, Found, anchor, is_wild, table_suffix, walk

_NAMED = re.compile(r"^([\w.-]+)=(.+)$", re.DOTALL)
_URL = re.compile(r"^([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SCHEMES = {"postgres": "postgresql", "mariadb": "mysql"}


def root(argument: str, here: Path) -> SourceSpec:
    """What the user named, not looked into yet; `name=…` gives it a label.

    >>> root("erp=postgresql://ann:pw@db/erp", Path("/data")).stored()["location"]
    'postgresql://db/erp'
    >>> root("exports/*.csv", Path("/data")).label
    'exports/*.csv'
    """
    named = _NAMED.match(argument)
    # An existing path with a '=' in it is a path, not a label.
    label, place = named.groups() if named and not (here / argument).exists() else ("", argument)
    url = _URL.match(place)
    if url:
        scheme = url[1].lower()
        location, credentials = without_credentials(place)
        kind = _SCHEMES.get(scheme, scheme)
        return SourceSpec(
            label or location, kind, location, label or location, credentials=credentials
        )
    path = (here / Path(place).expanduser()).absolute()
    known_as = label or _shown(path, here)
    return SourceSpec(known_as, "path", str(path), known_as)


def _shown(path: Path, here: Path) -> str:
    try:
        return path.relative_to(here.absolute()).as_posix()
    except ValueError:
        return path.as_posix()


def expand(place: SourceSpec) -> list[SourceSpec]:
    """The sources a root stands for now: one per database file, and one for its table files."""
    if place.kind != "path":
        return [place]
    found = walk(place.location)
    if os.path.isfile(place.location) and not table_suffix(place.location):
        return [replace(place, kind=_database_kind(place.location))]
    specs = [
        replace(
            place, kind=_database_kind(file.path), location=file.path, label=_label(place, file)
        )
        for file in found
        if file.is_database
    ]
    if len(specs) < len(found):
        specs.append(replace(place, kind="files"))
    if not specs:
        raise SourceError(
            "holds no tables: expected SQLite or DuckDB databases, CSV, TSV, Parquet or JSON files"
        )
    return specs


def _database_kind(path: str) -> str:
    """Told by the first bytes; by the name only where those say nothing, so that opening fails."""
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None
    if head == sqlite.MAGIC:
        return "sqlite"
    if head[duckdb_file.MAGIC_AT :].startswith(duckdb_file.MAGIC):
        return "duckdb"
    if not path.lower().endswith(DATABASE_SUFFIXES):
        raise SourceError("is neither a SQLite nor a DuckDB database, nor a known table file")
    return "duckdb" if path.lower().endswith((".duckdb", ".ddb")) else "sqlite"


def _label(place: SourceSpec, file: Found) -> str:
    """A database below a folder or glob is known by its path from there."""
    front = anchor(place.label) if is_wild(place.location) else place.label
    return file.below if front in ("", ".") else f"{front}/{file.below}"
