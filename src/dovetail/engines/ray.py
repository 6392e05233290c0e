"""The Ray engine: the same jobs on a cluster.

A worker whose node sees the folder that files are to come to writes them there itself; only those
of other workers travel back through Ray's object store, and through this process's memory.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from dovetail.engines.worker import limited
from dovetail.errors import DovetailError, EngineError, MissingExtraError
from dovetail.ports import Json, Replies, Reply, Tick

# Jobs in flight per processor of the cluster: enough to keep it busy, few enough to hold results.
_IN_FLIGHT = 2
_RETRIES = 4
_PATIENCE = 10.0


class RayEngine:
    """Maps jobs over a Ray cluster: the one at `address`, or one started on this machine.

    Ray itself runs a job again when its worker or node dies. The nodes must reach the sources as
    this machine does (a shared file system, a database server) and have dovetail installed.
    """

    def __init__(self, *, workers: int | None = None, address: str | None = None) -> None:
        self._workers = workers
        self._address = address
        self._ours = False  # whether it was this engine that connected
        self._staying = False

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Stay connected between calls of `map`: to connect takes seconds."""
        self._staying = True
        try:
            yield
        finally:
            self._staying = False
            self._leave()

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        del tick  # news of a job come with its reply
        ray = _import_ray()
        if not ray.is_initialized():
            self._connect(ray)
            self._ours = True
        try:
            yield from _replies(ray, task, jobs, into)
        finally:
            if not self._staying:
                self._leave()

    def _leave(self) -> None:
        if self._ours:
            _import_ray().shutdown()
            self._ours = False

    def _connect(self, ray: Any) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address is None:
            options |= {"num_cpus": self._workers, "include_dashboard": False}
        try:
            _knock(self._address)
            ray.init(address=self._address, **options)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
            raise EngineError(
                f"cannot reach the Ray cluster at {self._address or 'this machine'}: {reason}; "
                "check --ray-address"
            ) from None


def _knock(address: str | None) -> None:
    """Fail soon where nobody answers: Ray itself would go on trying for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the Ray engine", "ray") from None
    return ray


def _replies(ray: Any, task: str, jobs: Sequence[Json], into: Path) -> Replies:
    remote = ray.remote(max_retries=_RETRIES, num_cpus=1)(_run)
    limit = max(2, int(_IN_FLIGHT * ray.cluster_resources().get("CPU", 1)))
    numbers = iter(range(len(jobs)))
    running: dict[Any, int] = {}
    into.mkdir(parents=True, exist_ok=True)
    mark = into.absolute() / f".{uuid4().hex}"
    mark.touch()
    while True:
        while len(running) < limit and (number := next(numbers, None)) is not None:
            running[remote.remote(task, jobs[number], number, str(mark))] = number
        if not running:
            mark.unlink(missing_ok=True)
            return
        (done, *_), _ = ray.wait(list(running), num_returns=1)
        number = running.pop(done)
        yield _reply(ray, done, number, into)


def _reply(ray: Any, done: Any, number: int, into: Path) -> Reply:
    try:
        answer, files = ray.get(done)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
        return Reply(number, {}, lost=f"its worker died ({type(error).__name__})")
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, OSError | DovetailError):
            raise cause from None
        raise EngineError(f"a worker failed: {type(cause).__name__}: {cause}") from None
    except ray.exceptions.RayError as error:
        return Reply(number, {}, lost=f"its worker died ({type(error).__name__})")
    folder = into / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return Reply(number, answer)


def _run(task: str, job: Json, number: int, mark: str) -> tuple[Json, dict[str, bytes]]:
    """A job on a node of the cluster: its result, and the files that it could not put in place.

    `mark` is a file in the folder that the job's files are to come to. A node that sees it has them
    written there, under a name that no other attempt has, and named by the job's number at last.
    """
    into = Path(mark).parent
    shared = Path(mark).is_file()
    with tempfile.TemporaryDirectory(
        prefix=f".{number}.", dir=into if shared else None, ignore_cleanup_errors=True
    ) as scratch:
        folder = Path(scratch) / str(number)
        folder.mkdir()
        result = limited(task, job, folder, lambda _: None)
        if not shared:
            return result, {file.name: file.read_bytes() for file in folder.iterdir()}
        final = into / str(number)
        shutil.rmtree(final, ignore_errors=True)  # of an attempt that died right after this
        folder.rename(final)
        return result, {}
