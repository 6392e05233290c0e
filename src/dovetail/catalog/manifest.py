"""The manifest: the one file that says what a catalog is made of."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.catalog.files import replace_file
from dovetail.catalog.layout import GENERATION_FILE, SEGMENT_NAME
from dovetail.domain import Skipped
from dovetail.errors import CatalogError, DamagedError, NotFoundError, VersionError
from dovetail.ports import Json, SourceSpec

FILE = "manifest.json"
FORMAT = "dovetail catalog"
VERSION = 4


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a catalog is made of: files of records, segments, and the sources it came from.

    `pooled`: its sources say nothing about which tables belong together.
    """

    generation: int
    profile: Json
    roots: tuple[SourceSpec, ...]
    skipped: tuple[Skipped, ...]
    files: Json
    segments: Json
    pooled: bool = False

    def write(self, folder: Path) -> None:
        """Put this manifest in force."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "generation": self.generation,
            "profile": self.profile,
            "roots": [_below(root, folder).stored() for root in self.roots],
            "skipped": [[skip.source, skip.table, skip.reason] for skip in self.skipped],
            "files": self.files,
            "segments": self.segments,
            "pooled": self.pooled,
        }
        replace_file(folder / FILE, (json.dumps(content, indent=1) + "\n").encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest in force."""
    path = folder / FILE
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(
            f"there is no catalog at {folder}; build one with dovetail.build, or "
            f"dovetail index SOURCE... -C {folder}"
        ) from None
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}; check its permissions") from None
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}; remove {folder} and index again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DamagedError(f"{path} is not a dovetail catalog; choose another folder")
    if content.get("version") != VERSION:
        raise VersionError(
            f"{folder} is a catalog of format {content.get('version')}, and this dovetail reads "
            f"format {VERSION}; upgrade dovetail, or remove the folder and index again"
        )
    try:
        return Manifest(
            generation=int(content["generation"]),
            profile=dict(content["profile"]),
            roots=tuple(_above(SourceSpec.from_json(root), folder) for root in content["roots"]),
            skipped=tuple(Skipped(*skip) for skip in content["skipped"]),
            files=_named(content["files"], GENERATION_FILE),
            segments=_named(content["segments"], SEGMENT_NAME),
            pooled=content.get("pooled") is True,
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DamagedError(
            f"{path} is damaged: {error!r}; remove {folder} and index again"
        ) from None


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


def describe(content: bytes) -> Json:
    """The size and checksum that a reader checks a file of records by."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
