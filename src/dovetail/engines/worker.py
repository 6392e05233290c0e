"""A worker process: takes jobs as JSON lines on standard input, answers on standard output.

Not a pool of the standard library: those import the caller's main module again, which a script
that simply calls `dovetail.build` does not survive, and they speak pickle.

A job may say how much memory this process may take for it, and how many seconds may pass until it
tells that something is done. The limits are the system's: no library in here can hold them off.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from dovetail.errors import DovetailError, EngineError
from dovetail.memory import bounded, ran_out, too_little
from dovetail.plugins import resolve
from dovetail.ports import Json, Tick


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
        return {"result": limited(task, job, folder, lambda news: _send(answers, {"tick": news}))}
    except OSError as error:
        return {"error": error.strerror or str(error), "errno": error.errno}
    except DovetailError as error:
        return {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
        return {"error": f"{type(error).__name__}: {error}"}


def limited(task: str, job: Json, folder: Path, tell: Tick) -> Json:
    """Do one job within its limits; one that takes too long ends the process."""
    seconds = float(job.get("seconds", 0))

    def tick(news: Json) -> None:
        if news.get("done"):
            signal.setitimer(signal.ITIMER_REAL, seconds)
        tell(news)

    function = resolve(task)
    with bounded(job.get("memory")):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            result: Json = function(job, folder, tick)
        except (MemoryError, RuntimeError) as error:
            if not ran_out(error):
                raise
            raise EngineError(f"a job {too_little()}") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return result


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
