"""A worker process: takes jobs as JSON lines on standard input, answers on standard output.

Not a pool of the standard library: those import the caller's main module again, which a script
that simply calls `dovetail.build` does not survive, and they speak pickle.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from dovetail.errors import DovetailError
from dovetail.plugins import resolve
from dovetail.ports import Json


def main() -> None:
    """Answer jobs until the input ends."""
    signal.signal(signal.SIGTERM, _leave)
    # What a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _send(answers, {"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        _send(answers, run(request["task"], request["job"], Path(request["folder"]), answers))


def run(task: str, job: Json, folder: Path, answers: TextIO) -> Json:
    """Do one job; whatever goes wrong with it is part of the answer."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        result = resolve(task)(job, folder, lambda news: _send(answers, {"tick": news}))
    except OSError as error:
        return {"error": error.strerror or str(error), "errno": error.errno}
    except DovetailError as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
        return {"error": f"{type(error).__name__}: {error}"}
    return {"result": result}


def _leave(*_: object) -> None:
    """Called off: what waits for a server ends it there on the way out."""
    raise SystemExit(1)


def _send(answers: TextIO, message: Json) -> None:
    try:
        answers.write(json.dumps(message) + "\n")
        answers.flush()
    except BrokenPipeError:  # the caller was killed, so nobody waits for what is left to do
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
