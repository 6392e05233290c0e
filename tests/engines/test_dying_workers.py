"""Workers that die or cannot start: only the table that killed one is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import dovetail
from dovetail import Skipped
from dovetail.engines.local import LocalEngine
from dovetail.errors import (
    EngineError,
)
from dovetail.ports import Json, Tick
from dovetail.profile import batch
from tests.support.contents import contents
from tests.support.files import (
    GOOD,
    MEGABYTE,
    names,
    put,
    update,
)


def die_at_bad(job: Json, folder: Path, tick: Tick) -> Json:
    """The work of a worker, but for tables called bad, of which it dies."""
    if any("bad" in item["listing"]["name"] for item in job["tables"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return batch.profile_batch(job, folder, tick)


def die_in_a_word(job: Json, folder: Path, tick: Tick) -> Json:
    """Die in the middle of telling the news."""
    if job.get("die"):
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        while True:
            tick({"news": "x" * 5 * MEGABYTE})
    return {"n": job["n"]}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, None], ids=["two workers", "as many as pay off"])
def test_a_table_that_kills_its_worker_is_the_only_one_lost(
    workers: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    for number in range(10):
        put(lake / f"t{number}.csv", GOOD)
    put(lake / "t_bad.csv", GOOD)
    monkeypatch.setattr(
        "dovetail.offline.update.TASK", "tests.engines.test_dying_workers:die_at_bad"
    )
    if workers is None:  # so much that workers pay off at first, too little for what is left
        monkeypatch.setattr("dovetail.engines.local._WORTH_A_WORKER", 200)
        monkeypatch.setattr("dovetail.engines.local._processors", lambda: 2)
    report = update(f"lake={lake}", into=tmp_path / "catalog", workers=workers)
    assert names(report.catalog) == [f"t{number}" for number in range(10)]
    assert report.skipped == (
        Skipped("lake", "t_bad", "its worker died (signal 9) while reading it"),
    )


@pytest.mark.slow
def test_a_worker_that_dies_in_the_middle_of_a_word(tmp_path: Path) -> None:
    jobs: list[Json] = [{"die": True}, {"n": 1}]
    task = "tests.engines.test_dying_workers:die_in_a_word"
    replies = list(LocalEngine(workers=2).map(task, jobs, tmp_path, lambda _: None))
    found = {reply.job: (reply.result, reply.lost) for reply in replies}
    assert found == {0: ({}, "its worker died (signal 9)"), 1: ({"n": 1}, "")}


def stay(job: Json, folder: Path, tick: Tick) -> Json:
    """Say who does it, and do it for ever: asleep, or in code that hears no signal."""
    (folder / "pid").write_text(str(os.getpid()))
    del tick
    if job["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_leave_with_their_caller_however_it_ended(
    how: signal.Signals, tmp_path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path; from dovetail.engines.local import LocalEngine\n"
        "jobs = [{'deaf': False}, {'deaf': True}]\n"
        "task = 'tests.engines.test_dying_workers:stay'\n"
        "list(LocalEngine(workers=2).map(task, jobs, Path(sys.argv[1]), lambda _: None))"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    caller = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environ)
    files = [tmp_path / str(number) / "pid" for number in (0, 1)]
    while not all(file.exists() and file.read_text() for file in files):
        assert caller.poll() is None
        time.sleep(0.05)
    workers = [int(file.read_text()) for file in files]
    assert all(map(_runs, workers))
    caller.send_signal(how)
    assert caller.wait() == -how
    while any(map(_runs, workers)):  # the time limit of a test ends what would not end
        time.sleep(0.05)


def take(job: Json, folder: Path, tick: Tick) -> Json:
    """Take all the time there is, or memory."""
    del folder, tick
    while job["what"] == "time":
        signal.pause()
    return {"bytes": len(bytes(job["bytes"]))}


def test_a_job_takes_no_more_than_its_limits(tmp_path: Path) -> None:
    small, large = {"memory": 1 << 29}, {"memory": 1 << 34}
    jobs: list[Json] = [
        {"what": "time", "seconds": 0.2, "apart": True},
        {"what": "memory", "bytes": 1 << 30, **small},
        {"what": "memory", "bytes": 1 << 30, **large},
    ]
    task = "tests.engines.test_dying_workers:take"
    engine = LocalEngine(workers=1)
    late, fits = (
        next(iter(engine.map(task, [job], tmp_path, lambda _: None))) for job in (jobs[0], jobs[2])
    )
    assert late.lost == "its worker died (out of time)"
    assert fits.result == {"bytes": 1 << 30}
    with pytest.raises(EngineError, match="index_memory_mb of 512 MB"):
        list(LocalEngine(workers=2).map(task, jobs[1:], tmp_path, lambda _: None))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("/nowhere/python", "No such file or directory: '/nowhere/python'"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\necho Traceback >&2; echo ImportError: x >&2; exit 1\n", "1: ImportError: x"),
    ],
    ids=["no program", "ends at once", "with a traceback"],
)
def test_a_worker_that_cannot_start(
    program: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for number in range(10):
        put(tmp_path / "lake" / f"t{number}.csv", GOOD)
    before = contents(update(tmp_path / "lake", into=tmp_path / "catalog").catalog)
    put(tmp_path / "lake" / "new.csv", GOOD)
    python = Path(program)
    if program.startswith("#!"):
        python = put(tmp_path / "python", program)
        python.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(python))
        with pytest.raises(EngineError) as raised:
            update(tmp_path / "lake", into=tmp_path / "catalog", workers=2, sample_rows=3)
    assert str(raised.value).startswith("cannot start a worker process: ")
    assert str(raised.value).endswith(why)
    assert capfd.readouterr().err == ""
    assert contents(dovetail.open(tmp_path / "catalog")) == before
    assert len(update(tmp_path / "lake", into=tmp_path / "catalog").catalog) == 11
