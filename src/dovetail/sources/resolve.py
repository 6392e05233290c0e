"""From what a user names (a file, folder, glob or URL) to the sources it stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dovetail.errors import SourceError, UsageError
from dovetail.ports import VARIABLE, SourceSpec
from dovetail.sources.database_files import database_kind
from dovetail.sources.logins import holds_login, note_named, require_named
from dovetail.sources.server import without_credentials
from dovetail.sources.store import STORES
from dovetail.sources.walk import (
    Entry,
    anchor,
    is_wild,
    readable,
    table_suffix,
    walk,
)

_NAMED = re.compile(r"^([\w.-]+)=(.+)$", re.DOTALL)
# A URL may be named by more than a word, for it cannot be mistaken for a path then.
_URL = re.compile(r"^\s*(?:([^=/:@]+)=)?\s*([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_WEB = ("http", "https")
# No path and no URL of a source is longer.
_LONGEST = 8192
_PARAMETER = re.compile(r"\?\w+=")
_SCHEMES = {"postgres": "postgresql", "mariadb": "mysql", "gcs": "gs", "azure": "az"}


def root(argument: str, here: Path) -> SourceSpec:
    """What the user named, not looked into yet; `name=…` gives it a label.

    >>> root("erp=postgresql://ann:pw@db/erp", Path("/data")).stored()["location"]
    'postgresql://db/erp'
    >>> root("exports/*.csv", Path("/data")).label
    'exports/*.csv'
    """
    if len(argument) > _LONGEST or not _is_text(argument):
        raise UsageError(f"no file or server is called {argument[:60]!a}")
    exists = _exists(here / argument)
    url = None if exists else _URL.match(argument)
    if url:
        kind = _SCHEMES.get(url[2].lower(), url[2].lower())
        location, credentials = _address(kind, argument[url.end(2) :].rstrip())
        named_as = (url[1] or "").strip() or location
        return SourceSpec(named_as, kind, location, named_as, credentials=credentials)
    if not exists and VARIABLE.search(argument):
        raise UsageError(
            f"{argument}: a variable may stand for the user and for the password of a URL, as in "
            "postgresql://${ERP_USER}:${ERP_PASSWORD}@host/database, and for nothing else"
        )
    if not exists and holds_login(argument):
        raise UsageError(
            "a source looks like a server with a login, and is not understood as one (it is not "
            "shown here); write [name=]scheme://user:password@host[:port]/database"
        )
    # An existing path with a '=' in it is a path, not a label.
    named = None if exists else _NAMED.match(argument)
    label, spec = named.groups() if named else ("", argument)
    # `~` stands for home as in a shell, though not where a file is called that.
    path = here / (spec if _exists(here / spec) else os.path.expanduser(spec))
    path = path.absolute()
    named_as = label or _shown(path, here)
    return SourceSpec(named_as, "path", str(path), named_as)


def _address(kind: str, rest: str) -> tuple[str, dict[str, str]]:
    """The location of a URL, and what it holds of a login; what follows a web page's ? may be one.

    >>> _address("https", "://h/a.csv?sig=x"), _address("s3", "://lake/a?.csv")
    (('https://h/a.csv', {'query': 'sig=x'}), ('s3://lake/a?.csv', {}))
    """
    if kind in _WEB:
        page, _, query = rest.partition("?")
        location, credentials = without_credentials(kind + page)
        return location, credentials | ({"query": query} if query else {})
    if kind in STORES:  # where a key may hold anything, and ? is a wildcard
        bucket, slash, key = rest.removeprefix("://").partition("/")
        if _PARAMETER.search(bucket + slash + key):
            raise UsageError(
                f"{kind} URL: takes no parameters after a ? (they are not shown here); "
                f"set {STORES[kind].variables} in the environment"
            )
        location, credentials = without_credentials(f"{kind}://{bucket}")
        return location + slash + key, credentials
    return without_credentials(kind + rest)


def _is_text(argument: str) -> bool:
    try:
        os.fsencode(argument)
    except UnicodeEncodeError:
        return False
    return True


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


def _shown(path: Path, here: Path) -> str:
    try:
        return readable(path.relative_to(here.absolute()).as_posix())
    except ValueError:
        return readable(path.as_posix())


def expand(spec: SourceSpec, settled: Sequence[str] = ()) -> list[SourceSpec]:
    """The sources a root stands for now: one per database file, and one for its table files.

    `settled` are the sources that settings name: what these say of a login holds for a server.
    """
    if spec.kind != "path":
        return [with_login(spec, settled)]
    files = walk(spec.location)
    if _is_single(spec.location):
        return [replace(spec, kind=database_kind(spec.location))]
    specs = [
        replace(spec, kind=database_kind(file.path), location=file.path, label=_label(spec, file))
        for file in files
        if file.is_database
    ]
    if any(file.is_table for file in files):
        specs.append(replace(spec, kind="files"))
    # A folder that cannot be looked into is a source of its own, so that only it is left out.
    specs += [
        replace(spec, kind="files", location=file.path, label=_label(spec, file))
        for file in files
        if file.shut
    ]
    if not specs:
        raise SourceError(
            "holds no tables: expected SQLite or DuckDB databases, CSV, Excel, Parquet, JSON, "
            "Arrow or Avro files"
        )
    return specs


def with_login(spec: SourceSpec, settled: Sequence[str]) -> SourceSpec:
    """A server with the login that settings have for it; refused if it was not named here."""
    for argument in settled:
        named = root(argument, Path.cwd())
        if (named.kind, named.location) == (spec.kind, spec.location):
            note_named(named)
            spec = replace(spec, credentials={**spec.credentials, **named.credentials})
    require_named(spec)
    return spec


def _is_single(location: str) -> bool:
    """Whether a location is one file, and no table file."""
    return not (is_wild(location) or os.path.isdir(location) or table_suffix(location))


def _label(spec: SourceSpec, file: Entry) -> str:
    """A database below a folder or glob is known by its path from there."""
    front = anchor(spec.label) if is_wild(spec.location) else spec.label
    return file.below if front in ("", ".") else f"{front}/{file.below}"
