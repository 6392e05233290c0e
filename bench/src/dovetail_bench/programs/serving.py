"""What does `dovetail serve` take beyond the work itself, and does it stay well under load?

    dovetail bench run serving [--lake 10k] [--seconds 15] [--soak 5] [--json]

`POST /api/ask` with the selector `graph` over a lake of small tables (`lakes.py`), indexed with the
embedder and kept below .bench/serving. The server
runs as users start it; what asks is another process, on the loopback, with connections that stay
open. Rounds of the same questions asked in one Python process stand between the rounds of load, so
that both see the same machine; the load average of the machine is told beside the figures.

overhead   CPU time of the server for a request, beyond that of the same question in a process
soak       so many minutes of 4 connections while updates land, each a changed table: errors,
           generations taken up, and memory (anonymous and mapped) over time
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import dovetail
from dovetail.ports import Json
from dovetail.serve.views import TableSetBrief, set_json
from dovetail_bench.programs.lakes import BENCH, lake
from dovetail_bench.programs.search import questions

CONNECTIONS = (1, 16, 64)
UPDATE_EVERY = 15.0  # seconds between two updates of a soak
WARM_UP = 40  # questions before anything is counted
_asked = count()


def corpus(name: str) -> Path:
    """A folder with the files of a lake, and a catalog of them; made once."""
    folder = BENCH / "serving" / name
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(lake(name), folder / "pile")
        dovetail.build(folder / "pile", into=folder / "catalog").close()
        (folder / "done").touch()
    return folder


def unseen(question: str) -> str:
    """The question in a form that no cache has seen: with blanks at its end, ever more."""
    return question + " " * (next(_asked) // 50)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """The server over a catalog: its port and its process."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dovetail", "serve", "-C", str(folder / "catalog")]
    command += ["--port", str(port), "--per-minute", "100000000", "--at-once", "128"]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with closing(socket.socket()) as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port, server.pid
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


@dataclass(frozen=True, slots=True)
class Load:
    """What some seconds of load gave."""

    connections: int
    requests: int
    errors: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float


def load(port: int, pid: int, texts: Sequence[str], connections: int, seconds: float) -> Load:
    """Ask over so many connections at once for some seconds."""
    took: list[float] = []
    errors = [0]
    before, began = cpu(pid), time.perf_counter()
    asyncio.run(asking(port, texts, connections, began + seconds, took, errors))
    spent = time.perf_counter() - began
    cuts = statistics.quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
    return Load(
        connections, len(took), errors[0], len(took) / spent,
        1000 * cuts[49], 1000 * cuts[98], 1000 * (cpu(pid) - before) / max(1, len(took)),
    )  # fmt: skip


