"""What does it cost to use what people wrote down, and keys as they really look?

    dovetail bench run written_down [--tables 500] [--rows 300] [--repeat 3] [--json]
                                      [--embedder minilm]

A lake of tables (20 columns each) is generated from a seed as one SQLite file: keys and references,
some padded, some behind a prefix, some in another case, e-mail addresses, words, texts, numbers and
times; every reference is declared. It is indexed with transforms and declared keys and without
either, in turn, each time in a process of its own; the least CPU seconds of each stage count.

Then a file of notes is read and applied on a catalog of 10,000 tables with 40,000 joins: terms,
marks, pins and bans, 32 entries.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dovetail.catalog.manifest import Manifest
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import ColumnRecord, TableRecord, to_records
from dovetail.domain import Column, ColumnProfile, JoinEdge, Kind, TableId
from dovetail.joins.keys.view_pairs import ViewPairs
from dovetail.notes.edges import noted_edges
from dovetail.notes.reading import notes_in

_WORDS = ("north", "amber", "quick", "stone", "river", "cloud", "maple", "field", "light", "spark")
_TABLES, _JOINS = 10_000, 40_000


def write_lake(file: Path, tables: int, rows: int, seed: int = 1) -> None:
    """Write the lake: each table refers to three others, and has codes of several kinds."""
    random = np.random.default_rng(seed)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous = off")
        for number in range(tables):
            parents = [int(random.integers(0, max(number, 1))) for _ in range(3)]
            keys = ", ".join(
                f"FOREIGN KEY (ref_{at}) REFERENCES thing_{parent} (thing_id)"
                for at, parent in enumerate(parents)
            )
            columns = (
                "thing_id INTEGER PRIMARY KEY, ref_0 INTEGER, ref_1 INTEGER, ref_2 INTEGER, "
                "code TEXT, padded TEXT, mixed TEXT, mail TEXT, said TEXT, word TEXT, kind TEXT, "
                "made TEXT, changed TEXT, price REAL, weight REAL, amount INTEGER, level INTEGER, "
                "share REAL, other TEXT, flag TEXT"
            )
            connection.execute(f"CREATE TABLE thing_{number} ({columns}, {keys})")
            marks = ", ".join("?" * 20)
            listed = _rows(random, rows, number)
            connection.executemany(f"INSERT INTO thing_{number} VALUES ({marks})", listed)
        connection.commit()


def _rows(random: np.random.Generator, count: int, number: int) -> list[tuple[Any, ...]]:
    first = number * 7
    numbers = random.integers(0, count, (count, 4)).tolist()
    prices = random.random((count, 3)).round(4).tolist()
    words = random.choice(_WORDS, (count, 3)).tolist()
    found = []
    for at in range(count):
        a, b, c, d = numbers[at]
        word, kind, said = words[at]
        key = first + at
        found.append(
            (
                key, first + a, first + b, c, f"C-{key:05d}", f"{key:010d}",
                f"{word[:2].upper()}{d}x", f"{word}.{kind}{a}@Example.com",
                f"{said} {word} of the {kind}, {d} times", word, kind,
                f"2024-{1 + a % 12:02d}-{1 + b % 28:02d}",
                f"2024-{1 + a % 12:02d}-{1 + b % 28:02d} {c % 24:02d}:{d % 60:02d}:00",
                prices[at][0], prices[at][1], a * b, c % 9, prices[at][2], f"{said}-{b}",
                "yn"[d % 2],
            )
        )  # fmt: skip
    return found


def index(file: Path, *, written: bool, embedder: str) -> dict[str, float]:
    """Index the lake in this process, with transforms and declared keys or not; CPU by stage."""
    import dovetail
    from dovetail.joins import cache
    from dovetail.profile.normal_forms import KeyViews

    settings = dovetail.Settings(embedder=embedder, workers=1, use_declared=written)
    with ExitStack() as stack:
        if not written:
            stack.enter_context(patch.object(KeyViews, "add", _nothing))
            stack.enter_context(patch.object(cache, "transformed_edges", _as_they_are))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        done = dovetail.update([file], into=folder / "catalog", settings=settings)
        return {stage.stage: stage.cpu_seconds for stage in done.stages}


def _nothing(*_: Any) -> None:
    """Take no values in."""


def _as_they_are(arrays: Any, views: Any, edges: Sequence[JoinEdge], *rest: Any) -> Any:
    del views, rest
    return list(edges), ViewPairs.none(len(arrays))


def measure_cost(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The least CPU seconds of each stage, without and with what people wrote down."""
    runs: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lake.sqlite"
        write_lake(file, given.tables, given.rows)
        for _ in range(given.repeat):
            for name, found in runs.items():
                call = [
                    sys.executable,
                    "-m",
                    "dovetail_bench.programs.written_down",
                    "--index",
                    name,
                    str(file),
                ]
                call += ["--embedder", given.embedder]
                said = subprocess.run(call, check=True, capture_output=True, env=os.environ)
                found.append(json.loads(said.stdout))
    return {
        name: {stage: min(run[stage] for run in found) for stage in found[0]}
        for name, found in runs.items()
    }


