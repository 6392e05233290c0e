"""Tables in a bucket, over a real S3 API on this machine, and behind a plain URL."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer

import dovetail
from dovetail.errors import MissingExtraError, SourceError
from dovetail.sources import duck
from tests.support.azure import KEY, container
from tests.support.files import GOOD, names, put, random_bytes, update


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-bucket")
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    client = boto3.client("s3", region_name="us-east-1")
    client.create_bucket(Bucket="lake")

    def put_object(key: str, content: bytes) -> None:
        client.put_object(Bucket="lake", Key=key, Body=content)

    put_object.url = url  # type: ignore[attr-defined]
    yield put_object
    server.stop()


def parquet(**columns: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def fill(bucket: Any) -> None:
    for year in (2023, 2024):
        bucket(f"in/sales/year={year}/part-0.parquet", parquet(id=[1, year], n=[1.5, 2.0]))
    bucket("in/sales/_SUCCESS", b"")
    bucket("in/cities.csv", GOOD.encode())
    bucket("in/log.jsonl", b'{"at": {"x": 1}}\n')


def test_a_bucket_is_read_and_asked(bucket: Any, tmp_path: Path) -> None:
    fill(bucket)
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert (report.skipped, names(report.catalog)) == ((), ["cities", "log", "sales"])
    sales = report.catalog["sales"]
    assert [(column.name, column.type) for column in sales.columns] == [
        ("id", "BIGINT"),
        ("n", "DOUBLE"),
        ("year", "BIGINT"),
    ]
    assert report.catalog["log"].columns[0].name == "at.x"
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql(
            "SELECT city, sum(n) AS n FROM sales JOIN cities USING (id) "
            "WHERE year > 2000 GROUP BY 1"
        )
    assert found.to_arrow().to_pylist() == [{"city": "Rome", "n": 3.0}]
    bucket("in/sales/year=2025/part-0.parquet", parquet(id=[9], n=[1.0]))
    after = update(into=tmp_path / "catalog")
    assert (after.changed, after.catalog["sales"].rows) == ((sales.id,), 5)
    # Nothing of the login is written down.
    kept = [path.read_bytes() for path in (tmp_path / "catalog").rglob("*") if path.is_file()]
    assert not any(b"s3cr3t" in content for content in kept)


def test_broken_and_missing_objects(bucket: Any, tmp_path: Path) -> None:
    fill(bucket)
    bucket("in/sales/year=2022/part-0.parquet", random_bytes(300))
    bucket("in/bad.parquet", random_bytes(300))
    bucket("in/book.xlsx", b"x")
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["cities", "log", "sales"]
    assert [skip.table for skip in report.skipped] == [
        "bad",
        "book",
        "sales/year=2022/part-0.parquet",
    ]
    assert report.skipped[1].reason.endswith("read from this machine alone; copy it here")
    for place in ("s3://nobody-has-this-bucket", "s3://lake/nothing"):
        with pytest.raises(SourceError, match=r"\S") as raised:
            update(place, into=tmp_path / "other")
        assert "\n" not in str(raised.value)


def test_tables_with_a_log_are_named_and_not_read_as_plain_files(
    bucket: Any, tmp_path: Path
) -> None:
    bucket("logs/cities.csv", GOOD.encode())
    for folder in ("logs/orders", "alone"):
        bucket(f"{folder}/part-0.parquet", parquet(id=[1]))
        bucket(f"{folder}/_delta_log/00000000000000000000.json", b"{}")
    bucket("logs/ice/data/0.parquet", parquet(id=[1]))
    bucket("logs/ice/metadata/00000-a.metadata.json", b"{}")
    report = update("lake=s3://lake/logs", into=tmp_path / "catalog")
    assert names(report.catalog) == ["cities"]
    assert [skip.table for skip in report.skipped] == ["ice", "orders"]
    assert report.skipped[0].reason.startswith("is an Iceberg table, which is read from this")
    assert report.skipped[1].reason.endswith("copy its folder here")
    with pytest.raises(SourceError, match="alone: is a Delta Lake table"):
        update("lake=s3://lake/alone", into=tmp_path / "other")


def test_a_login_in_the_url_is_refused(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="set AWS_ACCESS_KEY_ID") as raised:
        update("s3://key:pass@lake/in", into=tmp_path / "catalog")
    assert "pass@" not in str(raised.value)


def test_a_file_behind_a_url(bucket: Any, tmp_path: Path) -> None:
    put(tmp_path / "web" / "cities.csv", GOOD)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        report = update(f"web={url}/cities.csv", into=tmp_path / "catalog")
        assert (names(report.catalog), report.catalog["cities"].rows) == (["cities"], 2)
        with pytest.raises(SourceError, match="404"):
            update(f"{url}/gone.csv", into=tmp_path / "other")
    finally:
        server.shutdown()
        server.server_close()
    fill(bucket)  # which nobody may read without a login
    with pytest.raises(SourceError, match="HTTP GET error on"):
        update(f"{bucket.url}/lake/in/cities.csv", into=tmp_path / "other")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb_extension_httpfs", None)
    duck.load_extension.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail\[cloud\]'"):
        duck.load_extension("httpfs")


def test_a_bucket_of_google(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By HMAC keys and the interface that it shares with S3."""
    fill(bucket)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("GCS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("GCS_SECRET_ACCESS_KEY", "s3cr3t-of-the-bucket")
    monkeypatch.setenv("GCS_ENDPOINT_URL", bucket.url)
    report = update("lake=gs://lake/in/sales", into=tmp_path / "catalog")
    assert (names(report.catalog), report.catalog["lake"].columns[2].name) == (["lake"], "year")
    with pytest.raises(SourceError, match="set GCS_ACCESS_KEY_ID and GCS_SECRET_ACCESS_KEY"):
        update("gs://key:pass@lake/in", into=tmp_path / "other")


def test_a_container_of_azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(SourceError, match="set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE"):
        update("az://lake/in", into=tmp_path / "other")
    blobs = {
        "in/cities.csv": GOOD.encode(),
        "in/sales/year=2023/part-0.parquet": parquet(id=[1, 2023], n=[1.5, 2.0]),
        "in/sales/year=2024/part-0.parquet": parquet(id=[1, 2024], n=[1.5, 2.0]),
        "in/bad.parquet": random_bytes(300),
    }
    with container("lake", blobs) as login:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", login)
        report = update("lake=az://lake/in", into=tmp_path / "catalog")
        assert names(report.catalog) == ["cities", "sales"]
        assert report.catalog["sales"].rows == 4
        assert [skip.table for skip in report.skipped] == ["bad"]
        again = update(into=tmp_path / "catalog")
        assert (again.changed, again.unchanged) == ((), 2)
        with pytest.raises(SourceError, match=r"\S") as raised:
            update("az://nobody/in", into=tmp_path / "third")
        assert "AccountKey" not in str(raised.value)
    kept = [path.read_bytes() for path in (tmp_path / "catalog").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in kept)
