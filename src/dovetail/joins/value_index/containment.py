"""Which columns of an index segment contain some values, and which are contained in them?

Few columns come into question. A superset must be in the posting lists of a few rare values; a
subset must have its smallest hash among the values. Bitmap signatures decide over the frequent
values; rare values are counted in the posting lists only if a column is left that they can decide.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Ints, found_in, spans
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.signatures import BitWords, as_words

# Rare and frequent values with which columns are tried first.
_RARE_TRIED, _FREQUENT_TRIED = 16, 64
# Signatures that are compared together, so few that they stay in the processor's cache.
_BLOCK = 512

# Says of some columns of a segment which of them are wanted.
Wanted = Callable[[Ints], Flags]


def supersets_and_subsets(
    segment: IndexSegment, values: Hashes, wanted: Wanted
) -> tuple[Ints, Ints]:
    """Of the wanted columns, those that hold all of the values, and those that hold no others.

    With no values at all, both are empty.
    """
    bitmaps, places = segment.frequent_rows(values)
    rare = np.delete(values, places)
    supersets = _supersets(segment, rare, bitmaps, wanted)
    subsets = _subsets(segment, values, bitmaps, wanted)
    if segment.rare_count[subsets].any() or (len(supersets) and len(rare) > _RARE_TRIED):
        held = segment.count_rare(rare)
        supersets = supersets[held[supersets] == len(rare)]
        subsets = subsets[held[subsets] == segment.rare_count[subsets]]
    return supersets, subsets


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
