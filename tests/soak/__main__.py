"""Hours of bad days: does anything get lost, leak, hang or end in a traceback?

    python -m tests.soak [--part NAME]... [--share 1.0] [--seed 1] [--processes 2] [--seconds N]
        [--commit HASH] [--keep | --add | --into FILE] [--from FILE]...

Every part does a number of cases by a seed and counts how they ended; what went wrong is listed,
and makes the exit code 1. `--share 0.1` does a tenth of each part's cases; after `--seconds`
nothing more is begun. With `--keep` the figures go into tests/soak/figures.json, and
docs/reliability.md is written from it; with `--add` they are added to those there, so that a soak
can be run in pieces, each by seeds of its own; with `--into` they go into a file, part by part, and
`--from` takes them from such files instead of running anything. Figures carry the commit, the day
and the machine they come from; `--commit` says the commit where there is no repository. A part that
needs packages or servers that are not there is left out, by name.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.soak.figures import Figures, LeftOutError, Wanted, stamp, together

KEPT = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_SERVER = ("fastapi", "prometheus_client", "uvicorn", "mcp")


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of bad day: what it does and must not find, the cases of a whole soak, the function
    that does some of them, as module and name, and the packages that it needs."""

    what: str
    cases: int
    function: str
    needs: tuple[str, ...] = ()

    def run(self, wanted: Wanted) -> Figures:
        """Its cases, if its packages are there."""
        if missing := [name for name in self.needs if find_spec(name) is None]:
            raise LeftOutError(f"needs {', '.join(missing)}")
        module, _, name = self.function.partition(".")
        function: Callable[[Wanted], Figures] = getattr(import_module(f"tests.soak.{module}"), name)
        return function(wanted)


