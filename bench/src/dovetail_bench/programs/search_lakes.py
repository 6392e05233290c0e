"""Synthetic lakes for the measurement of search: clones of a catalog's tables, up to a million.

A clone has the columns of its original under varied names: a word is put behind the name of the
table and before a quarter of the columns' names. Words are drawn by Zipf's law from twenty thousand
made-up ones, so that their number grows with the lake, and most of them are rare. A column keeps up
to twenty values; a third of the columns have values of their own instead. Joins stay inside a copy.
Nothing is profiled and no text is embedded: vectors are drawn around those of the originals. All is
made with arrays, not table by table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import spans
from dovetail.catalog.records import COLUMNS, TABLES, Records
from dovetail.catalog.segment import SegmentWriter
from dovetail.catalog.writer import Content, writing
from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.search.dense import HeaderVectors
from dovetail.search.neighbours import Neighbours
from dovetail.search.values import write_values

if TYPE_CHECKING:
    from dovetail.arrays import Vectors
    from dovetail.catalog.generation import SEARCH
from dovetail.catalog.reader import CatalogReader

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

SEED, MOST_VALUES, VOCABULARY = 7, 20, 20_000
SPREAD = 0.35  # length of the noise on a vector of length one
_BLOCK = 1 << 16
_ABOUT_NOTHING = ColumnProfile(Kind.TEXT, 0, 0, False, None, None, None, None, ())


def vocabulary() -> list[str]:
    """Made-up words of two and three syllables, in an order without meaning."""
    syllables = [f"{one}{two}" for one in "bdfgklmnprstvz" for two in ("a", "e", "i", "o", "ur")]
    words = ["".join(parts) for size in (2, 3) for parts in product(syllables, repeat=size)]
    chosen = np.random.default_rng(SEED).permutation(len(words))[:VOCABULARY]
    return [words[place] for place in chosen.tolist()]


def around(vectors: Vectors, places: Ints) -> Iterator[Vectors]:
    """A vector near the original at each place, some at a time."""
    drawn = np.random.default_rng(SEED)
    for start in range(0, len(places), _BLOCK):
        part = vectors[places[start : start + _BLOCK]]
        noise = drawn.standard_normal(part.shape, dtype=np.float32)
        near = part + SPREAD * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        yield near / np.linalg.norm(near, axis=1, keepdims=True)


def written_around(path: Path, vectors: Vectors, places: Ints, kind: Any) -> npt.NDArray[Any]:
    """The same in a file, mapped into memory."""
    shape = (len(places), vectors.shape[1])
    made = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)
    at = 0
    for part in around(vectors, places):
        made[at : at + len(part)] = part
        at += len(part)
    made.flush()
    mapped: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return mapped


@dataclass(frozen=True)
class _Ragged:
    """Lists of hashes, one behind the other."""

    hashes: Hashes
    starts: Ints

    @classmethod
    def of(cls, lists: list[Hashes]) -> _Ragged:
        lengths = [len(one) for one in lists]
        return cls(np.concatenate(lists), np.append(0, np.cumsum(lengths)))

    def cloned(self, columns: Ints, odd: Hashes) -> tuple[Hashes, Ints]:
        """The lists of some columns and their lengths; an odd factor makes other values of them."""
        starts, ends = self.starts[columns], self.starts[columns + 1]
        lengths = ends - starts
        found = self.hashes[spans(starts, ends)] * np.repeat(odd, lengths)
        changed = np.flatnonzero(np.repeat(odd != 1, lengths))
        column = np.repeat(np.arange(len(columns)), lengths)[changed]
        found[changed] = found[changed][np.lexsort((found[changed], column))]
        return found, lengths


class Lake:
    """So many clones of the tables of a catalog, in the order of their ids."""

    def __init__(self, sample: CatalogReader, count: int) -> None:
        self._sample = sample
        drawn, words = np.random.default_rng(SEED), np.array(vocabulary(), dtype=object)
        copy, original = np.divmod(np.arange(count), len(sample))
        table_word = _zipf(drawn, count)
        plain = [table.name for table in sample.ids]
        names = [
            f"{plain[at]}_{word}" if number else plain[at]
            for number, at, word in zip(
                copy.tolist(), original.tolist(), words[table_word], strict=True
            )
        ]
        labels = [table.source for table in sample.ids]
        sources = [
            f"{n:05}/{labels[at]}" for n, at in zip(copy.tolist(), original.tolist(), strict=True)
        ]
        order = np.array(sorted(range(count), key=lambda at: (sources[at], names[at])))
        self.copy, self.original, self._table_word = copy[order], original[order], table_word[order]
        self.sources = [sources[at] for at in order.tolist()]
        self.names = [names[at] for at in order.tolist()]
        bounds = np.asarray(sample.records.bounds)
        first, last = bounds[self.original], bounds[self.original + 1]
        self.bounds = np.append(0, np.cumsum(last - first))
        # Per column of the lake: that of the original, its word, and what its values are times.
        self.column = spans(first, last)
        total = len(self.column)
        in_copy = np.repeat(self.copy, last - first)
        varied = (in_copy > 0) & (drawn.random(total) < 1 / 4)
        self._column_word = np.where(varied, _zipf(drawn, total), -1)
        own = (in_copy > 0) & (drawn.random(total) < 1 / 3)
        self._odd = np.where(own, 2 * in_copy + 1, 1).astype(np.uint64)
        said = sample.records.columns["name"].to_pylist()
        self.column_names = [
            said[at] if word < 0 else f"{words[word]}_{said[at]}"
            for at, word in zip(self.column.tolist(), self._column_word.tolist(), strict=True)
        ]

    def write(self, path: Path, index: Callable[[Path], None]) -> CatalogReader:
        """The clones as a catalog, with the search index that a function writes."""
        manifest = self._sample.manifest
        with writing(path) as writer, writer.staging() as folder:
            with SegmentWriter(folder) as segment:
                records = self._records(segment)
                name = segment.finish(records, manifest.profile)
            adopted = writer.adopt(folder, name)
            records = records.with_column("segment", [name] * len(records))
            content = Content(records, {name: adopted}, manifest.profile, manifest.roots, ())
            draft = writer.draft(content)
            write_values(draft)
            draft.write(SEARCH, "", index)
            return draft.commit()

    def _records(self, segment: SegmentWriter) -> Records:
        hashes_at, distinct = self._hashes(segment)
        phrases_at, phrases = self._phrases(segment)
        count, total = len(self.names), len(self.column)
        tables = self._sample.records.tables.take(pa.array(self.original))
        columns = self._sample.records.columns.take(pa.array(self.column))
        given: dict[str, Any] = {
            "source": self.sources, "name": self.names, "digest": list(map(str, self.original)),
            "root": [self._sample.manifest.roots[0].label] * count, "token": [""] * count,
            "sample": [[]] * count, "keys": [""] * count, "comment": [""] * count,
        }  # fmt: skip
        for name, values in given.items():
            tables = _with(tables, TABLES, name, values)
        placed: dict[str, Any] = {
            "name": self.column_names, "hashes_at": hashes_at, "distinct": distinct,
            "counts_at": [None] * total, "phrases_at": phrases_at, "phrases": phrases,
            "comment": [""] * total, "views": [[]] * total,
        }  # fmt: skip
        for name, values in placed.items():
            columns = _with(columns, COLUMNS, name, values)
        return Records(tables, columns)

    def _hashes(self, segment: SegmentWriter) -> tuple[Ints, Ints]:
        return self._placed(
            self._value_lists,
            lambda some: segment.add_value_hashes([(some, np.ones(len(some), np.uint32))])[1],
        )

    def _phrases(self, segment: SegmentWriter) -> tuple[Ints, Ints]:
        return self._placed(self._phrase_lists, lambda some: segment.add_phrases([some])[0])

    def _placed(self, lists: _Ragged, write: Any) -> tuple[Ints, Ints]:
        """Where the hashes of every column begin, as they are written, and how many they are."""
        starts, lengths = [], []
        for a, b in pairwise([*range(0, len(self.column), _BLOCK), len(self.column)]):
            found, each = lists.cloned(self.column[a:b], self._odd[a:b])
            starts.append((write(found) if len(found) else 0) + np.cumsum(each) - each)
            lengths.append(each)
        return np.concatenate(starts), np.concatenate(lengths)

    @cached_property
    def _value_lists(self) -> _Ragged:
        hashes, _ = self._sample.value_hashes()
        return _Ragged.of([one[:MOST_VALUES] for one in hashes])

    @cached_property
    def _phrase_lists(self) -> _Ragged:
        every = range(len(self._sample.records.columns))
        return _Ragged.of([one[:MOST_VALUES] for one in self._sample.phrases(every)])

    def values(self) -> Iterator[tuple[Hashes, Ints]]:
        """All value hashes, each with its column, some columns at a time."""
        for a, b in pairwise([*range(0, len(self.column), _BLOCK), len(self.column)]):
            found, lengths = self._value_lists.cloned(self.column[a:b], self._odd[a:b])
            yield found, np.repeat(np.arange(a, b), lengths)

    def tables(self) -> Iterator[Table]:
        """The tables by their names and their columns' names alone."""
        ends = self.bounds.tolist()
        for place, (source, name) in enumerate(zip(self.sources, self.names, strict=True)):
            named = self.column_names[ends[place] : ends[place + 1]]
            columns = tuple(Column(each, "", _ABOUT_NOTHING) for each in named)
            yield Table(TableId(source, name), columns, 0, (), "")

    def neighbours(self, joined: Neighbours) -> Neighbours:
        """The joins of the originals, inside every copy."""
        size = len(self._sample)
        place = np.full((int(self.copy.max()) + 1, size), -1)
        place[self.copy, self.original] = np.arange(len(self.copy))
        one = np.repeat(np.arange(size), np.diff(joined.starts))
        left, right = place[:, one].reshape(-1), place[:, joined.other].reshape(-1)
        score = np.broadcast_to(joined.score, (len(place), len(one))).reshape(-1)
        there = (left >= 0) & (right >= 0)
        left, right, score = left[there], right[there], score[there]
        order = np.lexsort((right, left))
        starts = np.searchsorted(left[order], np.arange(len(self.copy) + 1))
        return Neighbours(starts, right[order].astype(np.int32), score[order])

    def headers(self, vectors: Vectors, path: Path) -> HeaderVectors:
        """A vector for each header that differs from the others, around the original's."""
        table_word = np.repeat(self._table_word, np.diff(self.bounds))
        key = (self.column * VOCABULARY + table_word) * (VOCABULARY + 1) + self._column_word + 1
        _, first, codes = np.unique(key, return_index=True, return_inverse=True)
        made = written_around(path, vectors, self.column[first], np.float16)
        return HeaderVectors(made, codes.astype(np.int32))


def _zipf(drawn: np.random.Generator, count: int) -> Ints:
    """Places in the vocabulary, the n-th about n times as rare as the first."""
    return (VOCABULARY ** drawn.random(count)).astype(np.int64) - 1


def _with(table: pa.Table, schema: pa.Schema, name: str, values: Any) -> pa.Table:
    field = schema.field(name)
    return table.set_column(schema.get_field_index(name), field, pa.array(values, field.type))


def _bitmap(columns: npt.NDArray[np.int32], total: int) -> npt.NDArray[np.uint8]:
    flags = np.zeros(total, dtype=np.bool_)
    flags[columns] = True
    return np.packbits(flags)
