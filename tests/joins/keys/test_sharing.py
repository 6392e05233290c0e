"""Pairs of columns that can match through a transform: the few looked at, against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dovetail
from dovetail.arrays import Flags, found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.candidates import find_candidates
from dovetail.joins.keys import view_candidates
from dovetail.joins.keys.view_candidates import SAME, KnownPairs, ViewSearch, WeighedCandidates
from dovetail.joins.keys.view_holders import ViewHolders
from dovetail.joins.keys.view_pairs import ViewPairs
from dovetail.joins.keys.views import FAMILIES, FamilyViews, ViewedColumns
from dovetail.joins.scoring.features import PairFeatures, local_logits
from dovetail.joins.scoring.value_information import value_information
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


def searches(catalog: CatalogReader, children: Flags | None = None) -> Iterator[ViewSearch]:
    """A search for each family of transforms that the catalog has views of."""
    arrays = ColumnArrays.of(catalog)
    viewed = ViewedColumns.of(catalog, arrays)
    flags = np.ones(len(arrays), dtype=np.bool_) if children is None else children
    for family in FAMILIES:
        if any(view.transform in family for view in viewed.views):
            views = FamilyViews(arrays, viewed, family)
            conventions = arrays.conventions()
            yield ViewSearch(views, Postings.of_arrays(arrays), WEIGHTS, conventions, flags)


def test_the_candidates_are_all_that_names_or_values_speak_for(tmp_path: Path) -> None:
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    children = np.ones(len(ColumnArrays.of(catalog)), dtype=np.bool_)
    children[0] = False
    seen = 0
    for search in searches(catalog, children):
        weighed = search.all()
        held, changed = weighed.views.arrays, weighed.views.changed
        information = value_information(held, WEIGHTS)
        # All pairs, counted first and judged afterwards.
        every = find_candidates(held, information.distinctive)
        features = PairFeatures.of_columns(held, information, conventions=search.conventions)
        judge = search._judge(weighed.views, information)
        raised = judge.weighed(every)
        best = features.upper_bounds(every.child, every.parent)
        same = held.key[every.child] & (
            held.distinct[every.child] >= SAME * held.distinct[every.parent]
        )
        able = (local_logits(best, WEIGHTS) > WEIGHTS.least) | same
        able &= (changed[every.child] | changed[every.parent]) & (
            children[weighed.views.column[every.child]]
        )
        able &= np.maximum(raised.name / 0.55, raised.value / 0.5) >= 1
        able &= (raised.value >= 0.25) | ~held.number[every.child]
        able &= view_candidates.needed(search.family.arrays, weighed.views, every)
        assert as_dict(weighed.found) == as_dict(every.take(able))
        order = np.lexsort((every.parent[able], every.child[able]))
        assert weighed.features.value.tolist() == raised.take(able).take(order).value.tolist()
        seen += len(weighed.found)
    assert seen > 4


def test_columns_without_a_value_of_a_view_are_left_out(tmp_path: Path) -> None:
    for search in searches(catalog_of_all_transforms(tmp_path / "catalog")):
        family = search.family
        held = [family.viewed.value_hashes[own] for own in family.own[family.own >= 0].tolist()]
        known = np.unique(np.concatenate(held))
        sharing = family.sharing(search.postings).tolist()
        for column in np.flatnonzero((family.own >= 0) | family.as_is).tolist():
            shares = bool(found_in(family.arrays.value_hashes[column], known).any())
            assert (column in sharing) == (family.own[column] >= 0 or shares)


def test_values_are_as_common_as_an_index_of_all_views_says(tmp_path: Path) -> None:
    """With columns that share some value with a view, and hold others that no view does."""
    for search in searches(catalog_of_all_transforms(tmp_path / "catalog")):
        views = search.family.of(search.family.sharing(search.postings))
        expected = Postings.of_arrays(views.arrays).commonness()
        holders = ViewHolders(search.family, search.postings)
        assert holders.commonness(views).tolist() == expected.tolist()
        for column in range(len(views.column)):
            alone = search.family.of(views.column[column : column + 1], lazy=True)
            assert holders.commonness(alone).tolist() == expected[column : column + 1].tolist()
        assert expected.max() > 0


@pytest.mark.parametrize(("share", "counted"), [(0.1, 0), (0.1, 99), (0.5, 99), (1.0, 99)])
def test_pairs_of_fresh_columns_and_those_known_are_all_pairs(
    tmp_path: Path, share: float, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_candidates, "_MOST_COUNTED", counted)
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    random = np.random.default_rng(int(10 * share))
    arrays = ColumnArrays.of(catalog)
    for number, search in enumerate(searches(catalog)):
        whole = search.all()
        assert whole.likely is not None
        child, parent = whole.likely
        for _ in range(8):
            tables = random.random(len(catalog.ids)) < share
            fresh = tables[arrays.table]
            looked = random.random(len(arrays)) < 0.8
            known = ~(fresh[child] | fresh[parent]) & looked[child]
            pairs = ViewPairs.none(len(arrays)).replaced(
                number, (child[known], parent[known]), looked
            )
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(view_candidates, "_MOST_SEEKING", 1.0)
                again = search.updated(KnownPairs(pairs, fresh), number)
            assert again is not None
            assert by_column(again) == by_column(whole)
            assert again.likely is not None
            assert [each.tolist() for each in again.likely] == [child.tolist(), parent.tolist()]


def by_column(weighed: WeighedCandidates) -> list[tuple[float, ...]]:
    """Candidates by the numbers of all columns, with their counts and features."""
    found, column = weighed.found, weighed.views.column
    features = [getattr(weighed.features, each.name) for each in fields(weighed.features)]
    counts = [column[found.child], column[found.parent], found.shared, found.rows]
    return list(zip(*(each.tolist() for each in (*counts, *features)), strict=True))


def test_too_many_pairs_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_of_all_transforms(tmp_path / "catalog")
    before = [by_column(search.all()) for search in searches(catalog)]
    monkeypatch.setattr(view_candidates, "_MOST_PAIRS", 0)
    after = [search.all() for search in searches(catalog)]
    assert [by_column(weighed) for weighed in after] == before
    assert None in [weighed.likely for weighed in after]