PARTS = {
    "kills": Part(
        "Index, update, learn, note, describe, repair and runs of the evaluation are killed "
        "(SIGKILL) before one of their changes to files. Tables, values, joins, queries, notes and "
        "descriptions are as before or as they shall be; done again, they are as they shall be, "
        "and `check` finds no damage; no question of a run is lost or doubled.",
        315,
        "faults.kills",
    ),
    "signals": Part(
        "Commands that index, update, learn, note and repair are ended by SIGTERM or SIGINT before "
        "one of their changes to files: they say so in a line and end with the code that is usual; "
        "what is left is as before or as it shall be, and the command done again finishes.",
        100,
        "faults.signals",
    ),
    "disks": Part(
        "As kills, with a disk that is full, read-only or broken from one change to files on: one "
        "error of a line, nothing lost or doubled, and what was begun can be finished.",
        126,
        "faults.disks",
    ),
    "flips": Part(
        "One bit of a file of a catalog with everything in it is flipped, every file in turn: "
        "`dovetail check` names the file.",
        5_000,
        "faults.changed_bytes",
    ),
    "repairs": Part(
        "One bit is flipped, and `dovetail repair` makes that part again: the catalog answers as "
        "before, and no other part was touched. A table given in memory is told to be lost.",
        84,
        "faults.repairs",
    ),
    "statements": Part(
        "SQL of strangers goes through the guard, and one in a hundred statements on into the "
        "engines: a canary in a table beside the set, in a file and in a variable is never seen.",
        500_000,
        "guard.statements",
    ),
    "dialects": Part(
        "Statements by the grammar of SQLite, DuckDB, PostgreSQL and MariaDB hide other tables, "
        "files, settings and writes in comments, quotes, escapes and odd blanks; what the guard "
        "lets through runs on the real engine, beside a table that is not of the set.",
        34_000,
        "dialects.dialects",
        ("psycopg", "pymysql", "pytest"),
    ),
    "bombs": Part(
        "Queries that would take all the time, memory, rows or recursion there are end at their "
        "limits, and the next query runs.",
        100,
        "dialects.bombs",
    ),
    "parsers": Part(
        "Good texts with changed characters, words and values go into every parser of outside "
        "input: replies of models, questions, settings, notes, dbt manifests, query logs, "
        "manifests, runs, descriptions, CSV headers, names, sources. Each is read, or ends in one "
        "error of dovetail's own.",
        1_000_000,
        "parsers.parsers",
    ),
    "requests": Part(
        "Good bodies and addresses of REST, calls of MCP tools, those that write among them, and "
        "files of tokens are changed in the same way. None of them is a fault of the server.",
        100_000,
        "parsers.requests",
        ("fastapi", "mcp", "prometheus_client"),
    ),
    "names": Part(
        "Names of tables, columns and files, and cells, with quotes, statements, reserved words, "
        "right-to-left writing, dashes, paths, escapes of terminals, markup, scripts and control "
        "characters, of up to 10 kB, go through index, joins, ask, sql, commands, REST, MCP and "
        "the HTML of notebooks: told right, or refused in one line. Outcomes count what was seen.",
        520,
        "names.names",
        ("fastapi", "mcp", "prometheus_client"),
    ),
    "files": Part(
        "Files of 14 formats with changed, cut and doubled bytes, and bombs (a deep schema, a "
        "packed flood, cells far apart), are indexed among good ones: no good table is lost.",
        14_000,
        "files.files",
        ("openpyxl",),
    ),
    "kinds": Part(
        "A hundred variants of every kind of attack that once succeeded, by generator: files that "
        "lie of offsets, depth, cells and links, files of tokens, requests and calls of who sees "
        "some tables, bodies that never end and odd headers, notes and replies at their limits, "
        "questions that ask for too much, orders in every slot of every prompt, a few signs 60,000 "
        "times in every parser, texts in any place of a statement, links beside what is written, "
        "pipes, sockets, devices and folders in the place of files, callers who hang up, addresses "
        "that are none and pages of others, endpoints of models whose replies lie or never end, "
        "queries of thousands of conditions and of clauses that read each other by many ways.",
        1_600,
        "kinds.kinds",
        ("fastapi", "mcp", "prometheus_client"),
    ),
    "catalogs": Part(
        "Files of a catalog are flipped, cut, swapped, removed or made links and pipes; then it is "
        "opened, searched, asked and updated: no file of the user's changes, and no error but "
        "dovetail's own comes of it.",
        2_000,
        "tampered.catalogs",
    ),
    "memory": Part(
        "A pile of tables of a company is indexed with the embedder under lower and lower ceilings "
        "(`index_memory_mb`): the catalog has the joins that it has under the usual one, or one "
        "error names the setting. Held is all that the process has in memory at its peak, with "
        "what does not count: files that are mapped, extensions and models.",
        6,
        "memory.memory",
    ),
    "server": Part(
        "A server with two processes for questions, the sample's tables and the embedder is asked "
        "over eight connections, no question twice, tables, joins and paths between them, and with "
        "every 500 requests an update of its catalog begins: each is seen when it has landed, no "
        "request fails, and memory of its own in the last tenth is at most 5 % more than in the "
        "second.",
        100_000,
        "server.server",
        _SERVER,
    ),
    "rates": Part(
        "A server with 577 tables and the embedder is asked over eight connections, no question "
        "twice. Requests a second are those of the machine as it was; CPU milliseconds are the "
        "server's, with its processes.",
        1_500,
        "server.rates",
        _SERVER,
    ),
}


