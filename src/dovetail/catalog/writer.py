"""Writes a catalog: one writer at a time, and nothing in force until the manifest is replaced."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.atomic import UNFINISHED, make_folder, replace_file
from dovetail.catalog.files import (
    GENERATIONS,
    LOCK,
    MEMORY,
    SEGMENTS,
    STAGING,
    move_in,
    open_plain,
    ours,
    require_plain,
    staging_folder,
)
from dovetail.catalog.generation import (
    COPY,
    FILE,
    RECORDS,
    TWICE,
    Manifest,
    Part,
    PartEntry,
    write_twice,
)
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import COLUMNS, Records
from dovetail.catalog.segment import HASHES_FILE, Segment, SegmentWriter
from dovetail.domain import Skipped
from dovetail.errors import CatalogError, DamagedError, LockedError, NotFoundError
from dovetail.ports import Json, SourceSpec

# A segment below this size is small; with more small ones than this, they are merged.
_SMALL_BYTES, _SMALL_SEGMENTS = 8 << 20, 128
# Columns that are copied together into a merged segment: as Python objects they take up kilobytes.
_AT_ONCE = 1 << 15


@contextmanager
def writing(path: Path, damaged: Collection[str] | None = None) -> Iterator[CatalogWriter]:
    """Hold the lock of a catalog while it is updated; nothing is left of one that stays empty.

    With names of segments and parts that are `damaged`, the writer goes by what is left of it.
    """
    made = not path.exists()
    try:
        make_folder(path)
        require_plain(path)
        _refuse_foreign(path)
        lock = open_plain(path / LOCK, os.O_RDWR)
        for name in (SEGMENTS, GENERATIONS, STAGING):
            make_folder(path / name)
    except OSError as error:
        raise CatalogError(
            f"cannot write a catalog at {path}: {error.strerror}; choose another folder"
        ) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(lock), (path / LOCK).stat()):
                raise BlockingIOError  # who held it has just taken it away
        except OSError:
            holder = os.read(lock, 200).decode(errors="replace").strip() or "another process"
            raise LockedError(
                f"{path} is being written by {holder}; wait for it, or choose another folder"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        try:
            writer = CatalogWriter(path, damaged)
            writer.sweep()
            yield writer
        finally:
            if not (path / FILE).exists():
                _remove_empty(path, made=made)
            os.ftruncate(lock, 0)
    finally:
        os.close(lock)


class CatalogWriter:
    """What may be done to a catalog while its lock is held."""

    def __init__(self, folder: Path, damaged: Collection[str] | None = None) -> None:
        self.folder = folder
        self.current: CatalogReader | None
        try:
            if damaged is None:
                self.current = CatalogReader.open(folder)
            else:
                self.current = CatalogReader.without(folder, damaged)
        except NotFoundError:
            self.current = None

    def adopt(self, staged: Path, name: str) -> Segment:
        """Move a finished segment in. It is kept even if this run never commits."""
        target = self.folder / SEGMENTS / name
        if target.exists() and not _is_intact(target):
            self._remove([target])
        if not target.exists():
            move_in(staged, target)
        return Segment(target)

    def leftovers(self, profile: Json) -> list[Segment]:
        """Segments that an interrupted run finished and no manifest names."""
        named = set(self.current.manifest.segments) if self.current is not None else set()
        segments = []
        for folder in ours(self.folder / SEGMENTS):
            # What is damaged goes with all that is unused, after the commit.
            unused = folder.name not in named and _is_intact(folder)
            if unused and (segment := Segment(folder)).about["profile"] == profile:
                segments.append(segment)
        return segments

    def draft(self, content: Content) -> Draft:
        """Begin a new generation: its records are written, and nothing is in force."""
        records, segments = self._merge_small(content.records, content.segments, content.profile)
        used = sorted(set(records.tables["segment"].to_pylist()))
        return Draft(
            self,
            replace(content, records=records, segments={name: segments[name] for name in used}),
        )

    def put_in_force(self, catalog: CatalogReader) -> None:
        """Replace the manifest: the commit. What the new one does not name is removed."""
        catalog.manifest.write(self.folder)
        self.current = catalog
        with suppress(OSError):  # the next writer tries again
            self._copy_manifest()
            self.remove_unused(segments=True)

    def sweep(self) -> None:
        """Remove unfinished work of runs that were killed; the lock says none is running."""
        for folder in ours(self.folder / STAGING):
            shutil.rmtree(folder, ignore_errors=True)
        for left in (path for path in self.folder.iterdir() if UNFINISHED.fullmatch(path.name)):
            left.unlink(missing_ok=True)
        if self.current is not None:
            self._copy_manifest()
        self.remove_unused(segments=False)

    def _copy_manifest(self) -> None:
        """Have the manifest in force stand there twice: before anything goes that an older copy
        names."""
        raw, copy = (self.folder / FILE).read_bytes(), self.folder / COPY
        if not copy.exists() or copy.read_bytes() != raw:
            replace_file(copy, raw)

    def remove_unused(self, *, segments: bool) -> None:
        """Remove the parts, and `segments`, that the generation in force does not name."""
        current = self.current.manifest if self.current is not None else None
        parts = current.parts if current is not None else {}
        used = {entry.folder(self.folder, name) for name, entry in parts.items()}
        for generation in ours(self.folder / GENERATIONS):
            if any(part.parent == generation for part in used):
                self._remove(part for part in generation.iterdir() if part not in used)
            else:
                self._remove([generation])
        if segments and current is not None:
            stored = ours(self.folder / SEGMENTS)
            self._remove(folder for folder in stored if folder.name not in current.segments)

    def _remove(self, paths: Iterable[Path]) -> None:
        """Take folders out, each in one step: half removed, it could be taken for a whole one."""
        for path in paths:
            with staging_folder(self.folder) as gone:
                path.rename(gone / path.name)

    def _merge_small(
        self, records: Records, segments: dict[str, Segment], profile: Json
    ) -> tuple[Records, dict[str, Segment]]:
        """Rewrite segments that are mostly dead, and small ones once there are many of them."""
        names = records.tables["segment"].to_numpy(zero_copy_only=False)
        live = _live_bytes(records, names)
        sizes = {name: segments[name].files[HASHES_FILE]["bytes"] for name in live}
        small = {name for name, size in sizes.items() if size < _SMALL_BYTES}
        victims = {
            name for name, size in sizes.items() if live[name] < size // 2 and name not in small
        }
        if len(small) > _SMALL_SEGMENTS:
            victims |= small
        if not victims:
            return records, segments
        moved = [row for row, name in enumerate(names) if name in victims]
        with staging_folder(self.folder) as folder:
            with SegmentWriter(folder) as writer:
                merged = _copy(records.take(moved), segments, writer)
                name = writer.finish(merged, profile)
            segment = self.adopt(folder, name)
        rest = records.take([row for row, name in enumerate(names) if name not in victims])
        merged = merged.with_column("segment", [name] * len(merged))
        return Records.concat([rest, merged]).sorted(), {**segments, name: segment}


@dataclass(frozen=True, slots=True)
class Content:
    """What a generation is made from: the records of its tables with the segments that hold their
    values, how they were profiled, the sources they came from, and what could not be read."""

    records: Records
    segments: dict[str, Segment]
    profile: Json
    roots: tuple[SourceSpec, ...]
    skipped: tuple[Skipped, ...]
    pooled: bool = False


class Draft:
    """A generation that is being made: parts of the last one that still hold, and new ones.

    Nothing of it is in force before `commit`, and then all of it is.
    """

    def __init__(self, writer: CatalogWriter, content: Content) -> None:
        self._writer, self._content = writer, content
        before = writer.current
        self._before = before.parts if before is not None else {}
        self._entries = dict(before.manifest.parts) if before is not None else {}
        self._generation = before.manifest.generation + 1 if before is not None else 1
        self._parts: dict[str, Part] = {}
        if (
            before is not None
            and RECORDS in before.parts
            and before.records.equals(content.records)
        ):
            self._parts[RECORDS] = before.parts[RECORDS]
        else:
            self.write(RECORDS, "", content.records.write)
        self.catalog = self._reader()

    def kept(self, name: str, key: str) -> Part | None:
        """The part of the last generation if it was made from the same and is undamaged; it is
        part of this one too then."""
        part = self._before.get(name)
        if part is None or part.key != key or not key or not part.intact():
            return None
        self._parts[name] = part
        return part

    def write(self, name: str, key: str, write: Callable[[Path], object]) -> Part:
        """Add a part, whose files a function writes into a folder. Without a `key` the part is
        made again by the next update."""
        catalog = self._writer.folder
        with staging_folder(catalog) as folder:
            write(folder)
            if name in TWICE:
                write_twice(folder)
            entry = PartEntry.of(self._generation, key, folder)
            target = entry.folder(catalog, name)
            make_folder(target.parent)
            move_in(folder, target)
        self._entries[name] = entry
        self._parts[name] = Part(target, entry)
        return self._parts[name]

    def published(self) -> CatalogReader:
        """The draft, so that another process can open it by the reader's `manifest_file`."""
        file = f"{GENERATIONS}/{self._generation:08d}/{FILE}"
        make_folder((self._writer.folder / file).parent)
        self.catalog.manifest.write(self._writer.folder, file)
        self.catalog.manifest_file = file
        return self.catalog

    def commit(self) -> CatalogReader:
        """Put this generation in force, unless it is the one that is in force already."""
        current, catalog = self._writer.current, self._reader()
        if current is not None and _same(current.manifest, catalog.manifest):
            self._writer.sweep()
            return current
        self._writer.put_in_force(catalog)
        return catalog

    def _reader(self) -> CatalogReader:
        content = self._content
        manifest = Manifest(
            generation=self._generation,
            profile=content.profile,
            roots=content.roots,
            skipped=content.skipped,
            parts={name: self._entries[name] for name in sorted(self._parts)},
            segments={name: segment.files for name, segment in content.segments.items()},
            pooled=content.pooled,
        )
        return CatalogReader(
            self._writer.folder, manifest, content.records, content.segments, self._parts
        )


