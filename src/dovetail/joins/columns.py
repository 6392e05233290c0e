"""A catalog as join evidence sees it: one array per fact, with an entry for each column.

Columns are numbered through all tables, in the order of the tables' ids. Their values are read by
passes (`engines/passes.py`), which may run in other processes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

import numpy as np
import pyarrow as pa

from dovetail.arrays import Counts, Encoded, Flags, Floats, Ints, firsts
from dovetail.catalog.descriptions import written_texts
from dovetail.catalog.files import staging_folder
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import StoredForm, numbers
from dovetail.catalog.values import StoredValues
from dovetail.domain import JoinEdge, Kind, TableId
from dovetail.domain.sql import PUNCTUATION
from dovetail.domain.tables import NUMBERS, TIMES
from dovetail.engines.passes import Elsewhere, Passes, Workers, opened_here
from dovetail.hashing import Hashes
from dovetail.joins.calendars import covers_days
from dovetail.joins.parts import find_parts, merged
from dovetail.joins.sketches import SetFacts, SketchLookup, holding, ranges_of, set_facts
from dovetail.names.codes import are_codes
from dovetail.names.conventions import naming_conventions
from dovetail.names.labels import in_words
from dovetail.names.references import refers
from dovetail.names.table_name import entity, qualifier, unqualified, without_affixes
from dovetail.names.words import (
    core,
    identifies,
    own_prefixes,
    without_table_prefix,
)
from dovetail.ports import Json

# A day, a month or a quarter as people write it, with the time of day or without.
_PERIOD = re.compile(
    r"\d{4}[-/.](0?[1-9]|1[0-2]|[Qq][1-4])([-/.]\d{1,2}([ T].*)?)?"
    r"|(0?[1-9]|[12]\d|3[01])[-/.](0?[1-9]|[12]\d|3[01])[-/.](\d\d|\d{4})([ T].*)?"
    r"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?(\.0)?"
)
# Codes from which on the half of them is no chance, and that half.
_MANY_CODES, _PARTIAL = 20, 0.5
# How many numbers, and from which on, are codes, if no more than this share of all between them.
_SOME, _LONG, _SPARSE = 10, 100_000, 0.25
# A number behind letters, without punctuation.
_NUMBERED = re.compile(r"[A-Za-z]*(\d{1,18})")
_GONE = str.maketrans("", "", PUNCTUATION)
_LETTERS = re.compile(r"[^\W\d_]*")
_WORD = r"^\S{4,}$"
# Tables with no more rows than these say nothing by their values.
HARDLY_ANY = 5


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What still counts, in noisy data, as a foreign key and as a key.

    `rows`: the least share of a column's rows that must be found in the key it refers to.
    `unique`: the least share of distinct values in a key.
    `sources`: whether of keys that look alike the one of the same source is preferred; None leaves
    it to the catalog, whose settings decided as it was made (`join_sources`).
    """

    rows: float = 0.7
    unique: float = 0.8
    sources: bool | None = None

    def resolved(self, catalog: CatalogReader) -> Thresholds:
        """The same, with nothing left to the catalog."""
        sources = not catalog.manifest.pooled if self.sources is None else self.sources
        return replace(self, sources=sources)


DEFAULT_THRESHOLDS = Thresholds()


# Those of its arrays that have an entry for each column.
_PER_COLUMN = (
    *("table", "position", "first", "number", "text", "filled", "distinct", "unique", "key"),
    *("low", "high", "period", "days", "codes", "words"),
)
_TEXTS = ("name", "called", "prefix", "column_labels")


