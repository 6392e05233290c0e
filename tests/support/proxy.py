"""A proxy before a database server, which can be cut off: what its clients see of a restart."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CHUNK = 4_096


class Proxy:
    """Passes bytes on between clients and a server, and counts what the server sends.

    Behind so many bytes of the server (`cut_after`) all connections end, in the middle of whatever
    is said. With `away` the server then takes no more of them, until `back`.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.sent, self.cuts = 0, 0
        self._cut_after: int | None = None
        self._away = self._is_away = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, count: int, *, away: bool) -> None:
        """Cut all connections when the server has sent so many bytes from now on."""
        with self._lock:
            self.sent, self._cut_after, self._away = 0, count, away

    def back(self) -> None:
        """Take connections again; none is cut."""
        with self._lock:
            self._cut_after, self._is_away = None, False

    def close(self) -> None:
        """Listen no more, and end what is connected."""
        self._listener.close()
        with self._lock:
            self._end_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            if self._is_away:
                client.close()
                continue
            pair = client, socket.create_connection(self._server)
            with self._lock:
                self._pairs.add(pair)
            for source, target, counts in ((*pair, False), (*reversed(pair), True)):
                work = self._pass_on, (source, target, pair, counts)
                threading.Thread(target=work[0], args=work[1], daemon=True).start()

    def _pass_on(
        self,
        source: socket.socket,
        target: socket.socket,
        pair: tuple[socket.socket, socket.socket],
        counts: bool,
    ) -> None:
        with suppress(OSError):
            while content := source.recv(_CHUNK):
                with self._lock:
                    left = self._counted(len(content)) if counts else len(content)
                target.sendall(content[:left])
                if left < len(content):
                    with self._lock:
                        self._is_away = self._away
                        self._end_all()
        with self._lock:
            self._end(pair)

    def _counted(self, size: int) -> int:
        """How many of so many bytes that a server sends may pass."""
        before, self.sent = self.sent, self.sent + size
        if self._cut_after is None or self.sent < self._cut_after:
            return size
        left, self._cut_after = max(0, self._cut_after - before - 1), None
        self.cuts += 1
        return left

    def _end_all(self) -> None:
        for pair in list(self._pairs):
            self._end(pair)

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for each in pair:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def proxy(url: str, default_port: int) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the server of a URL, and the URL by which it is reached through it."""
    parts = urlsplit(url)
    between = Proxy(parts.hostname or "127.0.0.1", parts.port or default_port)
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    try:
        yield between, parts._replace(netloc=f"{login}127.0.0.1:{between.port}").geturl()
    finally:
        between.close()
