"""How long does search take? From a question to its ten best tables, over lakes of many tables.

    dovetail bench run search [--lakes 10k,50k,200k] [--embedder minilm] [--json]

A lake of small tables (`lakes.py`) is indexed once and kept. It is asked for pairs of names of its
own tables and columns, one after the other, after a round that is not counted. Figures are
milliseconds of CPU time of one process, embedding the question included.

search   `Searcher.search`: words, values, vectors, headers, neighbours
ask      the selector `graph`, from the question to the set
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dovetail
from dovetail.names.words import spelled
from dovetail.settings import Settings
from dovetail_bench.programs.lakes import BENCH, SMALL, lake

K, QUESTIONS = 10, 100


def questions(catalog: dovetail.Catalog) -> list[str]:
    """What a person may ask who knows two tables: one's name, and a column of the other."""
    tables = list(catalog)
    drawn = np.random.default_rng(1)
    found = []
    for one, other in drawn.choice(len(tables), (QUESTIONS, 2)).tolist():
        column = tables[other].columns[int(drawn.integers(len(tables[other].columns)))]
        found.append(f"{spelled(tables[one].name)} by {spelled(column.name)}?")
    return found


def spent(ask: Callable[[str], object], asked: Sequence[str]) -> dict[str, float]:
    """Percentiles of the CPU time of a question in milliseconds, in the second of two rounds."""
    found: list[float] = []
    for turn in range(2):
        found = []
        for question in asked:
            text = question + " " * turn  # no cache has seen it
            began = time.process_time()
            ask(text)
            found.append(1e3 * (time.process_time() - began))
    return {f"p{each}": round(float(np.percentile(found, each)), 3) for each in (50, 95, 99)}


def measure(name: str, embedder: str) -> dict[str, Any]:
    """One lake, indexed if it was not, and asked in every way."""
    settings = Settings(embedder=embedder)
    into = BENCH / "lakes" / name / f"catalog-{embedder}"
    if not into.exists():
        dovetail.update([str(lake(name))], into=into, settings=settings)
    began = time.process_time()
    catalog = dovetail.open(into, settings)
    asked = questions(catalog)
    catalog.search(asked[0], K)
    opened = time.process_time() - began
    ways: dict[str, Callable[[str], object]] = {
        "search": lambda question: catalog.search(question, K),
        "ask": lambda question: catalog.ask(question, selector="graph"),
    }
    times = {way: spent(ask, asked) for way, ask in ways.items()}
    return {"tables": len(catalog), "opened_s": round(opened, 3), "times": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lakes", default="10k,50k", help=f"of {', '.join(SMALL)}")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true", help="print one JSON document per lake")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in options.lakes.split(","):
        found = measure(name, options.embedder)
        if options.json:
            print(json.dumps(found), flush=True)
            continue
        print(f"{name}: {found['tables']:,} tables, opened in {found['opened_s']:.1f} s")
        for way, times in found["times"].items():
            print(f"  {way:<8}" + "".join(f" {p} {ms:>8.2f} ms  " for p, ms in times.items()))


if __name__ == "__main__":
    main()
