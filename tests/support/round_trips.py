"""A relay in front of a server that counts how often a client waits for an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread


class Relay:
    """Passes connections on to a server. `trips` counts the turns from client to server."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.trips = 0
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                turn = [""]
                for ends in ((client, server, "client"), (server, client, "server")):
                    Thread(target=self._pass_on, args=(*ends, turn), daemon=True).start()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, who: str, turn: list[str]
    ) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.trips += who == "client" and turn[0] != "client"
                turn[0] = who
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def relay(host: str, port: int) -> Iterator[Relay]:
    found = Relay(host, port)
    try:
        yield found
    finally:
        found.close()
