"""Table files in a bucket (`s3://`, `gs://`, `az://`), or one behind a URL (`https://…/orders.csv`).

DuckDB reads Parquet and JSON where they are; other formats are fetched first. Credentials come from
the environment alone, by the names that programs of the store know. Google's store is read by its
interface for S3, with HMAC keys. What follows the ? of a URL may be a signature: it stays in memory
or in the environment, and the file behind it is fetched whatever its format.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from functools import partial
from urllib.parse import unquote

from dovetail.errors import SourceError
from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.file_formats import FileReader
from dovetail.sources.file_tables import FileTable, remote_tables
from dovetail.sources.files import scan_files
from dovetail.sources.lake_tables import (
    LAKES,
    checked_relation,
    data_files,
    lake_relation,
    load_lake,
    require_inside,
)
from dovetail.sources.server import expand_variables
from dovetail.sources.store import (
    STORES,
    Copies,
    Objects,
    State,
    Store,
    complaint,
    look,
    make_secret,
)
from dovetail.sources.walk import WILD, Entry, table_format, table_suffix

# Times of objects are whole seconds: a change within the last ones may hide behind the same time.
_SETTLED_SECONDS = 5
# Parts of no more bytes, on average, are fetched side by side, whatever their format: to look into
# each where it is takes more requests than to bring it here, one after the other.
_SMALL = 1 << 20


class ObjectStoreSource:
    """The table files below a URL."""

    def __init__(self, spec: SourceSpec) -> None:
        self._store = STORES.get(spec.kind)
        if spec.credentials.keys() - {"query"}:
            advice = f"; set {self._store.variables}" if self._store else ""
            raise SourceError(f"takes no login in its URL{advice}")
        self._location = spec.location
        self._query = expand_variables(spec.credentials.get("query", "")).removeprefix("?")
        self._complaint = partial(complaint, spec.kind, secret=self._query)
        duck.load_extension(self._store.extension if self._store else "httpfs")
        self._secret = make_secret(spec, self._store) if self._store else ""
        self._copies = Copies(self._read)
        self._reader = FileReader(
            spec.options,
            self._copies.fetch,
            wanted=lambda file: bool(self._query) or file in self._copies,
            many=not table_suffix(spec.location) or not WILD.isdisjoint(spec.location),
            complaint=self._complaint,
        )

    def tables(self) -> Sequence[Listing]:
        """List tables; the location of each says in which state its files were listed."""
        now = time.time()
        with duck.explained(self._complaint):
            return self._in_bucket(self._store, now) if self._store else self._behind_url(now)

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """The state that was listed; a change since then shows in the next listing."""
        token, _ = _listed(table)
        return Fingerprint(token, unchanged=bool(token) and token == previous)

    def scan(self, table: Listing) -> Scan:
        files = _listed(table)[1].readable()
        if files.format in LAKES:
            explain = partial(self._reader.explained, table.name)
            with explain():
                relation = self._lake(files)
            return duck.scan(relation, explain)
        if not files.is_one_file and table.weight <= _SMALL * len(files.parts):
            self._copies.fetch_many(files.files())
        return scan_files(table.name, files, self._reader)

    def close(self) -> None:
        self._reader.close()
        self._copies.close()
        if self._secret:
            duck.run(f"DROP SECRET IF EXISTS {self._secret}")

    def _in_bucket(self, store: Store, now: float) -> list[Listing]:
        objects = Objects(self._location, store)
        entries = objects.entries()
        if not entries:
            raise SourceError("holds no table files, or is not there; check bucket and folder")
        tables = remote_tables(
            entries, objects.top, self._copies.fetch, objects.inside, self._columns
        )
        return [_listing(table, objects.states(table.files()), now) for table in tables]

    def _behind_url(self, now: float) -> list[Listing]:
        if not table_suffix(self._location):
            raise SourceError(
                "the path of the URL does not say which format the file has; "
                "it must end with .csv, .parquet or another known suffix"
            )
        name = self._location.rpartition("/")[2]
        (state,) = look(self._address(self._location)).values()
        entries = [Entry(self._location, name)]
        tables = remote_tables(entries, name, self._copies.fetch, {}, self._columns)
        return [_listing(table, [state], now) for table in tables]

    def _columns(self, url: str) -> frozenset[str]:
        """What the columns of a file are called; none where it cannot be read."""
        try:
            with self._reader.explained(url):
                relation = self._reader.relation(url, table_format(url), [url])
                return frozenset(name for name, _ in duck.describe(relation))
        except (SourceError, OSError):
            return frozenset()

    def _lake(self, table: FileTable) -> str:
        if table.format == "delta" and self._store and not self._store.kernel:
            objects = Objects(table.root, self._store)
            objects.entries()
            return _copied_delta(table.root, objects.inside.get(table.root, []), self._copies)
        return checked_relation(table.format, table.root, table.files(), self._read)

    def _read(self, url: str) -> bytes:
        with duck.explained(self._complaint):
            ((content,),) = duck.fetch(f"SELECT content FROM read_blob({self._address(url)})")
        return bytes(content)

    def _address(self, url: str) -> str:
        """A file as DuckDB is told of it, with the signature that goes with it."""
        if self._store:
            return duck.file_pattern(url)
        if "*" in self._query:
            duck.set_option("allow_asterisks_in_http_paths", value=True)
        return duck.literal(f"{url}?{self._query}" if self._query else url)


def _listing(table: FileTable, states: Sequence[State], now: float) -> Listing:
    newest = max((changed for _, changed in states), default=0)
    stable = 0 < newest < now - _SETTLED_SECONDS
    seen = json.dumps([table.files(), list(states)], separators=(",", ":"))
    token = hashlib.sha256(seen.encode()).hexdigest() if stable else ""
    weight = sum(size for size, _ in states)
    return Listing(table.name, json.dumps([token, table.location]), weight, apart=True)


def _listed(table: Listing) -> tuple[str, FileTable]:
    """The state in which a table was listed, and where it is."""
    token, location = json.loads(table.place)
    return str(token), FileTable.at(str(location))


def _copied_delta(folder: str, files: Sequence[str], copies: Copies) -> str:
    """A call of DuckDB for a Delta table in a store that its reader of them does not find.

    `files` is all that the folder holds. The log is copied here, then the files that it names.
    """
    load_lake("delta")
    by_path = {file.removeprefix(f"{folder}/"): file for file in files}
    kept = (path for path in by_path if path.startswith("_delta_log/") or path.endswith(".bin"))
    here = copies.fill(folder, {path: by_path[path] for path in kept})
    named = data_files("delta", here)
    require_inside(here, named)
    for file in named:
        path = os.path.relpath(file.removeprefix("file://"), here)
        own = next((each for each in (path, unquote(path)) if each in by_path), "")
        if not own:
            raise SourceError(f"its log names {path}, which is not there; index again")
        copies.fill(folder, {own: by_path[own]})
    return lake_relation("delta", here)
