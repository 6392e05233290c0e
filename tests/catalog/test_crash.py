"""Killed, interrupted, out of space, or with others at the same catalog: it is old or new."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import Progress, Settings
from dovetail.catalog.writer import writing
from dovetail.errors import CatalogError, LockedError, NotFoundError, SourceError
from tests.support.contents import contents

# Enough tables for several jobs, and so for several segments; small, for there are many runs.
TABLES = 32


def write_lake(lake: Path, salt: int, *, tables: int = TABLES, rows: int = 40) -> None:
    """Tables of which three in four differ from one salt to the next."""
    lake.mkdir(exist_ok=True)
    for table in range(tables):
        factor = salt if table % 4 else 1
        lines = "".join(f"{row},{row * factor + table},v{row % 7}\n" for row in range(rows))
        beside = lake / ".new"
        beside.write_text(f"id,number,word\n{lines}")
        beside.replace(lake / f"t{table:02d}.csv")


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dovetail", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def index(lake: Path, into: Path) -> subprocess.Popen[str]:
    return start("index", f"lake={lake}", "-C", into, "--workers", "2")


def run_to_the_end(lake: Path, into: Path) -> None:
    with index(lake, into) as run:
        assert run.communicate()[1] == ""
    assert run.returncode == 0


def scratch(lake: Path, into: Path) -> dict[str, Any]:
    return contents(dovetail.build(f"lake={lake}", into=into))


def reading(lake: Path, into: Path) -> set[str]:
    """Bring a catalog up to date, and say which tables were read for it."""
    read: set[str] = set()

    def on_progress(progress: Progress) -> None:
        if progress.phase == "read" and progress.detail:
            read.add(progress.detail.partition(",")[0])

    dovetail.update([f"lake={lake}"], into=into, on_progress=on_progress)
    return read


@pytest.mark.soak
def test_killed_at_any_instant_the_catalog_is_old_or_new(tmp_path: Path, kills: int = 23) -> None:
    """Two catalogs at once, as a run spends much of its time waiting to start."""
    folders = [tmp_path / name for name in ("one", "two")]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(kill_again_and_again, folders, (kills, kills), (kills, kills + 1)))


def kill_again_and_again(folder: Path, kills: int, seed: int) -> None:
    """Kill runs that lead from one state to another, and back once one got there."""
    lake, into = folder / "lake", folder / "catalog"
    folder.mkdir()
    states: dict[int, dict[str, Any]] = {}
    for salt in (2, 3):
        write_lake(lake, salt)
        states[salt] = scratch(lake, folder / f"scratch{salt}")
    assert states[2] != states[3]
    run_to_the_end(lake, into)
    write_lake(lake, 2)
    began = time.perf_counter()
    run_to_the_end(lake, into)
    length = time.perf_counter() - began

    old, new = 2, 3
    write_lake(lake, new)
    instants = random.Random(seed)
    killed = 0
    while killed < kills:
        began = time.perf_counter()
        with index(lake, into) as run:
            try:
                run.wait(instants.uniform(0, length))
                length = time.perf_counter() - began  # the machine has become quicker
            except subprocess.TimeoutExpired:
                run.kill()  # the workers are left to find out for themselves
        killed += run.returncode == -signal.SIGKILL
        found = contents(dovetail.open(into))
        assert found in (states[old], states[new])
        if found == states[new]:
            old, new = new, old
            write_lake(lake, new)
    # Whatever the killed runs left behind, a run that is let finish comes to what a rebuild does.
    run_to_the_end(lake, into)
    assert contents(dovetail.open(into)) == states[new]
    assert list((into / "staging").iterdir()) == []
    parts = dovetail.open(into).reader.manifest.parts
    assert len(list((into / "generations").glob("*/*"))) == len(parts)


@pytest.mark.slow
@pytest.mark.parametrize("first", [False, True], ids=["update", "first"])
def test_killed_before_any_change_to_its_files_the_catalog_is_old_or_new(
    tmp_path: Path, first: bool
) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2, tables=12)
    old = None if first else state(dovetail.build(f"lake={lake}", into=into, settings=WORDS))
    write_lake(lake, 3, tables=12)
    new = state(dovetail.build(f"lake={lake}", into=tmp_path / "scratch", settings=WORDS))
    killed = copied_before_each_change(tmp_path, f"lake={lake}", into)
    found = [state_at(path) for path in killed]
    turn = found.index(new)
    assert found == [old] * turn + [new] * (len(found) - turn)
    for path in killed[::8]:
        dovetail.build(f"lake={lake}", into=path, settings=WORDS)
        assert state_at(path) == new
        assert list((path / "staging").iterdir()) == []


WORDS = Settings(embedder="none")


def state(catalog: dovetail.Catalog) -> dict[str, Any]:
    """All that a catalog answers with: tables, values, joins, families and search."""
    return {
        "contents": contents(catalog),
        "joins": [edge.to_dict() for edge in catalog.joins(least=-1)],
        "families": catalog.families().to_list(),
        "search": [
            repr(one)
            for question in ("id of t05", "which word is v3")
            for one in catalog.search(question)
        ],
    }


def state_at(path: Path) -> dict[str, Any] | None:
    try:
        return state(dovetail.open(path, WORDS))
    except NotFoundError:
        return None


def copied_before_each_change(folder: Path, source: str, into: Path) -> list[Path]:
    """A catalog as a kill before each change to its files would leave it, in order."""
    done = subprocess.run(
        [sys.executable, "-c", COPIED_BEFORE, source, into, folder / "killed"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    killed = sorted((folder / "killed").iterdir(), key=lambda path: int(path.name))
    assert len(killed) == int(done.stdout) > 30
    return killed


# What a kill leaves is what is on disk at that instant, so a copy made just before each change is
# what a process killed there would leave: one run shows them all.
COPIED_BEFORE = """
import os, shutil, sys
import dovetail.offline.pipeline
source, into, killed = sys.argv[1:]
changes = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link"}
number, copying = 0, False

