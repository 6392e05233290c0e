"""Delta Lake and Iceberg tables, here and in buckets: the newest version, and nothing outside."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import deltalake
import pytest

import dovetail
from dovetail.errors import DovetailError, MissingExtraError, SourceError
from dovetail.models.openai import OpenAILLM
from dovetail.sources import duck, object_store
from dovetail.sources.lake_tables import lakes_below, newest_version, require_inside
from tests.support.azure import container
from tests.support.buckets import Bucket, bucket, log_in, parquet
from tests.support.endpoint import endpoint, says
from tests.support.files import GOOD, names, put, random_bytes, update
from tests.support.lakes import SECOND, put_delta, put_iceberg, put_iceberg_for

__all__ = ["bucket"]
STORES = ("s3", "gs", "az")


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago is taken for settled."""
    monkeypatch.setattr(object_store, "_SETTLED_SECONDS", -5)


class Anywhere:
    """A folder of buckets, shown by any of the stores, or on this machine."""

    def __init__(self, kind: str, folder: Path, bucket: Bucket, blobs: dict[str, bytes]) -> None:
        self.kind, self.folder, self._bucket, self._blobs = kind, folder, bucket, blobs

    @property
    def url(self) -> str:
        """Where the folder `lake/in` is found."""
        return str(self.folder / "lake" / "in") if self.kind == "here" else f"{self.kind}://lake/in"

    def show(self) -> None:
        """Show what is in the folder `lake` now."""
        top = self.folder / "lake"
        if self.kind == "here":
            return
        if self.kind == "az":
            files = [path for path in top.rglob("*") if path.is_file()]
            self._blobs |= {path.relative_to(top).as_posix(): path.read_bytes() for path in files}
        else:
            self._bucket.put_folder(top)


@pytest.fixture
def anywhere(
    request: pytest.FixtureRequest,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Anywhere]:
    blobs: dict[str, bytes] = {}
    with ExitStack() as stack:
        if request.param == "az":
            login = stack.enter_context(container("lake", blobs))
            monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", login)
        elif request.param != "here":
            log_in(monkeypatch, request.param, bucket.url)
        yield Anywhere(request.param, tmp_path / "far", bucket, blobs)


@pytest.mark.parametrize("anywhere", ["here", *STORES], indirect=True)
def test_a_delta_table_is_its_newest_version(anywhere: Anywhere, tmp_path: Path) -> None:
    table = put_delta(anywhere.folder / "lake" / "in" / "sales")
    put(anywhere.folder / "lake" / "in" / "cities.csv", GOOD)
    anywhere.show()
    report = update(f"lake={anywhere.url}", into=tmp_path / "catalog")
    assert (report.skipped, names(report.catalog)) == ((), ["cities", "sales"])
    sales = report.catalog["sales"]
    assert [(column.name, column.type) for column in sales.columns] == [
        ("id", "BIGINT"),
        ("region", "VARCHAR"),
        ("at.x", "BIGINT"),
    ]
    assert sorted(sales.column("id").profile.examples) == ["2", "3", "4"]
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql(
            "SELECT s.id, city FROM sales s JOIN cities c ON c.id = s.id WHERE region = 'b'"
        )
        assert found.to_arrow().to_pylist() == [{"id": 2, "city": "Oslo"}]
    assert update(into=tmp_path / "catalog").unchanged == 2
    deltalake.DeltaTable(str(table)).delete("id = 4")
    anywhere.show()
    after = update(into=tmp_path / "catalog")
    assert (after.changed, after.catalog["sales"].rows) == ((sales.id,), 2)
    # The folder by itself is the same table.
    alone = update(f"lake={anywhere.url}/sales", into=tmp_path / "other").catalog["sales"]
    assert (alone.rows, alone.columns) == (2, after.catalog["sales"].columns)


