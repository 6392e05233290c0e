"""An OpenAI-compatible endpoint: where it is, which key it takes, how calls wait and try again.

Requests run on an event loop, where any of them can be ended at any moment: sockets know single
reads, of which a server that sends a byte now and then makes as many as it likes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from dovetail.called_off import LOOK
from dovetail.errors import ModelError, RefusedError, UsageError
from dovetail.models.chat import complaint
from dovetail.models.waiting import look_up, turn
from dovetail.text import count, cut

OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIAL = re.compile(r"\b(?:sk|key|gsk)-[\w*.-]{4,}|Bearer \S+")
_BIGGEST_REPLY = 64 << 20
# What is read of an error, which is told in a line.
_BIGGEST_ERROR = 1 << 16

_ENCODING = ("content-encoding", "content-length", "transfer-encoding")

# Sends one request, given the client and the seconds it may take.
Send = Callable[
    [openai.AsyncOpenAI, float], AbstractAsyncContextManager[openai.AsyncAPIResponse[Any]]
]


@dataclass(frozen=True, slots=True)
class Patience:
    """How a call is retried: seconds per attempt, waits that double, and a limit to all of it.

    A server that asks to slow down works and is tried more often, for over a minute; where none
    takes the connection, sooner given up.
    """

    attempts: int = 6
    attempts_to_connect: int = 3
    attempts_when_busy: int = 10
    attempt_seconds: float = 120.0
    deadline: float = 300.0
    first_wait: float = 0.5
    longest_wait: float = 60.0


class Endpoint:
    """An endpoint that answers so many calls at once; safe to share between threads.

    Its address is OPENAI_BASE_URL, its key OPENAI_API_KEY: neither is ever written down.
    """

    def __init__(
        self,
        what: str,
        *,
        workers: int,
        patience: Patience | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        variables = os.environ if environ is None else environ
        url = variables.get("OPENAI_BASE_URL") or OPENAI_URL
        self.where = f"{what} at {_host(url)}"
        self._key = _check_key(variables.get("OPENAI_API_KEY", ""), needed=url == OPENAI_URL)
        self._patience = patience or Patience()
        self._slots = BoundedSemaphore(workers)
        self._resume = 0.0  # when a server that asked for a pause may be called again
        self._url = url
        self._connect()

    def call(self, send: Send) -> object:
        """The JSON that a request is answered with, after as many attempts as it takes."""
        patience = self._patience
        with turn(self._slots):
            started = time.monotonic()
            until = started + patience.deadline
            for attempt in itertools.count(1):
                _sleep(min(self._resume, until) - time.monotonic())
                try:
                    return self._once(send, until)
                except _PassingError as error:
                    trouble = error
                wait = self._wait(trouble, attempt)
                if attempt >= trouble.attempts(patience) or time.monotonic() + wait > until:
                    break
                _sleep(wait)
            spent = time.monotonic() - started
        tries = f"{count(attempt, 'attempt')} in {spent:.0f} s"
        raise ModelError(f"{self.where} {trouble}, {tries}; {trouble.remedy}")

    def _connect(self) -> None:
        """Make a client for this process: one that was forked has neither the loop nor sockets."""
        self._process = os.getpid()
        self._loop = _loop(self._process)
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=0,
            http_client=_Client(follow_redirects=False),
        )
        weakref.finalize(self, _close, self._client, self._loop).atexit = False

    def _once(self, send: Send, until: float) -> object:
        look_up()  # before anything is paid for
        if self._process != os.getpid():
            self._connect()
        now = time.monotonic()
        limit = min(self._patience.attempt_seconds, max(until - now, 0.001))
        asked = asyncio.run_coroutine_threadsafe(self._exchange(send, limit), self._loop)
        try:
            reply = self._parsed(_awaited(asked, now + limit))
        except (openai.APITimeoutError, httpx2.TimeoutException):
            raise _PassingError(
                "did not answer in time", "a smaller model answers sooner"
            ) from None
        except openai.APIStatusError as error:
            raise self._judge(error) from None
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            remedy = "check that it runs, and OPENAI_BASE_URL"
            refused = isinstance(error.__cause__ or error, httpx2.ConnectError)
            raise _PassingError("cannot be reached or hangs up", remedy, refused=refused) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:  # the URL is one that a reply names
            kind = type(error).__name__
            raise ModelError(f"{self.where} sent a damaged reply ({kind})") from None
        if isinstance(reply, dict) and reply.get("error"):
            message = self._clean(complaint(reply, "it does not say which"))
            raise ModelError(f"{self.where} answered with an error: {message}")
        return reply

    async def _exchange(self, send: Send, limit: float) -> bytearray:
        """Send a request and read the reply."""
        content = bytearray()
        async with send(self._client, limit) as response:
            async for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _BIGGEST_REPLY:
                    most = f"{_BIGGEST_REPLY:,} bytes"
                    raise ModelError(f"{self.where} sent a reply of more than {most}")
        return content

    def _parsed(self, content: bytearray) -> object:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ModelError(
                f"{self.where} answered with something that is not JSON; "
                "check OPENAI_BASE_URL, which usually ends in /v1"
            ) from None

    def _judge(self, error: openai.APIStatusError) -> ModelError | _PassingError:
        """Whether trying again may help, and if not, what would."""
        status = error.status_code
        said = self._clean(complaint({"error": error.body}, error.response.reason_phrase))
        if status == 429 and error.code != "insufficient_quota":
            return _PassingError(
                "asks to slow down (429)",
                "try again later, or lower llm_workers",
                self._pause(error.response.headers),
                busy=True,
            )
        if status in (408, 409) or status >= 500:
            return _PassingError(
                f"fails ({status}: {said})",
                "see the log of the server, or try again later",
                self._pause(error.response.headers),
            )
        if status in (401, 403):  # such a reply may quote a part of the key
            message = f"{self.where} refuses the key ({status}); check OPENAI_API_KEY"
            return RefusedError(message, status=status, said=said)
        if status < 400:
            remedy = "the API is elsewhere; set OPENAI_BASE_URL to its own address"
            return ModelError(f"{self.where} does not answer by itself ({status}); {remedy}")
        remedy = {
            404: "check the name of the model, and OPENAI_BASE_URL, which usually ends in /v1",
            429: "see your plan and budget at the provider",
        }.get(status, "the request is at fault, not the connection")
        message = f"{self.where} refuses the request ({status}: {said}); {remedy}"
        return RefusedError(message, status=status, said=said)

    def _pause(self, headers: Mapping[str, str]) -> float | None:
        pause = retry_after(headers, now=time.time())
        return None if pause is None else min(pause, self._patience.longest_wait)

    def _wait(self, trouble: _PassingError, attempt: int) -> float:
        """How long to wait: as long as the server asks, or twice as long each time.

        The jitter keeps callers that failed together from coming back together.
        """
        jitter = secrets.SystemRandom().uniform(0.5, 1.0)
        longest = self._patience.first_wait * 2.0 ** (attempt - 1)
        wait = jitter * min(longest, self._patience.longest_wait)
        if trouble.pause is None:
            return wait
        self._resume = max(self._resume, time.monotonic() + trouble.pause)
        return max(wait, trouble.pause + jitter * self._patience.first_wait)

    def _clean(self, text: str) -> str:
        text = text.replace(self._key, "***") if self._key else text
        return cut(" ".join(_CREDENTIAL.sub("***", text).split()), 300)


@cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of a process, in a thread that ends with it."""
    loop = asyncio.new_event_loop()
    name = f"dovetail-endpoints-{process}"
    threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
    return loop


