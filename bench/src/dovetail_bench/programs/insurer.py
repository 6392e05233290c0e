"""Joins of an insurer's pile, whose keys look different in every system, against the planted ones.

    dovetail bench run insurer [--seed 1] [--json]

Four systems: policies in SQLite (dense ids everywhere), claims in DuckDB (other names, numbers
without punctuation, e-mails in any case), a hospital's exports in CSV (padded numbers), a haulier's
SQLite (short key names, composite keys, codes with a prefix). Nothing is declared. Precision and
recall are over edges above 0.5, by their columns (`insurer_pile.py` has the truth).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import dovetail
from dovetail.domain import JoinEdge
from dovetail.joins.evidence import work_out
from dovetail_bench.programs.insurer_pile import ACCEPTED, TRUTH, make_pile, write_pile


@dataclass(frozen=True, slots=True)
class Measured:
    """How the edges above 0.5 do against the truth."""

    precision: float
    recall: float
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


def measure(edges: Iterable[JoinEdge]) -> Measured:
    """Hold edges above 0.5 against the truth, by tables and columns, whichever side comes first."""
    truth, accepted = _written(TRUTH), _written(ACCEPTED)
    found = {_key(edge) for edge in edges if edge.score > 0.5}
    right = found & (truth | accepted)
    return Measured(
        precision=len(right) / max(len(found), 1),
        recall=len(found & truth) / len(truth),
        missed=tuple(sorted(map(_text, truth - found))),
        wrong=tuple(sorted(map(_text, found - right))),
    )


Key = frozenset[tuple[str, tuple[str, ...]]]


def _key(edge: JoinEdge) -> Key:
    pairs = sorted(edge.columns)
    sides = ((edge.left, [a for a, _ in pairs]), (edge.right, [b for _, b in pairs]))
    return frozenset(
        (f"{table.source}/{table.name.rpartition('/')[2]}", tuple(sorted(names)))
        for table, names in sides
    )


def _written(lines: Mapping[str, str]) -> set[Key]:
    def side(system: str, text: str) -> tuple[str, tuple[str, ...]]:
        home, slash, rest = text.partition("/")
        table, columns = (rest if slash else text).split(".", 1)
        return f"{home if slash else system}/{table}", tuple(sorted(columns.split(",")))

    return {
        frozenset(side(system, part) for part in line.strip().split(" = "))
        for system, text in lines.items()
        for line in text.strip().splitlines()
    }


def _text(key: Key) -> str:
    return " = ".join(f"{table}.{','.join(names)}" for table, names in sorted(key))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = write_pile(make_pile(given.seed), Path(folder))
        found = measure(work_out(dovetail.build(*sources, into=Path(folder) / "catalog").reader))
    if given.json:
        print(json.dumps({name: getattr(found, name) for name in Measured.__slots__}))
        return
    print(f"precision {found.precision:.3f}  recall {found.recall:.3f}")
    print(
        "\n".join(
            [*(f"missed  {it}" for it in found.missed)] + [f"wrong   {it}" for it in found.wrong]
        )
    )


if __name__ == "__main__":
    main()
