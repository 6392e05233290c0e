"""Pairs of columns that can match through a transform: the few looked at, against all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays, found_in
from dovetail.joins.inclusion.candidates import find_candidates
from dovetail.joins.keys import transformed
from dovetail.joins.scoring.features import PairFeatures, local_logits
from dovetail.joins.scoring.value_information import value_information, value_sparsity
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS as WEIGHTS
from dovetail.joins.value_index.make_segment import make_segment
from dovetail.joins.value_index.postings import Postings
from tests.joins.keys.test_transformed import NUMBERS, WRITTEN
from tests.support.column_arrays import as_dict


@pytest.mark.parametrize("at_once", [3, 1 << 15])
def test_columns_that_hold_any_value_are_those_that_sets_say(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.joins.value_index.index_segment._VALUES_AT_ONCE", at_once)
    random = np.random.default_rng(3)
    # Some values are in many columns; some hashes differ in their last bits alone.
    pool = random.integers(0, 1 << 64, 400, dtype=np.uint64)
    pool = np.concatenate([pool, pool ^ np.uint64(1), np.repeat(pool[:3], 100)])

    def column(size: int) -> Hashes:
        return np.unique(random.choice(pool, size))

    columns = [column(int(random.integers(1, 12))) for _ in range(300)]
    columns.append(np.empty(0, np.uint64))
    counts = [np.ones(len(hashes), np.uint32) for hashes in columns]
    tables = [str(number) for number in range(len(columns))]
    segment = make_segment(tables, np.arange(len(columns)), columns, counts)
    assert len(segment.frequent)
    number = np.arange(len(columns)) - 7  # the first seven are gone
    postings = Postings([(segment, np.where(number < 0, -1, number))], len(columns) - 7)
    for values in (column(60), column(3), pool[:2], np.empty(0, np.uint64)):
        known = {int(value) for value in values}
        expected = [bool(known & {int(value) for value in each}) for each in columns[7:]]
        assert postings.holding_any(values).tolist() == expected


def catalog_of_all_transforms(folder: Path) -> CatalogReader:
    """Tables whose keys are written in every way, and numbers 1..n behind a prefix."""
    tables = {}
    for name, (child, parent) in WRITTEN.items():
        tables[f"{name}_clients"] = pa.table(
            {f"{name}_no": [parent(n) for n in NUMBERS], "age": [n % 90 for n in NUMBERS]}
        )
        drawn = [NUMBERS[n * 7 % 100] for n in range(300)]
        keys = pa.array([child(n) for n in drawn])
        tables[f"{name}_claims"] = pa.table({"claim": list(range(300)), f"{name}_no": keys})
        odd = pa.array([child(n) for n in NUMBERS[::2]])
        tables[f"{name}_odd"] = pa.table({"code": odd, "day": list(range(60))})
    dense = [f"A{n % 100 + 1:06d}" for n in range(300)]
    tables["visits"] = pa.table({"claim": dense, "nights": [n % 9 for n in range(300)]})
    return dovetail.build(tables, into=folder)


def test_the_candidates_are_all_that_names_or_values_speak_for(tmp_path: Path) -> None:
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    arrays = ColumnArrays.of(catalog)
    every_view = transformed.ViewedColumns.of(catalog, arrays)
    postings = Postings.of_arrays(arrays)
    settled: set[tuple[TableId, str]] = {(catalog.ids[0], arrays.name[0])}
    seen = 0
    for family in transformed._FAMILIES:
        if not any(view.transform in family for view in every_view.views):
            continue
        viewed = transformed._viewed(arrays, every_view, family, postings)
        held = viewed.arrays
        information = value_information(held, WEIGHTS)
        sparse = 2 * value_sparsity(held, WEIGHTS)
        parents = held.key & transformed._not_dense(sparse, held.number)
        found, weighed = transformed._candidates(viewed, parents, settled, information, WEIGHTS)
        # All pairs, counted first and judged afterwards.
        every = find_candidates(held, information.distinctive)
        features = PairFeatures(held, information)
        raised = transformed._raised(held, every, features.of(every), information)
        changed = np.array([bool(name) for name in viewed.transform])
        closed = np.array(
            [
                (held.ids[t], name) in settled
                for t, name in zip(held.table.tolist(), held.name, strict=True)
            ]
        )
        best = features.upper_bounds(every.child, every.parent)
        same = held.key[every.child] & (
            held.distinct[every.child] >= transformed._SAME * held.distinct[every.parent]
        )
        able = (local_logits(best, WEIGHTS) > WEIGHTS.least) | same
        able &= (changed[every.child] | changed[every.parent]) & ~closed[every.child]
        able &= np.maximum(raised.name / 0.55, raised.value / 0.5) >= 1
        able &= (raised.value >= 0.25) | ~held.number[every.child]
        assert as_dict(found) == as_dict(every.take(able))
        order = np.lexsort((every.parent[able], every.child[able]))
        assert weighed.value.tolist() == raised.take(able).take(order).value.tolist()
        seen += len(found)
    assert seen > 4


def test_columns_without_a_value_of_a_view_are_left_out(tmp_path: Path) -> None:
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    arrays = ColumnArrays.of(catalog)
    every_view = transformed.ViewedColumns.of(catalog, arrays)
    for family in transformed._FAMILIES:
        views = [at for at, view in enumerate(every_view.views) if view.transform in family]
        if not views:
            continue
        viewed = transformed._viewed(arrays, every_view, family, Postings.of_arrays(arrays))
        held = [every_view.value_hashes[len(arrays) + at] for at in views]
        known = np.unique(np.concatenate(held))
        for column, name in zip(viewed.column.tolist(), viewed.transform, strict=True):
            assert name or found_in(arrays.value_hashes[column], known).any()
