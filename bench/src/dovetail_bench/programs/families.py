"""How well are families found? In piles whose truth is known.

    dovetail bench run families [--seeds 3] [--json]

precision, recall  pairs of tables in one family, against the truth of `family_kinds.py`
roles, canonical   shares of the right members with the right role, of families with the right head
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail.families.family import Families, Role
from dovetail_bench.programs.family_kinds import Pile, pairs, pile

SETTINGS = dovetail.Settings(embedder="none")


def written(made: Pile, folder: Path) -> list[str]:
    """Write a pile as a SQLite file per source; returns them as sources."""
    for source in sorted({source for source, _ in made.tables}):
        with closing(sqlite3.connect(folder / f"{source}.sqlite")) as database, database:
            for (owner, name), (columns, rows) in made.tables.items():
                if owner != source:
                    continue
                listed = ", ".join(f'"{column}"' for column in columns)
                database.execute(f'CREATE TABLE "{name}" ({listed})')
                marks = ",".join("?" * len(columns))
                database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    return [f"{file.stem}={file}" for file in sorted(folder.glob("*.sqlite"))]


def measure(made: Pile, found: Families) -> dict[str, object]:
    """How well found families agree with a pile's truth; which kinds are missed or wrong."""
    true = {pair for family in made.families for pair in pairs(sorted(family))}
    got = {
        pair
        for family in found
        for pair in pairs(sorted((t.source, t.name) for t in family.tables))
    }
    role = {table: role for family in made.families for table, role in family.items()}
    told = {
        (m.id.source, m.id.name): m.role.value
        for f in found
        for m in f.members
        if m.role is not Role.TWIN
    }
    heads = {(family.canonical.source, family.canonical.name) for family in found}
    twins = {
        frozenset(((f.canonical.source, f.canonical.name), (t.source, t.name)))
        for f in found
        for t in f.twins
    }
    shared = [table for table in role if table in told]
    return {
        "families": len(made.families),
        "precision": len(true & got) / max(1, len(got)),
        "recall": len(true & got) / len(true),
        "roles": sum(role[table] == told[table] for table in shared) / max(1, len(shared)),
        "canonical": sum(head in heads for head in made.canonical) / len(made.canonical),
        "twins": sum(pair in twins for pair in made.twins) / max(1, len(made.twins)),
        "missed": sorted({made.kind_of[min(pair)] for pair in true - got}),
        "wrong": sorted({made.kind_of[min(pair)] for pair in got - true}),
    }


def quality(seed: int) -> dict[str, object]:
    """The figures of one pile."""
    made = pile(seed)
    with tempfile.TemporaryDirectory() as folder:
        sources = written(made, Path(folder))
        catalog = dovetail.build(*sources, into=Path(folder) / "catalog", settings=SETTINGS)
        return {"seed": seed, "tables": len(catalog), **measure(made, catalog.families())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="piles to measure")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    found = [quality(seed) for seed in range(1, options.seeds + 1)]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for figures in found:
        print(", ".join(f"{name} {_short(value)}" for name, value in figures.items()))


def _short(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
