"""Pairs of columns that can match through a transform: the few looked at, against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.domain.sql import CUT, ZEROS, rung
from dovetail.joins.candidates import find_candidates
from dovetail.joins.columns import CatalogValues, ColumnArrays, ValuePasses
from dovetail.joins.features import WEIGHTS, PairFeatures, local_logits, value_information
from dovetail.joins.transforms import FORMS, NormalizedColumns, search
from tests.joins.test_transforms import NUMBERS, WRITTEN
from tests.support.column_arrays import AnyScore, as_dict


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


def rungs(arrays: ColumnArrays, values: CatalogValues) -> Iterator[NormalizedColumns]:
    """The columns in each normal form that the catalog has columns in."""
    for form in FORMS:
        if any(rung(each.transform) in form for each in values.normalized):
            yield NormalizedColumns.of(arrays, values.forms, form)


def test_the_candidates_are_all_within_bound(tmp_path: Path) -> None:
    values = CatalogValues(catalog_of_all_transforms(tmp_path / "catalog"))
    arrays = ColumnArrays.of(values.catalog, passes=ValuePasses(values))
    conventions = arrays.conventions()
    seen = 0
    for columns in rungs(arrays, values):
        found = search(columns, conventions).candidates
        held, changed = columns.arrays, columns.changed
        information = value_information(held)
        features = PairFeatures.of_columns(held, information, conventions)
        # All pairs, counted first and judged afterwards.
        every = find_candidates(held, AnyScore(features, running=False))
        best = features.upper_bounds(every.child, every.parent)
        able = local_logits(best) > WEIGHTS.least
        able &= changed[every.child] | changed[every.parent]
        if any(rung(name) == CUT for name in columns.transform):
            able &= ~(changed[every.child] & changed[every.parent])
        chosen, column = every.take(able), columns.column
        chosen = replace(chosen, child=column[chosen.child], parent=column[chosen.parent])
        assert as_dict(found) == as_dict(chosen)
        seen += len(found)
    assert seen > 4


def test_columns_without_a_normalized_value_are_left_out(tmp_path: Path) -> None:
    values = CatalogValues(catalog_of_all_transforms(tmp_path / "catalog"))
    every = ColumnArrays.of(values.catalog, passes=ValuePasses(values))
    for columns in rungs(every, values):
        own = columns.column[columns.changed].tolist()
        kinds = {rung(name) for name in columns.transform}
        if CUT in kinds:  # others may be folded beside it
            continue
        reads = every.number | np.isfinite(every.low) if ZEROS in kinds else ~every.number
        for column in range(len(every)):
            fits = every.distinct[column] >= 4 and bool(reads[column])
            assert (column in columns.column) == (column in own or fits)
