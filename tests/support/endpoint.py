"""An OpenAI-compatible endpoint that plays a script: stands in for a paid one, over real HTTP."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

Json = dict[str, Any]
KEY = "sk-not-a-real-key-1234567890"
DIMENSION = 8  # of the vectors that it embeds texts as


@dataclass(frozen=True)
class Play:
    """How one request is answered."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    before: float = 0.0  # seconds until the first byte
    between: float = 0.0  # seconds between single bytes
    hangs: bool = False  # never answers
    drops: bool = False  # hangs up in the middle of the body


Answer = Play | Callable[[Json], Play]


def says(text: str, *, usage: tuple[int, int] | None = (11, 7), before: float = 0.0) -> Play:
    """A chat completion."""
    return Play(body=json.dumps(completion(text, usage)).encode(), before=before)


def completion(text: str, usage: tuple[int, int] | None = (11, 7)) -> Json:
    body: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return body


def fails(status: int, message: str = "no", **headers: str) -> Play:
    """An error, in the form that OpenAI gives it; `retry_after` becomes a header."""
    body = json.dumps({"error": {"message": message, "type": "x", "code": None}}).encode()
    return Play(status, body, {name.replace("_", "-"): text for name, text in headers.items()})


def numbers(text: str) -> list[float]:
    """The vector of a text, not of length one; `short` has too few numbers, `nothing` is zero."""
    if text == "nothing":
        return [0.0] * DIMENSION
    raw = hashlib.sha256(text.encode()).digest()[: 5 if text == "short" else DIMENSION]
    return [float(byte) - 127.5 for byte in raw]


def embeds(request: Json) -> Play:
    """The embeddings of the texts of a request, the last one first."""
    rows = [
        {"object": "embedding", "index": place, "embedding": numbers(text)}
        for place, text in enumerate(request["input"])
    ]
    return Play(body=json.dumps({"object": "list", "data": rows[::-1]}).encode())


class Endpoint:
    """Plays its script in order, then the last of it for ever; remembers what it was asked.

    `faults` are played before.
    """

    def __init__(self, script: tuple[Answer, ...]) -> None:
        self._script = list(script)
        self.faults: list[Answer] = []
        self._lock = Lock()
        self._at_once = 0
        self.most_at_once = 0
        self.asked: list[Json] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.closing = Event()
        self.url = ""

    @property
    def environ(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": KEY}

    @contextmanager
    def taking(self, body: Json, path: str, key: str | None) -> Iterator[Play]:
        with self._lock:
            self.asked.append(body)
            self.paths.append(path)
            self.keys.append(key)
            self.times.append(time.monotonic())
            script = self.faults or self._script
            answer = script.pop(0) if self.faults or len(script) > 1 else script[0]
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield answer if isinstance(answer, Play) else answer(body)
        finally:
            with self._lock:
                self._at_once -= 1


class _Server(ThreadingHTTPServer):
    played: Endpoint

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        body, key = json.loads(raw), self.headers.get("authorization")
        with self.server.played.taking(body, self.path, key) as play:
            self._play(play, self.server.played.closing)

    def _play(self, play: Play, closing: Event) -> None:
        closing.wait(None if play.hangs else play.before)
        self.send_response(play.status)
        for name, text in play.headers.items():
            self.send_header(name, text)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(play.body)))
        self.end_headers()
        self.close_connection = play.drops
        body = play.body[: len(play.body) // 2] if play.drops else play.body
        step = 1 if play.between else max(len(body), 1)
        for place in range(0, len(body), step):
            self.wfile.write(body[place : place + step])
            if play.between and closing.wait(play.between):
                return

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        del format, arguments


@contextmanager
def endpoint(*script: Answer) -> Iterator[Endpoint]:
    """A server on localhost that plays a script."""
    server = _Server(("127.0.0.1", 0), _Handler)
    played = server.played = Endpoint(script)
    played.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield played
    finally:
        played.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
