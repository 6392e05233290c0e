"""Delta Lake and Iceberg tables, by other programs: the newest version alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.errors import MissingExtraError, SourceError
from dovetail.sources import duck
from dovetail.sources.lake_tables import require_inside
from tests.support.files import GOOD, names, put, random_bytes, update
from tests.support.lakes import FIRST, SECOND, check_newest_delta, put_delta, put_iceberg


def test_a_delta_table_is_its_newest_version(tmp_path: Path) -> None:
    lake = tmp_path / "la ke"
    sales = put_delta(lake / "sales")
    put(lake / "cities.csv", GOOD)
    check_newest_delta(str(lake), sales, lambda: None, tmp_path)


def test_an_iceberg_table_is_its_newest_version(tmp_path: Path) -> None:
    table = put_iceberg(tmp_path / "lake")
    report = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog")
    assert (report.skipped, names(report.catalog)) == ((), ["shop/orders"])
    orders = report.catalog["orders"]
    assert [column.name for column in orders.columns] == ["id", "region", "at.x"]
    assert (orders.rows, sorted(orders.column("id").profile.examples)) == (3, ["2", "3", "4"])
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql('SELECT max("at.x") AS x FROM "shop/orders"').to_arrow().to_pylist()
    assert found == [{"x": 3}]
    assert update(into=tmp_path / "catalog").unchanged == 1
    table.append(SECOND)
    after = update(into=tmp_path / "catalog")
    assert (after.changed, after.catalog["orders"].rows) == ((orders.id,), 4)


def test_broken_logs_and_missing_files_are_one_line_each(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    put(lake / "good.csv", GOOD)
    put_delta(lake / "garbled")
    for commit in (lake / "garbled" / "_delta_log").glob("*.json"):
        commit.write_bytes(random_bytes(200))
    put_delta(lake / "gone")
    for data in (lake / "gone").rglob("*.parquet"):
        data.unlink()
    put(lake / "empty" / "_delta_log" / "notes.txt", "")
    put(lake / "ice" / "metadata" / "v1.metadata.json", "{")
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    assert [skip.table for skip in report.skipped] == ["empty", "garbled", "gone", "ice"]
    assert all(skip.reason.isprintable() for skip in report.skipped)


def test_a_log_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    lake, secret = tmp_path / "lake", tmp_path / "secret.parquet"
    pq.write_table(pa.table({"id": [7], "region": ["x"], "at": [{"x": 1}]}), secret)
    put(lake / "good.csv", GOOD)
    deltalake.write_deltalake(str(lake / "far"), FIRST)
    deltalake.write_deltalake(str(lake / "up"), FIRST)
    for name, path in (("far", f"file://{secret}"), ("up", "../../secret.parquet")):
        (commit,) = (lake / name / "_delta_log").glob("*.json")
        lines = commit.read_text().splitlines()
        named = [json.loads(line) for line in lines]
        for entry in named:
            if "add" in entry:
                entry["add"] |= {"path": path, "size": secret.stat().st_size, "stats": None}
        commit.write_text("\n".join(map(json.dumps, named)) + "\n")
    put_iceberg(tmp_path / "made")
    (tmp_path / "made").rename(lake / "moved")
    report = update(f"lake={lake}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    reasons = {skip.table: skip.reason for skip in report.skipped}
    assert sorted(reasons) == ["far", "moved/shop/orders", "up"]
    for name in ("far", "up"):
        assert reasons[name].startswith("its log names a file outside of its folder")


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ("/lake/t/part.parquet", True),
        ("file:///lake/t/a%20b/part.parquet", True),
        ("/lake/t2/part.parquet", False),
        ("/lake/t/../u/part.parquet", False),
        ("/lake/t/%2e%2e/u/part.parquet", False),
        ("s3://bucket/lake/t/part.parquet", False),
        ("/lake/t/http%3A//host/x", False),
        ("part.parquet", False),
    ],
)
def test_which_files_are_inside_of_a_folder(file: str, fits: bool) -> None:
    if fits:
        require_inside("/lake/t", [file])
    else:
        with pytest.raises(SourceError, match="outside of its folder"):
            require_inside("/lake/t", [file])


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_missing_extra_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"duckdb_extension_{kind}", None)
    duck.load_extension.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail\[lake\]'"):
        duck.load_extension(kind)