def measure_notes(repeat: int) -> dict[str, float]:
    """CPU seconds to read notes and to apply them, on many tables and joins; the least of some."""
    profile = ColumnProfile(Kind.TEXT, 0, 0, False, None, None, None, None, ())
    column = ColumnRecord(Column("a", "VARCHAR", profile), 0, None, 0, 0)
    ids = [TableId("s", f"part_{n % 70}.thing_{n}") for n in range(_TABLES)]
    records = to_records([TableRecord(i, "s", 0, "", "", (), (column,)) for i in ids]).sorted()
    with tempfile.TemporaryDirectory() as folder:
        catalog = CatalogReader(Path(folder), Manifest(1, {}, (), (), {}, {}), records, {})
        edges = [
            JoinEdge(ids[n % _TABLES], ids[n * 7 % _TABLES], (("a", "a"),), 0.9, "n:1", 1.0, {})
            for n in range(_JOINS)
        ]
        file = Path(folder) / "notes.toml"
        terms = [f'term{n} = "words of it: thing_{n}, thing_{n + 9}"' for n in range(20)]
        bans = [f'"thing_{n}.a = thing_{n * 7 % _TABLES}.a" = "ban"' for n in range(1, 6)]
        marks = [f'thing_{n} = "ignore"' for n in range(50, 57)]
        parts = ["[terms]", *terms, "[joins]", *bans, "[tables]", *marks]
        file.write_text("\n".join(parts) + "\n", "utf-8")
        read = _least(lambda: notes_in(file, catalog), repeat)
        notes = notes_in(file, catalog)
        if notes.problems or len(notes.bans) != len(bans):
            raise SystemExit(f"the notes are not understood: {notes.problems[:3]}")
        return {"read": read, "apply": _least(lambda: len(noted_edges(edges, notes)), repeat)}


def _least(work: Callable[[], object], repeat: int) -> float:
    spent = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def report(cost: dict[str, dict[str, float]], notes: dict[str, float]) -> str:
    """What was measured, as Markdown."""
    stages = [*cost["with"]]
    rows: list[Sequence[str]] = [
        [stage, f"{cost['without'].get(stage, 0):.2f}", f"{cost['with'][stage]:.2f}"]
        for stage in stages
    ]
    without, whole = (sum(cost[name].values()) for name in ("without", "with"))
    rows.append(["all", f"{without:.2f}", f"{whole:.2f}"])
    share = (whole - without) / whole
    return "\n".join(
        [
            "| stage | without | with transforms and declared keys |",
            "|---|---:|---:|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            f"Share of the whole job: {share:.0%}.",
            f"Notes: {1000 * notes['read']:.0f} ms to read them, "
            f"{1000 * notes['apply']:.0f} ms to apply them.",
        ]
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--index", nargs=2, metavar=("HOW", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.index:
        how, file = given.index
        sys.stdout.write(
            json.dumps(index(Path(file), written=how == "with", embedder=given.embedder))
        )
        return
    cost = measure_cost(given)
    notes = measure_notes(5)
    shown = json.dumps({"cost": cost, "notes": notes}) if given.json else report(cost, notes)
    sys.stdout.write(shown + "\n")


if __name__ == "__main__":
    main()
