"""What the search for candidates goes by, put into arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dovetail.arrays import Counts, Flags, Ints, sorted_distinct
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed.distributed_columns import DistributedColumns
from dovetail.joins.inclusion.bottom_k import SketchIndex
from dovetail.joins.inclusion.candidate_search import CandidateSearch
from dovetail.joins.inclusion.confinement import Confinement
from dovetail.joins.inclusion.equal_sets import EqualSets
from dovetail.joins.inclusion.grouping import Groups
from dovetail.joins.value_index.row_sample import SAMPLE_SIZE, sample_places
from dovetail.names.lookup import NameMatch


def prepare_search(
    arrays: ColumnArrays,
    equal: EqualSets,
    distinctive: Flags,
    chosen: tuple[Flags, Flags] | None = None,
    confined: Confinement | None = None,
) -> CandidateSearch:
    """The search that `find_candidates` makes; `equal` are the groups of equal value sets."""
    children, may_be_key = chosen or (np.ones(len(arrays), dtype=np.bool_), arrays.key)
    keys = np.flatnonzero(arrays.key & may_be_key & (equal.group_of >= 0))
    named = NameMatch.of(arrays.name, arrays.table, arrays.table_names, keys)
    # Groups of equal sets that hold some key, numbered anew: by source, where that matters.
    source, home = _homes(len(arrays), confined)
    placed = source * len(equal) + equal.group_of
    groups = sorted_distinct(placed[keys])
    group_of = np.full(len(arrays), -1, dtype=np.int64)
    group_of[keys] = np.searchsorted(groups, placed[keys])
    theirs = Groups.of(keys, group_of, 2 * named.name + distinctive)
    first, sort = _sorts(arrays, equal, children, home)
    mine = Groups.of(np.flatnonzero(sort >= 0), sort, 2 * named.called + distinctive)
    samples, rows = _sampled(arrays, first.tolist())
    sampled_at = np.cumsum([0, *map(len, samples)])
    index, begin, end = _held_by(
        equal, groups, samples, np.repeat(home[first], np.diff(sampled_at))
    )
    return CandidateSearch(
        table=arrays.table,
        distinctive=distinctive,
        named=named,
        mine=mine,
        by_sort=Groups.of(np.arange(len(mine)), sort[mine.first]),
        theirs=theirs,
        by_group=Groups.of(np.arange(len(theirs)), group_of[theirs.first]),
        filled=arrays.filled[first],
        # Where all values are sampled, the rows found by the sample are all that are found.
        whole=arrays.distinct[first] <= SAMPLE_SIZE,
        sampled_at=sampled_at,
        rows=np.concatenate([np.empty(0, dtype=np.int64), *rows]),
        begin=begin,
        end=end,
        sets=index.sets,
        key_groups=len(groups),
        least=arrays.thresholds.rows,
    )


def _held_by(
    equal: EqualSets, groups: Ints, samples: Sequence[Hashes], home: Ints
) -> tuple[SketchIndex, Ints, Ints]:
    """Which key groups hold the sampled values: where those of each begin and end in the index.

    `home` is the source that each sampled value is confined to, or -1.
    """
    of_groups, width = equal.value_hashes, max(len(equal), 1)
    sets = groups % width
    distinct_sets = sorted_distinct(sets)
    index = SketchIndex(
        samples,
        of_groups.take(distinct_sets)
        if isinstance(of_groups, DistributedColumns)
        else [of_groups[group] for group in distinct_sets.tolist()],
    )
    if not np.array_equal(sets, distinct_sets):
        index.divide(np.searchsorted(distinct_sets, sets))
    every = np.concatenate([np.empty(0, dtype=np.uint64), *samples])
    begin, end = index.posting_ranges(index.places(every))
    local = np.flatnonzero(home >= 0)
    if len(local):
        bounds = np.searchsorted(groups // width, [home[local], home[local] + 1])
        begin[local], end[local] = index.within(begin[local], end[local], *bounds)
    return index, begin, end


def _sorts(
    arrays: ColumnArrays, equal: EqualSets, children: Flags, home: Ints
) -> tuple[Ints, Ints]:
    """The first column of each sort, and the sort of each column, -1 if it is none's child."""
    first: list[int] = []
    number: dict[tuple[int, bytes, int], int] = {}
    sort = np.full(len(arrays), -1, dtype=np.int64)
    filled = np.where(children, arrays.filled, 0).tolist()
    distinct = arrays.distinct.tolist()
    counts = _few_counts(arrays)
    groups = zip(equal.group_of.tolist(), home.tolist(), strict=True)
    for column, (group, at_home) in enumerate(groups):
        if filled[column] <= 0 or group < 0:
            continue
        if filled[column] == distinct[column]:
            key = (group, b"", at_home)
        elif distinct[column] <= SAMPLE_SIZE:
            key = (group, counts(column).tobytes(), at_home)
        else:  # hardly ever the same as another, and much to compare
            key = (-column - 1, b"", at_home)
        at = number.setdefault(key, len(first))
        if at == len(first):
            first.append(column)
        sort[column] = at
    return np.array(first, dtype=np.int64), sort


def _homes(size: int, confined: Confinement | None) -> tuple[Ints, Ints]:
    """The source that each column counts for as a key, and that it is confined to, or -1."""
    if confined is None or not confined.confined.any():
        return np.zeros(size, dtype=np.int64), np.full(size, -1)
    return confined.source, np.where(confined.confined, confined.source, -1)


def _sampled(arrays: ColumnArrays, columns: Sequence[int]) -> tuple[list[Hashes], list[Ints]]:
    """The sampled values of some columns, and the rows that hold each."""
    if isinstance(arrays.value_hashes, DistributedColumns):
        samples = [arrays.value_hashes.sample(column) for column in columns]
        return [hashes for hashes, _ in samples], [rows for _, rows in samples]
    found: tuple[list[Hashes], list[Ints]] = [], []
    every_counts = list(arrays.counts)
    for column in columns:
        hashes, counts = arrays.value_hashes[column], every_counts[column]
        places = sample_places(hashes, counts)
        found[0].append(hashes[places])
        found[1].append(counts[places].astype(np.int64))
    return found


def _few_counts(arrays: ColumnArrays) -> Callable[[int], Ints | Counts]:
    """Reads the counts of a column whose values are all sampled."""
    if isinstance(arrays.value_hashes, DistributedColumns):
        distributed = arrays.value_hashes
        return lambda column: distributed.sample(column)[1]
    return list(arrays.counts).__getitem__
