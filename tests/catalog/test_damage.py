"""Catalogs that are not what they should be: refused, with a remedy, and left as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from dovetail import Settings
from dovetail.atomic import make_folder
from dovetail.catalog.generation import RECORDS, VERSION, PartEntry, read_manifest
from dovetail.catalog.records import COLUMNS, Records
from dovetail.errors import (
    CatalogError,
    DamagedError,
    NotFoundError,
    VersionError,
)
from tests.support.contents import contents
from tests.support.files import (
    GOOD,
    edit_manifest,
    names,
    one,
    put,
    rewrite,
    update,
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    put(tmp_path / "lake" / "good.csv", GOOD)
    return update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog.folder


def flip(content: bytes) -> bytes:
    at = len(content) - 5
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


FORM = ("maximum", "distinct", "kept", "hashes_at", "counts_at")
AGAIN = r"mend it: dovetail repair -C "


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "manifest cut": (lambda c: rewrite(c / "manifest.json", lambda b: b[:100]), AGAIN),
    "manifest empty": (lambda c: rewrite(c / "manifest.json", lambda _: b""), AGAIN),
    "manifest no JSON": (lambda c: rewrite(c / "manifest.json", lambda _: b"\xff\xfe"), AGAIN),
    "manifest of others": (
        lambda c: rewrite(c / "manifest.json", lambda _: b'{"name": "page"}'),
        "is not a dovetail catalog; choose another folder",
    ),
    "manifest a list": (
        lambda c: rewrite(c / "manifest.json", lambda _: b"[]"),
        "is not a dovetail catalog; choose another folder",
    ),
    **{
        f"manifest without {key}": (lambda c, key=key: edit_manifest(c, **{key: None}), AGAIN)  # type: ignore[misc]
        for key in ("generation", "profile", "roots", "skipped", "parts", "segments")
    },
    "no parts": (lambda c: edit_manifest(c, parts={}), AGAIN),
    "no segments": (lambda c: edit_manifest(c, segments={}), AGAIN),
    "segments of nothing": (lambda c: edit_manifest(c, segments={"x": {}}), AGAIN),
    "roots of nothing": (lambda c: edit_manifest(c, roots=[{}]), AGAIN),
    "roots no roots": (lambda c: edit_manifest(c, roots=[1]), AGAIN),
    "no rows": (
        lambda c: shutil.rmtree(c / "generations"),
        "tables.arrow is damaged: it is missing or cut off; " + AGAIN,
    ),
    "no segment": (lambda c: shutil.rmtree(c / "segments"), "hashes.npy is missing; " + AGAIN),
    "no vectors": (lambda c: one(c, "counts.npy").unlink(), "counts.npy is missing; " + AGAIN),
    "vectors cut": (
        lambda c: rewrite(one(c, "hashes.npy"), lambda b: b[:-8]),
        r"hashes.npy is damaged: it has \d+ bytes, not \d+; " + AGAIN,
    ),
    "rows flipped": (
        lambda c: rewrite(c / "generations/00000001/records/tables.arrow", flip),
        "tables.arrow is damaged: its checksum does not match; " + AGAIN,
    ),
    "rows cut": (
        lambda c: rewrite(c / "generations/00000001/records/columns.arrow", lambda b: b[:-1]),
        "columns.arrow is damaged: it is missing or cut off; " + AGAIN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_catalog_is_refused(case: str, built: Path, tmp_path: Path) -> None:
    damage, remedy = DAMAGES[case]
    damage(built)
    files = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    for attempt in (
        lambda: dovetail.open(built),
        lambda: update(tmp_path / "lake", into=built),
        lambda: update(into=built),
    ):
        with pytest.raises(DamagedError, match=remedy) as raised:
            attempt()
        assert str(raised.value).isprintable()
    # Nothing was mended or removed behind the user's back.
    lock = built / "lock"
    now = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    assert {**now, lock: b""} == {**files, lock: b""}
    # The remedy works.
    shutil.rmtree(built)
    assert names(update(tmp_path / "lake", into=built).catalog) == ["good"]


LIES: dict[str, tuple[str, object]] = {
    "more values than there are": ("kept", 1 << 50),
    "values after the last": ("hashes_at", 1 << 50),
    "values before the first": ("hashes_at", -1),
    "an end beyond all numbers": ("hashes_at", (1 << 63) - 1),
    "counts after the last": ("counts_at", 1 << 50),
    "more phrases than there are": ("phrases", 1 << 50),
    "phrases before the first": ("phrases_at", -8),
    "no place": ("hashes_at", None),
    "a form after the last": ("views", [dict.fromkeys(FORM, 1 << 50) | {"name": "x"}]),
    "no forms": ("views", None),
}


@pytest.mark.parametrize("case", LIES)
def test_records_that_lead_out_of_their_segment_are_refused_and_mended(
    case: str, built: Path, tmp_path: Path
) -> None:
    """Every checksum fits: only the places are wrong, and memory for them is never taken."""
    before = contents(dovetail.open(built))
    field, lie = LIES[case]
    folder = built / "generations/00000001/records"
    manifest = read_manifest(built)
    records = Records.read(manifest.open_part(built, RECORDS))
    rows = [{**row, field: lie} for row in records.columns.to_pylist()]
    (lying := tmp_path / "lying").mkdir()
    Records(records.tables, pa.Table.from_pylist(rows, COLUMNS)).write(lying)
    for file in lying.iterdir():
        file.replace(folder / file.name)
    entry = PartEntry.of(1, manifest.parts[RECORDS].key, folder)
    replace(manifest, parts={**manifest.parts, RECORDS: entry}).write(built)
    with pytest.raises(DamagedError, match="columns.arrow is damaged: it leads out of .*" + AGAIN):
        dovetail.open(built)
    (found,) = dovetail.check(built)
    assert (found.part, found.file.name) == (RECORDS, "columns.arrow")
    assert dovetail.repair(built, Settings(embedder="none")).left == ()
    assert contents(dovetail.open(built)) == before


def test_a_manifest_that_is_gone_comes_back_from_its_copy(built: Path, tmp_path: Path) -> None:
    before = contents(dovetail.open(built))
    (built / "manifest.json").unlink()
    for attempt in (
        lambda: dovetail.open(built),
        lambda: update(tmp_path / "lake", into=built),
        lambda: update(into=built),
    ):
        with pytest.raises(DamagedError, match="manifest.json is missing; " + AGAIN):
            attempt()
    assert dovetail.repair(built, Settings(embedder="none")).left == ()
    assert contents(dovetail.open(built)) == before


def test_a_copy_of_the_manifest_that_is_gone_is_told_and_made_again(built: Path) -> None:
    copy = built / "manifest.copy.json"
    content = copy.read_bytes()
    copy.unlink()
    (found,) = dovetail.check(built)
    assert (found.file.name, found.problem) == (copy.name, "it is missing")
    assert dovetail.repair(built, Settings(embedder="none")).left == ()
    assert copy.read_bytes() == content


def test_folders_are_synced_where_their_names_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("dovetail.atomic.sync_folder", synced.append)
    make_folder(tmp_path / "a/b/c")
    make_folder(tmp_path / "a/b")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a/b"]


def test_flipped_vectors_are_refused_before_the_first_is_given_out(built: Path) -> None:
    rewrite(one(built, "hashes.npy"), flip)
    catalog = dovetail.open(built)
    for table in catalog.ids:
        for column in range(2):
            with pytest.raises(
                DamagedError, match="hashes.npy is damaged: its checksum .*" + AGAIN
            ):
                catalog.reader.hashes(table, column)


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_a_catalog_of_another_format_is_refused(version: int, built: Path, tmp_path: Path) -> None:
    edit_manifest(built, version=version)
    remedy = f"format {version}, .* format {VERSION}; remove the folder .* dovetail index"
    with pytest.raises(VersionError, match=remedy):
        dovetail.open(built)
    with pytest.raises(VersionError, match=remedy):
        update(tmp_path / "lake", into=built)


def test_a_catalog_where_there_is_something_else(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    file = put(lake / "good.csv", GOOD)
    theirs = put(lake / "staging" / "theirs.csv", GOOD)
    with pytest.raises(CatalogError, match=r"good.csv: Not a directory; choose another folder"):
        update(lake, into=file)
    with pytest.raises(NotFoundError, match="there is no catalog at"):
        dovetail.open(file)
    with pytest.raises(CatalogError, match="Not a directory; choose another folder"):
        update(lake, into=file / "below")
    with pytest.raises(CatalogError, match="holds other files and no catalog; choose a new folder"):
        update(lake, into=lake)
    assert file.read_text() == theirs.read_text() == GOOD
    assert sorted(entry.name for entry in lake.iterdir()) == ["good.csv", "staging"]


def test_a_segment_half_removed_is_written_again(built: Path, tmp_path: Path) -> None:
    before = contents(dovetail.open(built))
    (segment,) = (built / "segments").iterdir()
    half = tmp_path / "half"
    shutil.copytree(segment, half)
    dovetail.update(into=built, forget=["lake"])
    for name in ("tables.parquet", "columns.parquet", "segment.json", "hashes.npy"):
        shutil.copytree(half, segment)
        (segment / name).unlink()
        catalog = update(f"lake={tmp_path / 'lake'}", into=built).catalog
        assert contents(catalog) == contents(dovetail.open(built)) == before
        dovetail.update(into=built, forget=["lake"])
        assert list((built / "segments").iterdir()) == []
