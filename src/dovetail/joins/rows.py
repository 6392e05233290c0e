"""Rows as hashes, read again from their sources: for the few tables whose columns must be paired.

The catalog keeps what columns hold, not how rows pair it; composite and conditional keys need
that. They ask questions about one or two tables, which a pass answers wherever the tables can be
read: a question is JSON and so is its answer. A table that cannot be read again, or is no longer
what the catalog knows, gives nothing, and such evidence is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.domain import TableId
from dovetail.engines.passes import Arrays, Passes, Range
from dovetail.errors import DovetailError, RescanError
from dovetail.hashing import Hashes, drop_missing, hash_values, readable_text
from dovetail.joins.columns import CatalogValues, ColumnValues
from dovetail.memory import within
from dovetail.plugins import open_source, resolve
from dovetail.ports import Json, Listing, Source, SourceSpec
from dovetail.settings import load_settings
from dovetail.sources.resolve import expand

RowHashes = npt.NDArray[np.uint64]
T = TypeVar("T")

# Cells cached at a time, of 8 bytes each; a table with more of them is not read again.
_MOST_CELLS = 1 << 26
_ATTEMPTS = 4
# Cells that are hashed together.
_AT_ONCE = 1 << 18
# Cells that a range of questions reads, about, and what a question costs besides, in cells.
_CELLS, _EACH = 1 << 22, 1 << 13
# The tables that a question is about.
_SIDES = ("child", "parent", "table")


class RowReader:
    """Reads columns of tables row by row. Sources are opened once and closed together."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self._specs: dict[str, SourceSpec] | None = None
        self._sources: dict[str, tuple[Source, dict[str, Listing]] | None] = {}
        self._cached: dict[TableId, RowHashes | None] = {}
        self._gone: set[TableId] = set()
        self.complete = True  # every table asked for is there as it was; who asks may reset it
        self.sets: ColumnValues  # those of the catalog, as whoever asks has them open
        self._size = 0
        self._tokens = dict(
            zip(catalog.ids, catalog.records.tables["token"].to_pylist(), strict=True)
        )

    def close(self) -> None:
        """Let go of the sources."""
        for opened in self._sources.values():
            if opened is not None:
                opened[0].close()

    def read(self, table: TableId, columns: Sequence[int]) -> RowHashes | None:
        """A hash per row for each of some columns, 0 where a value is missing.

        None when the table cannot be read. It is read whole and cached, as long as memory allows:
        whoever asks for two of its columns will ask for others.
        """
        if table not in self._cached:
            hashes = self._read(table)
            self._size += 0 if hashes is None else hashes.size
            if self._size > within(_MOST_CELLS):
                self._cached.clear()
                self._size = 0 if hashes is None else hashes.size
            self._cached[table] = hashes
        if table in self._gone:
            self.complete = False
        cached = self._cached[table]
        return None if cached is None else cached[list(columns)]

    def texts(self, table: TableId, columns: Sequence[int]) -> list[dict[int, str]]:
        """How the values of some columns, of few values each, are written, by their hashes."""

        def scan(source: Source, listing: Listing) -> list[dict[int, str]]:
            written: list[dict[int, str]] = [{} for _ in columns]
            for batch in source.scan(listing).batches:
                for column, texts in zip(columns, written, strict=True):
                    array = batch.column(column)
                    hashes, rows = np.unique(_hashed([array])[0], return_index=True)
                    for value, row in zip(hashes.tolist(), rows.tolist(), strict=True):
                        if value not in texts:
                            texts[value] = str(array[row].as_py()).strip()
            return written

        return self._with_source(table, scan) or [{} for _ in columns]

    def _read(self, table: TableId) -> RowHashes | None:
        return self._with_source(table, _scan)

    def _with_source(self, table: TableId, scan: Callable[[Source, Listing], T]) -> T | None:
        """What a scan makes of a table; None where it is not there as it was."""
        opened = self._open(table.source)
        try:
            if opened is not None and table.name in opened[1]:
                source, listing = opened[0], opened[1][table.name]
                if source.fingerprint(listing, self._tokens[table]).unchanged:
                    return _scan_again(source, listing, scan)
        except (DovetailError, OSError):
            pass
        self._gone.add(table)
        return None

    def _open(self, label: str) -> tuple[Source, dict[str, Listing]] | None:
        if label not in self._sources:
            self._sources[label] = None
            spec = self._specs_by_label().get(label)
            try:
                if spec is not None:
                    source = open_source(spec)
                    listings = {listing.name: listing for listing in source.tables()}
                    self._sources[label] = (source, listings)
            except (DovetailError, OSError):
                return None
        return self._sources[label]

    def _specs_by_label(self) -> dict[str, SourceSpec]:
        if self._specs is None:
            self._specs = {}
            settled = load_settings().sources  # the catalog keeps no password
            for root in self._catalog.manifest.roots:
                try:
                    self._specs |= {spec.label: spec for spec in expand(root, settled)}
                except (DovetailError, OSError):
                    continue
        return self._specs


def _scan_again(source: Source, listing: Listing, scan: Callable[[Source, Listing], T]) -> T | None:
    for _ in range(_ATTEMPTS):
        try:
            return scan(source, listing)
        except RescanError:
            continue
    return None