async def asking(
    port: int, texts: Sequence[str], connections: int, until: float, took: list[float],
    errors: list[int],
) -> None:  # fmt: skip
    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place = number * 7
        while time.perf_counter() < until:
            place += 1
            began = time.perf_counter()
            status = await post(reader, writer, unseen(texts[place % len(texts)]))
            took.append(time.perf_counter() - began)
            errors[0] += status != 200
        writer.close()

    await asyncio.gather(*(one(number) for number in range(connections)))


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, question: str) -> int:
    """One request over an open connection; returns its status."""
    body = json.dumps({"question": question, "selector": "graph"}).encode()
    head = (
        "POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, text = line.decode("latin1").partition(":")
        length = int(text) if name.lower() == "content-length" else length
    await reader.readexactly(length)
    return status


def in_process(catalog: dovetail.Catalog, texts: Sequence[str], seconds: float) -> tuple[int, Json]:
    """The same work called in this process for some seconds: answered, as JSON, one by one."""
    took: list[float] = []
    cpu_before, until = time.process_time(), time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        question = unseen(texts[len(took) % len(texts)])
        set_json(catalog, catalog.ask(question, selector="graph"), TableSetBrief).model_dump_json()
        took.append(time.perf_counter() - began)
    spent = 1000 * (time.process_time() - cpu_before) / len(took)
    return len(took), {
        "per_second": len(took) / sum(took), "p50_ms": 1000 * statistics.median(took),
        "cpu_ms": spent,
    }  # fmt: skip


def cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> dict[str, int]:
    """Megabytes of a process that lie in memory: its own, and those of mapped files."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    own = sizes["Anonymous"] // 1024
    return {"anonymous": own, "mapped": sizes["Rss"] // 1024 - own}


def metric(port: int, name: str) -> float:
    """A figure of the server's own metrics."""
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        lines = reply.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


def update(folder: Path, number: int) -> bool:
    """Change a table of the pile, and have it indexed as a user does: in another process."""
    with closing(sqlite3.connect(folder / "pile" / "changing.sqlite")) as file, file:
        file.execute("CREATE TABLE IF NOT EXISTS landed (number INTEGER, word TEXT)")
        file.execute("INSERT INTO landed VALUES (?, ?)", (number, f"update {number}"))
    command = [sys.executable, "-m", "dovetail", "index", "-C", str(folder / "catalog"), "--quiet"]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0


def soak(folder: Path, port: int, pid: int, texts: Sequence[str], minutes: float) -> Json:
    """Load while updates land: errors, and memory from the first minute's end to the last."""
    done = threading.Event()
    landed: list[bool] = []
    sizes: list[Json] = []

    def updating() -> None:
        while not done.wait(UPDATE_EVERY):
            landed.append(update(folder, len(landed)))

    def watching() -> None:
        while not done.wait(5):
            held = metric(port, "dovetail_catalog_generations")
            sizes.append({**memory(pid), "generations": held})

    threads = [threading.Thread(target=updating), threading.Thread(target=watching)]
    for thread in threads:
        thread.start()
    found = load(port, pid, texts, 4, 60 * minutes)
    done.set()
    for thread in threads:
        thread.join()
    settled = sizes[len(sizes) // 4 :]
    third = max(1, len(settled) // 3)

    def first_and_last(name: str) -> list[float]:
        parts = (settled[:third], settled[-third:])
        return [statistics.median(float(one[name]) for one in part) for part in parts]

    return {
        "minutes": minutes, "updates": landed.count(True),
        "failed_updates": landed.count(False), **asdict(found),
        "most_generations": max(one["generations"] for one in sizes),
        "generations_at_end": sizes[-1]["generations"],
        "anonymous_mb": first_and_last("anonymous"),
        "mapped_mb": first_and_last("mapped"),
        "memory": sizes,
    }  # fmt: skip


def measure(name: str, seconds: float, minutes: float) -> Json:
    """All figures: rounds in a process and under load, one after the other, and the soak."""
    folder = corpus(name)
    found: Json = {"lake": name, "load_average": os.getloadavg()[0], "rounds": []}
    with dovetail.open(folder / "catalog") as catalog, serving(folder) as (port, pid):
        texts = questions(catalog)
        for question in texts[:WARM_UP]:
            catalog.ask(question, selector="graph")
        load(port, pid, texts, 4, 5)
        for connections in CONNECTIONS if seconds else ():
            _, alone = in_process(catalog, texts, seconds)
            round_ = asdict(load(port, pid, texts, connections, seconds))
            round_["in_process"] = alone
            round_["cpu_overhead"] = round_["cpu_ms"] / alone["cpu_ms"] - 1
            found["rounds"].append(round_)
        if minutes:
            found["soak"] = soak(folder, port, pid, texts, minutes)
    found["load_average_after"] = os.getloadavg()[0]
    return found


def told(found: Json) -> str:
    """The figures for a reader."""
    lines = [
        f"{found['lake']}; load average of the machine "
        f"{found['load_average']:.1f} before, {found['load_average_after']:.1f} after"
    ]
    for one in found["rounds"]:
        alone = one["in_process"]
        lines.append(
            f"{one['connections']:>3} connections: {one['per_second']:.1f} requests/s "
            f"({alone['per_second']:.1f} in one process), p50 {one['p50_ms']:.0f} ms, p99 "
            f"{one['p99_ms']:.0f} ms, CPU {one['cpu_ms']:.1f} ms a request "
            f"({alone['cpu_ms']:.1f}: {one['cpu_overhead']:+.0%}), {one['errors']} errors"
        )
    if (soak := found.get("soak")) is not None:
        own, mapped = soak["anonymous_mb"], soak["mapped_mb"]
        lines.append(
            f"soak of {soak['minutes']:g} minutes: {soak['requests']:,} requests, "
            f"{soak['errors']} errors, {soak['updates']} updates, generations held: at most "
            f"{soak['most_generations']:.0f}, {soak['generations_at_end']:.0f} at the end; "
            f"anonymous memory {own[0]:.0f} → {own[1]:.0f} MB, mapped {mapped[0]:.0f} → "
            f"{mapped[1]:.0f} MB; p50 {soak['p50_ms']:.0f} ms, p99 {soak['p99_ms']:.0f} ms"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lake", default="10k")
    parser.add_argument("--seconds", type=float, default=15, help="of each round; 0: no load")
    parser.add_argument("--soak", type=float, default=5, help="minutes; 0: none")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.lake, given.seconds, given.soak)
    print(json.dumps(found) if given.json else told(found))


if __name__ == "__main__":
    main()
