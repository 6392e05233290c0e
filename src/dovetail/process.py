"""A process of ours that is asked over pipes: how it is started, and how it hears its caller.

A request is a line of JSON on its standard input. An answer is a line of JSON on its standard
output, and behind it the bytes that the line announces, if any.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

# How long what a request holds may take to be let go when nobody waits for it any more, in seconds.
_GRACE = 5.0
_GONE = select.POLLHUP | select.POLLERR


def start(
    module: str, *, errors: IO[bytes] | int, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a Python that runs a module and finds those that we have."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],  # -P: no module of the current folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,  # Ctrl-C is for the caller, who then ends what it started
        env={**os.environ, "PYTHONPATH": path, **(variables or {})},
    )


def pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """What a process that was started here reads, and what it writes."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process was started without pipes")
    return process.stdin, process.stdout


class Caller:
    """Whoever started this process; what a library prints does not end up between the answers."""

    def __init__(self) -> None:
        self._answers = os.dup(1)
        os.dup2(2, 1)

    def requests(self) -> Iterator[dict[str, Any]]:
        """Say that the process is up, then give every request, until there are no more.

        Should the caller go while it works on one, the process ends.
        """
        working = threading.Event()
        threading.Thread(target=_leave_with_the_caller, args=(working,), daemon=True).start()
        self.send({"ready": True})
        for line in sys.stdin.buffer:
            working.set()
            yield json.loads(line)
            working.clear()

    def send(self, message: Mapping[str, Any], body: bytes = b"") -> None:
        """Send an answer, or a part of it."""
        unsent = memoryview(json.dumps(message).encode() + b"\n" + body)
        try:
            while unsent:
                unsent = unsent[os.write(self._answers, unsent) :]
        except BrokenPipeError:  # the caller is gone, so nobody waits for what is left to do
            raise SystemExit(1) from None


def _leave_with_the_caller(working: threading.Event) -> None:
    """End this process when the other end of its input is gone while it works."""
    caller = select.poll()
    caller.register(0, 0)
    while not any(event & _GONE for _, event in caller.poll()):
        time.sleep(_GRACE)  # it told of something else
    working.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)  # what it is in hears no signal


class Absent:
    """The `names` of modules that this process does without, as if they were not installed.

    Arrow and DuckDB look for pandas at their first conversion, and loading it takes half a second.
    """

    def __init__(self) -> None:
        self.names: Collection[str] = ()
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse such a module; what other modules are is for other finders to say."""
        if name in self.names:
            raise ModuleNotFoundError(f"nothing here needs {name!r}", name=name)