@dataclass(frozen=True, slots=True)
class ColumnArrays:
    """Tables and their columns. Per table: `ids`, `rows`, `table_labels` and `estimated`. Per
    column: the rest. A label stands for a cryptic name, and is empty for none.

    `table` is the number of a column's table, `position` its index there, `first` flags the
    first column of each but for those before it that are the same in all rows. `called` is its
    name without a prefix that nearly all columns of its table have. `number` flags columns of
    numbers, `text` those that the source keeps as something else: padded, or behind a prefix.
    `filled` counts the rows with a value; `low` and `high` are NaN unless the column holds
    numbers, or text that reads as such, behind letters or not. `key` columns are unique but for
    a few rows entered twice. `values` are the distinct values of each. `period` flags days and
    months, `days` those of a calendar: each row has another, and hardly one is left out.
    `codes` flags text that chance does not make twice, such as policy numbers and e-mail
    addresses: it means the same wherever it occurs; `words` flags text of one word in each row.
    `estimated` flags tables that only a sample was read of, and is None if all were read whole.
    `prefix` are the letters that a column's smallest value begins with. `whole` is the number
    of the table that each table is a part of, its own for one that is kept in parts, else -1.
    """

    ids: Sequence[TableId]
    rows: Ints
    table: Ints
    position: Ints
    first: Flags
    name: Sequence[str]
    called: Sequence[str]
    number: Flags
    text: Flags
    filled: Ints
    distinct: Ints
    unique: Flags
    key: Flags
    low: Floats
    high: Floats
    values: ValueSets
    period: Flags
    days: Flags
    codes: Flags
    words: Flags
    prefix: Sequence[str]
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    table_labels: Sequence[str] | None = None
    column_labels: Sequence[str] | None = None
    estimated: Flags | None = None
    whole: Ints | None = None

    def __len__(self) -> int:
        return len(self.table)

    def take(self, columns: Ints) -> ColumnArrays:
        """Some of the columns, of all tables."""
        some: dict[str, Any] = {name: getattr(self, name)[columns] for name in _PER_COLUMN}
        for name in _TEXTS:
            if (texts := getattr(self, name)) is not None:
                some[name] = [texts[column] for column in columns.tolist()]
        return replace(self, values=self.values.take(columns), **some)

    def followed_by(self, others: ColumnArrays) -> ColumnArrays:
        """The columns, and after them others of the same passes."""
        both: dict[str, Any] = {
            name: np.append(getattr(self, name), getattr(others, name)) for name in _PER_COLUMN
        }
        for name in _TEXTS:
            if (texts := getattr(self, name)) is not None:
                both[name] = [*texts, *getattr(others, name)]
        numbers = np.append(self.values.numbers, others.values.numbers)
        return replace(self, values=ValueSets(self.values.passes, numbers), **both)

    @property
    def tables(self) -> Ints:
        """The table of each column, the whole one for a column of a part."""
        if self.whole is None:
            return self.table
        whole = self.whole[self.table]
        return np.where(whole >= 0, whole, self.table)

    @property
    def children(self) -> Flags:
        """Which columns may refer to others; what is kept in parts does so by its parts."""
        if self.whole is None:
            return np.ones(len(self), dtype=np.bool_)
        may: Flags = self.whole[self.table] != self.table
        return may

    @property
    def least_rows(self) -> Floats:
        """The share of each column's rows that a key must hold: of codes, which no chance puts into
        another column, half are enough, as two systems never have all the same customers."""
        rows = self.thresholds.rows
        least = np.full(len(self), rows)
        least[self.codes & (self.distinct >= _MANY_CODES)] = min(rows, _PARTIAL)
        return least

    @property
    def table_names(self) -> list[str]:
        """The names of the tables, without the letters that all of a schema begin or end with."""
        schemas: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, each in enumerate(self.ids):
            schemas[each.source, qualifier(each.name)].append(number)
        names = [table.name for table in self.ids]
        for tables in schemas.values():
            last = [unqualified(names[table]) for table in tables]
            for table, own, name in zip(tables, last, without_affixes(last), strict=True):
                names[table] = names[table].removesuffix(own) + name
        return names

    @property
    def spoken_tables(self) -> list[str]:
        """What the tables are called in words: by their labels, or else by their names."""
        return _either(self.table_labels, self.table_names)

    @property
    def spoken_columns(self) -> list[str]:
        """What the columns are called in words: by their labels, or else as they are called."""
        return _either(self.column_labels, self.called)

    def conventions(self, names: Encoded[str] | None = None) -> Floats:
        """The naming conventions of the tables; `names` are the columns', if encoded already."""
        first_keys = np.flatnonzero(self.first & self.unique)
        columns = names or Encoded.of(self.name)
        return naming_conventions(columns, self.table, first_keys, self.table_names)

    @classmethod
    def of(
        cls,
        catalog: CatalogReader,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        passes: ValuePasses[Any] | None = None,
    ) -> ColumnArrays:
        """All tables of a catalog, in the order of their ids.

        `passes` run over the values of its columns; in this process, unless given.
        """
        tables, columns = catalog.records.tables, catalog.records.columns
        rows = tables["rows"].to_numpy().astype(np.int64)
        widths = tables["columns"].to_numpy().astype(np.int64)
        table = np.repeat(np.arange(len(rows)), widths)
        starts = np.repeat(np.cumsum(widths) - widths, widths)
        number = np.array([k in NUMBERS for k in columns["kind"].to_pylist()], dtype=np.bool_)
        filled = rows[table] - columns["nulls"].to_numpy()
        distinct = columns["distinct"].to_numpy()
        unique = columns["unique"].to_numpy(zero_copy_only=False)
        sampled = np.array([text != "" for text in tables["estimated"].to_pylist()], dtype=np.bool_)
        # A sample of a column may be without repetition where the column is not, and what a sketch
        # lacks the column may have.
        credible = (~sampled[table] | unique) & (columns["kept"].to_numpy() == distinct)
        passes = passes or ValuePasses(CatalogValues(catalog))
        period = _periods(columns, filled)
        called, table_labels, column_labels = labelled(catalog)
        return cls(
            ids=catalog.ids,
            rows=rows,
            table=table,
            position=np.arange(len(table)) - starts,
            first=_firsts(table, (distinct <= 1) & (rows[table] > 1)),
            name=columns["name"].to_pylist(),
            called=called,
            table_labels=table_labels,
            column_labels=column_labels,
            number=number,
            text=~number,
            filled=filled,
            distinct=distinct,
            unique=unique,
            key=(distinct > 0) & (distinct >= thresholds.unique * filled) & credible,
            estimated=sampled if sampled.any() else None,
            low=_ends(columns, number, "minimum"),
            high=_ends(columns, number, "maximum"),
            values=ValueSets(passes, np.arange(len(table))),
            period=period,
            days=_days(columns, period & unique),
            codes=_codes(columns["examples"], number, distinct) | _long_numbers(columns, distinct),
            words=~number & (_share_like(columns["examples"].combine_chunks(), _WORD) == 1.0),
            prefix=[_letters(text) for text in columns["minimum"].to_pylist()],
            thresholds=thresholds.resolved(catalog),
        )