def copy():
    global number, copying
    number, copying = number + 1, True
    if os.path.isdir(into):
        shutil.copytree(into, os.path.join(killed, str(number)))
    else:
        os.mkdir(os.path.join(killed, str(number)))
    copying = False

def hook(event, arguments):
    if copying:
        return
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
    if event in changes or writes:
        copy()

os.mkdir(killed)
sys.addaudithook(hook)
settings = dovetail.Settings(embedder="none", workers=1)
dovetail.offline.pipeline.update([source], into=into, settings=settings)
copy()
print(number)
"""


def test_what_a_killed_run_finished_is_not_read_again(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2)
    before = contents(dovetail.build(f"lake={lake}", into=into))
    write_lake(lake, 3)
    # Three in four are to be read, in three jobs.
    run = [sys.executable, "-c", KILLED_AT_THE_THIRD_SEGMENT, f"lake={lake}", str(into)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    assert contents(dovetail.open(into)) == before
    last_job = {f"lake::t{table}" for table in range(22, TABLES) if table % 4}
    assert reading(lake, into) == last_job
    assert contents(dovetail.open(into)) == scratch(lake, tmp_path / "scratch")


KILLED_AT_THE_THIRD_SEGMENT = """
import os, signal, sys
import dovetail
from dovetail.catalog.writer import CatalogWriter
adopt, adopted = CatalogWriter.adopt, []

def counted(writer, staged, name):
    if len(adopted) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    adopted.append(name)
    return adopt(writer, staged, name)

