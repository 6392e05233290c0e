"""Tables in a bucket, over a real S3 API on this machine, and behind a plain URL."""

from __future__ import annotations

import io
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import openpyxl
import pyarrow as pa
import pytest

import dovetail
from dovetail.errors import MissingExtraError, SourceError, UsageError
from dovetail.ports import SourceSpec
from dovetail.sources import duck, object_store
from tests.support.azure import KEY, container
from tests.support.buckets import Bucket, bucket, fill, log_in, parquet
from tests.support.files import GOOD, names, put, random_bytes, update

__all__ = ["bucket"]


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago is taken for settled."""
    monkeypatch.setattr(object_store, "_SETTLED_SECONDS", -5)


def workbook(**sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def arrow(**columns: list[object]) -> bytes:
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


def test_a_bucket_is_read_and_asked(bucket: Bucket, tmp_path: Path) -> None:
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


def test_workbooks_and_arrow_files(bucket: Bucket, tmp_path: Path, settled: None) -> None:
    bucket("in/one.xlsx", workbook(only=[["id", "n"], [1, 2], [3, 4]]))
    bucket("in/two.xlsx", workbook(a=[["id"], [1]], b=[["city"], ["Rome"], ["Oslo"]]))
    bucket("in/events.arrow", arrow(id=[1, 2, 3]))
    for day in (1, 2):
        bucket(f"in/days/day={day}/part-0.feather", arrow(n=[day]))
    bucket("in/broken.xlsx", random_bytes(300))
    bucket("in/broken.arrow", random_bytes(300))
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert {table.name: report.catalog[str(table)].rows for table in report.catalog.ids} == {
        "days": 2,
        "events": 3,
        "one": 2,
        "two/a": 1,
        "two/b": 2,
    }
    assert [skip.table for skip in report.skipped] == ["broken.arrow", "broken.xlsx"]
    assert all(skip.reason.startswith("does not read as a") for skip in report.skipped)
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql("SELECT count(*) AS n FROM \"two/b\" WHERE city = 'Oslo'")
    assert found.to_arrow().to_pylist() == [{"n": 1}]
    again = update(into=tmp_path / "catalog")
    assert (again.changed, again.unchanged) == ((), 5)


def test_thousands_of_objects_are_listed_and_not_asked_about(
    bucket: Bucket, tmp_path: Path, settled: None
) -> None:
    """One request lists a thousand; only objects without bytes are looked at once more."""
    bucket.put_many((f"in/pictures/{number:05}.png" for number in range(2100)), b"x")
    bucket("in/cities.csv", GOOD.encode())
    for day in range(40):
        bucket(f"in/sales/day={day}/part-0.csv", b"id,n\n1,2\n")
    bucket("in/sales/_SUCCESS", b"")
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert (report.skipped, report.catalog["sales"].rows) == ((), 40)
    with bucket.asked() as requests:
        assert update(into=tmp_path / "catalog").unchanged == 2
    lists = [query for method, path, query in requests if path == "/lake/"]
    assert len(lists) == 3
    assert [path for _, path, _ in requests if path != "/lake/"] == ["/lake/in/sales/_SUCCESS"]


def put_parts(bucket: Bucket, folder: str, suffix: str) -> list[str]:
    keys = [f"{folder}/sales/day={day}/part-0.{suffix}" for day in range(10)]
    for day, key in enumerate(keys):
        records = f'{{"id": {day}, "n": 1.5}}\n'.encode()
        texts = {"csv": f"id,n\n{day},1.5\n".encode(), "json": records}
        bucket(key, texts.get(suffix) or parquet(id=[day], n=[1.5]))
    return [f"/lake/{key}" for key in keys]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_small_parts_are_fetched_by_two_requests_each(
    suffix: str, bucket: Bucket, tmp_path: Path
) -> None:
    """One for the size and one for the bytes."""
    paths = put_parts(bucket, f"small/{suffix}", suffix)
    with bucket.asked() as requests:
        assert update(f"x=s3://lake/small/{suffix}", into=tmp_path / "small").catalog["sales"].rows
    asked = [(method, path) for method, path, _ in requests if path != "/lake/"]
    assert sorted(asked) == sorted((how, path) for path in paths for how in ("GET", "HEAD"))


def test_small_parts_are_fetched_side_by_side(bucket: Bucket, tmp_path: Path) -> None:
    """The first request is answered when another comes, before the answer to the first."""
    put_parts(bucket, "beside", "csv")
    seen: set[str] = set()
    other = Event()

    def wait(_: str, path: str) -> None:
        if path.endswith(".csv"):
            seen.add(path)
            if len(seen) > 1:
                other.set()
            other.wait()

    bucket.refuse = wait
    assert update("x=s3://lake/beside", into=tmp_path / "catalog").catalog["sales"].rows == 10


def test_snapshots_in_partitions_are_tables_by_name(bucket: Bucket, tmp_path: Path) -> None:
    """Names that come again in every partition, with other columns; few files are looked into."""
    for day in range(30):
        bucket(f"snap/day={day}/customers.csv", b"id,name\n1,Ann\n")
        bucket(f"snap/day={day}/orders.csv", b"id,total\n1,2\n")
        bucket(f"alike/day={day}/north.csv", b"id,n\n1,2\n")
        bucket(f"alike/day={day}/south.csv", b"id,n\n1,2\n")
        for hour in (1, 2):  # names that tell nothing, as streams write them
            bucket(f"stream/day={day}/feed-{day}-{hour}-abcx.csv", b"id,n\n1,2\n")
    found = update("lake=s3://lake/snap", into=tmp_path / "snap").catalog
    assert {table.name: found[str(table)].rows for table in found.ids} == {
        "customers": 30,
        "orders": 30,
    }
    for folder in ("alike", "stream"):
        source = object_store.ObjectStoreSource(SourceSpec("x", "s3", f"s3://lake/{folder}", "x"))
        with bucket.asked() as requests:
            assert [table.name for table in source.tables()] == [folder]
        source.close()
        assert len(requests) == {"alike": 5, "stream": 1}[folder]


def test_a_change_of_any_object_is_noticed(bucket: Bucket, tmp_path: Path, settled: None) -> None:
    fill(bucket)
    update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert update(into=tmp_path / "catalog").unchanged == 3
    bucket("in/cities.csv", (GOOD + "3,Bern\n").encode())
    bucket.client.delete_object(Bucket="lake", Key="in/sales/year=2023/part-0.parquet")
    after = update(into=tmp_path / "catalog")
    assert sorted(table.name for table in after.changed) == ["cities", "sales"]
    assert (after.catalog["cities"].rows, after.catalog["sales"].rows) == (3, 2)


def test_a_change_of_this_moment_is_not_trusted(bucket: Bucket, tmp_path: Path) -> None:
    """Times are whole seconds: what changed just now may change again and look the same."""
    bucket("in/cities.csv", GOOD.encode())
    update("lake=s3://lake/in", into=tmp_path / "catalog")
    with bucket.asked() as requests:
        update(into=tmp_path / "catalog")
    assert "/lake/in/cities.csv" in [path for _, path, _ in requests]


PATTERNS = {
    "in/*.csv": ["cities", "rivers"],
    "in/**/*.csv": ["a/b/deep", "a/near", "cities", "rivers"],
    "in/**": ["a/b/deep", "a/near", "cities", "numbers", "rivers"],
    "in/c*": ["cities"],
    "in/?iti[ae]s.csv": ["cities"],
    "in/[!c]*.csv": ["rivers"],
    "*/a/*.csv": ["in/a/near"],
    "in/a/**/deep.csv": ["b/deep"],
    "in/*.parquet": ["numbers"],
    "in/.*/*.csv": [".hidden/secret"],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_wildcards_mean_what_they_mean_for_files(
    pattern: str, bucket: Bucket, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    for path in ("cities", "rivers", "a/near", "a/b/deep", ".hidden/secret"):
        put(here / "in" / f"{path}.csv", GOOD)
    put(here / "in" / "notes.txt", "x")
    put(here / "in" / "numbers.parquet" / "part-0.parquet", parquet(id=[1]))
    put(here / "in" / "numbers.parquet" / "year=1" / "part-1.parquet", parquet(id=[1]))
    bucket.put_folder(here)
    far = update(f"x=s3://lake/{pattern}", into=tmp_path / "far")
    assert (far.skipped, names(far.catalog)) == ((), PATTERNS[pattern])
    near = update(f"x={here}/{pattern}", into=tmp_path / "near")
    assert names(near.catalog) == PATTERNS[pattern]
    assert [far.catalog[str(table)].rows for table in far.catalog.ids] == [
        near.catalog[str(table)].rows for table in near.catalog.ids
    ]


def test_names_that_look_like_patterns_and_odd_keys(bucket: Bucket, tmp_path: Path) -> None:
    for key in ("odd/a[1].csv", "odd/b*.csv", "odd//double.csv", "odd/c#d@e.csv", "odd/é ü.csv"):
        bucket(key, GOOD.encode())
    bucket("odd/folder/", b"")
    report = update("x=s3://lake/odd", into=tmp_path / "all")
    assert report.skipped == ()
    assert names(report.catalog) == ["/double", "a[1]", "b*", "c#d@e", "é ü"]
    alone = update("x=s3://lake/odd/a[1].csv", into=tmp_path / "one")
    assert names(alone.catalog) == ["a[1]"]


def test_a_folder_with_a_suffix_is_one_table(bucket: Bucket, tmp_path: Path) -> None:
    """As Spark writes `orders.parquet`, named itself or found below."""
    bucket("in/orders.parquet/part-00000.parquet", parquet(id=[1]))
    bucket("in/orders.parquet/year=1/x.parquet", parquet(id=[1, 2]))
    bucket("in/orders.parquet/_SUCCESS", b"")
    bucket("in/orders.parquet/readme.csv", GOOD.encode())
    for location in ("s3://lake/in", "s3://lake/in/orders.parquet", "s3://lake/in/orders.parquet/"):
        report = update(f"x={location}", into=tmp_path / str(len(location)))
        assert (report.skipped, names(report.catalog)) == ((), ["orders"])
        assert report.catalog["orders"].rows == 3


def test_a_login_in_the_url_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="set AWS_ACCESS_KEY_ID") as raised:
        update("s3://key:pass@lake/in", into=tmp_path / "catalog")
    assert "pass@" not in str(raised.value)
    with pytest.raises(UsageError, match="takes no parameters after a") as usage:
        update("s3://lake/in?s3_secret_access_key=pa/ss", into=tmp_path / "catalog")
    assert "pa/ss" not in str(usage.value)


def test_the_login_is_for_one_bucket(bucket: Bucket, tmp_path: Path) -> None:
    """Not for one whose name begins with that of ours."""
    bucket.client.create_bucket(Bucket="lake-of-others")
    bucket("x.csv", GOOD.encode(), into="lake-of-others")
    bucket("in/x.csv", GOOD.encode())
    source = object_store.ObjectStoreSource(SourceSpec("x", "s3", "s3://lake/in", "x"))
    try:
        assert len(duck.fetch("SELECT content FROM read_blob('s3://lake/in/x.csv')")) == 1
        secrets = "SELECT name FROM which_secret('s3://lake-of-others/x.csv', 's3')"
        assert duck.fetch(secrets) == []
    finally:
        source.close()


def test_a_file_behind_a_url(bucket: Bucket, tmp_path: Path) -> None:
    put(tmp_path / "web" / "cities.csv", GOOD)
    put(tmp_path / "web" / "book.xlsx", workbook(a=[["id"], [1]], b=[["n"], [1], [2]]))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        report = update(f"web={url}/cities.csv", into=tmp_path / "catalog")
        assert (names(report.catalog), report.catalog["cities"].rows) == (["cities"], 2)
        book = update(f"web={url}/book.xlsx", into=tmp_path / "book")
        assert (names(book.catalog), book.catalog["book/b"].rows) == (["book/a", "book/b"], 2)
        with pytest.raises(SourceError, match="404"):
            update(f"{url}/gone.csv", into=tmp_path / "other")
        with pytest.raises(SourceError, match="does not say which format"):
            update(f"{url}/export", into=tmp_path / "other")
    finally:
        server.shutdown()
        server.server_close()
    fill(bucket)  # which nobody may read without a login
    with pytest.raises(SourceError, match="the server does not let it be read"):
        update(f"{bucket.url}/lake/in/cities.csv", into=tmp_path / "other")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb_extension_httpfs", None)
    duck.load_extension.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail-tables\[cloud\]'"):
        duck.load_extension("httpfs")


def test_a_bucket_of_google(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: None
) -> None:
    """By HMAC keys and the interface that it shares with S3."""
    fill(bucket)
    log_in(monkeypatch, "gs", bucket.url)
    report = update("lake=gs://lake/in/sales", into=tmp_path / "catalog")
    assert (names(report.catalog), report.catalog["sales"].columns[2].name) == (["sales"], "year")
    with bucket.asked() as requests:
        assert update(into=tmp_path / "catalog").unchanged == 1
    assert [path for _, path, _ in requests] == ["/lake/", "/lake/in/sales/_SUCCESS"]
    wild = update("lake=gs://lake/in/*.csv", into=tmp_path / "wild")
    assert names(wild.catalog) == ["cities"]
    with pytest.raises(SourceError, match="set GCS_ACCESS_KEY_ID and GCS_SECRET_ACCESS_KEY"):
        update("gs://key:pass@lake/in", into=tmp_path / "other")
    bucket.refuse = lambda *_: (403, "SignatureDoesNotMatch", "no")
    with pytest.raises(SourceError, match="check GCS_ACCESS_KEY_ID and GCS_SECRET_ACCESS_KEY"):
        update("gs://lake/in", into=tmp_path / "other")


def test_a_container_of_azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(SourceError, match="set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE"):
        update("az://lake/in", into=tmp_path / "other")
    blobs = {
        "in/cities.csv": GOOD.encode(),
        "in/book.xlsx": workbook(only=[["id"], [1]]),
        "in/sales/year=2023/part-0.parquet": parquet(id=[1, 2023], n=[1.5, 2.0]),
        "in/sales/year=2024/part-0.parquet": parquet(id=[1, 2024], n=[1.5, 2.0]),
        "in/bad.parquet": random_bytes(300),
    }
    with container("lake", blobs) as login:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", login)
        report = update("lake=az://lake/in", into=tmp_path / "catalog")
        assert names(report.catalog) == ["book", "cities", "sales"]
        assert report.catalog["sales"].rows == 4
        assert [skip.table for skip in report.skipped] == ["bad"]
        again = update(into=tmp_path / "catalog")
        assert (again.changed, again.unchanged) == ((), 3)
        wild = update("lake=az://lake/in/**/*.parquet", into=tmp_path / "wild")
        assert names(wild.catalog) == ["sales"]
        with pytest.raises(SourceError, match=r"\S") as raised:
            update("az://nobody/in", into=tmp_path / "third")
        assert "AccountKey" not in str(raised.value)
    kept = [path.read_bytes() for path in (tmp_path / "catalog").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in kept)
