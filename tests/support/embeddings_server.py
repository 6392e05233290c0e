"""A server that speaks like an embeddings endpoint, and misbehaves on demand."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer other than the right one."""

    status: int = 200
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0


@dataclass(slots=True)
class Endpoint:
    """What the server was asked, and the faults it answers with first."""

    address: str = ""
    delay: float = 0.0
    faults: list[Fault] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def numbers(text: str) -> list[float]:
    """The vector of a text, not of length one; `short` has too few numbers, `nothing` is zero."""
    if text == "nothing":
        return [0.0] * DIMENSION
    raw = hashlib.sha256(text.encode()).digest()[: 5 if text == "short" else DIMENSION]
    return [float(byte) - 127.5 for byte in raw]


@contextmanager
def serving() -> Iterator[Endpoint]:
    """A running server."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with endpoint.lock:
                endpoint.asked.append({"path": self.path, **request})
                endpoint.keys.append(self.headers["Authorization"])
                endpoint.times.append(time.monotonic())
                endpoint.under_way += 1
                endpoint.most_under_way = max(endpoint.most_under_way, endpoint.under_way)
                fault = endpoint.faults.pop(0) if endpoint.faults else None
            rows = [
                {"object": "embedding", "index": place, "embedding": numbers(text)}
                for place, text in enumerate(request["input"])
            ]
            answer = fault or Fault(body=json.dumps({"object": "list", "data": rows[::-1]}))
            time.sleep(answer.delay or endpoint.delay)
            with endpoint.lock:
                endpoint.under_way -= 1
            self._send(answer)

        def _send(self, answer: Fault) -> None:
            body = answer.body.encode()
            try:
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:  # the client gave up waiting
                self.close_connection = True

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
