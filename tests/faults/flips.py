"""Single bytes of a catalog's files changed: each is noticed, named and mended."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import dovetail
from dovetail import Settings
from dovetail.offline.repair import MANIFEST, check, repair
from tests.faults.place import flip
from tests.support.files import tree

SETTINGS = Settings(workers=1)


def part_of(file: str) -> str:
    """The part of a catalog that a file is of."""
    names = file.split("/")
    if names[0] == "generations":
        return names[2].partition("-")[0]
    return MANIFEST if len(names) == 1 else names[0]


def flips(catalog: Path, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Flip a bit that a seed chooses, again and again, every file in turn; what `check` misses."""
    draw = random.Random(seed)
    files = sorted(tree(catalog))
    outcomes: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        name = files[number % len(files)]
        file = catalog / name
        at, bit = draw.randrange(file.stat().st_size), draw.randrange(8)
        flip(file, at, bit)
        named = {str(damage.file) for damage in check(catalog)}
        if name not in named and not any(name.rpartition("/")[2] in each for each in named):
            wrong.append(f"bit {bit} of byte {at} of {name}: {sorted(named) or 'not noticed'}")
        flip(file, at, bit)
        outcomes[part_of(name)] += 1
    return outcomes, wrong


def mended(catalog: Path, name: str, at: int, expected: object) -> str:
    """Flip a bit of a file, have it repaired, and say what is not as it was."""
    before = tree(catalog)
    flip(catalog / name, at)
    result = repair(catalog, SETTINGS)
    part = part_of(name)
    if result.left and part != "memory":
        return f"{name} is still damaged: {result.left}"
    if check(catalog) and part != "memory":
        return f"{name}: damaged again"
    if answers(catalog) != expected:
        return f"{name}: other answers than before"
    after = tree(catalog)
    rebuilt = {part_of(each) for each, content in before.items() if after.get(each) != content}
    allowed = {part, MANIFEST, *(_FOLLOWS.get(part, ()))}
    return f"{name}: {rebuilt - allowed} made again, too" if rebuilt - allowed else ""


# What is made from a part, and so with it.
_FOLLOWS = {"segments": ("records", "values"), "records": ()}


def answers(catalog: Path) -> object:
    """What a catalog answers with."""
    opened = dovetail.open(catalog, SETTINGS)
    return (
        [(table.id, table.rows, str(opened.description(table))) for table in opened],
        [edge.to_dict() for edge in opened.joins(least=-1)],
        opened.reader.usage.digest,
        [repr(one) for one in opened.search("orders by city")],
    )


def restored(folder: Path, name: str, at: int, expected: object) -> str:
    """`mended` in a catalog that is put back afterwards."""
    catalog, aside = folder / "catalog", folder / f"aside{os.getpid()}"
    shutil.copytree(catalog, aside)
    try:
        return mended(catalog, name, at, expected)
    finally:
        shutil.rmtree(catalog)
        aside.rename(catalog)


def mendings(folder: Path, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Repairs of files in turn, at a byte that a seed chooses."""
    draw = random.Random(seed)
    files = sorted(tree(folder / "catalog"))
    expected = answers(folder / "catalog")
    outcomes: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        name = files[number % len(files)]
        at = draw.randrange((folder / "catalog" / name).stat().st_size)
        outcomes[part_of(name)] += 1
        problem = restored(folder, name, at, expected)
        wrong += [problem] if problem else []
    return outcomes, wrong
