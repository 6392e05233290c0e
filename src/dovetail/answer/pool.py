"""Keeps processes that run queries. One may hang, crash or be killed: the caller gets back."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from contextlib import suppress

from dovetail import process
from dovetail.called_off import LOOK, Cancelled, never
from dovetail.errors import DovetailError, GuardError, LimitError, QueryError, SourceError
from dovetail.ports import Json

_CHUNK = 1 << 20
_START_SECONDS = 60.0
_REAP_SECONDS = 5.0
_MODULE = "dovetail.answer.worker"
_ERRORS: dict[str, type[DovetailError]] = {
    kind.__name__: kind for kind in (LimitError, SourceError, GuardError)
}

# What a process says of a query, and the rows.
Answer = tuple[Json, bytes]


class Pool:
    """A pool of at most `size` processes; a caller who finds all of them busy waits for a turn.

    A process runs a module that reads and writes as `process.py` says.
    """

    def __init__(self, size: int, module: str = _MODULE) -> None:
        self._module = module
        self._turns = threading.Semaphore(size)
        self._idle: list[Worker] = []
        self._all: weakref.WeakSet[Worker] = weakref.WeakSet()
        self._changing = threading.Lock()
        self._closed = False
        atexit.register(self.close)

    def ask(
        self,
        request: Json,
        *,
        seconds: float,
        most: int,
        cancelled: Cancelled,
        spent: float = 0.0,
    ) -> Answer:
        """Have a request answered by a process; one that fails to in time is killed.

        Of the `seconds` that the query has in all, so many are `spent` already.
        """
        while not self._turns.acquire(timeout=LOOK):
            if cancelled():
                raise LimitError("the query was called off before it began")
        try:
            worker = self._take()
            keep = False
            try:
                header, body = worker.ask(request, seconds - spent, most, cancelled)
                keep = not header["last"]
            except TimeoutError:
                raise LimitError(
                    f"the query ran longer than {seconds:g} seconds; "
                    "ask for less, or allow more (the setting query_seconds)"
                ) from None
            finally:
                self._give(worker, keep=keep)
        finally:
            self._turns.release()
        if "error" in header:
            raise _ERRORS.get(header["class"], QueryError)(header["error"])
        return header, body

    def close(self) -> None:
        """End every process."""
        with self._changing:
            self._closed = True
            workers = list(self._all)
            self._idle.clear()
        for worker in workers:
            worker.kill()
        atexit.unregister(self.close)

    def _take(self) -> Worker:
        with self._changing:
            if self._closed:
                raise QueryError("the executor is closed")
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                worker.kill()
        worker = Worker(self._module)
        with self._changing:
            self._all.add(worker)
        return worker

    def _give(self, worker: Worker, *, keep: bool) -> None:
        with self._changing:
            if keep and not self._closed:
                self._idle.append(worker)
                return
        worker.kill()


class Worker:
    """One process that runs queries, in a process group of its own: killing ends all it started."""

    def __init__(self, module: str = _MODULE) -> None:
        self._buffer = bytearray()
        try:
            self._process = process.start(module, errors=subprocess.DEVNULL)
        except OSError as error:
            raise QueryError(f"cannot start a process for queries: {error}") from None
        self._in, self._out = process.pipes(self._process)
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._ready = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Json, seconds: float, most: int, cancelled: Cancelled) -> Answer:
        """Send a request and wait for the answer, `seconds` at most once the process is up."""
        if not self._ready:
            self._exchange(b"", time.monotonic() + _START_SECONDS, 0, cancelled)
            self._ready = True
        line = json.dumps(request).encode() + b"\n"
        return self._exchange(line, time.monotonic() + seconds, most, cancelled)

    def kill(self) -> None:
        """End the process and all it started; nothing it does can stop this."""
        if self._process.returncode is None:  # once it was waited for, its number may be another's
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._in, self._out):
            with suppress(OSError):
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)

    def _exchange(self, data: bytes, until: float, most: int, cancelled: Cancelled) -> Answer:
        """Write a request while reading the answer: a line, then as many bytes as it says."""
        header: Json | None = None
        unsent = memoryview(data)
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._out, selectors.EVENT_READ)
            if unsent:
                pipes.register(self._in, selectors.EVENT_WRITE)
            while True:
                if header is None and b"\n" in self._buffer:
                    header = self._header(most)
                if header is not None and len(self._buffer) >= header.get("bytes", 0):
                    return header, self._body(header.get("bytes", 0))
                for key, _ in pipes.select(_patience(until, cancelled)):
                    if key.fileobj is self._out:
                        self._read()
                        continue
                    unsent = unsent[self._write(unsent) :]
                    if not unsent:
                        pipes.unregister(self._in)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self._out.fileno(), _CHUNK)
            if not chunk:
                raise self._death()
            self._buffer += chunk

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._in.fileno(), data[:_CHUNK])
        except BlockingIOError:
            return 0
        except OSError:
            raise self._death() from None

    def _header(self, most: int) -> Json:
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        try:
            header: Json = json.loads(line)
        except ValueError:
            raise QueryError("the process of the query answered nonsense") from None
        if header.get("bytes", 0) > most:
            raise LimitError("the query returned more than it was allowed to")
        return header

    def _body(self, size: int) -> bytes:
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body

    def _death(self) -> LimitError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)
        code = self._process.returncode
        how = f" by {signal.Signals(-code).name}" if code is not None and code < 0 else ""
        return LimitError(
            f"the process of the query was ended{how}, most likely for want of memory; "
            "ask for less at a time"
        )


def _patience(until: float, cancelled: Cancelled) -> float:
    """How long to wait before looking up again."""
    if cancelled():
        raise LimitError("the query was called off")
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if cancelled is never else min(left, LOOK)
