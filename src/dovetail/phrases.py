"""Phrases: hashes of cells that do not depend on case, accents or punctuation.

They let a question's `new york` match the cell `New York`. A cell of few words is a phrase; longer
cells are prose, which no question quotes whole. The words of a short cell are phrases of their own
kind, so that `Hartmann` finds `Hartmann & Co KG`. Text that begins and ends with a digit (numbers,
dates, codes) is looked up as it is written: its value hash stands in place of a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Ints
from dovetail.hashing import Hashes, hash_slices, mix, text_array, text_buffers

# A question quotes a name or a title, hardly ever more words in a row than this.
MOST_WORDS = 8
# A cell of two to so many words is a name or a title, each word of which may stand for it, if it
# has so many bytes.
_MOST_PARTS, LEAST_PART = 4, 4

_CELL, _PART = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x8CB92BA72F3D8DD7)
_ODD = np.uint64(0x9E3779B97F4A7C15)
# What a byte becomes: letters in lower case, 0 for whatever stands between words.
_FOLDED = bytes(b if b >= 0x80 or chr(b).isalnum() else 0 for b in range(256)).lower()
_DIGIT = np.zeros(256, dtype=np.bool_)
_DIGIT[ord("0") : ord("9") + 1] = True
_ASCII = 0x80
# Marks above and below letters, and punctuation beyond ASCII.
_MARKS, _OTHER_PUNCTUATION = r"\p{Mn}", r"[\p{P}\p{S}\p{Z}]"


def phrases(values: pa.Array, bounds: Ints) -> list[Hashes]:
    """The phrase hashes of text values without nulls, an array for each range of the bounds."""
    words, first, long = _words(values)
    counts = np.diff(first)
    cells = np.flatnonzero((counts > 0) & (counts <= MOST_WORDS))
    wholes = np.split(_phrase_hashes(words, first, cells), np.searchsorted(cells, bounds[1:-1]))
    named = np.repeat((counts > 1) & (counts <= _MOST_PARTS), counts)
    parts = np.flatnonzero(named & long)
    cuts = np.searchsorted(parts, first[bounds[1:-1]])
    return [
        np.concatenate(each)
        for each in zip(wholes, np.split(mix(words[parts] ^ _PART), cuts), strict=True)
    ]


def phrase_mask(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Which text values may be phrases: all but those that begin and end with a digit."""
    starts, lengths, data = text_buffers(values)
    if not len(data):
        return np.zeros(len(starts), dtype=np.bool_)
    last = len(data) - 1  # where a value is empty, its ends belong to another
    ends = _DIGIT[data[np.minimum(starts, last)]] & _DIGIT[data[starts + lengths - 1]]
    worth: npt.NDArray[np.bool_] = (lengths > 0) & ~ends
    return worth


def cell_phrases(texts: Sequence[str]) -> Hashes:
    """The phrase hash of each text as a cell; one without a word is like no cell.

    >>> one, other, signs = cell_phrases(["New York", " new-york!", "⿲"])
    >>> one == other, one == signs
    (np.True_, np.False_)
    """
    words, first, _ = _words(text_array(texts))
    return _phrase_hashes(words, first, np.arange(len(texts)))


def part_phrases(words: Sequence[str]) -> Hashes:
    """The phrase hash of each word as a part of a cell.

    >>> bool(part_phrases(["hartmann"])[0] in phrases(text_array(["Hartmann & Co"]), [0, 1])[0])
    True
    """
    hashes, first, _ = _words(text_array(words))
    return mix(hashes[first[:-1]] ^ _PART)


def word_phrases(words: Sequence[str]) -> tuple[Hashes, Hashes]:
    """The phrase hash of each word as a cell, and as a part of one.

    >>> cells, parts = word_phrases(["hartmann"])
    >>> bool(cells == cell_phrases(["hartmann"])), bool(parts == part_phrases(["hartmann"]))
    (True, True)
    """
    hashes, first, _ = _words(text_array(words))
    cells = _phrase_hashes(hashes, first, np.arange(len(words)))
    return cells, mix(hashes[first[:-1]] ^ _PART)


def _words(values: pa.Array) -> tuple[Hashes, Ints, npt.NDArray[np.bool_]]:
    """The hash of every word, where the words of each value begin (and the last one's end), and
    which words are long enough to stand for a cell and no numbers."""
    starts, lengths, data = text_buffers(values)
    if not len(starts):
        return np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.bool_)
    if data[int(starts[0]) : int(starts[-1] + lengths[-1])].max(initial=0) >= _ASCII:
        starts, lengths, data = text_buffers(_plain(values))
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    # A third of the time that looking numbers up in an array takes.
    folded = np.frombuffer(data[begin:end].tobytes().translate(_FOLDED), dtype=np.uint8)
    starts = starts - begin
    live = folded != 0
    opens, closes = live.copy(), live.copy()
    opens[1:] &= ~live[:-1]
    closes[:-1] &= ~live[1:]
    filled = lengths > 0  # values stand end to end: a word begins and ends with its value
    heads, tails = starts[filled], (starts + lengths - 1)[filled]
    opens[heads], closes[tails] = live[heads], live[tails]
    at = np.flatnonzero(opens)
    sizes = np.flatnonzero(closes) + 1 - at
    first = np.append(np.searchsorted(at, starts), len(at))
    return hash_slices(at, sizes, folded), first, (sizes >= LEAST_PART) & ~_DIGIT[folded[at]]


def _phrase_hashes(words: Hashes, first: Ints, cells: Ints) -> Hashes:
    """The hash of each of some values as a whole: of its words in their order."""
    counts = first[cells + 1] - first[cells]
    begins = np.cumsum(counts) - counts
    position = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(begins, counts)
    ordered = words[np.repeat(first[cells], counts) + position]
    ordered = mix(ordered + (position.astype(np.uint64) + np.uint64(1)) * _ODD)
    sums, filled = np.zeros(len(cells), dtype=np.uint64), counts > 0
    if filled.any():
        sums[filled] = np.add.reduceat(ordered, begins[filled])
    return mix(sums ^ _CELL)


def _plain(values: pa.Array) -> pa.Array:
    """Text beyond ASCII in lower case, without accents and punctuation."""
    import pyarrow.compute as pc  # takes long to load, and few values need it

    lowered = pc.utf8_lower(pc.utf8_normalize(values, "NFKD"))
    bare = pc.replace_substring_regex(lowered, _MARKS, "")
    return pc.replace_substring_regex(bare, _OTHER_PUNCTUATION, " ")
