"""Whether the files of a catalog are as they were written, and how those that are not come back.

What is derived is made again from the rest; what was read is read again, from its source, and
nothing else is. Caches lose what is damaged. What nothing else says is there twice: the manifest,
past queries, a dbt project and dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dovetail.atomic import replace_file
from dovetail.catalog.descriptions import (
    DescriptionFile,
    Written,
    laid_descriptions,
    table_keys,
)
from dovetail.catalog.files import MEMORY, SEGMENTS, require_plain
from dovetail.catalog.generation import COPY, DESCRIPTIONS, FILE, RECORDS, Manifest, read_manifest
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import COLUMNS_FILE, Records
from dovetail.catalog.segment import LEADS_OUT, Segment
from dovetail.domain import DICTIONARY
from dovetail.errors import DamagedError, NotFoundError
from dovetail.models.cache import REPLIES, damaged_replies
from dovetail.models.vectors import damaged_vectors
from dovetail.offline.pipeline import mend
from dovetail.offline.plan import Lost
from dovetail.ports import Json
from dovetail.search.embeddings import FOLDER as VECTORS
from dovetail.settings import Settings, load_settings
from dovetail.sources.frames import damaged_frames

MANIFEST = "manifest"
# What is put right, or given up, file by file.
_AS_FILES = (MANIFEST, VECTORS, REPLIES, MEMORY)


@dataclass(frozen=True, slots=True)
class Damage:
    """A file of a catalog that is not as it was written: the part it is of, and what is wrong.

    `segment` is the name of the segment that it is of, if any.
    """

    part: str
    file: Path
    problem: str
    segment: str = ""

    def __str__(self) -> str:
        return f"{self.part}: {self.file} is damaged: {self.problem}"

    def to_dict(self) -> Json:
        return {"part": self.part, "file": str(self.file), "problem": self.problem}


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair came to: what was damaged, and what still is, as nothing says it again."""

    damaged: tuple[Damage, ...]
    left: tuple[Damage, ...]

    def to_dict(self) -> Json:
        return {
            "repaired": [each.to_dict() for each in self.damaged if each not in self.left],
            "left": [each.to_dict() for each in self.left],
        }


def check(path: str | Path | None = None, settings: Settings | None = None) -> list[Damage]:
    """Every file of the catalog in a folder that is not as it was written; all of them are read.

    >>> import dovetail
    >>> _ = dovetail.build("shop.sqlite", into="checked")
    >>> dovetail.check("checked")
    []
    """
    folder = Path(path or (settings or load_settings()).catalog)
    require_plain(folder)
    return list(_damages(folder))


def repair(path: str | Path | None = None, settings: Settings | None = None) -> Repair:
    """Make what is damaged of the catalog in a folder again, and nothing else.

    Tables whose records or values are damaged are read again from their sources; it is an error if
    that cannot be, and the catalog is as it was then.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="damaged")
    >>> _ = next(catalog.folder.glob("segments/*/hashes.npy")).write_bytes(b"")
    >>> [damage.part for damage in dovetail.check("damaged")]
    ['segments']
    >>> dovetail.repair("damaged").left
    ()
    """
    settings = settings or load_settings()
    folder = Path(path or settings.catalog)
    damaged = check(folder)
    if not damaged:
        return Repair((), ())
    _restore_manifest(folder, damaged)
    for each in damaged:
        if each.part in (VECTORS, REPLIES):
            (folder / each.file).unlink(missing_ok=True)
    if any(each.part not in _AS_FILES for each in damaged):
        lost = _lost(folder, damaged)
        _mend_journal(folder, lost)
        mend(folder, settings, lost)
    return Repair(tuple(damaged), tuple(check(folder)))


def _restore_manifest(folder: Path, damaged: Sequence[Damage]) -> None:
    """Put the manifest and its copy in place again, each from the other."""
    files = {each.file.name for each in damaged if each.part == MANIFEST}
    if files == {FILE, COPY}:
        raise DamagedError(
            f"{folder / FILE} is damaged, and so is its copy; remove {folder} and index again"
        )
    for name in files:
        intact = COPY if name == FILE else FILE
        replace_file(folder / name, (folder / intact).read_bytes())


