"""The local engine: worker processes on this machine, or this process when work is small."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from dovetail.errors import EngineError
from dovetail.plugins import resolve
from dovetail.ports import Json, Replies, Reply, Tick

# Starting a worker takes as long as reading about so many bytes; below that it does not pay.
_WORTH_A_WORKER = 24 << 20
# A job whose worker died is tried once more before it is given up.
_ATTEMPTS = 2
# How long workers that are called off may take to leave, in seconds.
_GRACE = 5.0


class LocalEngine:
    """Spreads jobs over worker processes.

    `weight` in a job says about how many bytes it reads, `apart` that it may end its process. Every
    job is told the `run` it belongs to: what a task opens may stay open for the jobs of that run.
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


@dataclass(frozen=True, slots=True)
class _Event:
    """What a worker's thread tells the caller: a tick, a reply, or that it is through."""

    tick: Json | None = None
    reply: Reply | None = None
    error: Exception | None = None
    through: bool = False


class _WorkerPool:
    """The worker processes of one `map`, each served by a thread of ours."""

    def __init__(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> None:
        self._task = task
        self._jobs = jobs
        self._into = into
        self._tick = tick
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        # Every worker with what it writes to standard error.
        self._processes: dict[subprocess.Popen[str], IO[bytes]] = {}
        self._starting = threading.Lock()
        self._stopping = False

    def run(self, workers: int) -> Replies:
        for number in range(len(self._jobs)):
            self._todo.put(number)
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(workers)]
        for thread in threads:
            thread.start()
        left = workers
        try:
            while left:
                news = self._news.get()
                if news.tick is not None:
                    self._tick(news.tick)
                if news.error is not None:
                    raise news.error
                if news.reply is not None:
                    yield news.reply
                left -= news.through
        finally:
            with self._starting:
                self._stopping = True
                _call_off(list(self._processes))
            for thread in threads:
                thread.join()

    def _serve(self) -> None:
        """Keep one worker busy until there is nothing left to do."""
        process = None
        try:
            while not self._stopping:
                try:
                    number = self._todo.get_nowait()
                except queue.Empty:
                    break
                process, answer = self._do(process, number)
                self._deliver(number, answer)
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            self._news.put(_Event(error=error))
        finally:
            if process is not None:
                self._end(process)
            self._news.put(_Event(through=True))

    def _do(
        self, process: subprocess.Popen[str] | None, number: int
    ) -> tuple[subprocess.Popen[str] | None, Json]:
        """Have a job done by this worker, or by another when it dies over it."""
        status = ""
        for _ in range(_ATTEMPTS):
            process = process or self._start()
            answer = self._ask(process, number)
            if answer is not None:
                return process, answer
            status = self._end(process)
            process = None
        return None, {"lost": f"its worker died ({status})"}

    def _start(self) -> subprocess.Popen[str]:
        with self._starting:
            if self._stopping:
                raise EngineError("the work was called off")
            complaints = tempfile.TemporaryFile()  # noqa: SIM115 - `_end` closes it
            try:
                process = subprocess.Popen(
                    # -P: no module of the current folder
                    [sys.executable, "-P", "-m", "dovetail.engines.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for the caller, who then ends the workers
                    env=self._environment(),
                )
            except OSError as error:
                complaints.close()
                raise EngineError(_no_worker(str(error))) from None
            self._processes[process] = complaints
        if process.stdout is None or not process.stdout.readline():
            raise EngineError(_no_worker(self._end(process)))
        return process

    def _environment(self) -> dict[str, str]:
        """A worker finds the modules we have, and leaves nothing behind when it is killed."""
        path = os.pathsep.join(filter(None, sys.path))
        return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self._into.absolute())}

    def _ask(self, process: subprocess.Popen[str], number: int) -> Json | None:
        """Have a worker do a job, and return its answer; None when it died over it."""
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        request = {
            "task": self._task,
            "job": self._jobs[number],
            "folder": str(self._into / str(number)),
        }
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError:
            return None
        for line in process.stdout:
            if not line.endswith("\n"):  # cut off by its death
                break
            message: Json = json.loads(line)
            if "tick" not in message:
                return message
            self._news.put(_Event(tick=message["tick"]))
        return None

    def _deliver(self, number: int, answer: Json) -> None:
        if "result" in answer:
            self._news.put(_Event(reply=Reply(number, answer["result"])))
        elif "lost" in answer:
            self._news.put(_Event(reply=Reply(number, {}, lost=answer["lost"])))
        elif "errno" in answer:
            self._news.put(_Event(error=OSError(answer["errno"], answer["error"])))
        elif "error" in answer:
            self._news.put(_Event(error=EngineError(f"a worker failed: {answer['error']}")))

    def _end(self, process: subprocess.Popen[str]) -> str:
        """Let a worker finish, and say how it did; ended once, there is nothing more to say."""
        if process not in self._processes:
            return "ended before"
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                process.kill()
        status = process.wait()
        if process.stdout is not None:
            process.stdout.close()
        with self._processes.pop(process) as complaints:
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").strip().splitlines()
        if status < 0:
            return f"signal {-status}"
        return f"exit code {status}" + (f": {lines[-1]}" if lines else "")


def _call_off(processes: Sequence[subprocess.Popen[str]]) -> None:
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
    return f"cannot start a worker process: {why}; --workers 1 does without"
