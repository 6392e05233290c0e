"""What goes wrong in a bucket: one line each, and the rest is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dovetail.errors import SourceError
from dovetail.sources.store import complaint
from tests.support.buckets import Bucket, bucket, fill, parquet
from tests.support.files import GOOD, names, put, random_bytes, update

__all__ = ["bucket"]


def test_mixed_schemas_between_partitions(bucket: Bucket, tmp_path: Path) -> None:
    bucket("in/sales/year=1/part-0.parquet", parquet(id=[1], n=[1]))
    bucket("in/sales/year=2/part-0.parquet", parquet(id=[2], n=[1.5], extra=["x"]))
    bucket("in/sales/year=3/part-0.parquet", parquet(other=[3]))
    bucket("in/sales/year=4/part-0.parquet", parquet(ID=["four"]))
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert [(skip.table, skip.reason) for skip in report.skipped] == [
        (
            "sales/year=3/part-0.parquet",
            "has no column in common with the other parts; index it apart from them",
        )
    ]
    sales = report.catalog["sales"]
    assert (sales.rows, [(column.name, column.type) for column in sales.columns]) == (
        3,
        [("id", "VARCHAR"), ("n", "DOUBLE"), ("extra", "VARCHAR"), ("year", "BIGINT")],
    )


def test_broken_and_missing_objects(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket)
    bucket("in/sales/year=2022/part-0.parquet", random_bytes(300))
    bucket("in/bad.parquet", random_bytes(300))
    bucket("in/cut.parquet", parquet(id=list(range(1000)))[:-200])
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["cities", "log", "sales"]
    assert [skip.table for skip in report.skipped] == [
        "bad",
        "cut",
        "sales/year=2022/part-0.parquet",
    ]
    assert all(skip.reason.isprintable() for skip in report.skipped)
    with pytest.raises(SourceError, match="there is no such bucket; check its name"):
        update("s3://nobody-has-this-bucket", into=tmp_path / "other")
    for place in ("s3://lake/nothing", "s3://lake/*.nothing"):
        with pytest.raises(SourceError, match="holds no table files, or is not there"):
            update(place, into=tmp_path / "other")
    with pytest.raises(SourceError, match=r"s3://lake/gone\.csv is not there"):
        update("s3://lake/gone.csv", into=tmp_path / "other")


def test_objects_that_go_between_listing_and_reading(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket)
    bucket("in/short.csv", GOOD.encode())
    gone = ("/in/short.csv", "/in/sales/year=2023/part-0.parquet")
    bucket.refuse = lambda _, path: (
        (404, "NoSuchKey", "The specified key does not exist.") if path.endswith(gone) else None
    )
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["cities", "log", "sales"]
    assert report.catalog["sales"].rows == 2
    found = {skip.table: skip.reason for skip in report.skipped}
    assert sorted(found) == ["sales/year=2023/part-0.parquet", "short"]
    for reason in found.values():
        assert reason.endswith("is not there; if it was removed meanwhile, index again")


REFUSALS = {
    (403, "InvalidAccessKeyId"): "the store does not accept the login; check AWS_ACCESS_KEY_ID",
    (403, "SignatureDoesNotMatch"): "the store does not accept the login; check AWS_ACCESS",
    (403, "AccessDenied"): "the login may not read it; allow it to list and to read",
    (400, "ExpiredToken"): "its session token has expired; get a new login",
    (301, "PermanentRedirect"): "the bucket is in another region; set AWS_REGION",
    (503, "SlowDown"): "the store has too much to do; index again later",
}


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal[1])
def test_a_store_that_refuses(
    refusal: tuple[int, str], bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t0ken-of-an-hour")
    fill(bucket)
    bucket.refuse = lambda *_: (*refusal, "The provided token has said no.")
    put(tmp_path / "good.csv", GOOD)
    report = update("lake=s3://lake/in", tmp_path / "good.csv", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    (skip,) = report.skipped
    assert skip.reason.startswith(REFUSALS[refusal])
    assert "t0ken" not in skip.reason


def test_one_object_that_may_not_be_read(bucket: Bucket, tmp_path: Path) -> None:
    fill(bucket)
    bucket.refuse = lambda _, path: (
        (403, "AccessDenied", "Access Denied") if path.endswith("cities.csv") else None
    )
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["log", "sales"]
    (skip,) = report.skipped
    assert (skip.table, skip.reason.partition(";")[0]) == ("cities", "the login may not read it")


def test_complaints_hold_no_query() -> None:
    said = "HTTP Error: HTTP GET error on 'https://h/a.csv?sig=abc%2Bd' (HTTP 403 Forbidden)"
    for kind in ("https", "s3"):
        assert "sig=" not in complaint(kind, said)
    assert "abc+d" not in complaint("https", "something about abc+d", secret="abc%2Bd")


@pytest.mark.parametrize("status", ["HTTP 404", "404 Not Found", "NoSuchKey"])
def test_an_object_that_is_gone_is_told_in_a_line(status: str) -> None:
    message = f"Unable to connect to URL 's3://lake/a.csv': {status}\nand more"
    assert complaint("s3", message).endswith(
        "is not there; if it was removed meanwhile, index again"
    )


@pytest.mark.parametrize("piece", ["http://", "https://a", "http://a?", "'http://", "on "])
def test_a_complaint_is_read_in_time_that_grows_with_it(piece: str) -> None:
    def seconds(times: int) -> float:
        before = time.process_time()
        complaint("s3", piece * times)
        return time.process_time() - before

    once, fourfold = seconds(10_000), seconds(40_000)
    assert fourfold < 8 * once + 1


def test_every_query_of_a_url_is_taken_out() -> None:
    said = "IO Error: at x?y=http://h/a?sig=1 and 'https://h/b?sig=2' or z?w=3 http://h/c"
    shown = complaint("s3", said)
    assert "at x?y=http://h/a and 'https://h/b' or z?w=3 http://h/c" in shown
