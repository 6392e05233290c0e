"""The inverted index from values to columns: which columns hold a cell that reads like a span?

Text is looked up by its phrases, other values by their hashes. There are postings for each segment
of the catalog, of all its columns but the large ones, which are looked up where they are. A segment
never changes, so neither do its postings: an update makes only those of the segments that it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Ints, found_in, sorted_pairs
from dovetail.catalog.generation import VALUES, Part
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.catalog.segment import ArrayFile, Segment
from dovetail.domain import Kind
from dovetail.errors import DamagedError
from dovetail.hashing import Hashes, hash_text, text_array
from dovetail.memory import within

if TYPE_CHECKING:
    from dovetail.catalog.writer import Draft

# Raised whenever the same segment would be written differently.
_VERSION = 3
_HASHES, _COLUMNS, _STARTS = "hashes.npy", "columns.npy", "starts.npy"
# Postings below this size are merged and searched as one.
_SMALL = 1 << 18
# A column of more values is looked up in its segment: postings would hold all of them again.
_LARGE = 1 << 17
# Values that one step of the sort may hold in memory.
_MOST_SORTED = 1 << 23


@dataclass(frozen=True, slots=True)
class _Postings:
    """Sorted hashes, with the number of a column for each; `starts` names the columns."""

    hashes: Hashes
    column: npt.NDArray[np.uint32]
    starts: Ints


class ValueIndex:
    """The columns of a catalog by the values in them, numbered through the tables in order."""

    def __init__(
        self,
        postings: Sequence[tuple[_Postings, Ints]],
        keyed: Callable[[Hashes], Hashes] = lambda hashes: hashes,
        large: Sequence[tuple[Hashes, int]] = (),
    ) -> None:
        self._postings, self._keyed, self._large = postings, keyed, large

    @classmethod
    def of(cls, catalog: CatalogReader) -> ValueIndex:
        """The index of a catalog, from the postings of its segments."""
        listed = []
        large: list[tuple[Hashes, int]] = []
        for name, every, places in _by_segment(catalog):
            segment, few = catalog.segment(name), places[2] <= _LARGE
            large += zip(
                (
                    segment.searched(at, length, phrases=bool(text))
                    for at, length, text in places[1:, ~few].T.tolist()
                ),
                every[~few].tolist(),
                strict=True,
            )
            number, columns = every[few], places[:, few]
            part, starts = catalog.part(f"{VALUES}{name}"), columns[0]
            postings = _load(part, starts)
            if postings is None:
                raise part.damaged(_HASHES, "it lacks columns of the catalog")
            column = np.full(len(postings.starts), -1, dtype=np.int64)
            column[np.searchsorted(postings.starts, starts)] = number
            listed.append((postings, column))
        return cls(_merged(listed), catalog.keyed, large)

    def columns_holding(self, hashes: Hashes) -> tuple[Ints, Ints]:
        """Pairs of an index into the hashes and a column that holds it, in order."""
        hashes = self._keyed(hashes)
        indices, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for postings, number in self._postings:
            first = np.searchsorted(postings.hashes, hashes)
            within = np.flatnonzero(first < len(postings.hashes))
            there = within[postings.hashes[first[within]] == hashes[within]]
            if not len(there):
                continue
            first = first[there]
            counts = np.searchsorted(postings.hashes, hashes[there], side="right") - first
            index = np.repeat(there, counts)
            at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(index))
            numbers_there = postings.column[at]
            if len(numbers_there) and int(numbers_there.max()) >= len(number):
                raise DamagedError("the index of values is damaged; make it again: dovetail index")
            column = number[numbers_there]
            indices.append(index[column >= 0])
            columns.append(column[column >= 0])
        for values, of in self._large:
            there = np.flatnonzero(found_in(hashes, values))
            indices.append(there)
            columns.append(np.full(len(there), of))
        return sorted_pairs(np.concatenate(indices), np.concatenate(columns))


def _merged(listed: Sequence[tuple[_Postings, Ints]]) -> Sequence[tuple[_Postings, Ints]]:
    """The same postings with the small ones merged, since a lookup searches each of them."""
    small = [(postings, number) for postings, number in listed if len(postings.hashes) < _SMALL]
    large = [(postings, number) for postings, number in listed if len(postings.hashes) >= _SMALL]
    if len(small) < 2:
        return listed
    hashes = np.concatenate([postings.hashes for postings, _ in small])
    number = np.concatenate([number[postings.column] for postings, number in small])
    order = np.argsort(hashes, kind="stable")
    row = np.arange(len(hashes), dtype=np.uint32)
    return [*large, (_Postings(hashes[order], row, number[:0]), number[order])]


def write_values(draft: Draft) -> None:
    """Add the postings of every segment to a generation."""
    for segment, _, places in _by_segment(draft.catalog):
        listed = places[:, places[2] <= _LARGE]
        name, key = f"{VALUES}{segment}", f"{_VERSION} {segment}"
        part = draft.kept(name, key)
        if part is None or _load(part, listed[0]) is None:
            searched = _searched_by(draft.catalog.segment(segment), listed)
            draft.write(name, key, partial(_write, value_hashes=searched, starts=listed[0]))


def _by_segment(catalog: CatalogReader) -> Iterator[tuple[str, Ints, Ints]]:
    """The columns of each segment that hold values: their numbers, and where to read them.

    The latter has a row each for where the values of a column begin, which names the column; where
    what it is searched by begins; how many of these there are; and whether they are phrases.
    """
    records = catalog.records
    columns = ("kept", "hashes_at", "phrases", "phrases_at")
    kept, hashes_at, phrases, phrases_at = (numbers(records.columns[name]) for name in columns)
    kinds = hash_text(records.columns["kind"].combine_chunks())
    text = kinds == hash_text(text_array([Kind.TEXT]))
    length = np.where(text, phrases, kept)
    listed = np.stack([hashes_at, np.where(text, phrases_at, hashes_at), length, text])
    segments = records.tables["segment"].to_pylist()
    number_of = {name: at for at, name in enumerate(sorted(set(segments)))}
    of_table = np.array([number_of[name] for name in segments], dtype=np.int32)
    of_column = np.repeat(of_table, np.diff(records.bounds))
    for name, segment_number in number_of.items():
        number = np.flatnonzero((of_column == segment_number) & (length > 0))
        number = number[np.argsort(hashes_at[number])]
        yield name, number, listed[:, number]


def _searched_by(segment: Segment, listed: Ints) -> list[Hashes]:
    """What columns of a segment are searched by, read as `_by_segment` lists them."""
    ranges = zip(*listed[1:].tolist(), strict=True)
    return [
        segment.phrases(at, length) if text else segment.hashes(at, length)
        for at, length, text in ranges
    ]


def _load(part: Part, starts: Ints) -> _Postings | None:
    """The postings in a part; None if they lack a column. They are mapped and read in small part,
    so they are not compared with their checksums."""
    hashes, column, listed = (
        part.array(name, check=False) for name in (_HASHES, _COLUMNS, _STARTS)
    )
    sound = [array.dtype.str for array in (hashes, column, listed)] == ["<u8", "<u4", "<i8"]
    sound = sound and hashes.shape == column.shape
    sound = sound and (np.array_equal(starts, listed) or bool(np.isin(starts, listed).all()))
    # Those of large postings are compared with their bounds at each lookup instead.
    if sound and (len(column) >= _SMALL or np.all(column < len(listed))):
        return _Postings(hashes, column, listed)
    return None


def _write(folder: Path, value_hashes: Sequence[Hashes], starts: Ints) -> None:
    """Write the sorted values of a segment's columns into a folder."""
    with (
        ArrayFile(folder / _HASHES, "<u8") as hashes,
        ArrayFile(folder / _COLUMNS, "<u4") as columns,
    ):
        for values, numbers in _sorted(value_hashes):
            hashes.append(values)
            columns.append(numbers)
    np.save(folder / _STARTS, starts)


def _sorted(columns: Sequence[Hashes]) -> Iterator[tuple[Hashes, npt.NDArray[np.uint32]]]:
    """All values in order, each with the number of its column, in pieces that fit into memory."""
    # Hashes are evenly spread, so equal ranges of them hold about equally many.
    pieces = 1 + sum(map(len, columns)) // within(_MOST_SORTED)
    edges = np.array([(1 << 64) * piece // pieces for piece in range(1, pieces)], dtype=np.uint64)
    cuts = [[0, *np.searchsorted(one, edges).tolist(), len(one)] for one in columns]
    for piece in range(pieces):
        parts = [one[cut[piece] : cut[piece + 1]] for one, cut in zip(columns, cuts, strict=True)]
        column = np.repeat(np.arange(len(parts), dtype=np.uint32), [len(part) for part in parts])
        hashes = np.concatenate([np.empty(0, np.uint64), *parts])
        order = np.argsort(hashes, kind="stable")
        yield hashes[order], column[order]
