"""The local engine: worker processes on this machine, or this process when work is small."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from uuid import uuid4

from dovetail.errors import EngineError
from dovetail.plugins import resolve
from dovetail.ports import Json, Replies, Reply, Tick
from dovetail.process import pipes, start

# Starting a worker takes as long as reading about so many bytes; below that it does not pay.
_WORTH_A_WORKER = 24 << 20
# A job whose worker died is tried once more before it is given up.
_ATTEMPTS = 2
# How a worker ends whose job took longer than it may.
_LATE = "out of time"
# How long workers that are called off may take to leave, in seconds.
_GRACE = 5.0


class LocalEngine:
    """Spreads jobs over worker processes.

    `weight` in a job says about how many bytes it reads, `apart` that it may end its process,
    `memory`, `seconds` and `without` what a worker may take (`worker.py`). Every job is told the
    `run` it belongs to: what a task opens may stay open for the jobs of that run.
    """

    def __init__(self, *, workers: int | None = None, address: str | None = None) -> None:
        del address  # for engines that are elsewhere
        self._workers = workers

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        run = uuid4().hex
        jobs = [{**job, "run": run} for job in jobs]
        workers = min(self._wanted(jobs), len(jobs))
        if workers <= 1 and not any(job.get("apart") for job in jobs):
            return _here(task, jobs, into, tick)
        return _WorkerPool(task, jobs, into, tick).run(workers)

    def _wanted(self, jobs: Sequence[Json]) -> int:
        if self._workers is not None:
            return self._workers
        weight = sum(int(job.get("weight", 0)) for job in jobs)
        return min(_processors(), 1 + weight // _WORTH_A_WORKER)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _here(task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
    function = resolve(task)
    for number, job in enumerate(jobs):
        folder = into / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        yield Reply(number, function(job, folder, tick))


class _WorkerPool:
    """The worker processes of one `map`, each served by a thread of ours.

    A thread tells of ticks, of replies, of what went wrong, and with None that it is through.
    """

    def __init__(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> None:
        self._task = task
        self._jobs = jobs
        self._into = into
        self._tick = tick
        self._todo = iter(range(len(jobs)))
        self._news: queue.SimpleQueue[Json | Reply | Exception | None] = queue.SimpleQueue()
        # Every worker with what it writes to standard error.
        self._processes: dict[subprocess.Popen[bytes], IO[bytes]] = {}
        self._lock = threading.Lock()
        self._stopping = False

    def run(self, workers: int) -> Replies:
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(workers)]
        for thread in threads:
            thread.start()
        left = workers
        try:
            while left:
                news = self._news.get()
                if news is None:
                    left -= 1
                elif isinstance(news, Exception):
                    raise news
                elif isinstance(news, Reply):
                    yield news
                else:
                    self._tick(news)
        finally:
            with self._lock:
                self._stopping = True
                _call_off(list(self._processes))
            for thread in threads:
                thread.join()

    def _serve(self) -> None:
        """Keep one worker busy until there is nothing left to do."""
        process = None
        try:
            while (number := self._next()) is not None:
                process, outcome = self._do(process, number)
                self._news.put(outcome)
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            self._news.put(error)
        finally:
            if process is not None:
                self._end(process)
            self._news.put(None)

    def _next(self) -> int | None:
        with self._lock:
            return None if self._stopping else next(self._todo, None)

    def _do(
        self, process: subprocess.Popen[bytes] | None, number: int
    ) -> tuple[subprocess.Popen[bytes] | None, Reply | Exception]:
        """Have a job done by this worker, or by another when it dies over it."""
        status = ""
        for _ in range(_ATTEMPTS):
            process = process or self._start()
            answer = self._ask(process, number)
            if answer is not None:
                return process, _outcome(number, answer)
            status = self._end(process)
            process = None
            if status == _LATE:
                break
        return None, Reply(number, {}, lost=f"its worker died ({status})")

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopping:
                raise EngineError("the work was called off")
            complaints = tempfile.TemporaryFile()  # noqa: SIM115 - `_end` closes it
            try:
                # A worker that is killed leaves nothing behind elsewhere.
                kept = {"TMPDIR": str(self._into.absolute())}
                process = start("dovetail.engines.worker", errors=complaints, variables=kept)
            except OSError as error:
                complaints.close()
                raise EngineError(_no_worker(str(error))) from None
            self._processes[process] = complaints
        if not pipes(process)[1].readline():
            raise EngineError(_no_worker(self._end(process)))
        return process

    def _ask(self, process: subprocess.Popen[bytes], number: int) -> Json | None:
        """Have a worker do a job, and return its answer; None when it died over it."""
        requests, answers = pipes(process)
        folder = str(self._into / str(number))
        request = {"task": self._task, "job": self._jobs[number], "folder": folder}
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
        except OSError:
            return None
        for line in answers:
            if not line.endswith(b"\n"):  # cut off by its death
                break
            message: Json = json.loads(line)
            if "tick" not in message:
                return message
            self._news.put(message["tick"])
        return None

    def _end(self, process: subprocess.Popen[bytes]) -> str:
        """Let a worker finish, and say how it did; ended once, there is nothing more to say."""
        if process not in self._processes:
            return "ended before"
        requests, answers = pipes(process)
        try:
            requests.close()
        except OSError:
            process.kill()
        status = process.wait()
        answers.close()
        with self._processes.pop(process) as complaints:
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").strip().splitlines()
        if status < 0:
            return _LATE if -status == signal.SIGALRM else f"signal {-status}"
        return f"exit code {status}" + (f": {lines[-1]}" if lines else "")


def _outcome(number: int, answer: Json) -> Reply | Exception:
    """What a worker answers a job with: its result, or what went wrong."""
    if "errno" in answer:
        return OSError(answer["errno"], answer["error"])
    if "error" in answer:
        return EngineError(f"a worker failed: {answer['error']}")
    return Reply(number, answer["result"])


def _call_off(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End workers: first asked to, so that they end in a server what they wait for there."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + _GRACE
    for process in processes:
        try:
            process.wait(max(until - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            process.kill()


def _no_worker(why: str) -> str:
    return f"cannot start a worker process: {why}"
