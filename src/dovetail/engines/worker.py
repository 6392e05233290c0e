"""A worker process: takes jobs as JSON lines on standard input, answers on standard output.

Not a pool of the standard library: those import the caller's main module again, which a script
that simply calls `dovetail.build` does not survive, and they speak pickle.

A job may say how much memory this process may take for it, and how many seconds may pass until it
tells that something is done. The limits are the system's: no library in here can hold them off.
It may also name modules that it can do `without`: what looks for one of them finds that it is not
installed, where loading it would take longer than the job.

Where the caller is gone in the middle of a job, however it ended, nobody waits for the answer: the
worker then leaves, as it does when it is called off.
"""

from __future__ import annotations

import signal
from pathlib import Path

from dovetail.errors import DovetailError, EngineError
from dovetail.memory import bounded, is_spent, ran_out, too_little
from dovetail.plugins import resolve
from dovetail.ports import Json, Tick
from dovetail.process import Absent, Caller


def main() -> None:
    """Answer jobs until the input ends."""
    signal.signal(signal.SIGTERM, _leave)
    caller, absent = Caller(), Absent()
    for request in caller.requests():
        absent.names = request["job"].get("without", ())
        caller.send(run(request["task"], request["job"], Path(request["folder"]), caller))
        if is_spent(request["job"].get("memory")):  # the caller starts another
            break


def run(task: str, job: Json, folder: Path, caller: Caller) -> Json:
    """Do one job; whatever goes wrong with it is part of the answer."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return {"result": limited(task, job, folder, lambda news: caller.send({"tick": news}))}
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
        except Exception as error:
            if isinstance(error, DovetailError) or not ran_out(error):
                raise
            raise EngineError(f"a job {too_little()}") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return result


def _leave(*_: object) -> None:
    """Called off: what waits for a server ends it there on the way out."""
    raise SystemExit(1)


if __name__ == "__main__":
    main()
