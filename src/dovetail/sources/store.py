"""Object stores: their logins, what lies in a bucket, what they refuse, and copies of files here.

A login comes from the environment, for one bucket alone. A bucket is listed by one request for a
thousand objects, with their sizes and times, and none of them is asked about by itself (Azure's
are: DuckDB drops what its listing says of them).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from urllib.parse import unquote, urlsplit

import duckdb

from dovetail.errors import SourceError
from dovetail.ports import SourceSpec
from dovetail.sources import duck
from dovetail.sources.lake_tables import SCHEMES, lake_around, lakes_below
from dovetail.sources.logins import HIDDEN, LOGIN_VARIABLES
from dovetail.sources.walk import WILD, Entry, fits, is_hidden, table_suffix

# The size of an object, and the second of its last change.
State = tuple[int, int]
# What errors of stores say, in the order in which they are looked for, and what it means.
_MEANINGS = {
    "NoSuchBucket|ContainerNotFound|specified container does not exist": (
        "there is no such bucket; check its name"
    ),
    "ExpiredToken|TokenExpired|[Tt]oken (?:has |is )?expired": (
        "its session token has expired; get a new login and set {variables} again"
    ),
    "InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|InvalidToken|NoAuthentication": (
        "the store does not accept the login; check {variables}"
    ),
    "AccessDenied|AuthorizationPermissionMismatch|HTTP 40[13]|40[13] Forbidden": (
        "the login may not read it; allow it to list and to read, or set another in {variables}"
    ),
    "HTTP 301|PermanentRedirect|AuthorizationHeaderMalformed|configured region": (
        "the bucket is in another region; set AWS_REGION"
    ),
    "SlowDown|HTTP 503|503 Service Unavailable|ServerBusy": (
        "the store has too much to do; index again later"
    ),
}
_GONE = re.compile("NoSuchKey|BlobNotFound|HTTP 404|404 Not Found|FileNotFound|No such file")
_FILE = re.compile(r"(?:reading|on|file:?|for path) '?([^\s']+)'?")
_STATUS = re.compile(r"HTTP (\d{3})")
# Everything after the ? of a URL may be a signature. A word is gone through once, URL or not.
_WORD = re.compile(r"[^\s'\"]++")
_WEB = re.compile(r"https?://")
_SIGNED = (
    "if its URL is signed, name it again as ?${NAME}, with what follows the ? in that variable: "
    "it is not kept"
)
# Small files that are fetched side by side: most of the time each takes is waiting.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Store:
    """A kind of store: DuckDB's extension and word for it, and the variables of a login.

    `endpoint` are variables that name a store of another provider with the same interface.
    Of `listed` stores DuckDB keeps the size and time of an object as the listing says them; of
    `kernel` stores its reader of Delta Lake finds one that is not the vendor's own.
    """

    extension: str
    secret: str
    login: Mapping[str, str]
    endpoint: tuple[str, ...] = ()
    listed: bool = True
    kernel: bool = True

    @property
    def variables(self) -> str:
        """The variables of a login, as advice names them."""
        both = " and " if "SECRET" in self.login else ", or "
        return both.join(list(self.login.values())[:2])


STORES = {
    "s3": Store("httpfs", "s3", LOGIN_VARIABLES["s3"], ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")),
    "gs": Store("httpfs", "gcs", LOGIN_VARIABLES["gs"], ("GCS_ENDPOINT_URL",)),
    "az": Store("azure", "azure", LOGIN_VARIABLES["az"], listed=False, kernel=False),
}
_secrets = count(1)


def make_secret(spec: SourceSpec, store: Store) -> str:
    """Tell DuckDB the login of the environment, for this bucket alone."""
    login = {key: os.environ[name] for key, name in store.login.items() if os.environ.get(name)}
    if "CONNECTION_STRING" in login:
        login.pop("ACCOUNT_NAME", None)
    parts = [f"{key} {duck.literal(text)}" for key, text in login.items()]
    if store.secret != "azure":  # noqa: S105 - the word for a kind of store
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        parts.append(f"REGION {duck.literal(region)}")
    elif not login:
        raise SourceError(f"names a container without its account; set {store.variables}")
    elif "ACCOUNT_NAME" in login:  # logged in to as Azure's own programs are, or open to everybody
        parts.append("PROVIDER credential_chain")
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
    # With the slash: `s3://lake` alone would be the beginning of `s3://lake-of-others` too.
    schemes = [spec.kind, *(word for word, scheme in SCHEMES.items() if scheme == spec.kind)]
    bucket = urlsplit(spec.location).netloc
    scope = f"[{', '.join(duck.literal(f'{each}://{bucket}/') for each in schemes)}]"
    with duck.explained():
        duck.run(f"CREATE SECRET {name} (TYPE {store.secret}, {', '.join(parts)}, SCOPE {scope})")
    return name


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
            urls = (
                self._file_or_folder(location) if table_suffix(location) else self._list(location)
            )
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

    def entries(self) -> list[Entry]:
        """The table files, and the folders that are a table by their log."""
        lakes = lakes_below(self._paths)
        files: list[Entry] = []
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
                files.append(Entry(url, path))
        return files + [
            Entry(self._url(folder), folder or self.top, lake=lakes[folder])
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
            states = look(pattern)
            self._states |= states
            return list(states)
        return [str(file) for (file,) in duck.fetch(f"SELECT file FROM glob({pattern})")]

    def _file_or_folder(self, location: str) -> list[str]:
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


def complaint(kind: str, message: str, *, secret: str = "") -> str:
    """One line of what the engine says of files in a store, or behind a URL with a `secret`."""
    store = STORES.get(kind)
    shown = _WORD.sub(_unsigned, message)
    for written in filter(None, (secret, unquote(secret))):
        shown = shown.replace(written, HIDDEN)
    if store is None:
        return _of_a_server(shown)
    for sign, meaning in _MEANINGS.items():
        if re.search(sign, shown):
            return meaning.format(variables=store.variables)
    if _GONE.search(shown):
        named = _FILE.search(shown)
        file = named[1] if named else "a file"
        return f"{file} is not there; if it was removed meanwhile, index again"
    return duck.one_line(shown)


def _unsigned(word: re.Match[str]) -> str:
    """A word of a message without what follows the ? of a URL in it."""
    url = _WEB.search(word[0])
    ends = word[0].find("?", url.end()) if url else -1
    return word[0] if ends < 0 else word[0][:ends]


def _of_a_server(message: str) -> str:
    if "HTTP" not in message:
        return duck.one_line(message)
    status = _STATUS.search(message)
    code = f" (HTTP {status[1]})" if status else ""
    if status and status[1] == "404":
        return f"the server has no such file{code}; check the URL"
    return f"the server does not let it be read{code}; {_SIGNED}"


class Copies:
    """Files fetched by their URL, each once; `read` gives their bytes."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self.read = read
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._numbers = count()
        self._copied: dict[str, str] = {}

    def fetch(self, url: str) -> str:
        """Where the copy of a file lies; it keeps the suffix that says what it holds."""
        if url not in self._copied:
            path_here = self._new_path(table_suffix(url))
            self._write(url, path_here)
            self._copied[url] = path_here
        return self._copied[url]

    def fetch_many(self, urls: Sequence[str]) -> None:
        """Fetch files several at a time; one that cannot be says so when it is asked for."""

        def fetch(url: str) -> None:
            with suppress(SourceError, OSError):
                self.fetch(url)

        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            list(pool.map(fetch, urls))
        finally:
            pool.shutdown(cancel_futures=True)  # an interrupt waits for those that have begun

    def __contains__(self, url: str) -> bool:
        return url in self._copied

    def fill(self, folder: str, files: Mapping[str, str]) -> str:
        """Where copies of a folder's files lie, by their paths in it; one that is there stays."""
        here = self._copied.setdefault(folder, self._new_path())
        for path, url in files.items():
            path_here = os.path.join(here, path)
            if not os.path.exists(path_here):
                os.makedirs(os.path.dirname(path_here), exist_ok=True)
                self._write(url, path_here)
        return here

    def close(self) -> None:
        self._folder.cleanup()

    def _new_path(self, suffix: str = "") -> str:
        return os.path.join(self._folder.name, f"{next(self._numbers)}{suffix}")

    def _write(self, url: str, path_here: str) -> None:
        content = self.read(url)
        with open(path_here, "wb") as out:
            out.write(content)
