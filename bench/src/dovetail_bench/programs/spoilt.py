"""How joins do as data gets worse: dovetail bench run spoilt

The insurer's pile (`piles`) is spoilt step by step, in a share of the rows of every column that
refers to another: `orphans` refer to nothing, `case` has the other case, `formats` are written in
another way (numbers padded, codes without punctuation or with a prefix). For each step the recall
and precision of the edges above 0.5, and of the planted joins found in clean data the mean of what
is left of their match rates. Joins are to be lost by the share of bad rows, not at once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import dovetail
from dovetail.domain import JoinEdge
from dovetail.settings import Settings
from dovetail_bench.programs.insurer_pile import TRUTH, Pile, make_pile, write_pile
from dovetail_bench.programs.piles import join_key, measure_joins, planted

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Step:
    """The joins of a pile of which a share of the references is bad in some way."""

    kind: str
    share: float
    recall: float
    precision: float
    match_rate: float
    missed: Sequence[str]


def orphan(value: Any, random: Random) -> Any:
    """A value that refers to nothing."""
    number = random.randrange(10**8, 10**9)
    return number if isinstance(value, int) else f"{value}~{number}"


def other_case(value: Any, random: Random) -> Any:
    """A value in the other case; numbers stay."""
    del random
    return value.swapcase() if isinstance(value, str) else value


def other_format(value: Any, random: Random) -> Any:
    """A value as another system would write it; e-mail addresses stay."""
    del random
    if isinstance(value, int):
        return f"{value:010d}"
    if "@" in value:
        return value
    bare = "".join(filter(str.isalnum, value))
    return bare if bare != value else f"{value[:2]}-{value[2:]}"


KINDS = {"orphans": orphan, "case": other_case, "formats": other_format}


def spoilt(pile: Pile, kind: str, share: float, seed: int = 3) -> Pile:
    """A pile with a share of the values of each referring column made bad."""
    make = KINDS[kind]
    random = Random(f"{seed} {kind}")
    worse: Pile = {
        system: {name: dict(table) for name, table in tables.items()}
        for system, tables in pile.items()
    }
    for system, table, column in referring():
        values = worse[system][table][column]
        bad = [
            make(value, random) if value is not None and random.random() < share else value
            for value in values
        ]
        if any(isinstance(value, str) for value in bad):
            bad = [None if value is None else str(value) for value in bad]
        worse[system][table][column] = bad
    return worse


def referring() -> list[tuple[str, str, str]]:
    """The columns that refer to others, by system and table; a table's own key is left as it is."""
    listed = []
    for system, lines in TRUTH.items():
        for line in lines.strip().splitlines():
            table, columns = line.strip().split(" = ")[0].split(".", 1)
            listed += [(system, table, column) for column in columns.split(",")]
    return sorted(set(listed))


def found(pile: Pile, folder: Path) -> list[JoinEdge]:
    """The joins above 0.5 of a pile."""
    folder.mkdir()
    settings = Settings(embedder="none")
    sources = write_pile(pile, folder)
    return dovetail.build(*sources, into=folder / "catalog", settings=settings).joins()


def measure(kind: str, share: float, clean: Mapping[Any, float], edges: Sequence[JoinEdge]) -> Step:
    """What is left of the planted joins that clean data has."""
    joins = measure_joins(edges)
    rates = {join_key(edge): edge.match_rate for edge in reversed(edges)}
    left = [min(rates.get(key, 0.0) / rate, 1.0) for key, rate in clean.items()]
    return Step(kind, share, joins.recall, joins.precision, mean(left), joins.missed)


def match_rates(edges: Sequence[JoinEdge]) -> dict[Any, float]:
    """The match rates of the planted joins among some edges."""
    truth = planted()
    return {join_key(e): e.match_rate for e in reversed(edges) if join_key(e) in truth}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, action="append", help="this alone (repeatable)")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    pile = make_pile()
    with tempfile.TemporaryDirectory() as name:
        before = found(pile, Path(name) / "clean")
        clean = match_rates(before)
        for kind in given.kind or KINDS:
            for share in SHARES:
                edges = before
                if share:
                    folder = Path(name) / f"{kind}-{share}"
                    edges = found(spoilt(pile, kind, share), folder)
                step = measure(kind, share, clean, edges)
                if given.json:
                    print(json.dumps(asdict(step)))
                    continue
                figures = f"recall {step.recall:.2f}, precision {step.precision:.2f}"
                print(f"{kind:8} {share:4.0%}  {figures}, match rates {step.match_rate:.2f}")
                for line in step.missed:
                    print(f"    missed  {line}")


if __name__ == "__main__":
    main()