@pytest.mark.parametrize("anywhere", ["here", "s3", "az"], indirect=True)
def test_an_iceberg_table_is_its_newest_version(anywhere: Anywhere, tmp_path: Path) -> None:
    if anywhere.kind == "here":
        table = put_iceberg(anywhere.folder / "lake" / "in")
    else:
        table = put_iceberg_for(anywhere.url, anywhere.folder)
    anywhere.show()
    report = update(f"lake={anywhere.url}", into=tmp_path / "catalog")
    assert (report.skipped, names(report.catalog)) == ((), ["shop/orders"])
    orders = report.catalog["orders"]
    assert [column.name for column in orders.columns] == ["id", "region", "at.x"]
    assert (orders.rows, sorted(orders.column("id").profile.examples)) == (3, ["2", "3", "4"])
    with dovetail.open(tmp_path / "catalog") as catalog:
        found = catalog.sql('SELECT max("at.x") AS x FROM "shop/orders"').to_arrow().to_pylist()
    assert found == [{"x": 3}]
    assert update(into=tmp_path / "catalog").unchanged == 1
    table.append(SECOND)
    anywhere.show()
    after = update(into=tmp_path / "catalog")
    assert (after.changed, after.catalog["orders"].rows) == ((orders.id,), 4)


def test_a_change_is_noticed_by_the_listing_alone(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_folder(put_delta(tmp_path / "sales"), "in/sales/")
    put_iceberg_for("s3://lake/in", tmp_path / "far")
    bucket.put_folder(tmp_path / "far" / "lake")
    update("lake=s3://lake/in", into=tmp_path / "catalog")
    with bucket.asked() as requests:
        assert update(into=tmp_path / "catalog").unchanged == 2
    assert requests == [("GET", "/lake/", "encoding-type=url&list-type=2&prefix=in%2F")]
    # Data that no version names is no change.
    bucket("in/sales/region=a/part-00007.parquet", parquet(id=[9]))
    assert update(into=tmp_path / "catalog").unchanged == 2


def test_a_table_with_a_log_among_partitions(bucket: Bucket, tmp_path: Path) -> None:
    """A Delta table in a folder of partitions, and plain partitions beside it."""
    made = put_delta(tmp_path / "orders")
    bucket.put_folder(made, "in/country=de/orders/")
    bucket.put_folder(made, "in/country=fr/orders/")
    for country in ("de", "fr"):
        bucket(f"in/country={country}/part-0.parquet", parquet(city=[country], n=[1]))
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert report.skipped == ()
    assert {table.name: report.catalog[str(table)].rows for table in report.catalog.ids} == {
        "country=de/orders": 3,
        "country=fr/orders": 3,
        "in": 2,
    }


def test_tables_without_rows_and_tables_within_tables(bucket: Bucket, tmp_path: Path) -> None:
    deltalake.DeltaTable.create(str(tmp_path / "none"), schema=SECOND.schema)
    bucket.put_folder(tmp_path / "none", "in/none/")
    put_iceberg_for("s3://lake/in", tmp_path / "far", rows=False)
    bucket.put_folder(tmp_path / "far" / "lake")
    # A table's folder that holds an older copy of its own, which is no part of it.
    sales = put_delta(tmp_path / "sales")
    bucket.put_folder(sales, "in/sales/backup/")
    deltalake.DeltaTable(str(sales)).delete("id = 4")
    bucket.put_folder(sales, "in/sales/")
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert report.skipped == ()
    assert {table.name: report.catalog[str(table)].rows for table in report.catalog.ids} == {
        "none": 0,
        "sales": 2,
        "shop/orders": 0,
    }
    assert update(into=tmp_path / "catalog").unchanged == 3


def test_an_iceberg_table_by_several_writers(bucket: Bucket, tmp_path: Path) -> None:
    """Versions as Hadoop tables number them, packed, and a hint that says which counts."""
    table = put_iceberg_for("s3://lake/in", tmp_path / "far")
    before = table.metadata_location.rpartition("/")[2]
    metadata = tmp_path / "far" / "lake" / "in" / "shop" / "orders" / "metadata"
    old = (metadata / before).read_bytes()
    table.append(SECOND)
    newest = (metadata / table.metadata_location.rpartition("/")[2]).read_bytes()
    bucket.put_folder(tmp_path / "far" / "lake")
    bucket("in/shop/orders/metadata/v9.gz.metadata.json", gzip.compress(old))
    bucket("in/shop/orders/metadata/v10.gz.metadata.json", gzip.compress(newest))
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert (report.skipped, report.catalog["orders"].rows) == ((), 4)
    bucket("in/shop/orders/metadata/version-hint.text", b"9\n")
    after = update(into=tmp_path / "catalog")
    assert (after.skipped, after.catalog["orders"].rows) == ((), 3)


def test_files_by_other_words_for_the_store(bucket: Bucket, tmp_path: Path) -> None:
    """Spark and Hadoop call a bucket `s3a://`."""
    put_iceberg_for("s3a://lake/in", tmp_path / "far")
    bucket.put_folder(tmp_path / "far" / "lake")
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert (report.skipped, report.catalog["orders"].rows) == ((), 3)


def delta_naming(folder: Path, **entry: Any) -> Path:
    """A Delta table whose log names a file of our choice."""
    put_delta(folder)
    commit = folder / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"] |= {"stats": None, **entry}
    commit.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


@pytest.mark.parametrize("anywhere", ["here", *STORES], indirect=True)
def test_a_log_that_names_files_elsewhere_is_refused(
    anywhere: Anywhere, bucket: Bucket, tmp_path: Path
) -> None:
    secret = put(tmp_path / "secret.parquet", parquet(id=[7], at=[{"x": 1}]))
    bucket.client.create_bucket(Bucket="private")
    bucket("x.parquet", secret.read_bytes(), into="private")
    top = anywhere.folder / "lake"
    put(top / "x.parquet", secret.read_bytes())
    put(top / "in" / "good.csv", GOOD)
    elsewhere = {
        "absolute": str(secret),
        "file": f"file://{secret}",
        "other": f"{anywhere.kind}://private/x.parquet",
        "up": "../../x.parquet",
        "up_escaped": "%2e%2e/%2e%2e/x.parquet",
        "web": f"{bucket.url}/private/x.parquet",
    }
    for key, path in elsewhere.items():
        delta_naming(top / "in" / key, path=path, size=secret.stat().st_size)
    anywhere.show()
    with bucket.asked() as requests:
        report = update(f"lake={anywhere.url}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    reasons = {skip.table: skip.reason for skip in report.skipped}
    assert sorted(reasons) == sorted(elsewhere)
    for reason in reasons.values():
        assert reason.startswith("its log names a file outside of its folder")
    assert not [path for _, path, _ in requests if "x.parquet" in path or "private" in path]


@pytest.mark.parametrize("what", ["list", "manifest", "data"])
def test_an_iceberg_table_that_names_files_elsewhere_is_refused(
    what: str, bucket: Bucket, tmp_path: Path
) -> None:
    """Each step from the version to the data is looked at before the next is taken."""
    bucket.client.create_bucket(Bucket="private")
    put_iceberg_for("s3://private/in", tmp_path / "far")
    folder = tmp_path / "far" / "private" / "in"
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        # A text of the same length in place of the bucket's name leaves the file whole.
        if (what == "manifest" and path.name.endswith(".json")) or (
            what == "data" and (path.name.endswith(".json") or path.name.startswith("snap-"))
        ):
            content = content.replace(b"s3://private/", b"s3://lakelak/")
        if path.is_file():
            for into in ("private", "lakelak"):
                bucket.client.create_bucket(Bucket=into)
                bucket(f"in/{path.relative_to(folder).as_posix()}", content, into=into)
    with bucket.asked() as requests, pytest.raises(SourceError, match="outside of its folder"):
        update("lake=s3://lakelak/in", into=tmp_path / "catalog")
    assert not [path for _, path, _ in requests if path.startswith("/private")]


def test_broken_logs_and_missing_objects_are_one_line_each(bucket: Bucket, tmp_path: Path) -> None:
    gone = delta_naming(tmp_path / "gone", path="region=a/not-there.parquet")
    bucket.put_folder(gone, "in/gone/")
    bucket("in/garbled/_delta_log/00000000000000000000.json", random_bytes(300))
    bucket("in/ice/metadata/v1.metadata.json", b"{")
    bucket("in/ice2/metadata/v1.metadata.json", gzip.compress(b"{}")[:-4])
    bucket("in/good.csv", GOOD.encode())
    report = update("lake=s3://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    reasons = {skip.table: skip.reason for skip in report.skipped}
    assert sorted(reasons) == ["garbled", "gone", "ice", "ice2"]
    assert all(reason.isprintable() for reason in reasons.values())
    assert reasons["gone"] == (
        "s3://lake/in/gone/region=a/not-there.parquet is not there; "
        "if it was removed meanwhile, index again"
    )
    assert reasons["ice"] == reasons["ice2"] == "its newest metadata file is broken"


def test_a_missing_object_of_a_table_in_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = delta_naming(tmp_path / "gone", path="region=a/not-there.parquet")
    files = [path for path in folder.rglob("*") if path.is_file()]
    blobs = {f"in/gone/{path.relative_to(folder)}": path.read_bytes() for path in files}
    with container("lake", blobs | {"in/good.csv": GOOD.encode()}) as login:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", login)
        report = update("lake=az://lake/in", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    (skip,) = report.skipped
    assert (skip.table, skip.reason) == (
        "gone",
        "its log names region=a/not-there.parquet, which is not there; index again",
    )


def test_queries_read_and_change_nothing(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_folder(put_delta(tmp_path / "sales"), "in/sales/")
    update("lake=s3://lake/in", into=tmp_path / ".dovetail", embedder="minilm")
    before = bucket.objects()
    with dovetail.open(tmp_path / ".dovetail") as catalog:
        summed = catalog.sql("SELECT sum(id) AS total FROM sales")
        assert summed.to_arrow().to_pylist() == [{"total": 9}]
        with endpoint(says(json.dumps({"sql": "SELECT max(id) AS id FROM sales"}))) as server:
            llm = OpenAILLM("tiny", workers=1, environ=server.environ)
            answered = catalog.answer("Which is the last sale?", llm=llm)
        assert answered.to_arrow().to_pylist() == [{"id": 4}]
        for query in ("DELETE FROM sales", "SELECT * FROM delta_scan('s3://lake/in/sales')"):
            with pytest.raises(DovetailError):
                catalog.sql(query)
    assert bucket.objects() == before


def test_a_pattern_that_matches_files_of_a_table_stands_for_the_table(
    bucket: Bucket, tmp_path: Path
) -> None:
    """In a bucket as on this machine: the files by themselves hold old versions too."""
    put_delta(tmp_path / "here" / "a" / "sales")
    put(tmp_path / "here" / "a" / "plain.parquet", parquet(id=[1]))
    bucket.put_folder(tmp_path / "here")
    for location in (f"{tmp_path}/here/**/*.parquet", "s3://lake/**/*.parquet"):
        report = update(f"lake={location}", into=tmp_path / location[:2].strip("/"))
        assert (report.skipped, names(report.catalog)) == ((), ["a/plain", "a/sales"])
        assert report.catalog["a/sales"].rows == 3
    for location in (f"{tmp_path}/here/a/s*", "s3://lake/a/s*"):
        report = update(f"lake={location}", into=tmp_path / "folder" / location[:2].strip("/"))
        assert names(report.catalog) == ["sales"]


@pytest.mark.parametrize(
    ("folder", "file", "fits"),
    [
        ("s3://lake/t", "s3://lake/t/part.parquet", True),
        ("s3://lake/t", "s3a://lake/t/a%20b/part.parquet", True),
        ("s3://lake/t", "s3://lake/t2/part.parquet", False),
        ("s3://lake/t", "s3://lake2/t/part.parquet", False),
        ("s3://lake/t", "s3://lake/t/../u/part.parquet", False),
        ("s3://lake/t", "s3://lake/t/%2e%2e/u/part.parquet", False),
        ("s3://lake/t", "s3://lake/t//etc/passwd", False),
        ("s3://lake/t", "s3://lake/t/s3://other/x", False),
        ("s3://lake/t", "s3://lake/t/http%3A//host/x", False),
        ("s3://lake/t", "gs://lake/t/part.parquet", False),
        ("s3://lake/t", "https://lake/t/part.parquet", False),
        ("s3://lake/t", "/lake/t/part.parquet", False),
        ("s3://lake/t", "file:///lake/t/part.parquet", False),
        ("s3://lake/t", "part.parquet", False),
        ("/lake/t", "/lake/t/part.parquet", True),
        ("/lake/t", "file:///lake/t/a%20b/part.parquet", True),
        ("/lake/t", "/lake/t2/part.parquet", False),
        ("/lake/t", "/lake/t/../u/part.parquet", False),
        ("/lake/t", "/lake/t/%2e%2e/u/part.parquet", False),
        ("/lake/t", "s3://bucket/lake/t/part.parquet", False),
        ("/lake/t", "/lake/t/http%3A//host/x", False),
        ("/lake/t", "part.parquet", False),
    ],
)
def test_which_files_are_inside_of_a_folder(folder: str, file: str, fits: bool) -> None:
    with nullcontext() if fits else pytest.raises(SourceError, match="outside of its folder"):
        require_inside(folder, [file])


def test_which_folders_are_tables() -> None:
    commit, version = f"_delta_log/{0:020}.json", "metadata/v1.metadata.json"
    assert lakes_below(["a.csv", f"a/{version}", f"b/{commit}", "c/metadata/x.json"]) == {
        "a": "iceberg",
        "b": "delta",
    }
    # One that both can read is Delta's, and a folder within a table is none.
    assert lakes_below([f"u/{version}", f"u/{commit}", f"u/v/{commit}"]) == {"u": "delta"}
    assert lakes_below([commit, f"x/{commit}"]) == {"": "delta"}


@pytest.mark.parametrize(
    ("hint", "newest"),
    [
        (None, "v12.gz.metadata.json"),
        (b"2", "v2.metadata.json"),
        (b"12\n", "v12.gz.metadata.json"),
        (b"00003-b", "00003-b.metadata.json"),
        (b"77", "v12.gz.metadata.json"),
        (b"\xff", "v12.gz.metadata.json"),
    ],
)
def test_which_version_counts(hint: bytes | None, newest: str) -> None:
    files = ["v2.metadata.json", "00003-b.metadata.json", "v12.gz.metadata.json", "notes.txt"]
    log = [f"s3://l/metadata/{name}" for name in files]
    log += ["s3://l/metadata/version-hint.text"] if hint is not None else []
    assert newest_version(log, lambda _: hint or b"") == f"s3://l/metadata/{newest}"


def test_broken_logs_and_missing_files_here_are_one_line_each(tmp_path: Path) -> None:
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


def test_an_iceberg_table_that_was_moved_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "lake" / "good.csv", GOOD)
    put_iceberg(tmp_path / "made")
    (tmp_path / "made").rename(tmp_path / "lake" / "moved")
    report = update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog")
    assert names(report.catalog) == ["good"]
    assert [skip.table for skip in report.skipped] == ["moved/shop/orders"]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_missing_extra_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"duckdb_extension_{kind}", None)
    duck.load_extension.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail-tables\[lake\]'"):
        duck.load_extension(kind)
