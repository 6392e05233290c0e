"""Joins through transforms after an update, against those of a rebuild, as tables come and go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.joins import candidates
from dovetail.joins.candidates import CountedPairs
from dovetail.joins.edges import stored_edges
from dovetail.joins.evidence import work_out
from dovetail.joins.transforms import TransformSearch
from tests.joins.test_transforms import WRITTEN

NAMES = ("client_no", "claim_code", "ward", "policy_no", "claim_id")
TABLES = ("clients", "claims", "clients_old", "policy", "wards", "stays")
WRITERS: list[Callable[[int], object]] = [
    *(write for pair in WRITTEN.values() for write in pair),
    str,
]


def contents(random: np.random.Generator) -> str:
    """A table of keys and references, in one of the ways that keys are written."""
    rows = int(random.integers(8, 40))
    columns = {}
    for name in random.choice(NAMES, int(random.integers(1, 4)), replace=False).tolist():
        domain = 41_000 + 37 * np.arange(int(random.integers(12, 60)))
        repeats = random.random() < 0.5 or len(domain) < rows
        drawn = random.choice(domain, rows, replace=repeats).tolist()
        write = WRITERS[int(random.integers(len(WRITERS)))]
        columns[name] = [str(write(number)) for number in drawn]
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


def step(folder: Path, random: np.random.Generator) -> None:
    """Add, change, remove or rename a table or two."""
    for _ in range(int(random.integers(1, 3))):
        file, other = (folder / f"{random.choice(TABLES)}.csv" for _ in range(2))
        kind = random.random()
        if kind < 0.2:
            file.unlink(missing_ok=True)
        elif kind < 0.4 and file.exists():
            file.rename(other)
        else:
            file.write_text(contents(random))


@pytest.fixture
def always_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is worked out anew because there is much of it."""
    monkeypatch.setattr(candidates, "_MOST_CHANGED", 1)


@pytest.mark.usefixtures("always_update")
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 25))]
)
def test_an_update_is_a_rebuild(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    updated: list[bool] = []
    find = TransformSearch.find

    def watched(search: TransformSearch, before: CountedPairs | None) -> Any:
        updated.append(before is not None)
        return find(search, before)

    monkeypatch.setattr(TransformSearch, "find", watched)
    random = np.random.default_rng(seed)
    folder = tmp_path / "lake"
    folder.mkdir()
    for table in TABLES[:4]:
        (folder / f"{table}.csv").write_text(contents(random))
    for number in range(5):
        if number:
            step(folder, random)
        grown = dovetail.build(str(folder), into=tmp_path / "grown")
        whole = dovetail.build(str(folder), into=tmp_path / f"whole{number}")
        assert list(stored_edges(grown.reader)) == work_out(whole.reader)
        files = [next(c.folder.glob("generations/*/*/edges.parquet")) for c in (grown, whole)]
        assert files[0].read_bytes() == files[1].read_bytes()
    assert any(updated)


@pytest.mark.usefixtures("always_update")
def test_values_become_common_and_rare_again(tmp_path: Path) -> None:
    """How sure a join is goes by how many tables hold the values, those that go included."""
    child, parent = WRITTEN["prefix"]
    numbers = [41_000 + 37 * number for number in range(60)]
    folder = tmp_path / "lake"
    folder.mkdir()
    keys = "\n".join(f"{parent(number)},{number % 7}" for number in numbers)
    (folder / "things.csv").write_text(f"code,size\n{keys}\n")
    references = "\n".join(f"{number},{child(numbers[number % 50])}" for number in range(200))
    (folder / "visits.csv").write_text(f"visit,thing_code\n{references}\n")
    for number in range(4):
        (folder / f"other{number}.csv").write_text("word\n" + f"w{number}\n" * 12)
    found: list[list[float]] = []
    for held in (0, 3, 6, 3, 0):
        for number in range(6):
            file = folder / f"copy{number}.csv"
            file.unlink(missing_ok=True)
            if number < held:
                file.write_text(f"x{number}\n" + "\n".join(str(parent(n)) for n in numbers) + "\n")
        grown = dovetail.build(str(folder), into=tmp_path / "grown")
        whole = dovetail.build(str(folder), into=tmp_path / f"whole{len(found)}")
        edges = list(stored_edges(grown.reader))
        assert edges == work_out(whole.reader)
        found.append([edge.score for edge in edges if edge.transform])
    assert found[0] == found[4]
    assert found[1] == found[3]
    assert found[0]
    assert len({tuple(scores) for scores in found}) == 3
