"""Vectors of texts: what every embedder gives, and their store on disk by model and text.

No text is embedded twice. A segment is one .npy file of (digest, vector) pairs, named by its
content and never changed. So writers need no lock; a segment that does not fit its name is ignored
and its texts embedded again.
"""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Vectors
from dovetail.atomic import UNFINISHED, make_folder, replace_file
from dovetail.errors import CatalogError, ModelError, UsageError
from dovetail.ports import Embedder, PartsEmbedder

Segment = npt.NDArray[np.void]
Progress = Callable[[int, int], None]

SEGMENT = 1024
_FIRST = 32
_NAME = 32
# Seconds: for a part to be large enough, for an unfinished file to be nobody's any more.
_LONG, _ABANDONED = 1.0, 3600.0


def digest(text: str) -> bytes:
    """The key of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class VectorStore:
    """The vectors of one embedder's documents, in a folder that many embedders may share."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        key = hashlib.sha256(embedder.model_id.encode()).hexdigest()[:12]
        readable = re.sub(r"[^A-Za-z0-9.-]+", "_", embedder.model_id)[:60]
        self._folder = folder / f"{readable}-{key}"
        self._embedder = embedder
        self._row = np.dtype([("digest", "u1", 32), ("vector", "<f4", embedder.dimension)])
        self._sound: set[Path] = set()

    def documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """One vector per text; texts never seen before are embedded, and stored at once.

        `progress` is told how many of the texts to embed are done, and how many there are.
        """
        vectors = np.empty((len(texts), self._embedder.dimension), dtype=np.float32)
        missing: dict[bytes, list[int]] = {}
        for row, text in enumerate(texts):
            missing.setdefault(digest(text), []).append(row)
        for path in self._listed():
            if not missing:
                break
            _fill(vectors, missing, self._read(path))
        todo = {key: texts[rows[0]] for key, rows in missing.items()}
        by = self._embedder
        if isinstance(by, PartsEmbedder):
            embedded = self._distributed(by, todo, progress)
        else:
            embedded = self._embedded(todo, progress)
        for segment in embedded:
            _fill(vectors, missing, segment)
        return vectors

    def prune(self, keep: Collection[bytes]) -> None:
        """Forget all texts but these; small segments become large ones.

        What another process adds meanwhile stays.
        """
        kept, seen = frozenset(keep), set[bytes]()
        listed = self._listed()
        staying: set[Path] = set()
        moving: list[Segment] = []
        gone = False
        for path in listed:
            segment = self._read(path)
            keys = _keys(segment)
            stays = [key in kept and key not in seen for key in keys]
            seen.update(keys)
            if all(stays) and len(segment) == SEGMENT:
                staying.add(path)
            else:
                gone = gone or not all(stays) or not stays
                moving.append(segment[stays])
        if not gone and len(moving) < 2:  # nothing to forget, nothing to put together
            return
        moved = np.concatenate([np.empty(0, self._row), *moving])
        for start in range(0, len(moved), SEGMENT):
            staying.add(self._write(moved[start : start + SEGMENT]))
        for path in set(listed) - staying:
            path.unlink(missing_ok=True)
        self._sound &= staying
        for path in filter(lambda path: UNFINISHED.fullmatch(path.name), self._folder.iterdir()):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()

    def _listed(self) -> list[Path]:
        return sorted(self._folder.glob("*.npy"))

    def _read(self, path: Path) -> Segment:
        """A segment, mapped into memory; one that is damaged or gone has no rows."""
        with suppress(OSError, ValueError):
            if path not in self._sound:
                _check(path)
            segment: Segment = np.load(path, mmap_mode="r", allow_pickle=False)
            if segment.dtype == self._row:
                self._sound.add(path)
                return segment
        return np.empty(0, self._row)

    def _embedded(self, todo: Mapping[bytes, str], progress: Progress | None) -> Iterator[Segment]:
        """Embed texts, a segment at a time, in parts that grow until one takes a second."""
        keys, texts = list(todo), list(todo.values())
        size = _FIRST
        for start in range(0, len(keys), SEGMENT):
            end = min(start + SEGMENT, len(keys))
            segment = np.empty(end - start, self._row)
            raw = b"".join(keys[start:end])
            segment["digest"] = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 32)
            done = start
            try:
                while done < end:
                    began = time.monotonic()
                    part = texts[done : min(done + size, end)]
                    segment["vector"][done - start : done - start + len(part)] = self._embed(part)
                    done += len(part)
                    if progress:
                        progress(done, len(keys))
                    if time.monotonic() - began < _LONG:
                        size = min(2 * size, SEGMENT)
            finally:  # what an interruption cuts off was paid for: it is kept
                if done > start:
                    self._write(segment[: done - start])
            yield segment

    def _distributed(
        self, by: PartsEmbedder, todo: Mapping[bytes, str], progress: Progress | None
    ) -> Iterator[Segment]:
        """Embed texts, many segments at once; each is written as it comes."""
        keys, texts = list(todo), list(todo.values())
        starts = range(0, len(keys), SEGMENT)
        done = 0
        for part, vectors in by.embed_parts([texts[at : at + SEGMENT] for at in starts]):
            part_keys = keys[starts[part] : starts[part] + SEGMENT]
            segment = np.empty(len(part_keys), self._row)
            segment["digest"] = np.frombuffer(b"".join(part_keys), dtype=np.uint8).reshape(-1, 32)
            segment["vector"] = self._checked(vectors, len(part_keys))
            self._write(segment)
            done += len(part_keys)
            if progress:
                progress(done, len(keys))
            yield segment

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._embedder.embed_documents(texts), len(texts))

    def _checked(self, vectors: Vectors, texts: int) -> Vectors:
        expected = (texts, self._embedder.dimension)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise ModelError(
                f"embedder {self._embedder.model_id!r} answered with an array of {vectors.shape}, "
                f"not {expected} finite numbers: check it with dovetail.testing.check_embedder"
            )
        return vectors

    def _write(self, segment: Segment) -> Path:
        """Keep a segment: it is there as a whole or not at all."""
        buffer = io.BytesIO()
        np.save(buffer, segment, allow_pickle=False)
        content = buffer.getvalue()
        path = self._folder / f"{hashlib.sha256(content).hexdigest()[:_NAME]}.npy"
        try:
            make_folder(self._folder)
            replace_file(path, content)
        except OSError as error:
            raise CatalogError(
                f"vectors cannot be kept in {self._folder} ({error.strerror}); "
                "make it writable or make room"
            ) from None
        self._sound.add(path)
        return path