class ColumnValues(Protocol):
    """The value sets of columns by number: sorted hashes, and how many rows hold each value.

    Per set: how many `distinct` values it has, and how many rows are `filled`. Of a large set that
    is no candidate key the hashes are a sketch.
    """

    @property
    def distinct(self) -> Ints: ...

    @property
    def filled(self) -> Ints: ...

    def hashes(self, number: int) -> Hashes:
        """The sorted hashes of a set."""
        ...

    def counts(self, number: int) -> Counts:
        """In how many rows each of them occurs."""
        ...


class Closeable(Protocol):
    """What can be closed."""

    def close(self) -> None: ...


Opened = TypeVar("Opened", bound=Closeable)


class CatalogValues(StoredValues):
    """The value sets of a catalog, and after them the keys of tables that are kept in `parts`, and
    these under transforms: `parted` are the index of the table among these and the columns of each
    key. `forms` are all values under transforms, with their numbers.
    """

    def __init__(self, catalog: CatalogReader) -> None:
        tables, columns = catalog.records.tables, catalog.records.columns
        super().__init__(
            catalog.records, {n: catalog.segment(n) for n in set(tables["segment"].to_pylist())}
        )
        self.catalog = catalog
        widths = numbers(tables["columns"])
        filled = np.repeat(numbers(tables["rows"]), widths) - numbers(columns["nulls"])
        column = np.array([each.column for each in self.normalized], dtype=np.int64)
        sizes = np.array([each.distinct for each in self.normalized], dtype=np.int64)
        # Every pass reads all sets: to take a part of a mapped file again costs more than to keep.
        self._read: list[Hashes | None] = [None] * (len(filled) + len(column))
        self._opened: dict[Any, Any] = {}
        self.parts = find_parts(catalog.records)
        self.parted: list[tuple[int, list[int]]] = []
        self._merged: list[tuple[Hashes, Counts]] = []
        for number, part in enumerate(self.parts):
            for key in part.keys:
                values = self._together(key)
                if values is not None:
                    self.parted.append((number, key))
                    self._merged.append(values)
        self.forms = list(enumerate(self.normalized, len(filled)))
        self.forms += self._forms_of_parts(len(filled))
        distinct = np.array([len(hashes) for hashes, _ in self._merged], dtype=np.int64)
        rows = np.array([int(counts.sum()) for _, counts in self._merged], dtype=np.int64)
        self.distinct: Ints = np.concatenate([numbers(columns["distinct"]), sizes, distinct])
        self.filled: Ints = np.concatenate([filled, filled[column], rows])

    def _together(self, sets: Sequence[int]) -> tuple[Hashes, Counts] | None:
        """The values of a key of all parts."""
        return merged(list(map(self.hashes, sets)), list(map(self.counts, sets)))

    def _forms_of_parts(self, columns: int) -> Iterator[tuple[int, StoredForm]]:
        """The keys of tables in parts under the transforms that change every part, with the numbers
        of their sets."""
        for number, (_, key) in enumerate(self.parted):
            for transform in self.forms_of(key[0]):
                forms = [self.forms_of(column).get(transform) for column in key]
                sets = [form for form in forms if form is not None]
                values = self._together(sets) if len(sets) == len(key) else None
                if values is not None:
                    largest = max(self.normalized[at - columns].maximum for at in sets)
                    self._merged.append(values)
                    number_of_set = len(self._read) + len(self._merged) - 1
                    size, of = len(values[0]), columns + number
                    yield number_of_set, StoredForm(of, transform, largest, size, size, 0, None)

    def hashes(self, number: int) -> Hashes:
        """The sorted hashes of a set."""
        if number >= len(self._read):
            return self._merged[number - len(self._read)][0]
        hashes = self._read[number]
        if hashes is None:
            hashes = self._read[number] = super().hashes(number)
        return hashes

    def counts(self, number: int) -> Counts:
        """In how many rows each of them occurs."""
        if number >= len(self._read):
            return self._merged[number - len(self._read)][1]
        return super().counts(number)

    def opened(self, opener: Callable[[CatalogReader], Opened]) -> Opened:
        """What an opener, by itself, makes of the catalog: opened once, closed with the values."""
        if opener not in self._opened:
            self._opened[opener] = opener(self.catalog)
        opened: Opened = self._opened[opener]
        return opened

    def close(self) -> None:
        """Close what was opened of the catalog."""
        for opened in self._opened.values():
            opened.close()


