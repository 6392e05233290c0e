"""Does the driver's memory grow with values, or with columns? A lake of 18 columns, ever taller.

    dovetail bench run driver_memory                         1.6 and 16 million distinct values
    dovetail bench run driver_memory --values 30000000       and more
    dovetail bench run driver_memory --here                  everything in one process

Two worker processes of this machine do every job that an engine is given. Sampled, every five
milliseconds, is the memory of this process alone: its own (`RssAnon`), and pages of files that it
has mapped (`RssFile`, which the system may take back; the libraries are among them, about 100 MB).
Told is the peak of each stage. The tables have keys and references, keys that join under a
transform alone, a composite key, and a copy that makes a family.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.engines.local import LocalEngine
from dovetail.offline.pipeline import update
from dovetail.offline.summary import StageClock
from dovetail.ports import Json, Replies, Tick
from dovetail.settings import Settings

VALUES = (1_000_000, 10_000_000)
_EVERY = 0.005


class WorkersAlone:
    """Two workers that do every job, however small: this process does none."""

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        apart = [{**job, "apart": True} for job in jobs]
        return LocalEngine(workers=2).map(task, apart, into, tick)


def lake(folder: Path, values: int, seed: int = 1) -> None:
    """Write five tables, 18 columns, with 1.6 times as many distinct values in all."""
    random = np.random.default_rng(seed)
    size = values // 16 * 2
    ids, orders = np.arange(size) + 10**9, np.arange(size) + 5 * 10**9
    lines, line = np.repeat(orders[: size // 2], 2), np.tile([1, 2], size // 2)
    mixed = random.permutation(size)

    def codes(prefix: str) -> pa.Array:
        return pa.array([f"{prefix}-{number:09d}" for number in range(size)])

    def write(name: str, **columns: object) -> None:
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")

    def amounts() -> object:
        return random.integers(0, 10**12, size)

    customer = {"customer_id": ids, "customer_code": codes("AB"), "amount": amounts()}
    write("customer", **customer, region=random.integers(0, 50, size))
    order = {"order_id": orders, "customer_id": random.permutation(ids), "code": codes("ab")}
    write("orders", **order, price=amounts())
    write("orders_backup", **order, price=amounts())
    write("order_line", order_id=lines, line=line, total=amounts())
    notes = pa.array([f"word{number % 1000}" for number in range(size)])
    write("shipment", order_id=lines[mixed], line=line[mixed], note=notes)


class MemorySampler:
    """Samples the memory of this process; the peaks of each stage, in MB."""

    def __init__(self) -> None:
        self.peaks: dict[str, dict[str, int]] = {}
        self._stage = ""
        threading.Thread(target=self._sample, daemon=True).start()

    @contextmanager
    def stage(self, clock: StageClock, name: str) -> Iterator[None]:
        """What a stage of the pipeline is run in, in place of `StageClock.stage`."""
        self._stage = name
        with _STAGE(clock, name):
            yield

    def _sample(self) -> None:
        while True:
            found = dict(_megabytes())
            found["both"] = sum(found.values())
            peaks = self.peaks.setdefault(self._stage, dict.fromkeys(found, 0))
            for name, size in found.items():
                peaks[name] = max(peaks[name], size)
            time.sleep(_EVERY)


_STAGE = StageClock.stage


def _megabytes() -> Iterator[tuple[str, int]]:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("RssAnon", "RssFile"):
            yield name, int(rest.split()[0]) >> 10


def measured(values: int, *, here: bool) -> Json:
    """Index a lake of so many values; the peaks of each stage."""
    with tempfile.TemporaryDirectory(prefix="dovetail-") as scratch:
        source = Path(scratch) / "lake"
        source.mkdir()
        made = [
            "-c",
            f"from {__spec__.name} import *; lake(Path({str(source)!r}), {values})",
        ]
        subprocess.run([sys.executable, *made], check=True)
        sampler = MemorySampler()
        with patch.object(StageClock, "stage", lambda clock, name: sampler.stage(clock, name)):
            summary = update(
                [str(source)],
                into=Path(scratch) / "catalog",
                engine=None if here else WorkersAlone(),
                settings=Settings(embedder="none", workers=1),
            )
        distinct = sum(summary.catalog.records.columns["distinct"].to_pylist())
    seconds = {stage.stage: round(stage.seconds, 1) for stage in summary.stages}
    return {"distinct": distinct, "seconds": seconds, "peaks": sampler.peaks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", default=",".join(map(str, VALUES)))
    parser.add_argument("--here", action="store_true", help="everything in one process")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one, here=options.here)))
        return
    for values in options.values.split(","):
        command = [sys.executable, "-m", "dovetail_bench.programs.driver_memory", "--one", values]
        command += ["--here"] if options.here else []
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        print(f"{found['distinct']:,} distinct values in 18 columns; peaks in MB")
        for stage, seconds in found["seconds"].items():
            peaks = found["peaks"].get(stage)
            if peaks:
                told = "".join(f"{name:>9} {size:>6,}" for name, size in peaks.items())
                print(f"  {stage:14}{seconds:>8,.1f} s{told}")


if __name__ == "__main__":
    main()
