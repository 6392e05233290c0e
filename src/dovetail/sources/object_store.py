"""Table files in a bucket (`s3://`, `gs://`, `az://`), or one behind a URL (`https://…/orders.csv`).

DuckDB reads Parquet and JSON where they are; other formats are fetched first. Credentials come from
the environment alone, by the names that programs of the store know. Google's store is read by its
interface for S3, with HMAC keys.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from urllib.parse import urlsplit

from dovetail.errors import SourceError
from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.file_formats import UNTYPED, FileReader
from dovetail.sources.file_tables import FileTable, remote_tables
from dovetail.sources.lake_tables import lakes_below
from dovetail.sources.parts_scan import PartsScan
from dovetail.sources.walk import Found, table_suffix


@dataclass(frozen=True, slots=True)
class _Store:
    """A kind of store: DuckDB's extension and word for it, and the variables of a login.

    `endpoint` are variables that name a store of another provider with the same interface.
    """

    extension: str
    secret: str
    login: Mapping[str, str]
    endpoint: tuple[str, ...] = ()


_STORES = {
    "s3": _Store(
        "httpfs",
        "s3",
        {
            "KEY_ID": "AWS_ACCESS_KEY_ID",
            "SECRET": "AWS_SECRET_ACCESS_KEY",
            "SESSION_TOKEN": "AWS_SESSION_TOKEN",
        },
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    ),
    "gs": _Store(
        "httpfs",
        "gcs",
        {"KEY_ID": "GCS_ACCESS_KEY_ID", "SECRET": "GCS_SECRET_ACCESS_KEY"},
        ("GCS_ENDPOINT_URL",),
    ),
    "az": _Store("azure", "azure", {"CONNECTION_STRING": "AZURE_STORAGE_CONNECTION_STRING"}),
}
# Times of objects are whole seconds: a change within the last ones may hide behind the same time.
_SETTLED_SECONDS = 5
_secrets = count(1)


class ObjectStoreSource:
    """The table files below a URL."""

    def __init__(self, spec: SourceSpec) -> None:
        self._store = _STORES.get(spec.kind)
        if spec.credentials:
            needed = list(self._store.login.values())[:2] if self._store else []
            advice = f"; set {' and '.join(needed)}" if needed else ""
            raise SourceError(f"takes no login in its URL{advice}")
        self._spec = spec
        duck.load_extension(self._store.extension if self._store else "httpfs")
        self._secret = _make_secret(spec, self._store) if self._store else ""
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._fetched: dict[str, str] = {}
        self._reader = FileReader(self._fetch)
        self._broken: dict[str, dict[str, str]] = {}

    def tables(self) -> Sequence[Listing]:
        return [
            Listing(table.name, table.place, sum(self._states[file][0] for file in table.files()))
            for table in remote_tables(self._found, urlsplit(self._spec.location).netloc)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        files = FileTable.at(table.place).files()
        states = [self._state(file) for file in files]
        token = json.dumps([files, states], separators=(",", ":"))
        newest = max((changed for _, changed in states), default=0)
        settled = 0 < newest < time.time() - _SETTLED_SECONDS
        return Fingerprint(token if settled else "", unchanged=settled and token == previous)

    def scan(self, table: Listing) -> Scan:
        found = FileTable.at(table.place)
        if found.trouble:
            raise SourceError(found.trouble)
        if not found.is_one_file:
            broken = self._broken.setdefault(table.name, {})
            return PartsScan(table.name, found, self._reader, broken).scan()
        explain = partial(self._reader.explained, table.name)
        with explain():
            relation = self._reader.relation(table.name, found.format, [found.root])
        return duck.scan(relation, explain, untyped=found.format in UNTYPED)

    def close(self) -> None:
        self._reader.close()
        self._folder.cleanup()
        if self._secret:
            duck.run(f"DROP SECRET IF EXISTS {self._secret}")

    @cached_property
    def _found(self) -> list[Found]:
        """The table files below the URL, by the path from there."""
        location = self._spec.location
        if self._store is None or table_suffix(location):
            return [Found(location, location.rpartition("/")[2])]
        base = location.rstrip("/") + "/"
        with duck.explained():
            rows = duck.fetch(f"SELECT file FROM glob({duck.file_pattern(base)[:-1]}**')")
        below = {file.removeprefix(base): file for (file,) in rows}
        lakes = lakes_below(below)
        found = [
            Found(file, path)
            for path, file in below.items()
            if table_suffix(file) and not _is_record(path) and not _is_within(path, lakes)
        ]
        here = base.rstrip("/").rpartition("/")[2]
        found += [Found(below[log], at or here, lake=kind) for at, (kind, log) in lakes.items()]
        if not found:
            raise SourceError("holds no table files, or is not there; check bucket and folder")
        return found

    @cached_property
    def _states(self) -> dict[str, tuple[int, int]]:
        """The size of each file and the second of its last change."""
        return {file.path: self._state(file.path) for file in self._found}

    def _state(self, file: str) -> tuple[int, int]:
        with duck.explained():
            ((size, changed),) = duck.fetch(
                "SELECT size, CAST(epoch(last_modified) AS BIGINT) "
                f"FROM read_blob({self._pattern(file)})"
            )
        return int(size), int(changed or 0)

    def _pattern(self, file: str) -> str:
        return duck.file_pattern(file) if self._store else duck.literal(file)

    def _fetch(self, file: str) -> str:
        """Where a file of the store lies on this machine."""
        if file not in self._fetched:
            ((content,),) = duck.fetch(f"SELECT content FROM read_blob({self._pattern(file)})")
            name = f"{len(self._fetched)}{table_suffix(file)}"
            self._fetched[file] = os.path.join(self._folder.name, name)
            with open(self._fetched[file], "wb") as out:
                out.write(content)
        return self._fetched[file]


def _is_record(below: str) -> bool:
    return any(name.startswith((".", "_")) for name in below.split("/"))


def _is_within(below: str, folders: Iterable[str]) -> bool:
    return any(not folder or below.startswith(f"{folder}/") for folder in folders)


def _make_secret(spec: SourceSpec, store: _Store) -> str:
    """Tell DuckDB the login of the environment, for this bucket alone."""
    parts = [
        f"{key} {duck.literal(os.environ[name])}"
        for key, name in store.login.items()
        if os.environ.get(name)
    ]
    if store.secret == "azure":  # noqa: S105 - the word for a kind of store
        parts = parts or _azure_account()
    else:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        parts.append(f"REGION {duck.literal(region)}")
    endpoint = next((os.environ[name] for name in store.endpoint if os.environ.get(name)), "")
    if endpoint:
        address = urlsplit(endpoint)
        secure = str(address.scheme != "http").lower()
        parts += [
            f"ENDPOINT {duck.literal(address.netloc)}",
            f"USE_SSL {secure}",
            "URL_STYLE 'path'",
        ]
    name = f"dovetail_bucket_{next(_secrets)}"
    scope = duck.literal(f"{spec.kind}://{urlsplit(spec.location).netloc}")
    with duck.explained():
        duck.run(f"CREATE SECRET {name} (TYPE {store.secret}, {', '.join(parts)}, SCOPE {scope})")
    return name


def _azure_account() -> list[str]:
    """An account by name, logged in to as Azure's own programs are, or open to everybody."""
    account = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise SourceError(
            "names a container without its account; set AZURE_STORAGE_CONNECTION_STRING, or "
            "AZURE_STORAGE_ACCOUNT"
        )
    return ["PROVIDER credential_chain", f"ACCOUNT_NAME {duck.literal(account)}"]
