"""Pairs of columns that can match through a transform: the few looked at, against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dovetail
from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.joins import candidates, transforms
from dovetail.joins.candidates import Candidates, CountedPairs, find_candidates
from dovetail.joins.columns import CatalogValues, ColumnArrays, ValuePasses
from dovetail.joins.features import DEFAULT_WEIGHTS as WEIGHTS
from dovetail.joins.features import PairFeatures, local_logits, value_information
from dovetail.joins.transforms import (
    FORMS,
    SAME,
    NormalizedColumns,
    TransformBounds,
    TransformSearch,
    WeighedCandidates,
)
from tests.joins.test_transforms import NUMBERS, WRITTEN
from tests.support.column_arrays import NO_BOUNDS, as_dict


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
    return dovetail.build(tables, into=folder).reader


def searches(catalog: CatalogReader) -> Iterator[TransformSearch]:
    """A search for each normal form that the catalog has columns in."""
    values = CatalogValues(catalog)
    arrays = ColumnArrays.of(catalog, passes=ValuePasses(values))
    for form in FORMS:
        if any(each.transform in form for each in values.normalized):
            columns = NormalizedColumns.of(arrays, values.normalized, form)
            yield TransformSearch(arrays, columns, WEIGHTS, arrays.conventions())


def test_the_candidates_are_all_that_names_or_values_speak_for(tmp_path: Path) -> None:
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    seen = 0
    for search in searches(catalog):
        result, _ = search.find(None)
        held, changed = search.columns.arrays, search.columns.changed
        information = value_information(held, WEIGHTS)
        # All pairs, counted first and judged afterwards.
        every = find_candidates(held, information.distinctive, NO_BOUNDS)
        features = PairFeatures.of_columns(held, information, conventions=search.conventions)
        sparsity = information.sparsity
        bounds = TransformBounds(features, WEIGHTS, held.distinct, held.key, held.number, sparsity)
        raised = bounds.weighed(every)
        best = features.upper_bounds(every.child, every.parent)
        same = held.key[every.child] & (
            held.distinct[every.child] >= SAME * held.distinct[every.parent]
        )
        able = (local_logits(best, WEIGHTS) > WEIGHTS.least) | same
        able &= changed[every.child] | changed[every.parent]
        able &= (raised.name >= 0.55) | (raised.value >= 0.5)
        able &= transforms.needed(search.every, search.columns, every)
        column, chosen = search.columns.column, every.take(able)
        chosen = replace(chosen, child=column[chosen.child], parent=column[chosen.parent])
        assert as_dict(result.candidates) == as_dict(chosen)
        order = np.lexsort((every.parent[able], every.child[able]))
        assert result.features.value.tolist() == raised.take(able).take(order).value.tolist()
        seen += len(result.candidates)
    assert seen > 4


def test_columns_without_a_normalized_value_are_left_out(tmp_path: Path) -> None:
    for search in searches(catalog_of_all_transforms(tmp_path / "catalog")):
        columns, every = search.columns, search.every
        own = columns.column[columns.changed].tolist()
        known = np.unique(
            np.concatenate([columns.arrays.values[int(n)] for n in np.flatnonzero(columns.changed)])
        )
        numbers = bool(columns.arrays.number[0])
        for column in range(len(every)):
            fits = every.distinct[column] >= 10 and bool(every.number[column]) == numbers
            shares = fits and bool(found_in(every.values[column], known).any())
            assert (column in columns.column) == (column in own or shares)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_pairs_of_changed_columns_and_those_known_are_all_pairs(
    tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_MOST_CHANGED", 1.0)
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    random = np.random.default_rng(int(10 * share))
    arrays = ColumnArrays.of(catalog)
    for search in searches(catalog):
        whole, kept = search.find(None)
        for _ in range(8):
            tables = random.random(len(catalog.ids)) < share
            changed = tables[arrays.table]
            searched = random.random(len(arrays)) < 0.8
            known = kept.candidates
            left = known.take(
                ~(changed[known.child] | changed[known.parent]) & searched[known.child]
            )
            before = CountedPairs(left, np.where(changed, np.nan, kept.rarity), searched)
            again, kept_again = search.find(before)
            assert weighed(again) == weighed(whole)
            assert pairs(kept_again.candidates) == pairs(known)


def pairs(found: Candidates) -> list[tuple[int, ...]]:
    parts = (found.child, found.parent, found.shared, found.rows)
    return list(zip(*(part.tolist() for part in parts), strict=True))


def weighed(candidates: WeighedCandidates) -> list[tuple[float, ...]]:
    """Candidates with their counts and features."""
    found = candidates.candidates
    features = [getattr(candidates.features, each.name) for each in fields(candidates.features)]
    counts = [found.child, found.parent, found.shared, found.rows]
    return list(zip(*(each.tolist() for each in (*counts, *features)), strict=True))