def _close(client: openai.AsyncOpenAI, loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(lambda: loop.create_task(client.close()))


def _awaited(asked: Future[bytearray], until: float) -> bytearray:
    """What a request is answered with, headers and all, by then; else it is ended."""
    try:
        while not wait([asked], LOOK).done:
            look_up()
            if time.monotonic() > until:
                raise _PassingError("did not answer in time", "a smaller model answers sooner")
        return asked.result()
    finally:
        asked.cancel()


def _sleep(seconds: float) -> None:
    """Wait, as long as somebody wants it."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        look_up()
        time.sleep(min(left, LOOK))


class _Client(openai.DefaultAsyncHttpxClient):
    """Reads no more of an error than its beginning: the client above would read all of it.

    So of a reply that says to ask elsewhere: what is sent goes to the address that was named.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        reply = await super().send(request, **options | {"stream": True})
        if reply.is_success:
            return reply
        content = bytearray()
        async for chunk in reply.aiter_bytes():
            content += chunk
            if len(content) > _BIGGEST_ERROR:
                break
        await reply.aclose()
        headers = {name: value for name, value in reply.headers.items() if name not in _ENCODING}
        beginning = bytes(content[:_BIGGEST_ERROR])
        return httpx2.Response(
            reply.status_code, headers=headers, content=beginning, request=request
        )


class _PassingError(Exception):
    """A failure that may pass; `pause` is how long the server asks to be left alone. A server that
    is `busy` works but has too much to do; where a connection is `refused`, there may be none."""

    def __init__(
        self,
        what: str,
        remedy: str,
        pause: float | None = None,
        *,
        busy: bool = False,
        refused: bool = False,
    ) -> None:
        super().__init__(what)
        self.remedy = remedy
        self.pause = pause
        self._busy, self._refused = busy, refused

    def attempts(self, patience: Patience) -> int:
        """How often to try after such a failure."""
        if self._refused:
            return min(patience.attempts, patience.attempts_to_connect)
        return patience.attempts_when_busy if self._busy else patience.attempts


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """The seconds a server asks to wait: a number, or a date to be held against `now`.

    >>> retry_after({"retry-after": "1.5"}, now=0.0)
    1.5
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=20.0)
    40.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if re.fullmatch(r"\d{1,12}(\.\d*)?", text):
            return float(text) / unit
    try:
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("OPENAI_BASE_URL is not a URL; an example: http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            "OPENAI_BASE_URL holds more than an address; a key belongs in OPENAI_API_KEY"
        )
    return parts.hostname + port


def _check_key(key: str, *, needed: bool) -> str:
    key = key.strip()
    if needed and not key:
        raise ModelError(
            "there is no key for api.openai.com; set OPENAI_API_KEY, "
            "or OPENAI_BASE_URL to use another endpoint"
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelError("OPENAI_API_KEY holds signs that no key has; copy it again")
    return key
