"""Engines: the same work here, in worker processes and on a Ray cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.engines.local import LocalEngine
from dovetail.engines.ray import RayEngine, _run
from dovetail.errors import EngineError, UsageError
from dovetail.joins import candidates
from dovetail.plugins import open_source
from dovetail.ports import Json, SourceSpec, Tick
from dovetail.settings import Settings
from dovetail.sources.resolve import expand, root
from dovetail.testing import check_engine, check_source
from tests.support.files import tree

ray = pytest.importorskip("ray", reason="needs the extra: pip install 'dovetail-tables[ray]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A real Ray cluster of two nodes on this machine, each with one worker."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    started = Cluster()
    started.add_node(num_cpus=1, include_dashboard=False, object_store_memory=200 << 20)
    started.add_node(num_cpus=1, object_store_memory=200 << 20)
    yield started
    started.shutdown()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_local_engine_keeps_the_contract(workers: int, tmp_path: Path) -> None:
    check_engine(LocalEngine(workers=workers), tmp_path)


def test_the_ray_engine_keeps_the_contract(cluster: Any, tmp_path: Path) -> None:
    check_engine(RayEngine(address=cluster.address), tmp_path)


def test_a_node_that_sees_the_folder_writes_into_it(tmp_path: Path) -> None:
    mark = tmp_path / ".mark"
    result, files = _run("dovetail.testing:square", {"number": 3}, 0, str(mark))
    assert (result, files) == ({"square": 9}, {"square": b"9"})
    assert not list(tmp_path.iterdir())
    mark.touch()
    for _ in range(2):  # the second time is another attempt
        result, files = _run("dovetail.testing:square", {"number": 3}, 0, str(mark))
        assert (result, files) == ({"square": 9}, {})
        assert (tmp_path / "0" / "square").read_text() == "9"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mark", "0"]


def test_a_job_on_a_node_takes_no_more_than_its_limits(tmp_path: Path) -> None:
    job = {"what": "memory", "bytes": 1 << 30, "memory": 1 << 29}
    task, mark = "tests.engines.test_dying_workers:take", str(tmp_path / ".mark")
    with pytest.raises(EngineError, match="index_memory_mb of 512 MB"):
        _run(task, job, 0, mark)
    assert _run(task, {**job, "memory": 1 << 34}, 0, mark) == ({"bytes": 1 << 30}, {})


@pytest.mark.slow
def test_ray_gives_the_same_bytes_though_a_worker_is_killed(
    cluster: Any, corpus: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = dovetail.build(*map(str, corpus), into=tmp_path / "here")
    # So small jobs that there are many of the search for candidates, too.
    monkeypatch.setattr(candidates, "BLOCK", 5_000)
    killed: list[int] = []
    built = threading.Event()
    hunter = threading.Thread(target=kill_a_worker, args=(killed, built))
    hunter.start()
    settings = Settings(engine="ray", ray_address=cluster.address)
    try:
        there = dovetail.build(*map(str, corpus), into=tmp_path / "there", settings=settings)
    finally:
        built.set()
        hunter.join()
    assert killed, "no worker was met at work"
    assert there.ids == here.ids
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def kill_a_worker(killed: list[int], built: threading.Event) -> None:
    """Kill -9 the first process that is seen running a job on the cluster, until all is built."""
    while not built.is_set():
        for entry in Path("/proc").iterdir():
            try:
                title = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if title.startswith(b"ray::_run"):
                os.kill(int(entry.name), signal.SIGKILL)
                killed.append(int(entry.name))
                return
        time.sleep(0.005)


def test_a_cluster_that_is_not_there_is_one_clear_line(
    tmp_path: Path, corpus: tuple[Path, ...]
) -> None:
    settings = Settings(engine="ray", ray_address="127.0.0.1:1")
    with pytest.raises(EngineError, match=r"cannot reach the Ray cluster at 127\.0\.0\.1:1"):
        dovetail.build(str(corpus[0]), into=tmp_path / "catalog", settings=settings)


def test_an_unknown_engine_names_the_known_ones(tmp_path: Path, corpus: tuple[Path, ...]) -> None:
    with pytest.raises(UsageError, match="engine 'spark' is not known; there are: local, ray"):
        dovetail.build(str(corpus[0]), into=tmp_path / "c", settings=Settings(engine="spark"))


def fail(job: Json, folder: Path, tick: Tick) -> Json:
    raise ValueError("as planned")


def test_an_error_in_a_worker_is_raised_here(tmp_path: Path) -> None:
    engine = LocalEngine(workers=2)
    with pytest.raises(EngineError, match="a worker failed: ValueError: as planned"):
        list(engine.map("tests.engines.test_engines:fail", [{}, {}], tmp_path, lambda _: None))


@pytest.mark.slow
def test_a_script_may_build_without_a_main_guard(corpus: tuple[Path, ...], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import dovetail\n"
        "from dovetail.settings import Settings\n"
        f"sources = {[str(path) for path in corpus]!r}\n"
        f"into = {str(tmp_path / 'c')!r}\n"
        "catalog = dovetail.build(*sources, into=into, settings=Settings(workers=2))\n"
        "print(len(catalog))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("77\n", "")


def test_every_source_of_the_sample_keeps_the_contract(corpus: tuple[Path, ...]) -> None:
    specs: list[SourceSpec] = [
        spec for path in corpus for spec in expand(root(str(path), Path("/")))
    ]
    assert sorted({spec.kind for spec in specs}) == ["duckdb", "files", "sqlite"]
    for spec in specs:
        check_source(lambda spec=spec: open_source(spec))  # type: ignore[misc]


def test_a_source_that_breaks_the_contract_is_told_so(corpus: tuple[Path, ...]) -> None:
    (spec,) = expand(root(str(corpus[0]), Path("/")))
    with pytest.raises(AssertionError, match="unchanged is True, not False"):
        check_source(lambda: open_source(spec), untold=["buildings"])


def noted(job: Json, folder: Path, tick: Tick) -> Json:
    """A task that says which run it belongs to, and where it would leave temporary files."""
    del folder, tick
    return {"run": job["run"], "temporary": tempfile.gettempdir(), "process": os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_are_told_their_run(workers: int, tmp_path: Path) -> None:
    engine = LocalEngine(workers=workers)
    runs = []
    for _ in range(2):
        replies = list(engine.map(f"{__name__}:noted", [{}, {}, {}], tmp_path, ignore))
        (run,) = {reply.result["run"] for reply in replies}
        runs.append(run)
        here = {reply.result["process"] for reply in replies} == {os.getpid()}
        assert here == (workers == 1)
        if not here:
            assert {reply.result["temporary"] for reply in replies} == {str(tmp_path)}
    assert runs[0] != runs[1]


def ignore(news: Json) -> None:
    """Nobody listens."""