Values = TypeVar("Values", bound=ColumnValues)


class ValuePasses(Passes[Values]):
    """Runs passes over value sets."""

    @cached_property
    def facts(self) -> SetFacts:
        """The facts of every value set, from one pass over all."""
        ranges = ranges_of(self.values.distinct) or [(0, 0)]
        return SetFacts.of(self.joined(set_facts, ranges, {}))


CatalogPasses = ValuePasses[CatalogValues]


@contextmanager
def catalog_passes(
    catalog: CatalogReader, workers: Workers | None = None
) -> Iterator[CatalogPasses]:
    """Passes over the values of a catalog: by workers, if given, else in this process."""
    values = CatalogValues(catalog)
    try:
        if workers is None:
            yield ValuePasses(values)
            return
        about = {
            "catalog": str(catalog.folder.absolute()),
            "manifest": catalog.manifest_file,
            "contents": catalog.records.contents,
        }
        with staging_folder(catalog.folder) as scratch, opened_here():
            opener = f"{__name__}:open_values"
            yield ValuePasses(values, Elsewhere(workers, scratch, opener, about))
    finally:
        values.close()


def open_values(about: Json) -> CatalogValues:
    """The values that a worker passes over; OSError where it sees another catalog there."""
    catalog = CatalogReader.open_by(Path(about["catalog"]), about["manifest"])
    if catalog.records.contents != about["contents"]:
        raise OSError(f"{about['catalog']} is another catalog here")
    return CatalogValues(catalog)


@dataclass(frozen=True, slots=True)
class ValueSets(Sequence[Hashes]):
    """Value sets by their `numbers` among those that `passes` run over."""

    passes: ValuePasses[Any]
    numbers: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Hashes: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Hashes]: ...
    def __getitem__(self, at: int | slice) -> Hashes | Sequence[Hashes]:
        if isinstance(at, slice):
            return ValueSets(self.passes, self.numbers[at])
        hashes: Hashes = self.passes.values.hashes(int(self.numbers[at]))
        return hashes

    def take(self, chosen: Ints) -> ValueSets:
        """Some of the sets."""
        return ValueSets(self.passes, self.numbers[chosen])

    def counts(self, at: int) -> Counts:
        """How many rows hold each value of a set."""
        counts: Counts = self.passes.values.counts(int(self.numbers[at]))
        return counts

    @property
    def sizes(self) -> Ints:
        """How many values each set has."""
        sizes: Ints = self.passes.values.distinct[self.numbers]
        return sizes

    def sampled(self) -> tuple[Hashes, Ints, Ints]:
        """The values sampled from each set, the rows that hold each, and how many these are."""
        return self.passes.facts.sampled(self.numbers)

    def holding(self, values: Hashes) -> Ints:
        """Which sets hold which of some sorted values: index of the value x sets + that of the set,
        in any order."""
        shared = {"sets": self.numbers, "lookup": SketchLookup.of(values)}
        parts = self.passes.run(holding, ranges_of(self.sizes), shared)
        return np.concatenate([np.empty(0, dtype=np.int64), *(part["held"] for part in parts)])