def page(kept: Mapping[str, Figures]) -> str:
    """docs/reliability.md, from the figures of the last soak of every part."""
    lines = [
        "# Reliability",
        "",
        "`make soak` makes bad days, by seed, and counts how they end. A case that goes *wrong*",
        "loses, doubles, leaks or hangs something, or ends in anything but one clear error; a",
        "short form of every part runs in `make test`. What is and is not defended is said in",
        "[security](security.md), what a catalog promises in [the catalog](catalog.md#guarantees).",
        "Written by `python -m tests.soak --keep` from `tests/soak/figures.json`. Each part says",
        "what it was run on: a commit (with a plus where files differed), a day, a machine.",
        "Where the machine was not noted yet, the commit is the one that brought the figures.",
        "",
        "| part | cases | wrong | minutes | run on |",
        "|---|---:|---:|---:|---|",
    ]
    named = [(name, part, kept[name]) for name, part in PARTS.items() if name in kept]
    lines += [
        f"| [{name}](#{name}) | {figures['cases']:,} | {len(figures['wrong'])} "
        f"| {figures['seconds'] / 60:.1f} | {_run_on(figures)} |"
        for name, _, figures in named
    ]
    for name, part, figures in named:
        lines += ["", f"## {name}", "", part.what, "", "| outcome | cases |", "|---|---:|"]
        lines += [f"| {outcome} | {times:,} |" for outcome, times in figures["outcomes"].items()]
        lines += [f"\n{name}: {value}" for name, value in figures.get("measured", {}).items()]
        lines += [f"\nWrong: `{case}`" for case in figures["wrong"][:20]]
    return "\n".join([*lines, ""])


def _run_on(figures: Figures) -> str:
    """The commits, days and machines of a part's cases."""
    return "; ".join(
        f"{run['commit']}, {run['date']}, {run['machine']}" for run in figures.get("runs", [])
    )


def main() -> None:
    """Run parts; the exit code says whether anything went wrong, or nothing could be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="this part alone")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--commit", default="", help="the commit that is run")
    parser.add_argument("--keep", action="store_true", help="write figures.json and the page")
    parser.add_argument("--add", action="store_true", help="the same, added to what is there")
    parser.add_argument("--into", type=Path, help="a file for the figures")
    parser.add_argument("--from", type=Path, action="append", dest="files", help="such files")
    given = parser.parse_args()
    runs = _read(given.files) if given.files else _run(given)
    done: dict[str, Figures] = {}
    for name, figures in runs:
        _tell(name, figures)
        done[name] = together(done[name], figures) if name in done else figures
        if given.into:
            given.into.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")
    if given.keep or given.add:
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        for name, figures in done.items():
            kept[name] = together(kept[name], figures) if given.add and name in kept else figures
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(json.loads(KEPT.read_text())))
    sys.exit(not done or any(figures["wrong"] for figures in done.values()))


def _read(files: Iterable[Path]) -> Iterable[tuple[str, Figures]]:
    """The figures of soaks that were run elsewhere."""
    for file in files:
        yield from json.loads(file.read_text()).items()


def _run(given: argparse.Namespace) -> Iterable[tuple[str, Figures]]:
    """The figures of parts, each as it ends; what cannot be run is told."""
    until = time.monotonic() + given.seconds
    for name in given.part or PARTS:
        began = time.monotonic()
        cases = max(1, round(PARTS[name].cases * given.share))
        wanted = Wanted(given.seed, cases, given.processes, until)
        if wanted.over:
            print(f"{name}: left out: the time is over", flush=True)
            continue
        try:
            done = PARTS[name].run(wanted)
        except LeftOutError as reason:
            print(f"{name}: left out: {reason}", flush=True)
            continue
        done["seconds"] = round(time.monotonic() - began)
        done["runs"] = [stamp(given.commit)]
        yield name, done


def _tell(name: str, figures: Figures) -> None:
    wrong = figures["wrong"]
    seeds = ", ".join(f"{first} to {last}" for first, last in figures.get("seeds", []))
    took = f"{figures['seconds']} s{f', seeds {seeds}' if seeds else ''}"
    print(f"{name}: {figures['cases']:,} cases, {len(wrong)} wrong, {took}")
    for outcome, times in figures["outcomes"].items():
        print(f"  {times:>9,}  {outcome}")
    for what, value in figures.get("measured", {}).items():
        print(f"  {what}: {value}")
    for case in wrong[:20]:
        print(f"  wrong: {case}", flush=True)


if __name__ == "__main__":
    main()