def _scan(source: Source, listing: Listing) -> RowHashes | None:
    """A hash per row for each column of a table; None where there are too many."""
    scan = source.scan(listing)
    pieces: list[RowHashes] = []
    seen = 0
    for batch in scan.batches:
        seen += batch.num_rows * batch.num_columns
        if seen > within(_MOST_CELLS):
            return None
        piece = np.zeros((batch.num_columns, batch.num_rows), dtype=np.uint64)
        for columns in _alike(batch):
            piece[columns] = _hashed([batch.column(column) for column in columns])
        pieces.append(piece)
    if not pieces:
        return np.zeros((len(scan.columns), 0), dtype=np.uint64)
    return np.concatenate(pieces, axis=1)


def _alike(batch: pa.RecordBatch) -> Iterator[list[int]]:
    """Columns of one type: tables of few rows are hashed quicker so."""
    groups: dict[pa.DataType, list[int]] = {}
    for column, kind in enumerate(batch.schema.types):
        groups.setdefault(kind, []).append(column)
    for columns in groups.values():
        width = max(1, _AT_ONCE // max(batch.num_rows, 1))
        for start in range(0, len(columns), width):
            yield columns[start : start + width]


def _hashed(arrays: Sequence[pa.Array]) -> RowHashes:
    """The hash of each cell of some columns of one type, 0 where a value is missing."""
    cells = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    values, present = drop_missing(readable_text(cells))
    hashes = np.zeros(len(cells), dtype=np.uint64)
    hashes[slice(None) if present is None else present] = hash_values(values)
    return hashes.reshape(len(arrays), -1)


def combine_columns(columns: RowHashes) -> Hashes:
    """One hash per row over several columns, of the rows that are complete."""
    complete = (columns != 0).all(axis=0)
    chosen = columns[:, complete]
    rows = np.zeros(chosen.shape[1], dtype=np.uint64)
    for column in chosen:
        rows ^= column
        rows *= np.uint64(0x9E3779B97F4A7C15)
        rows ^= rows >> np.uint64(29)
    return rows


def row_tuples(rows: RowReader, table: TableId, columns: Sequence[int]) -> RowHashes | None:
    """A hash per complete row over some columns of a table; None if it cannot be read."""
    hashes = rows.read(table, columns)
    return None if hashes is None else combine_columns(hashes)


# Answers a question about one or two tables.
Check = Callable[[RowReader, Json], Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, and the check, named `module:function`, that answers them."""

    check: str
    questions: Sequence[Json]


class RowQuestions:
    """Has a pass answer questions about rows; `complete` as long as every table is as it was."""

    def __init__(self, passes: Passes[CatalogValues]) -> None:
        self._passes = passes
        tables = passes.values.catalog.records.tables
        sizes: list[int] = (numbers(tables["rows"]) * numbers(tables["columns"])).tolist()
        names = zip(tables["source"].to_pylist(), tables["name"].to_pylist(), strict=True)
        self._cells: dict[tuple[str, str], int] = dict(zip(names, sizes, strict=True))
        self.complete = True

    @property
    def examples(self) -> Sequence[Sequence[str]]:
        """Some values of each column, as they are written."""
        listed = self._passes.values.catalog.records.columns["examples"].to_pylist()
        return [each or () for each in listed]

    def ask(self, check: Check, questions: Sequence[Json]) -> list[Any]:
        """What a check says to each of some questions, in their order."""
        ranges = list(self._ranges(questions))
        shared = {"asked": Asked(f"{check.__module__}:{check.__qualname__}", questions)}
        answers: list[Any] = []
        for number, part in enumerate(self._passes.run(check_rows, ranges, shared)):
            if self._passes.elsewhere is not None and not part["complete"]:
                # A node that does not reach the source, or lacks the credentials for it.
                part = check_rows(self._passes.values, *ranges[number], shared)
            answers += json.loads(part["answers"].tobytes())
            self.complete = self.complete and bool(part["complete"])
        return answers

    def _ranges(self, questions: Sequence[Json]) -> Iterator[Range]:
        """Questions in ranges of about equal work: a table is read once for a range."""
        first, tables, work = 0, set[tuple[str, str]](), 0
        for number, question in enumerate(questions):
            named = {(s, n) for s, n in (question[side] for side in _SIDES if side in question)}
            more = _EACH + sum(self._cells[table] for table in named - tables)
            if number > first and work + more > _CELLS:
                yield first, number
                first, tables, work = number, set(), 0
                more = _EACH + sum(self._cells[table] for table in named)
            tables |= named
            work += more
        if questions:
            yield first, len(questions)


def check_rows(values: CatalogValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass over questions: the answers as JSON, and whether every table could be read."""
    asked, rows = shared["asked"], values.opened(RowReader)
    check: Check = resolve(asked.check)
    rows.complete, rows.sets = True, values
    answers = [check(rows, question) for question in asked.questions[first:last]]
    encoded = np.frombuffer(json.dumps(answers).encode(), dtype=np.uint8)
    return {"answers": encoded, "complete": np.array(rows.complete)}