CatalogWriter.adopt = counted
dovetail.build(sys.argv[1], into=sys.argv[2], settings=dovetail.Settings(workers=1))
"""


def test_orphaned_workers_end(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2, rows=20_000)
    with index(lake, into) as run:
        workers = wait_for_workers(run)
        run.kill()
    wait_until_gone(workers)


def wait_for_workers(run: subprocess.Popen[str]) -> list[int]:
    """The worker processes of a run, once there are two."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    if not children.exists():
        pytest.skip("needs /proc to see the processes that a run starts")
    while run.poll() is None:
        # Threads start the workers, so they are children of any of the run's tasks.
        found = [
            int(pid)
            for task in Path(f"/proc/{run.pid}/task").iterdir()
            for pid in (task / "children").read_text().split()
        ]
        if len(found) == 2:
            return found
        time.sleep(0.005)
    raise AssertionError(f"the run ended before it had two workers: {run.returncode}")


def wait_until_gone(processes: list[int]) -> None:
    while any(is_running(process) for process in processes):
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "everyone", "code", "told"),
    [
        (signal.SIGINT, False, 130, "interrupted"),  # as a terminal does
        (signal.SIGTERM, False, 143, "ended by SIGTERM"),  # as who manages a process does
        (signal.SIGTERM, True, 143, "ended by SIGTERM"),  # as who ends a container does
    ],
)
def test_interrupted_it_says_so_and_leaves_nobody_behind(
    number: signal.Signals, everyone: bool, code: int, told: str, tmp_path: Path
) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2, rows=20_000)
    before = contents(dovetail.build(f"lake={lake}", into=into))
    write_lake(lake, 3, rows=20_000)
    with index(lake, into) as run:
        workers = wait_for_workers(run)
        for worker in workers:  # so that the run cannot end before it is interrupted
            os.kill(worker, signal.SIGSTOP)
        os.killpg(run.pid, number)
        for worker in workers:
            if everyone:
                os.kill(worker, number)
            os.kill(worker, signal.SIGCONT)
        out, err = run.communicate()
        assert run.returncode == code
    wait_until_gone(workers)
    assert out == ""
    assert err == f"dovetail: {told}; finished tables are kept for the next run\n"
    assert contents(dovetail.open(into)) == before
    dovetail.build(f"lake={lake}", into=into)
    assert contents(dovetail.open(into)) == scratch(lake, tmp_path / "scratch")


# A command of which an interrupt comes where exceptions get lost, and then goes on for long.
LOSING = """
import os, signal, sys, time
from dovetail import cli

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

def lose(how: str) -> None:
    if how == "dropped":
        Dropped()
        time.sleep(86_400)
    else:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except BaseException:
            if how == "failed":
                raise RuntimeError("some library: interrupted")
    print("went on")

cli.resolve = lambda _: lose  # in place of any command of ours
cli.main()
"""


def lose(how: str, *shell: str) -> tuple[int, str, str]:
    command = [*shell, sys.executable, "-c", LOSING, "ask", how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_an_interrupt_is_not_lost_where_exceptions_are() -> None:
    said = "dovetail: interrupted\n"
    assert lose("dropped") == (130, "", said)
    assert lose("failed") == (130, "", said)
    assert lose("caught") == (130, "went on\n", said)


def test_a_command_in_the_background_leaves_interrupts_to_those_in_front() -> None:
    background = ("sh", "-c", """trap "" INT; exec "$@" """, "sh")
    assert lose("caught", *background) == (0, "went on\n", "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the mount command")
    if done.returncode:
        pytest.skip(f"needs the right to mount a small file system: {done.stderr.strip()}")
    try:
        yield disk
    finally:
        # Lazily: what a catalog has mapped into memory keeps it busy until that is collected.
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk(workers: str, small_disk: Path, tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", small_disk / "catalog"
    write_lake(lake, 2)
    before = contents(dovetail.build(f"lake={lake}", into=into))
    filler = small_disk / "filler"
    room = os.statvfs(small_disk)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - (256 << 10)))
    write_lake(lake, 3, rows=2_000)
    with start("index", f"lake={lake}", "-C", into, "--workers", workers) as run:
        out, err = run.communicate()
    assert (run.returncode, out) == (1, "")
    assert err == (
        f"dovetail: cannot write to {into}: No space left on device; the catalog is as it was "
        "before, and what was finished is kept for the next run\n"
    )
    assert contents(dovetail.open(into)) == before
    filler.unlink()
    dovetail.build(f"lake={lake}", into=into)
    assert contents(dovetail.open(into)) == scratch(lake, tmp_path / "scratch")