def _fill(vectors: Vectors, missing: dict[bytes, list[int]], segment: Segment) -> None:
    """Put the vectors of a segment where they are missing."""
    rows, targets = [], []
    for row, key in enumerate(_keys(segment)):
        for target in missing.pop(key, ()):
            rows.append(row)
            targets.append(target)
    vectors[targets] = segment["vector"][rows]


def _keys(segment: Segment) -> list[bytes]:
    raw = segment["digest"].tobytes()
    return [raw[start : start + 32] for start in range(0, len(raw), 32)]


def _check(path: Path) -> None:
    """A segment whose content does not give its name raises ValueError."""
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest()[:_NAME] != path.stem:
            raise ValueError(path.name)


def damaged_vectors(folder: Path) -> Iterator[Path]:
    """The segments below a folder, of any embedder, that do not fit their names."""
    for path in sorted(folder.glob("*/*.npy")):
        try:
            _check(path)
        except ValueError:
            yield path


def well_formed(text: str) -> str:
    """The text, with halves of characters that stand alone (no file can hold them) replaced.

    >>> well_formed("caf\\u00e9 \\ud83d\\ude00 \\ud800") == "caf\\u00e9 \\U0001f600 \\ufffd"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def unit_vectors(vectors: npt.ArrayLike, *, rows: int, dimension: int, model_id: str) -> Vectors:
    """A model's answer as so many float32 vectors of length one; an error if it is not that."""
    try:
        unit = np.asarray(vectors, dtype=np.float32).reshape(-1, dimension) if rows else None
    except (TypeError, ValueError):
        raise ModelError(
            f"{model_id}: the vectors are not all of {dimension} numbers; is it the same model?"
        ) from None
    if unit is None:
        return np.zeros((0, dimension), dtype=np.float32)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    if len(unit) != rows:
        raise ModelError(f"{model_id}: {len(unit)} vectors of {dimension} for {rows} texts")
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ModelError(f"{model_id}: a vector is not finite or zero, so it has no direction")
    return np.ascontiguousarray(unit / lengths)


def open_none(argument: str = "") -> None:
    """No embedder."""
    if argument:
        raise UsageError(f"embedder 'none' takes no argument, not {argument!r}")
