"""A file behind a URL with a query: read, and the query kept, shown and written nowhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import dovetail
from dovetail.errors import SourceError
from dovetail.sources import logins
from dovetail.sources.resolve import root
from tests.sources.test_object_store import workbook
from tests.sources.test_secrets import everything_in
from tests.support.buckets import Bucket, bucket, parquet
from tests.support.command_line import Cli
from tests.support.files import GOOD, names, update

__all__ = ["bucket"]
# As services sign: with what would mean something in a URL, a pattern or SQL.
SIGNATURE = "X-Amz-Credential=AKIA%2F2024&sig=Zm9v%2Bbar*[x]'%3D%3D&se=2024-01-01T00:00Z"
WORDS = ("AKIA", "Zm9v", "2024-01-01T00")


@contextmanager
def web(files: dict[str, bytes], signature: str = SIGNATURE) -> Iterator[str]:
    """A server that gives files to who has the signature, and only by GET, as a signed URL is."""

    class Signed(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            content = files.get(path.lstrip("/"))
            if self.command == "HEAD" or query != signature or content is None:
                self._answer(403, b"")
                return
            asked = self.headers.get("Range")
            if not asked:
                self._answer(200, content)
                return
            first, _, last = asked.removeprefix("bytes=").partition("-")
            end = min(int(last or len(content) - 1), len(content) - 1)
            part = content[int(first) : end + 1]
            self._answer(206, part, span=f"bytes {first}-{end}/{len(content)}")

        do_HEAD = do_GET  # noqa: N815 - the name that the standard library calls

        def _answer(self, status: int, body: bytes, span: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")
            if span:
                self.send_header("Content-Range", span)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Signed)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def assert_hidden(text: str) -> None:
    assert not [word for word in WORDS if word in text], text


@pytest.mark.parametrize("how", ["url", "variable"])
def test_a_signature_is_used_and_never_shown(
    how: str,
    run_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    catalog = tmp_path / "catalog"
    files = {
        "cities.csv": GOOD.encode(),
        "n.parquet": parquet(n=[1, 2, 3]),
        "log.jsonl": b'{"id": 1}\n',
        "book.xlsx": workbook(a=[["id"], [1]]),
    }
    if how == "variable":
        monkeypatch.setenv("FILES_SIGNATURE", SIGNATURE)
    query = SIGNATURE if how == "url" else "${FILES_SIGNATURE}"
    with web(files) as url:
        places = [f"{url}/{name}?{query}" for name in files]
        code, shown = run_cli("index", *places, "--catalog", str(catalog))
        assert code == 0, shown
        assert_hidden(shown)
        found = dovetail.open(catalog)
        assert names(found) == ["book", "cities", "log", "n"]
        assert found["n"].rows == 3
        code, rows = run_cli("sql", "SELECT sum(n) FROM n", "--catalog", str(catalog))
        assert_hidden(rows)
        if how == "variable":  # whose name is kept, so that it is found again
            assert (code, "6" in rows) == (0, True), rows
            code, again = run_cli("index", "--catalog", str(catalog))
            assert (code, again.startswith("Nothing to do: 4 tables")) == (0, True), again
        else:
            assert code != 0
            assert "name it again as ?${NAME}" in " ".join(rows.split())
    assert_hidden(everything_in(catalog))
    assert_hidden(everything_in(state))
    assert_hidden(caplog.text)


@pytest.mark.parametrize("name", ["cities.csv", "n.parquet", "x.xlsx", "x.arrow", "x.json"])
def test_what_goes_wrong_does_not_show_it(name: str, tmp_path: Path) -> None:
    files = {"n.parquet": b"PAR1 no", "x.xlsx": b"no", "x.arrow": b"no", "x.json": b"{no"}
    with web(files) as url, pytest.raises(SourceError, match=r"\S") as raised:
        update(f"{url}/{name}?{SIGNATURE}", into=tmp_path / "catalog")
    assert_hidden(str(raised.value))
    assert "\n" not in str(raised.value)
    with web(files) as url, pytest.raises(SourceError, match="does not let it be read") as raised:
        update(f"{url}/{name}?sig=Zm9v-old", into=tmp_path / "catalog")
    assert_hidden(str(raised.value))


def test_a_variable_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the environment has no NOT_SET"):
        update("https://h/cities.csv?${NOT_SET}", into=tmp_path / "catalog")


def test_a_catalog_from_someone_else_gets_no_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its URL could be a server of theirs, and the variable any of ours."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    monkeypatch.setenv("FILES_SIGNATURE", SIGNATURE)
    with web({"cities.csv": GOOD.encode()}) as url:
        update(f"{url}/cities.csv?${{FILES_SIGNATURE}}", into=tmp_path / "catalog")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "ours"))
        monkeypatch.setattr(logins, "_named", {})
        (skip,) = update(into=tmp_path / "catalog").skipped
    assert skip.reason.startswith("the catalog would send FILES_SIGNATURE of the environment to")


def test_a_spec_with_a_signature_stores_and_prints_none_of_it() -> None:
    spec = root(f"https://h/a/cities.csv?{SIGNATURE}", Path("/data"))
    assert (spec.label, spec.location) == ("https://h/a/cities.csv",) * 2
    assert_hidden(repr(spec))
    assert_hidden(str(spec.stored()))
    named = root("https://h/cities.csv?${SIG}", Path("/data"))
    assert named.stored()["credentials"] == {"query": "${SIG}"}


def test_a_signed_url_of_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    """As `aws s3 presign` makes one."""
    bucket("in/cities.csv", GOOD.encode())
    signed = bucket.client.generate_presigned_url(
        "get_object", Params={"Bucket": "lake", "Key": "in/cities.csv"}
    )
    assert "?" in signed
    report = update(signed, into=tmp_path / "catalog")
    assert (names(report.catalog), report.catalog["cities"].rows) == (["cities"], 2)
    assert "Signature" not in everything_in(tmp_path / "catalog")