def test_a_disk_without_any_room(small_disk: Path, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", 2)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        while True:
            stream.write(bytes(4096))
    with pytest.raises(CatalogError, match="No space left on device"):
        dovetail.build(str(tmp_path / "lake"), into=small_disk / "catalog")
    filler.unlink()
    assert len(dovetail.build(str(tmp_path / "lake"), into=small_disk / "catalog")) == TABLES


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2)
    before = contents(dovetail.build(f"lake={lake}", into=into))
    holder = rf"{into} is being written by process {os.getpid()} on .*; wait for it, or choose"
    with writing(into):
        with pytest.raises(LockedError, match=holder):
            dovetail.build(f"lake={lake}", into=into)
        with start("index", "-C", into) as run:
            out, err = run.communicate()
        assert (run.returncode, out, err.count("\n")) == (1, "", 1)
        assert f"is being written by process {os.getpid()} on" in err
        assert contents(dovetail.open(into)) == before  # reading needs no lock
    assert dovetail.update(into=into).unchanged == TABLES


@pytest.mark.parametrize("there", [False, True])
def test_a_first_run_that_fails_leaves_nothing(tmp_path: Path, *, there: bool) -> None:
    folder = tmp_path / "catalog"
    if there:
        folder.mkdir()
    with pytest.raises(SourceError, match="there is no such file or folder"):
        dovetail.build(tmp_path / "nowhere.sqlite", into=folder)
    assert list(tmp_path.rglob("*")) == [folder] * there


def test_an_open_catalog_stays_as_it_is(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    write_lake(lake, 2)
    opened = dovetail.build(f"lake={lake}", into=into)
    expected = scratch(lake, tmp_path / "scratch")
    segments = set((into / "segments").iterdir())
    for salt in (3, 4, 5):
        write_lake(lake, salt)
        dovetail.build(f"lake={lake}", into=into)
    dovetail.update(into=into, forget=["lake"])
    assert not segments & set((into / "segments").iterdir())
    assert len(dovetail.open(into)) == 0
    assert contents(opened) == expected


@pytest.mark.slow
def test_readers_never_see_an_update_half_done(tmp_path: Path) -> None:
    lake, into = tmp_path / "lake", tmp_path / "catalog"
    states = []
    for salt in (2, 3):
        write_lake(lake, salt)
        states.append(scratch(lake, tmp_path / f"scratch{salt}"))
    write_lake(lake, 2)
    dovetail.build(f"lake={lake}", into=into)
    done = threading.Event()
    seen: list[set[int]] = [set() for _ in range(2)]
    errors: list[Exception] = []

    def read(mine: set[int]) -> None:
        try:
            while not done.is_set():
                mine.add(states.index(contents(dovetail.open(into))))
        except Exception as error:  # noqa: BLE001 - raised in the other thread's assertion
            errors.append(error)

    other = subprocess.Popen(
        [sys.executable, "-c", READER, str(into)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    threads = [threading.Thread(target=read, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for turn in range(4):
        write_lake(lake, 2 + (turn + 1) % 2)
        dovetail.build(f"lake={lake}", into=into, settings=Settings(workers=1))
    done.set()
    for thread in threads:
        thread.join()
    out, err = other.communicate("stop\n")
    assert (err, errors) == ("", [])
    assert set.union(*seen) == {0, 1}
    assert int(out) > 0


READER = """
import sys, threading
import dovetail
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
opened = 0
while not stop.is_set():
    catalog = dovetail.open(sys.argv[1]).reader
    for table in catalog:
        for column in range(len(table.columns)):
            assert len(catalog.hashes(table.id, column)) == table.columns[column].profile.distinct
    opened += 1
print(opened)
"""