def _periods(columns: pa.Table, filled: Ints) -> Flags:
    """Columns of days, months or quarters: by their kind, or by all of their examples.

    Numbers that read as such must lie close together, as times do.
    """
    kinds, examples = columns["kind"].to_pylist(), columns["examples"].combine_chunks()
    low, high = columns["minimum"].to_pylist(), columns["maximum"].to_pylist()
    flags = np.array([kind in TIMES for kind in kinds], dtype=np.bool_)
    for column in np.flatnonzero(~flags & (filled > 0)).tolist():
        first = low[column]
        if first is None or not first[:1].isdigit() or not _PERIOD.fullmatch(first):
            continue
        ends = kinds[column] not in NUMBERS or bool(_PERIOD.fullmatch(high[column] or ""))
        flags[column] = ends and all(map(_PERIOD.fullmatch, examples[column].as_py()))
    return flags


def _days(columns: pa.Table, periods: Flags) -> Flags:
    """Which of some columns of days or months have hardly a day left out."""
    ends = columns["minimum"].to_pylist(), columns["maximum"].to_pylist()
    distinct = columns["distinct"].to_pylist()
    flags = np.zeros(len(periods), dtype=np.bool_)
    for column in np.flatnonzero(periods).tolist():
        flags[column] = covers_days(ends[0][column], ends[1][column], distinct[column])
    return flags


