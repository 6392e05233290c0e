"""The index from values to columns against Python sets, in memory and beside a catalog."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.hashing import Hashes, hash_values
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.make_segment import in_order, make_segment
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import sample_places
from dovetail.joins.value_index.segment_store import FOLDER

# Small hashes and some that differ in their last bits alone, which packing confuses.
VALUES = st.sampled_from([*range(40), *(2**60 + n for n in range(40)), 2**64 - 1, 2**64 - 2])
COLUMNS = st.lists(st.sets(VALUES, max_size=30), min_size=1, max_size=12)
WAYS: tuple[dict[str, int], ...] = (
    {},
    {"index_part._OF_AT_LEAST": 0, "index_part._ONE_IN": 3},
    {
        "index_part._OF_AT_LEAST": 0,
        "index_part._ONE_IN": 4,
        "make_segment._PART": 20,
        "index_part._BITMAPS_AT_ONCE": 2,
        "index_segment._BITMAPS_AT_ONCE": 2,
        "index_segment._LONG": 0,
    },
    {
        "index_part._OF_AT_LEAST": 0,
        "index_part._ONE_IN": 4,
        "containment._RARE_TRIED": 1,
        "containment._FREQUENT_TRIED": 1,
        "containment._BLOCK": 2,
        "containment._OWN_VALUES": 0,
        "containment._RARE_NEXT": 2,
        "signatures._SMALLEST": 2,
    },
    {
        "index_part._OF_AT_LEAST": 0,
        "index_part._ONE_IN": 4,
        "containment._RARE_TRIED": 1,
        "containment._RARE_NEXT": 2,
        "signatures._SMALLEST": 2,
    },
)


def hashes_of(values: set[int]) -> Hashes:
    return np.array(sorted(values), dtype=np.uint64)


def made(sets: list[set[int]], tables: list[int]) -> IndexSegment:
    value_hashes = [hashes_of(values) for values in sets]
    counts = [np.ones(len(values), dtype=np.uint32) for values in sets]
    names = [f"t{table}" for table in range(max(tables) + 1)]
    return make_segment(names, np.array(tables), value_hashes, counts)


@settings(deadline=None, max_examples=200)
@given(COLUMNS, st.sets(VALUES, max_size=30), st.sampled_from(WAYS), st.data())
def test_lookups_are_those_of_python_sets(
    sets: list[set[int]], asked: set[int], way: dict[str, int], data: st.DataObject
) -> None:
    """Over two segments, the second of which has columns that are gone."""
    cut = data.draw(st.integers(0, len(sets) - 1))
    gone = data.draw(st.sets(st.integers(cut, len(sets) - 1)))
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in way.items():
            patch.setattr(f"dovetail.joins.value_index.{constant}", value)
        parts = [(sets[cut:], list(range(cut, len(sets))))]
        if cut:
            parts.append((sets[:cut], list(range(cut))))
        numbered = [
            (
                made(part, list(range(len(part)))),
                np.array([-1 if number in gone else number for number in numbers]),
            )
            for part, numbers in parts
        ]
        postings = Postings(numbered, len(sets))
        alive = [set() if place in gone else held for place, held in enumerate(sets)]
        chosen = data.draw(st.sets(st.integers(0, len(sets) - 1)))
        values = hashes_of(asked)
        place, column = postings.columns_holding(values)
        supersets, subsets = postings.supersets_and_subsets(
            values,
            np.array([number in chosen for number in range(len(sets))]),
            [hashes_of(held) for held in sets],
        )
        counts, common = postings.counts(values), postings.commonness()
        weights = np.arange(1, len(values) + 1)
        by_value, by_rows = postings.tally(values, weights)
    expected = [
        (at, number)
        for at, number in product(range(len(values)), range(len(sets)))
        if int(values[at]) in alive[number]
    ]
    assert list(zip(place.tolist(), column.tolist(), strict=True)) == expected
    assert counts.tolist() == by_value.tolist() == [len(asked & held) for held in alive]
    assert by_rows.tolist() == [
        sum(at + 1 for at, number in expected if number == column) for column in range(len(sets))
    ]
    among = [(n, held) for n, held in enumerate(alive) if n in chosen]
    assert sorted(supersets.tolist()) == [n for n, held in among if asked and asked <= held]
    assert sorted(subsets.tolist()) == [n for n, held in among if held and held <= asked]
    for number, held in enumerate(alive):
        if held:
            # Up to 32 values are all sampled; every column is a table here.
            nats = [np.log(sum(value in other for other in alive)) for value in sorted(held)]
            assert common[number] == pytest.approx(np.mean(nats))


@settings(deadline=None, max_examples=100)
@given(COLUMNS)
def test_values_come_in_order_with_their_columns(sets: list[set[int]]) -> None:
    found = [
        pair
        for values, columns in in_order([hashes_of(values) for values in sets])
        for pair in zip(values.tolist(), columns.tolist(), strict=True)
    ]
    assert found == sorted((value, place) for place, held in enumerate(sets) for value in held)


def test_values_are_sampled_by_the_rows_that_hold_them() -> None:
    random = np.random.default_rng(1)
    values = np.unique(random.integers(0, 2**63, 1000, dtype=np.uint64) * np.uint64(2))
    counts = np.ones(len(values), dtype=np.uint32)
    frequent = np.arange(0, len(values), 50)
    counts[frequent] = 1000
    sampled = sample_places(values, counts)
    assert len(sampled) == 32
    assert len(set(sampled.tolist()) & set(frequent.tolist())) >= 18
    assert sampled.tolist() == sample_places(values, counts).tolist() == sorted(sampled.tolist())


def holders(catalog: dovetail.Catalog, value: str) -> list[str]:
    """The columns that hold a value, by table and name."""
    asked = hash_values(pa.array([value]))
    _, columns = Postings.of(catalog).columns_holding(asked)
    arrays = ColumnArrays.of(catalog)
    return [f"{arrays.ids[arrays.table[c]].name}.{arrays.name[c]}" for c in columns.tolist()]


def test_a_value_is_looked_up_in_a_catalog_however_it_came_to_be(tmp_path: Path) -> None:
    """Table by table, one changed, one dropped: few segments, and what is gone is not found."""
    folder, into = tmp_path / "lake", tmp_path / "catalog"
    folder.mkdir()
    for number in range(12):
        (folder / f"t{number:02d}.csv").write_text(f"id,town\n{number},Ely\n{number + 1},Bath\n")
        catalog = dovetail.build(str(folder), into=into)
    assert holders(catalog, "7") == ["t06.id", "t07.id"]
    assert holders(catalog, "Ely") == [f"t{number:02d}.town" for number in range(12)]
    assert holders(catalog, "Rome") == []
    assert len(list((into / FOLDER).iterdir())) <= 4

    (folder / "t07.csv").unlink()
    (folder / "t03.csv").write_text("id,town\n7,Rome\n")
    catalog = dovetail.build(str(folder), into=into)
    assert holders(catalog, "7") == ["t03.id", "t06.id"]
    assert holders(catalog, "Rome") == ["t03.town"]

    for number in range(4, 12):
        (folder / f"t{number:02d}.csv").unlink(missing_ok=True)
    catalog = dovetail.build(str(folder), into=into)
    assert holders(catalog, "Bath") == ["t00.town", "t01.town", "t02.town"]
    (segment,) = (into / FOLDER).iterdir()  # mostly dead, so written anew
    known = json.loads(segment.read_bytes().partition(b"\n")[0])["tables"]
    assert [key.split("\0")[1] for key in known] == ["t00", "t01", "t02", "t03"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"no segment",
        lambda raw: b"[1, 2]\n" + raw,
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-8],
        lambda _: b"",
    ],
)
def test_a_damaged_or_missing_index_is_made_again(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    catalog = dovetail.build(str(tmp_path / "a.csv"), into=tmp_path / "catalog")
    (segment,) = (catalog.folder / FOLDER).iterdir()
    raw = segment.read_bytes()
    segment.write_bytes(damage(raw))
    assert holders(catalog, "2") == ["a.id"]
    assert segment.read_bytes() == raw
    shutil.rmtree(catalog.folder / FOLDER)
    assert holders(dovetail.open(catalog.folder), "1") == ["a.id"]
