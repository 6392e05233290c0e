"""A bucket over a real S3 API on this machine, which counts what it is asked and may refuse it."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from tests.support.files import GOOD

LOGIN = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"),
    "gs": ("GCS_ACCESS_KEY_ID", "GCS_SECRET_ACCESS_KEY", "GCS_ENDPOINT_URL"),
}
SECRET = "s3cr3t-of-the-bucket"
# What a refusal says: the status, the store's code for it, and its message.
Refusal = tuple[int, str, str]


class Bucket:
    """A bucket called `lake`; `bucket(key, content)` puts an object into it."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.refuse: Callable[[str, str], Refusal | None] = lambda *_: None
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        running: Any = self._server._server
        self._inner, running.app = running.app, self._app
        self.url = f"http://127.0.0.1:{self._server.get_host_and_port()[1]}"
        self.client = boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id="somebody",
            aws_secret_access_key=SECRET,
        )

    def __call__(self, key: str, content: bytes, *, into: str = "lake") -> None:
        self.client.put_object(Bucket=into, Key=key, Body=content)

    def put_many(self, keys: Iterable[str], content: bytes) -> None:
        """Put many objects at once, without a request for each."""
        store = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        for key in keys:
            store.put_object("lake", key, content)

    def put_folder(self, folder: Path, below: str = "") -> None:
        """Put all files of a folder into the bucket."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self(below + path.relative_to(folder).as_posix(), path.read_bytes())

    def objects(self) -> dict[str, bytes]:
        found = self.client.list_objects_v2(Bucket="lake").get("Contents", [])
        keys = [each["Key"] for each in found]
        return {key: self.client.get_object(Bucket="lake", Key=key)["Body"].read() for key in keys}

    @contextmanager
    def asked(self) -> Iterator[list[tuple[str, str, str]]]:
        """The requests of a while: method, path and query."""
        self.requests.clear()
        yield self.requests

    def close(self) -> None:
        self._server.stop()

    def _app(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path, environ["QUERY_STRING"]))
        refused = self.refuse(method, path)
        if refused is None:
            answer: Iterable[bytes] = self._inner(environ, start)
            return answer
        status, code, message = refused
        body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        about = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        start(f"{status} {code}", about)
        return [] if method == "HEAD" else [body]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket, with the login for it in the environment."""
    made = Bucket()
    urlopen(f"{made.url}/moto-api/reset", data=b"").close()  # of tests before
    made.client.create_bucket(Bucket="lake")
    log_in(monkeypatch, "s3", made.url)
    yield made
    made.close()


def log_in(monkeypatch: pytest.MonkeyPatch, kind: str, url: str) -> None:
    """Put the login of a store into the environment, and no other store's."""
    for names in LOGIN.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for name, text in zip(LOGIN[kind], ("somebody", SECRET, url), strict=True):
        monkeypatch.setenv(name, text)


def parquet(columns: Mapping[str, list[Any]] | None = None, **more: list[Any]) -> bytes:
    """A Parquet file of some columns."""
    sink = io.BytesIO()
    pq.write_table(pa.table({**(columns or {}), **more}), sink)
    return sink.getvalue()


def fill(bucket: Bucket) -> None:
    """Three tables: partitions, a CSV file, and records."""
    for year in (2023, 2024):
        bucket(f"in/sales/year={year}/part-0.parquet", parquet(id=[1, year], n=[1.5, 2.0]))
    bucket("in/sales/_SUCCESS", b"")
    bucket("in/cities.csv", GOOD.encode())
    bucket("in/log.jsonl", b'{"at": {"x": 1}}\n')