def _same(old: Manifest, new: Manifest) -> bool:
    """Whether two manifests differ in the number of the generation alone."""
    stored = [[root.stored() for root in each.roots] for each in (old, new)]
    return stored[0] == stored[1] and replace(old, roots=()) == replace(
        new, roots=(), generation=old.generation
    )


def _refuse_foreign(path: Path) -> None:
    """Keep out of folders that are somebody else's: what a catalog does not need, it removes."""
    present = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    made_here = {COPY, LOCK, SEGMENTS, GENERATIONS, STAGING, MEMORY}
    if FILE not in present and not present <= made_here:
        raise CatalogError(f"{path} holds other files and no catalog; choose a new folder for it")


def _remove_empty(path: Path, *, made: bool) -> None:
    """Remove what `writing` made for a catalog that holds nothing: it may be anybody's folder."""
    with suppress(OSError):  # finished segments stay, for the next run to go on from
        for name in (SEGMENTS, GENERATIONS, STAGING):
            (path / name).rmdir()
        (path / LOCK).unlink()
        if made:
            path.rmdir()


def _is_intact(folder: Path) -> bool:
    try:
        Segment(folder).verify()
    except (DamagedError, OSError, KeyError, TypeError):
        return False
    return True


def _live_bytes(
    records: Records, names: np.ndarray[tuple[int], np.dtype[np.object_]]
) -> dict[str, int]:
    kept = records.columns["kept"].to_numpy() + records.columns["phrases"].to_numpy()
    forms = records.columns["views"].combine_chunks()
    size = np.append(0, np.cumsum(forms.values.field("kept").to_numpy(zero_copy_only=False)))
    kept = kept + np.diff(size[forms.offsets.to_numpy()])
    before = np.concatenate([[0], np.cumsum(kept)])
    per_table = 8 * (before[records.bounds[1:]] - before[records.bounds[:-1]])
    live: dict[str, int] = {}
    for name, size in zip(names, per_table, strict=True):
        live[name] = live.get(name, 0) + int(size)
    return live


def _copy(records: Records, segments: dict[str, Segment], writer: SegmentWriter) -> Records:
    """Copy the arrays of records into a new segment; returns the records with their new places."""
    names = np.repeat(
        records.tables["segment"].to_numpy(zero_copy_only=False), np.diff(records.bounds)
    )
    moved = [COLUMNS.empty_table()]
    for at in range(0, len(names), _AT_ONCE):
        columns = records.columns.slice(at, _AT_ONCE).to_pylist()
        for name, column in zip(names[at : at + _AT_ONCE], columns, strict=True):
            old = segments[name]
            for placed in (column, *column["views"]):
                values = old.placed(placed)
                *_, placed["hashes_at"], placed["counts_at"] = writer.add_value_hashes([values])
            phrases = old.phrases(column["phrases_at"], column["phrases"])
            column["phrases_at"], _ = writer.add_phrases([phrases])
        moved.append(pa.Table.from_pylist(columns, COLUMNS))
    together = pa.concat_tables(moved).combine_chunks()
    return Records(records.tables, together).with_column("segment", [""] * len(records))
