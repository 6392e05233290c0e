"""Which columns of an index segment contain some values, and which are contained in them?

Few columns come into question. A superset must be in the posting lists of a few rare values; a
subset must have its smallest hash among the values. Bitmap signatures decide over the frequent
values; rare values are counted in the posting lists only if a column is left that they can decide,
and it is not quicker to read the values of such columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.arrays import Flags, Ints, found_in, spans
from dovetail.hashing import Hashes
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.signatures import BitWords, as_words

# Rare and frequent values with which columns are tried first.
_RARE_TRIED, _RARE_NEXT, _FREQUENT_TRIED = 16, 64, 64
# Columns of so many values, for each value that would be looked up, are quicker read themselves: a
# lookup is in four places of the index, most of which nobody has read yet.
_OWN_VALUES = 16
# Signatures that are compared together, so few that they stay in the processor's cache.
_BLOCK = 512

# Says of some columns of a segment which of them are wanted.
Wanted = Callable[[Ints], Flags]
# All values of a column of a segment.
ValueHashes = Callable[[int], Hashes]


def supersets_and_subsets(
    segment: IndexSegment, values: Hashes, wanted: Wanted, value_hashes: ValueHashes
) -> tuple[Ints, Ints]:
    """Of the wanted columns, those that hold all of the values, and those that hold no others.

    With no values at all, both are empty. `value_hashes` reads all values of a column.
    """
    bitmaps, places = segment.frequent_rows(values)
    rare = np.delete(values, places)
    supersets = _supersets(segment, rare, bitmaps, wanted)
    subsets = _subsets(segment, values, bitmaps, wanted)
    undecided = np.flatnonzero(segment.rare_count[subsets])
    columns = subsets[undecided]
    if segment.distinct[columns].sum() > _OWN_VALUES * len(rare):
        held = segment.count_rare(rare)
        supersets = supersets[held[supersets] == len(rare)]
        return supersets, subsets[held[subsets] == segment.rare_count[subsets]]
    contained = [_all_among(value_hashes(column), values) for column in columns.tolist()]
    subsets = np.delete(subsets, undecided[~np.array(contained, dtype=np.bool_)])
    return _holding_all(segment, rare[_RARE_TRIED:], supersets), subsets


def _holding_all(segment: IndexSegment, rare: Hashes, columns: Ints) -> Ints:
    """Those of some columns that hold all of some rare values; a few of these are tried first."""
    for some in (rare[:_RARE_NEXT], rare[_RARE_NEXT:]):
        if len(some) and len(columns):
            columns = columns[segment.count_rare(some)[columns] == len(some)]
    return columns


def _all_among(mine: Hashes, values: Hashes) -> bool:
    """Whether a column's values are all among some; its first ones are tried before all are."""
    return bool(found_in(mine[:_RARE_NEXT], values).all() and found_in(mine, values).all())


def _supersets(segment: IndexSegment, rare: Hashes, bitmaps: Ints, wanted: Wanted) -> Ints:
    """Columns that hold all of the frequent values and a few of the rare ones."""
    starts, ends = segment.posting_ranges(rare[:_RARE_TRIED])
    if not len(rare) + len(bitmaps) or (starts == ends).any():
        return np.empty(0, dtype=np.int64)
    if len(rare):
        held = np.bincount(segment.columns[spans(starts, ends)], minlength=len(segment))
        columns = np.flatnonzero(held == len(starts))
    else:
        common = np.bitwise_and.reduce(segment.bitmaps[bitmaps[:_FREQUENT_TRIED]], axis=0)
        columns = np.flatnonzero(segment.unpacked(common))
    columns = columns[segment.distinct[columns] >= len(rare) + len(bitmaps)]
    columns = columns[wanted(columns)]
    if len(columns) and (len(rare) or len(bitmaps) > _FREQUENT_TRIED):
        mine = as_words(segment.signatures.rank[bitmaps])
        places = segment.signatures.place[columns]
        columns = columns[
            _no_bit_left(segment.signatures.words, places, lambda words: mine & ~words, len(mine))
        ]
    return columns


def _subsets(segment: IndexSegment, values: Hashes, bitmaps: Ints, wanted: Wanted) -> Ints:
    """Columns with no other frequent values, whose smallest hashes are among the values."""
    signatures = segment.signatures
    starts = np.searchsorted(signatures.first, values)
    held = np.flatnonzero(starts < len(signatures.first))
    held = held[signatures.first[starts[held]] == values[held]]
    ends = np.searchsorted(signatures.first, values[held], side="right")
    places = spans(starts[held], ends)
    if not len(places):
        return places
    mine = as_words(signatures.rank[bitmaps])
    places = places[signatures.width[places] <= len(mine)]
    columns = signatures.column[places]
    likely = (segment.distinct[columns] <= len(values)) & wanted(columns)
    places, columns = places[likely], columns[likely]
    fits = _no_bit_left(signatures.words, places, lambda words: words & ~mine, len(mine))
    places, columns = places[fits], columns[fits]
    undecided = np.flatnonzero(segment.rare_count[columns])
    smallest = found_in(signatures.smallest[places[undecided]], values)
    return np.delete(columns, undecided[~smallest.all(axis=1)])


def _no_bit_left(
    words: BitWords, places: Ints, masked: Callable[[BitWords], BitWords], width: int
) -> Flags:
    """The signatures of whose first words no bit is left after masking."""
    found = np.zeros(len(places), dtype=np.bool_)
    for at in range(0, len(places), _BLOCK):
        block = masked(words[:, :width][places[at : at + _BLOCK]])
        found[at : at + _BLOCK] = np.bitwise_or.reduce(block, axis=1) == 0
    return found
