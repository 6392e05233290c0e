"""An endpoint of a model that lies about its replies, never ends them, or sends what is none."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import repeat
from pathlib import Path
from unittest.mock import patch

from dovetail.errors import ModelError
from dovetail.models import endpoint
from dovetail.models.cache import CachedLLM
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAIEmbedder, OpenAILLM
from dovetail.ports import Message
from tests.support.endpoint import KEY, completion, numbers
from tests.support.kinds.case import Case, Draw, Kind

# No reply is waited for longer, and of none more is read: in earnest it is minutes and megabytes.
_PATIENCE = Patience(attempts=1, attempts_when_busy=1, attempt_seconds=0.4, deadline=0.4)
_MOST = 1 << 20
# An endpoint that sends more than this was read to no end: what is under way lies in buffers.
_SENT = 64 << 20
_ENOUGH = Patience(attempts=2)  # a connection that was hung up is opened again

Bytes = Iterator[bytes] | list[bytes]
_GOOD = json.dumps(completion("hello")).encode()
_VECTORS = json.dumps({"data": [{"index": 0, "embedding": numbers("a")}]}).encode()


def endless_replies(folder: Path) -> Kind:
    """Each case asks such an endpoint, for a reply or for vectors, and asks again when it is good:
    first there is one error of a line, which is not kept, in bounded bytes and time."""
    number = 0

    def case(draw: Draw) -> Case:
        nonlocal number
        number += 1
        name = draw.choice(list(_REPLIES))
        status = draw.choice((200, 200, 200, 400, 401, 429, 500, 503))
        sent = [0]
        embeds = draw.random() < 0.3
        plays = [_REPLIES[name](draw, status), _reply(200, _VECTORS if embeds else _GOOD)]
        with (
            _served(plays, sent) as url,
            patch.object(endpoint, "_BIGGEST_REPLY", _MOST),
            patch.dict(os.environ, {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}),
        ):
            ask = _embedding if embeds else _asking(folder / f"replies{number}")
            try:
                ask(_PATIENCE)
                told = "" if name in _HARMLESS and status == 200 else "no error"
            except ModelError as error:
                line = str(error)
                told = "" if "\n" not in line and len(line) < 1_000 and KEY not in line else line
            kept = [file for file in folder.rglob(f"replies{number}/**/*") if file.is_file()]
            plays[:] = plays[-1:]
            again = "" if kept or ask(_ENOUGH) else "the next reply is not read"
        much = f"{sent[0]} bytes were sent" if sent[0] > _SENT else ""
        early = "it is kept" if kept and name not in _HARMLESS else ""
        wrong = told or again or much or early
        return name, f"{status}, {'vectors' if embeds else 'a reply'}: {wrong}" if wrong else ""

    return case


def _asking(replies: Path) -> Callable[[Patience], bool]:
    def ask(patience: Patience) -> bool:
        model = CachedLLM(OpenAILLM("m", workers=1, patience=patience), replies)
        return model.complete([Message("user", "hi")]).text == "hello"

    return ask


def _embedding(patience: Patience) -> bool:
    return OpenAIEmbedder("m", patience=patience).embed_documents(["a"]).shape == (1, 8)


def _reply(status: int, body: bytes, *headers: str) -> Bytes:
    return [_head(status, f"content-length: {len(body)}", *headers) + body]


def _head(status: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} x", "content-type: application/json", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin1")


def _endless(draw: Draw, status: int) -> Iterator[bytes]:
    """A body without an end: by its length, in chunks, or until somebody hangs up."""
    unit = draw.choice(
        (b" ", b"x", b"[", b'{"a":', b"0", b'data: {"choices": []}\n\n', b": ping\n\n", b"\0")
    )
    unit *= 4_096
    yield _head(
        status, draw.choice(("content-length: 99999999999", "transfer-encoding: chunked", "x: y"))
    )
    yield _GOOD[: draw.randrange(40)]
    yield from repeat(b"%x\r\n%b\r\n" % (len(unit), unit))


def _late(draw: Draw, status: int) -> Iterator[bytes]:
    """A reply of which a byte comes now and then, or none from some point on."""
    whole = b"".join(_reply(status, _GOOD))
    at = draw.randrange(len(whole))
    yield whole[:at]
    if draw.random() < 0.5:
        yield from (b"", b"") * 50  # which waits
    for byte in repeat(whole[at : at + 1]):
        yield b""
        yield byte


def _length(draw: Draw, status: int) -> Bytes:
    """A length that is none, or another than that of the body."""
    lengths = ("0", "1", str(len(_GOOD) - 1), "999999", "-1", "x", "1e3", "9" * 5_000, "0x10",
               "10, 20", "\u00b2")  # fmt: skip
    headers = [f"content-length: {draw.choice(lengths)}" for _ in range(draw.randint(1, 2))]
    return [_head(status, *headers) + _GOOD]


def _headers(draw: Draw, status: int) -> Bytes:
    """Headers that are huge, many, none, or never end."""
    first = f"HTTP/1.1 {status} x\r\n".encode()
    odd: tuple[Bytes, ...] = (
        [first + b"a: " + b"x" * 2_000_000 + b"\r\n\r\n" + _GOOD],
        [first, b"a: b\r\n" * 200_000, b"\r\n", _GOOD],
        [first, *repeat(b"a: b\r\n" * 1_000, 5_000)],
        repeat(b"x" * 65_536),
        [first + b"no colon\r\n\r\n" + _GOOD],
        [first + b": empty\r\n\r\n"],
        [b"HTTP/1.1 \xff\xff\r\n\r\n"],
        [f"HTTP/9.9 {status} x\r\n\r\n".encode() + _GOOD],
        [b"HTTP/1.1 099 x\r\n\r\n"],
        [b"HTTP/1.1 99999 x\r\n\r\n"],
        [_GOOD],
        [],
        repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        [_head(304)],
        [_head(101, "upgrade: x", "connection: upgrade")],
    )
    return draw.choice(odd)


def _chunks(draw: Draw, status: int) -> Bytes:
    """Chunks that lie about their sizes."""
    sizes = (
        b"ffffffffffffffff",
        b"-1",
        b"",
        b"x",
        b"5;" + b"a" * 200_000,
        b"0" * 100_000,
        b"f" * 99,
    )
    return [_head(status, "transfer-encoding: chunked"), draw.choice(sizes) + b"\r\n", _GOOD]


def _packed(draw: Draw, status: int) -> Bytes:
    """Replies that are packed, again and again, or said to be."""
    times = draw.choice((1, 1, 2, 5, 200))
    body = draw.choice((_GOOD, b" " * (32 << 20)))
    for _ in range(draw.choice((0, times))):
        body = gzip.compress(body, 1)
    names = ("gzip", "deflate", "br", "zstd", "x", "identity")
    named = ", ".join(draw.choice((["gzip"] * times, draw.choices(names, k=times))))
    return _reply(status, body[: draw.choice((len(body), 20))], f"content-encoding: {named}")


def _json(draw: Draw, status: int) -> Bytes:
    """JSON that is deep, of odd values, or of other forms."""
    deep = draw.choice((b"[", b'{"a":', b'{"error":', b'{"choices":['))
    values = ("1e999", "9" * 5_000, '"\\ud800"', "[" * 900 + "]" * 900, "null", "-1", "{}", "true")
    value = draw.choice(values)
    texts = (
        f'{{"choices": [{{"message": {{"content": {value}}}}}]}}', f'{{"choices": {value}}}',
        f'{{"error": {value}}}', f'{{"error": {{"message": {value}}}}}', value,
        f'{{"data": [{{"index": 0, "embedding": [{value}]}}]}}', f'{{"data": {value}}}',
        f'{{"data": [{{"index": {value}, "embedding": [1]}}]}}',
        f'{{"data": [{{"index": 0, "embedding": {value}}}]}}',
    )  # fmt: skip
    body = draw.choice((deep * draw.choice((100, 990, 100_000)), *map(str.encode, texts)))
    return _reply(status, body)


def _counted(draw: Draw, status: int) -> Bytes:
    """A good reply with odd counts of what it cost, and odd times to wait."""
    values: tuple[object, ...] = (-1, 2**70, 1e308, None, "x", [], {"a": 1}, True, "9" * 5_000)
    usage = {"prompt_tokens": draw.choice(values), "completion_tokens": draw.choice(values)}
    body = {**completion("hello"), "usage": draw.choice((usage, draw.choice(values)))}
    wait = draw.choice(("9" * 5_000, "-1", "nan", "Thu, 01 Jan 9999 00:00:00 GMT", "1e9", "x", "0"))
    return _reply(status, json.dumps(body).encode(), f"retry-after: {wait}")


def _elsewhere(draw: Draw, status: int) -> Bytes:
    """A reply that says to ask elsewhere: here again, for ever, in a file, or nowhere."""
    del status
    places = ("/v1/chat/completions", "file:///etc/passwd", "http://", "//", "http://[", "\x7f",
              "http://127.0.0.1:1/", "a" * 60_000, "ftp://127.0.0.1/", "javascript:1")  # fmt: skip
    where = f"location: {draw.choice(places)}"
    return repeat(_head(draw.choice((301, 302, 303, 307, 308, 300)), "content-length: 0", where))


_REPLIES: dict[str, Callable[[Draw, int], Bytes]] = {
    "endless": _endless, "late": _late, "length": _length, "headers": _headers, "chunks": _chunks,
    "packed": _packed, "JSON": _json, "counts": _counted, "elsewhere": _elsewhere,
}  # fmt: skip
# Of these, some are replies that can be read.
_HARMLESS = ("length", "packed", "JSON", "counts", "headers")


@contextmanager
def _served(plays: list[Bytes], sent: list[int]) -> Iterator[str]:
    """A server that sends the first of what it shall play to each who asks; a play of nothing is a
    moment to wait."""
    over = threading.Event()

    def answer(caller: socket.socket) -> None:
        with closing(caller), suppress(OSError):
            _read_request(caller)
            for part in plays[0]:
                if over.is_set() or (not part and over.wait(0.02)):
                    return
                caller.sendall(part)
                sent[0] += len(part)

    def listen() -> None:
        while not over.is_set():
            with suppress(OSError):
                caller, _ = server.accept()
                threading.Thread(target=answer, args=(caller,), daemon=True).start()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=listen)
        thread.start()
        port = server.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            over.set()
            with closing(socket.create_connection(("127.0.0.1", port))):
                thread.join()


def _read_request(caller: socket.socket) -> None:
    """Read a request to its end, so that hanging up is no reset."""
    with caller.makefile("rb") as stream:
        length = 0
        while (line := stream.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        stream.read(length)
