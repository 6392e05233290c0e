"""A generation: one committed state of a catalog, as its manifest names it.

The manifest is the one file that says what a catalog is made of: segments, which hold the values of
tables and never change, and parts, which hold the records and all that is derived from them. A part
is a folder of files. It is written aside, synced and renamed, and is in force once the manifest
names it; whatever no manifest names is removed after the next commit.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dovetail.atomic import file_checksum, replace_file, seal, unseal
from dovetail.catalog.files import DAMAGE, GENERATIONS, SEGMENT_NAME
from dovetail.domain import Skipped
from dovetail.errors import CatalogError, DamagedError, NotFoundError, VersionError
from dovetail.ports import Json, SourceSpec

FILE = "manifest.json"
# The same once more: what nothing else in the catalog says again.
COPY = "manifest.copy.json"
FORMAT = "dovetail catalog"
VERSION = 5
# The parts of a generation; postings of values there are for every segment.
RECORDS, JOINS, EVIDENCE, FAMILIES, SEARCH = "records", "joins", "evidence", "families", "search"
DBT, QUERIES, DESCRIPTIONS, VALUES = "dbt", "queries", "descriptions", "values-"
DATA_DICTIONARY, DICTIONARY_FILE = "dictionary", "dictionary.json"
# Parts that hold what nothing else in a catalog says: their files are written twice.
TWICE = frozenset({DBT, QUERIES, DATA_DICTIONARY})
_SECOND = "copy_"
_PART_NAME = re.compile(r"[a-z]+(?:-[0-9a-f]{20})?")
_FILE_NAME = re.compile(r"[a-z][a-z_]*\.(?:arrow|json|npy|npz|parquet|txt)")
# Bytes of a file up to which its checksum is compared before it is used; a larger one is mapped and
# read in part.
_MOST_CHECKED = 1 << 28
_CUT, _CHANGED = "it is missing or cut off", "its checksum does not match"
# Bytes that hold the header of any array of ours.
_HEADER = 1 << 12


@dataclass(frozen=True, slots=True)
class PartEntry:
    """What a manifest says of a part: the generation that made it, a digest of all that it was
    made from (`key`), and its files with their sizes and CRC-32."""

    generation: int
    key: str
    files: Mapping[str, tuple[int, int]]

    def folder(self, catalog: Path, name: str) -> Path:
        """Where the files of the part of this name are."""
        return catalog / GENERATIONS / f"{self.generation:08d}" / name

    def to_json(self) -> Json:
        files = {name: list(about) for name, about in self.files.items()}
        return {"generation": self.generation, "key": self.key, "files": files}

    @classmethod
    def from_json(cls, data: Json) -> PartEntry:
        files = {}
        for name, (size, checksum) in data["files"].items():
            if not _FILE_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no part of a catalog")
            files[name] = (int(size), int(checksum))
        return cls(int(data["generation"]), str(data["key"]), files)

    @classmethod
    def of(cls, generation: int, key: str, folder: Path) -> PartEntry:
        """The entry of a part that was just written into a folder."""
        files = {}
        for file in sorted(folder.iterdir()):
            files[file.name] = (file.stat().st_size, file_checksum(file))
        return cls(generation, key, files)


class Part:
    """The files of a part, mapped when it is opened: they stay when an update removes them.

    A file that is missing or cut off is an error when it is read, not before.
    """

    def __init__(self, folder: Path, entry: PartEntry) -> None:
        self.folder, self.key = folder, entry.key
        self._files = entry.files
        self._mapped = {name: _map(folder / name, size) for name, (size, _) in entry.files.items()}
        self._checked: set[str] = set()

    @property
    def complete(self) -> bool:
        """Whether every file was there, and of the right size."""
        return all(mapped is not None for mapped in self._mapped.values())

    def intact(self) -> bool:
        """Whether every file is as it was written."""
        return not any(self.damages())

    def damages(self) -> Iterator[tuple[str, str]]:
        """The files that are not as they were written, each with what is wrong with it."""
        for name, (_, checksum) in self._files.items():
            mapped = self._mapped[name]
            if mapped is None:
                yield name, _CUT
            elif name not in self._checked and zlib.crc32(mapped) != checksum:
                yield name, _CHANGED
            else:
                self._checked.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def content(self, name: str, *, check: bool = True) -> memoryview:
        """The bytes of a file, compared with their checksum when they are first asked for."""
        mapped = self._mapped.get(name)
        if mapped is None:
            raise self.damaged(name, _CUT)
        size, checksum = self._files[name]
        if check and name not in self._checked and size <= _MOST_CHECKED:
            if zlib.crc32(mapped) != checksum:
                raise self.damaged(name, _CHANGED)
            self._checked.add(name)
        return memoryview(mapped)

    def array(self, name: str, *, check: bool = True) -> npt.NDArray[Any]:
        """The array of an .npy file, mapped; without `check` it is not compared with its checksum,
        since that would read all of it."""
        raw = self.content(name, check=check)
        try:
            return _array(raw)
        except DAMAGE:
            raise self.damaged(name, "it holds no array") from None

    def json(self, name: str) -> Any:
        """What a file of JSON holds; where it is damaged and was written twice, its copy."""
        try:
            return json.loads(bytes(self.content(name)))
        except DamagedError:
            if _SECOND + name not in self:
                raise
            return self.json(_SECOND + name)
        except (ValueError, RecursionError) as error:
            raise self.damaged(name, str(error)) from None

    def text(self, name: str) -> str:
        """The text in a file."""
        return bytes(self.content(name)).decode()

    def release(self) -> None:
        """Have the files take up no memory until they are read again."""
        for mapped in self._mapped.values():
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def damaged(self, name: str, what: str) -> DamagedError:
        """The error that a file of this part is damaged, with the remedy."""
        catalog = self.folder.parent.parent.parent
        return DamagedError(f"{self.folder / name} is damaged: {what}; {remedy(catalog)}")


def _map(path: Path, size: int) -> mmap.mmap | bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return None
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if size else b""
    finally:
        os.close(descriptor)


def _array(raw: memoryview) -> npt.NDArray[Any]:
    header = io.BytesIO(raw[:_HEADER])
    if npy.read_magic(header) != (1, 0):
        raise ValueError("an array of another format")
    shape, by_column, dtype = npy.read_array_header_1_0(header)
    if dtype.hasobject or by_column:
        raise ValueError("an array of another kind")
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(raw, dtype, count, header.tell()).reshape(shape)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a catalog is made of: parts, segments, and the sources it came from.

    `pooled`: its sources say nothing about which tables belong together.
    """

    generation: int
    profile: Json
    roots: tuple[SourceSpec, ...]
    skipped: tuple[Skipped, ...]
    parts: Mapping[str, PartEntry]
    segments: Json
    pooled: bool = False

    def write(self, folder: Path, file: str = FILE) -> None:
        """Write this manifest; it is in force if the file is the one that readers open."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "generation": self.generation,
            "profile": self.profile,
            "roots": [_below(root, folder).stored() for root in self.roots],
            "skipped": [[skip.source, skip.table, skip.reason] for skip in self.skipped],
            "parts": {name: entry.to_json() for name, entry in self.parts.items()},
            "segments": self.segments,
            "pooled": self.pooled,
        }
        replace_file(folder / file, seal(content, indent=1))

    def open_part(self, folder: Path, name: str) -> Part:
        """A part, its files mapped."""
        entry = self.parts[name]
        return Part(entry.folder(folder, name), entry)


def read_manifest(folder: Path, file: str = FILE) -> Manifest:
    """The manifest in force, or another one of the catalog in a folder."""
    path = folder / file
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if file == FILE and (folder / COPY).exists():
            raise DamagedError(f"{path} is missing; {remedy(folder)}") from None
        raise NotFoundError(
            f"there is no catalog at {folder}; build one with dovetail.build, or "
            f"dovetail index SOURCE... -C {folder}"
        ) from None
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}; check its permissions") from None
    try:
        content = unseal(raw)
    except (ValueError, RecursionError) as error:
        _refuse_other_formats(folder, raw)
        raise DamagedError(f"{path} is damaged: {error}; {remedy(folder)}") from None
    _refuse_other_formats(folder, raw)
    try:
        return Manifest(
            generation=int(content["generation"]),
            profile=dict(content["profile"]),
            roots=tuple(_above(SourceSpec.from_json(root), folder) for root in content["roots"]),
            skipped=tuple(Skipped(*skip) for skip in content["skipped"]),
            parts={
                name: PartEntry.from_json(entry)
                for name, entry in _named(content["parts"], _PART_NAME).items()
            },
            segments=_named(content["segments"], SEGMENT_NAME),
            pooled=content.get("pooled") is True,
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DamagedError(f"{path} is damaged: {error!r}; {remedy(folder)}") from None


def write_twice(folder: Path) -> None:
    """Copy every file in the folder of a part."""
    for file in sorted(folder.iterdir()):
        shutil.copyfile(file, folder / (_SECOND + file.name))


def remedy(folder: Path) -> str:
    """What to do about a catalog that is damaged."""
    return f"mend it: dovetail repair -C {folder}"


def _refuse_other_formats(folder: Path, raw: bytes) -> None:
    """Refuse a manifest of another program, or of a dovetail of another format."""
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DamagedError(f"{folder / FILE} is not a dovetail catalog; choose another folder")
    if content.get("version") != VERSION:
        raise VersionError(
            f"{folder} is a catalog of format {content.get('version')}, and this dovetail reads "
            f"format {VERSION}; remove the folder and make it again with dovetail index, or take "
            "the dovetail that made it"
        )


def _named(listed: Json, pattern: re.Pattern[str]) -> Json:
    """What a manifest lists by name, if no name leads out of the catalog."""
    for name, about in listed.items():
        if not pattern.fullmatch(name) or not isinstance(about, dict):
            raise ValueError(f"{name!r} is no part of a catalog")
    return dict(listed)


def _below(root: SourceSpec, folder: Path) -> SourceSpec:
    """A root inside the catalog's own folder, by its path from there: it moves with the catalog."""
    inside = root.kind == "path" and Path(root.location).is_relative_to(folder.absolute())
    if not inside:
        return root
    return replace(root, location=str(Path(root.location).relative_to(folder.absolute())))


def _above(root: SourceSpec, folder: Path) -> SourceSpec:
    """The same root, by its whole path."""
    if root.kind != "path" or Path(root.location).is_absolute():
        return root
    return replace(root, location=str(folder.absolute() / root.location))
