"""What stands in the way: versions, extensions, models, services and the catalog, with remedies."""

from __future__ import annotations

import os
import platform
import re
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.catalog.key import open_cipher
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import DovetailError, NotFoundError
from dovetail.models.endpoint import OPENAI_URL
from dovetail.offline.repair import check
from dovetail.plugins import open_embedder, open_llm, open_source
from dovetail.ports import Json, SourceSpec
from dovetail.search.translations import word_encoder
from dovetail.settings import Settings
from dovetail.sources.duck import load_extension
from dovetail.sources.resolve import expand, root

DISTRIBUTION = "dovetail-tables"
_REQUIREMENT = re.compile(r"([\w.-]+).*?(?:extra == [\"']([\w-]+)[\"'])?$")
_EXTENSION = "duckdb-extension-"
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, whether it is well, what was seen, and what mends it.

    >>> Finding("models", "embedder", True, "all-MiniLM-L6-v2").to_dict()["well"]
    True
    """

    part: str
    subject: str
    well: bool
    seen: str
    remedy: str = ""

    def to_dict(self) -> Json:
        """The finding as JSON has it."""
        return asdict(self)


def diagnose(settings: Settings) -> Iterator[Finding]:
    """Look at all that dovetail needs, one thing after the other."""
    yield Finding("versions", "python", True, platform.python_version())
    yield from _packages()
    yield from _models(settings)
    yield from _services(settings)
    yield from _catalog(settings)


def _packages() -> Iterator[Finding]:
    """The packages of dovetail and its extras; those of an extra that is not there are no fault."""
    for line in (DISTRIBUTION, *(metadata.requires(DISTRIBUTION) or ())):
        requirement = _REQUIREMENT.match(line)
        name, extra = (requirement[1], requirement[2]) if requirement else (line, None)
        try:
            seen = metadata.version(name)
        except metadata.PackageNotFoundError:
            remedy = f"pip install '{DISTRIBUTION}[{extra}]'" if extra else f"pip install {name}"
            wanted = "not installed" + (f"; for {extra}" if extra else "")
            yield Finding("versions", name, bool(extra), wanted, remedy)
            continue
        if name.startswith(_EXTENSION):
            extension = name.removeprefix(_EXTENSION).replace("-", "_")
            remedy = f"pip install {name}=={metadata.version('duckdb')}"
            yield _tried("extensions", extension, seen, partial(load_extension, extension), remedy)
        else:
            yield Finding("versions", name, True, seen)


def _models(settings: Settings) -> Iterator[Finding]:
    opened, remedy = partial(open_embedder, settings.embedder), "set another embedder, or none"
    yield _tried("models", "embedder", settings.embedder, opened, remedy)
    encoder = word_encoder()
    remedy = "words of other languages are not translated without it"
    yield _tried("models", "word encoder", encoder.model_id, encoder.open, remedy)
    if settings.llm:
        remedy = "set another llm, or none"
        yield _tried("models", "llm", settings.llm, partial(open_llm, settings.llm), remedy)


def _services(settings: Settings) -> Iterator[Finding]:
    """The endpoint of models, and the sources that the settings or the catalog name."""
    if "openai:" in f"{settings.llm} {settings.embedder}":
        url = urlsplit(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)

        connect = partial(_connect, host, port)
        remedy = "check that it runs, and OPENAI_BASE_URL"
        yield _tried("services", f"{host}:{port}", "reachable", connect, remedy)
    named = [root(source, Path.cwd()) for source in settings.sources]
    try:
        known = list(CatalogReader.open(settings.catalog).manifest.roots)
    except DovetailError:
        known = []
    for spec in {spec.label: spec for spec in (*named, *known)}.values():
        remedy = "check that it is there and can be read, or forget it: dovetail index --forget"
        yield _tried("services", spec.label, "opens", partial(_open, spec, settings), remedy)


def _connect(host: str, port: int) -> None:
    socket.create_connection((host, port), _SECONDS).close()


def _open(spec: SourceSpec, settings: Settings) -> None:
    """Open what a root stands for, as an update would; of many files, the first."""
    for source in expand(spec, settings.sources)[:1]:
        open_source(source).close()


def _catalog(settings: Settings) -> Iterator[Finding]:
    """Whether the catalog opens, is whole, and is its owner's alone."""
    folder = Path(settings.catalog)
    try:
        catalog = CatalogReader.open(folder)
    except NotFoundError:
        yield Finding("catalog", str(folder), True, "not made yet", "dovetail index SOURCE...")
        return
    except DovetailError as error:
        yield Finding("catalog", str(folder), False, str(error))
        return
    yield Finding("catalog", str(folder), True, f"{len(catalog):,} tables")
    damaged = sorted({damage.part for damage in check(folder)})
    remedy = f"dovetail repair -C {folder}"
    yield Finding("catalog", "parts", not damaged, ", ".join(damaged) or "whole", remedy)
    left_out = f"{len(catalog.skipped):,} left out"
    why = "dovetail index says why" if catalog.skipped else ""
    yield Finding("catalog", "sources", not catalog.skipped, left_out, why)
    open_to = [path for path in (folder, *folder.rglob("*")) if _open_to_others(path)]
    shown = f"{len(open_to):,} files open to others" if open_to else "the owner's alone"
    yield Finding("catalog", "rights", not open_to, shown, f"chmod -R go= {folder}")
    if catalog.no_values:
        known = str(catalog.manifest.profile["key_id"])
        yield _tried("catalog", "key", "the right one", partial(open_cipher, folder, known), "")


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def _tried(
    part: str, subject: str, seen: str, attempt: Callable[[], object], remedy: str
) -> Finding:
    """What came of an attempt: an error of any kind is a finding."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - whatever is wrong here is what is looked for
        message = " ".join(str(error).split()) or type(error).__name__
        return Finding(part, subject, False, message, remedy)
    return Finding(part, subject, True, seen)
