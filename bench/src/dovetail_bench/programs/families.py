"""How well are families found, and how fast? Piles whose truth is known, and 100,000 tables.

    dovetail bench run families [--seeds 3] [--tables 100000] [--json]

precision, recall  pairs of tables in one family, against the truth of `family_kinds.py`
roles, canonical   shares of the right members with the right role, of families with the right head
cpu_seconds        of the stage `families` over many tables whose profiles are there
                   (`family_lakes.py`): the same kinds over and over; one table in slices, each
                   other one with a backup; a table whose columns drift; tables of other names
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.families.detect import find_families
from dovetail.families.family import Families, Role
from dovetail.joins.graph import JoinGraph
from dovetail_bench.programs.family_kinds import Pile, pairs, pile
from dovetail_bench.programs.family_lakes import SHAPES, sketched, tiled

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


def speed(tables: int) -> list[dict[str, object]]:
    """CPU seconds to find the families of many tables, beyond what profiles them."""
    made = pile(0)
    with tempfile.TemporaryDirectory() as place:
        sources = written(made, Path(place))
        small = dovetail.update(
            sources,
            into=Path(place) / "catalog",
            settings=SETTINGS,
        ).catalog
        found = [_timed("kinds", partial(tiled, small, tables))]
    for name, shape in SHAPES.items():
        sketches = shape(tables, np.random.default_rng(0))
        found.append(_timed(name, partial(sketched, sketches)))
    return found


def _timed(name: str, make: Callable[[Path], CatalogReader]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        catalog = make(Path(folder))
        began = time.process_time()
        found = find_families(catalog, JoinGraph(catalog.ids, ()))
        spent = time.process_time() - began
    members = sum(len(family.tables) for family in found)
    return {
        "shape": name,
        "tables": len(catalog),
        "families": len(found),
        "members": members,
        "cpu_seconds": spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="piles to measure")
    parser.add_argument("--tables", type=int, default=100_000, help="tables for the speed; 0: none")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    found = {"quality": [quality(seed) for seed in range(1, options.seeds + 1)]}
    if options.tables:
        found["speed"] = speed(options.tables)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for figures in (line for part in found.values() for line in part):
        print(", ".join(f"{name} {_short(value)}" for name, value in figures.items()))


def _short(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
