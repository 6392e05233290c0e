"""Families beside the catalog they were found in, under a digest of all that they depend on.

As with join evidence, they are never out of date: an update that changes nothing keeps them, and
whoever needs them first, `dovetail index` or a reader, works them out.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from dovetail.catalog.files import DAMAGE, replace_file
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import CatalogError
from dovetail.families.family import Families, Family, FamilyMember, Role, by_lineage
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.stored import SCORING_VERSION

FOLDER = "families"
# Raised whenever the same catalog would give other families.
_VERSION = 5


def families_of(catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> Families:
    """The families of a catalog: read from its folder, or found and written there.

    Which table stands for one, the lineage of a dbt project may decide.
    """
    return by_lineage(_found(catalog, thresholds), catalog.dbt)


def _found(catalog: CatalogReader, thresholds: Thresholds) -> Families:
    path = _file(catalog, thresholds)
    with suppress(*DAMAGE):
        return _read(path, catalog)
    # Only who finds families needs what finds them, and the joins that say which one is in use.
    from dovetail.families.detect import find_families
    from dovetail.joins.graph import JoinGraph

    found = find_families(catalog, JoinGraph.of(catalog, thresholds=thresholds))
    with suppress(
        OSError, CatalogError
    ):  # a catalog that cannot be written to is read all the same
        _write(path, found)
    return found


def bring_up_to_date(catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> None:
    """Have the families of a catalog ready, and remove those of other contents.

    Only the holder of the catalog's lock may do this.
    """
    _found(catalog, thresholds)
    with suppress(OSError):
        for file in (catalog.folder / FOLDER).iterdir():
            if file.suffix == ".json" and not file.name.startswith(catalog.contents):
                file.unlink(missing_ok=True)


def _file(catalog: CatalogReader, thresholds: Thresholds) -> Path:
    version = SCORING_VERSION
    digest = hashlib.sha256(
        f"{_VERSION} {version} {thresholds} {catalog.joins_digest}".encode()
    ).hexdigest()[:8]
    return catalog.folder / FOLDER / f"{catalog.contents}-{digest}.json"


def _write(path: Path, families: Families) -> None:
    """Write families; tables are numbered by their place in a list of their own."""
    tables = sorted({member.id for family in families for member in family.members})
    number = {table: place for place, table in enumerate(tables)}
    listed = [
        [
            family.name,
            number[family.canonical],
            [[number[m.id], m.role.value, m.label, m.evidence] for m in family.members],
        ]
        for family in families
    ]
    ids = [[table.source, table.name] for table in tables]
    body = json.dumps({"tables": ids, "families": listed}, ensure_ascii=False).encode()
    path.parent.mkdir(exist_ok=True)
    replace_file(path, b"%08x\n" % zlib.crc32(body) + body)


def _read(path: Path, catalog: CatalogReader) -> Families:
    """Stored families; an error of `DAMAGE` where there are none, or none of this catalog."""
    checksum, _, body = path.read_bytes().partition(b"\n")
    if int(checksum, 16) != zlib.crc32(body):
        raise ValueError(path)
    stored = json.loads(body)
    tables = [TableId(source, name) for source, name in stored["tables"]]
    if any(table not in catalog for table in tables):
        raise ValueError(path)
    return Families(
        _family(name, tables[canonical], [(tables[at], *rest) for at, *rest in members])
        for name, canonical, members in stored["families"]
    )


def _family(name: object, canonical: TableId, members: list[tuple[Any, ...]]) -> Family:
    """A family from what a file holds; ValueError where that makes none."""
    made = tuple(FamilyMember(table, Role(role), *texts) for table, role, *texts in members)
    said = [name, *(text for one in made for text in (one.label, one.evidence))]
    if not all(isinstance(text, str) for text in said):
        raise ValueError(name)
    family = Family(str(name), canonical, made)
    if canonical not in family.tables:
        raise ValueError(name)
    return family