def _either(labels: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    return [label or name for label, name in zip(labels or names, names, strict=True)]


def labelled(catalog: CatalogReader) -> tuple[list[str], list[str], list[str]]:
    """What the columns of a catalog are called, and the labels of its tables and columns."""
    records = catalog.records
    names, ends = records.columns["name"].to_pylist(), records.bounds.tolist()
    called = _called([table.name for table in catalog.ids], names, ends)
    return called, *in_words(catalog.ids, ends, called, *written_texts(catalog))


def _called(tables: Sequence[str], names: Sequence[str], ends: Sequence[int]) -> list[str]:
    """What the columns of each table are called without a prefix of theirs alone."""
    columns = [names[at:end] for at, end in pairwise(ends)]
    own = own_prefixes([(unqualified(t), c) for t, c in zip(tables, columns, strict=True)])
    apart = (without_table_prefix(*each) for each in zip(columns, own, strict=True))
    return list(chain.from_iterable(apart))


def _firsts(table: Ints, constant: Flags) -> Flags:
    """The first column of each table that is not the same in all rows, as a client's number is."""
    starts = firsts(table)
    first = np.zeros(len(table), dtype=np.bool_)
    for start, end in pairwise([*starts.tolist(), len(table)]):
        varied = np.flatnonzero(~constant[start:end])
        first[start + (int(varied[0]) if len(varied) else 0)] = True
    return first


def _letters(text: str | None) -> str:
    """The letters that a text begins with, in lower case."""
    letters = _LETTERS.match(text or "")
    return letters[0].casefold() if letters else ""


def _codes(examples: pa.ChunkedArray, number: Flags, distinct: Ints) -> Flags:
    """Columns of text all of whose examples are codes, or addresses of mail; masked ones, too."""
    listed = examples.combine_chunks()
    letters = r"^[A-Z-]{2,8}$|^[a-z]{1,3}-[a-z]{1,4}$"
    alike = _share_like(listed, rf"@|«|\d.*\d|\d.*[A-Za-z]|[A-Za-z].*\d|{letters}")
    flags: Flags = alike == 1.0
    for column in np.flatnonzero(flags).tolist():
        texts = listed[column].as_py()
        codes = not number[column] and are_codes(texts, int(distinct[column]))
        flags[column] = codes or all(text.startswith("«") for text in texts)  # what is masked
    return flags


def _share_like(listed: pa.ListArray, pattern: str) -> Floats:
    """The share of each column's examples that a pattern is in; 0 without examples."""
    import pyarrow.compute as pc  # takes long to load, and a question needs none of it

    alike = pc.fill_null(pc.match_substring_regex(listed.flatten(), pattern), False)
    before = np.append(0, np.cumsum(alike.to_numpy(zero_copy_only=False)))
    ends = listed.offsets.to_numpy() - listed.offsets[0].as_py()
    share: Floats = (before[ends[1:]] - before[ends[:-1]]) / np.maximum(np.diff(ends), 1)
    return share


def _long_numbers(columns: pa.Table, distinct: Ints) -> Flags:
    """Columns of whole numbers so long, and so far apart, that they are codes too."""
    whole = np.array([k == Kind.INTEGER for k in columns["kind"].to_pylist()], dtype=np.bool_)
    low, high = (_numbers(columns[end], whole) for end in ("minimum", "maximum"))
    flags: Flags = (low >= _LONG) & (distinct >= _SOME) & (distinct < _SPARSE * (high - low))
    return flags


def _numbers(texts: pa.ChunkedArray, number: Flags) -> Floats:
    """Numbers as they are written out; NaN for other columns, and where there is none."""
    listed = texts.filter(pa.array(number)).to_pylist()
    parsed = np.full(len(texts), np.nan)
    parsed[number] = [float(text) if text else np.nan for text in listed]
    return parsed


def _ends(columns: pa.Table, number: Flags, end: str) -> Floats:
    """The least or the largest number of each column, of text too that reads as numbers behind
    letters or none."""
    ends = _numbers(columns[end], number)
    for column, text in enumerate(columns[end].to_pylist()):
        if text and not number[column]:
            ends[column] = _number_in(text)
    return ends


def _number_in(text: str) -> float:
    """The number that a text is, behind letters and without punctuation; NaN if it is none.

    >>> _number_in("C-0012"), _number_in("0012~77 old")
    (12.0, nan)
    """
    if not text[-1:].isdigit():
        return np.nan
    found = _NUMBERED.fullmatch(text.removesuffix(".0").translate(_GONE))
    return float(found[1]) if found else np.nan


class TableColumns:
    """Columns by table and name, over `ColumnArrays` that number them through all tables."""

    def __init__(self, arrays: ColumnArrays) -> None:
        self.of: list[list[int]] = [[] for _ in arrays.ids]
        for column, table in enumerate(arrays.table.tolist()):
            self.of[table].append(column)
        self.first = {int(arrays.table[at]): at for at in np.flatnonzero(arrays.first).tolist()}
        self.place = {table: number for number, table in enumerate(arrays.ids)}
        self._arrays = arrays
        self._has_key = self._keys_first()

    def find(self, table: int, name: str) -> int:
        """A column of a table by name."""
        return next(c for c in self.of[table] if self._arrays.name[c] == name)

    def has_key_column(self, table: int) -> bool:
        """Whether the first column is a key, by which the table is then referred to."""
        return table in self._has_key

    def _keys_first(self) -> set[int]:
        """The tables whose first column is unique, and called an identifier or like the table."""
        arrays = self._arrays
        unique = [(t, arrays.name[c]) for t, c in self.first.items() if arrays.unique[c]]
        called, about = [core(name) for _, name in unique], [arrays.ids[t].name for t, _ in unique]
        named = refers(called, [entity(name) for name in about]) > 0.5
        return {t for (t, name), own in zip(unique, named, strict=True) if own or identifies(name)}


def edge_of(
    arrays: ColumnArrays,
    pairs: Sequence[tuple[int, int]],
    logit: float,
    rows: int,
    evidence: Mapping[str, float],
    *,
    cardinality: str = "n:1",
    transform: str = "",
    when: tuple[str, ...] = (),
    when_right: bool = False,
) -> JoinEdge:
    """The edge by some columns of two tables, so many rows of which find a partner."""
    left, right = (int(arrays.table[column]) for column in pairs[0])
    return JoinEdge(
        left=arrays.ids[left],
        right=arrays.ids[right],
        columns=tuple((arrays.name[own], arrays.name[key]) for own, key in pairs),
        score=probability(logit),
        cardinality=cardinality,
        match_rate=round(rows / max(int(arrays.rows[left]), 1), 6),
        evidence={name: round(each, 6) for name, each in {**evidence, "logit": logit}.items()},
        transform=transform,
        when=when,
        when_right=when_right,
    )


def probability(logit: float) -> float:
    """The score that log-odds in nats stand for, as edges carry it."""
    return round(float(1 / (1 + np.exp(-logit))), 6)
