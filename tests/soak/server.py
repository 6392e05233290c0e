"""A server that is asked while its catalog is updated: its memory, and what a request costs."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import dovetail
from dovetail_bench.corpora import write_corpus
from dovetail_bench.corpora.questions import questions
from dovetail_bench.programs.lakes import lake, vocabulary
from tests.soak.figures import Figures, Wanted, figures

# Requests between the beginnings of two updates, connections, processes that answer questions, and
# the pile beside the sample where rates are measured.
_A_ROUND, _CONNECTIONS, _PROCESSES, _LAKE = 500, 8, 2, "10k"
# What the memory of the last tenth may have beyond that of the second: before that, what is read
# once for all questions is read.
_GROWTH = 0.05
# Of the requests of a soak, a question is one in so many; of a user's, one in five.
_A_QUESTION = 25
_GOOD = ("200", "update")
Request = tuple[str, str, str]


def server(wanted: Wanted) -> Figures:
    """So many requests, no question twice; an update begins with every five hundred of them. What
    is done by the time given counts, and so does what is done when it is interrupted."""
    rounds = max(1, wanted.cases // _A_ROUND)
    size = wanted.cases // rounds
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    memory: list[int] = []
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as place:
        folder = Path(place)
        _build(folder)
        with _serving(folder, _PROCESSES) as (process, port), _pool() as pool:
            asked = _requests(wanted.seed, port, _A_QUESTION)
            with suppress(KeyboardInterrupt):  # what is done by then counts
                for number in range(1, rounds + 1):
                    if wanted.over:
                        break
                    _change(folder, number)
                    with _updating(folder) as update:
                        outcomes += _ask(pool, port, list(islice(asked, size)))
                        told = update.communicate()[1]
                    outcomes["update"] += update.returncode == 0
                    wrong += (
                        [f"update {number}: {told.decode()[-200:]}"] if update.returncode else []
                    )
                    seen = _get(port, f"/api/v1/tables/news_{number}")
                    wrong += [] if seen == 200 else [f"update {number} is not seen: {seen}"]
                    memory.append(_megabytes(process.pid))
                    if number % max(1, rounds // 10) == 0:
                        print(f"{number:>5} updates, {memory[-1]} MB", file=sys.stderr, flush=True)
    found = figures(outcomes, [*wrong, *(how for how in outcomes if how not in _GOOD)])
    tenth = max(1, len(memory) // 10)
    early, late = (sorted(part)[len(part) // 2] for part in (memory[tenth:][:tenth] or memory,
                                                             memory[-tenth:]))  # fmt: skip
    if late > early * (1 + _GROWTH):
        found["wrong"].append(f"memory grew from {early} to {late} MB")
    found["seeds"] = [[wanted.seed, wanted.seed]]
    found["measured"] = {
        "MB after each tenth of the updates": ", ".join(map(str, memory[tenth - 1 :: tenth])),
    }
    return found


def rates(wanted: Wanted) -> Figures:
    """What a server answers in a second, by one process and by two, over 577 tables."""
    count = wanted.cases
    ways = [(1, 1), (_PROCESSES, 1), (_PROCESSES, 5)]
    outcomes: Counter[str] = Counter()
    measured: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as place:
        folder = Path(place)
        _build(folder, lake(_LAKE))
        for beside, one_in in ways:
            with _serving(folder, beside) as (process, port), _pool() as pool:
                asked = _requests(wanted.seed + beside, port, one_in)
                _ask(pool, port, list(islice(asked, max(_CONNECTIONS, count // 10))))
                began, used = time.monotonic(), _cpu_seconds(process.pid)
                outcomes += _ask(pool, port, list(islice(asked, count // len(ways))))
                seconds, used = time.monotonic() - began, _cpu_seconds(process.pid) - used
            done = count // len(ways)
            mix = "questions" if one_in == 1 else "a question and four requests on its tables"
            measured[f"{mix}, {beside} process{'es' if beside > 1 else ''}"] = (
                f"{done / seconds:.0f} requests a second, {1000 * used / done:.1f} CPU ms each"
            )
    found = figures(outcomes, [how for how in outcomes if how not in _GOOD])
    found["measured"] = measured
    return found


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_CONNECTIONS)


def _build(folder: Path, *more: Path) -> None:
    """The sample corpus, more sources, and a folder whose one file every update changes."""
    (folder / "news").mkdir()
    _change(folder, 0)
    sources = [*write_corpus(folder / "corpus"), *more, folder / "news"]
    dovetail.build(*map(str, sources), into=folder / "catalog")


def _change(folder: Path, number: int) -> None:
    """Another table takes the place of the last one."""
    for old in (folder / "news").iterdir():
        old.unlink()
    rows = "".join(f"{row * (number + 1)},headline {row} {number}\n" for row in range(20))
    (folder / "news" / f"news_{number}.csv").write_text(f"news_id,headline\n{rows}")


def _requests(seed: int, port: int, one_in: int) -> Iterator[Request]:
    """Questions, and between them what pages and agents ask of tables: one in so many is one."""
    draw, asked = random.Random(seed), _questions(seed)
    tables = [name for name in _tables(port) if "news_" not in name]
    while True:
        yield "POST", "/api/v1/ask", json.dumps({"question": next(asked)})
        for number in range(one_in - 1):
            one, two = (quote(each, safe="") for each in draw.sample(tables, 2))
            kinds = (f"tables/{one}", f"joins?table={one}", f"path?start={one}&end={two}",
                     f"tables/{two}")  # fmt: skip
            yield "GET", f"/api/v1/{kinds[number % len(kinds)]}", ""


def _tables(port: int) -> list[str]:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/api/v1/tables?limit=1000")
    listed: list[str] = json.load(connection.getresponse())["tables"]
    connection.close()
    return listed


def _questions(seed: int) -> Iterator[str]:
    """Questions of the sample, each with a place or a year that it did not have before."""
    draw, words = random.Random(seed), vocabulary()
    texts = [str(each["question"]).rstrip("?.") for each in questions()]
    while True:
        ending = draw.choice((f"for {draw.choice(words)}", f"since {draw.randrange(1950, 2030)}"))
        yield f"{draw.choice(texts)} {ending}, at least {draw.randrange(10_000)}?"


@contextmanager
def _serving(folder: Path, processes: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["serve", "--port", str(port), "-C", "catalog", "--per-minute", "1000000",
               "--processes", str(processes)]  # fmt: skip
    with (folder / "log").open("wb") as log, _dovetail(command, folder, log.fileno()) as process:
        try:
            while process.poll() is None and _get(port, "/api/v1/health") != 200:
                time.sleep(0.1)
            yield process, port
        finally:
            process.terminate()
            process.wait()


def _updating(folder: Path) -> subprocess.Popen[bytes]:
    return _dovetail(["index", "-C", "catalog"], folder, subprocess.PIPE)


def _dovetail(command: Sequence[str], folder: Path, errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dovetail", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=errors,
    )


def _ask(pool: ThreadPoolExecutor, port: int, asked: Sequence[Request]) -> Counter[str]:
    """How requests over several connections are answered, each by its status."""
    shares = [asked[at::_CONNECTIONS] for at in range(_CONNECTIONS)]
    outcomes: Counter[str] = Counter()
    for found in pool.map(_over_a_connection, [port] * _CONNECTIONS, shares):
        outcomes += found
    return outcomes


def _over_a_connection(port: int, asked: Sequence[Request]) -> Counter[str]:
    connection = HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json"}
    outcomes: Counter[str] = Counter()
    for method, path, body in asked:
        connection.request(method, path, body, headers if body else {})
        reply = connection.getresponse()
        reply.read()
        outcomes[str(reply.status)] += 1
    connection.close()
    return outcomes


def _get(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except ConnectionError:
        return 0
    finally:
        connection.close()


def _family(process: int) -> list[int]:
    """A process and all that it started."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for file in listed for child in file.read_text().split()]
    return [process, *(one for child in children for one in _family(child))]


def _megabytes(process: int) -> int:
    """The memory of a server that is not mapped from files; a page that several share is one."""
    rolled = (Path(f"/proc/{one}/smaps_rollup").read_text() for one in _family(process))
    kilobytes = [line.split()[1] for text in rolled for line in text.splitlines()
                 if line.startswith("Pss_Anon:")]  # fmt: skip
    return sum(map(int, kilobytes)) >> 10


def _cpu_seconds(process: int) -> float:
    stats = (Path(f"/proc/{one}/stat").read_text() for one in _family(process))
    ticks = sum(int(ticks) for stat in stats for ticks in stat.rpartition(")")[2].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")