def _lost(folder: Path, damaged: Sequence[Damage]) -> Lost:
    """What has to be read again, and of which roots."""
    manifest = read_manifest(folder)
    if any(each.part == RECORDS for each in damaged):
        return Lost(frozenset({RECORDS}), frozenset(root.label for root in manifest.roots))
    segments = frozenset(each.segment for each in damaged if each.segment)
    tables = Records.read(manifest.open_part(folder, RECORDS)).tables
    listed = zip(tables["root"].to_pylist(), tables["segment"].to_pylist(), strict=True)
    return Lost(segments, frozenset(root for root, segment in listed if segment in segments))


def _mend_journal(folder: Path, lost: Lost) -> None:
    """Take damaged lines out of the descriptions; those in force are written again."""
    file = DescriptionFile(folder)
    if not file.journal.damaged():
        return
    with file.journal.writing():
        file.journal.mend()
    reader = CatalogReader.without(folder, lost.names)
    kept, keys = file.of(reader.records), dict(table_keys(reader.records))
    with suppress(DamagedError):  # then what they said is lost with them
        laid = laid_descriptions(reader)
        file.add(
            Written(keys[table], description)
            for table, description in laid.items()
            if table in keys and table not in kept and description.author != DICTIONARY
        )


def _damages(folder: Path) -> Iterator[Damage]:
    manifest = None
    for name in (COPY, FILE):
        try:
            manifest = read_manifest(folder, name)
        except NotFoundError:
            if name == FILE:
                raise
            yield Damage(MANIFEST, Path(name), "it is missing")
        except DamagedError:
            changed = (folder / name).exists()
            problem = "its checksum does not match" if changed else "it is missing"
            yield Damage(MANIFEST, Path(name), problem)
    if manifest is not None:
        yield from _committed(folder, manifest)
    yield from _beside(folder)


def _beside(folder: Path) -> Iterator[Damage]:
    """The damaged files of a catalog that no manifest names."""
    for path in damaged_vectors(folder / VECTORS):
        yield Damage(VECTORS, path.relative_to(folder), "it does not fit its name")
    for path in damaged_replies(folder / REPLIES):
        yield Damage(REPLIES, path.relative_to(folder), "its checksum does not match")
    for path, problem in damaged_frames(folder / MEMORY):
        yield Damage(MEMORY, path.relative_to(folder), problem)
    journal = DescriptionFile(folder).journal
    for line in journal.damaged():
        problem = f"line {line} is not as it was written"
        yield Damage(DESCRIPTIONS, journal.path.relative_to(folder), problem)


def _committed(folder: Path, manifest: Manifest) -> Iterator[Damage]:
    """The damaged files of the parts and segments that a manifest names."""
    for name, entry in manifest.parts.items():
        at = entry.folder(folder, name).relative_to(folder)
        for file, problem in manifest.open_part(folder, name).damages():
            yield Damage(name, at / file, problem)
    lengths = {}
    for name, files in manifest.segments.items():
        at = Path(SEGMENTS) / name
        try:
            segment = Segment(folder / at, files)
            lengths[name] = segment.lengths
            segment.verify()
        except DamagedError as error:
            file, _, problem = str(error).partition(" is damaged: ")
            yield Damage(SEGMENTS, Path(file).relative_to(folder), problem.partition(";")[0], name)
        except FileNotFoundError as error:
            yield Damage(SEGMENTS, Path(error.filename).relative_to(folder), "it is missing", name)
    with suppress(DamagedError, KeyError):  # which was told above
        if not Records.read(manifest.open_part(folder, RECORDS)).lie_in(lengths):
            at = manifest.parts[RECORDS].folder(folder, RECORDS).relative_to(folder)
            yield Damage(RECORDS, at / COLUMNS_FILE, LEADS_OUT)
