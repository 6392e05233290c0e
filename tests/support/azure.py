"""A container as Azure's Blob service shows it: blobs listed, told of and read in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_CHANGED = formatdate(1_700_000_000, usegmt=True)


class Blobs(BaseHTTPRequestHandler):
    """The requests of one container."""

    name = ""
    blobs: Mapping[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        asked = parse_qs(place.query)
        _, _, where, *rest = unquote(place.path).split("/", 3)
        if where != self.name:
            self._answer(404, b"<Error><Code>ContainerNotFound</Code></Error>")
        elif asked.get("comp") == ["list"]:
            self._answer(200, self._listed(asked.get("prefix", [""])[0]))
        elif rest and rest[0] in self.blobs:
            self._blob(self.blobs[rest[0]])
        else:
            self._answer(404, b"<Error><Code>BlobNotFound</Code></Error>")

    do_HEAD = do_GET  # noqa: N815 - the name that the standard library calls

    def _blob(self, content: bytes) -> None:
        asked = self.headers.get("x-ms-range") or self.headers.get("Range")
        if not asked:
            self._answer(200, content, kind="application/octet-stream")
            return
        first, _, last = asked.removeprefix("bytes=").partition("-")
        end = min(int(last or len(content) - 1), len(content) - 1)
        span = f"bytes {first}-{end}/{len(content)}"
        part = content[int(first) : end + 1]
        self._answer(206, part, kind="application/octet-stream", span=span)

    def _listed(self, prefix: str) -> bytes:
        found = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties>"
            f"<Creation-Time>{_CHANGED}</Creation-Time><Last-Modified>{_CHANGED}</Last-Modified>"
            f"<Etag>0x1</Etag><Content-Length>{len(content)}</Content-Length>"
            "<Content-Type>application/octet-stream</Content-Type>"
            "<BlobType>BlockBlob</BlobType></Properties></Blob>"
            for key, content in sorted(self.blobs.items())
            if key.startswith(prefix)
        )
        return (
            f'<?xml version="1.0"?><EnumerationResults ContainerName="{self.name}">'
            f"<Blobs>{found}</Blobs><NextMarker/></EnumerationResults>"
        ).encode()

    def _answer(
        self, status: int, body: bytes, *, kind: str = "application/xml", span: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", _CHANGED)
        self.send_header("ETag", '"0x1"')
        self.send_header("x-ms-blob-type", "BlockBlob")
        self.send_header("x-ms-version", "2021-12-02")
        self.send_header("x-ms-request-id", "1")
        self.send_header("x-ms-server-encrypted", "true")
        self.send_header("x-ms-creation-time", _CHANGED)
        self.send_header("Accept-Ranges", "bytes")
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def container(name: str, blobs: Mapping[str, bytes]) -> Iterator[str]:
    """The connection string of an account with one container."""
    own = type("Own", (Blobs,), {"name": name, "blobs": blobs})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint=http://127.0.0.1:{server.server_port}/{ACCOUNT};"
        )
    finally:
        server.shutdown()
        server.server_close()
