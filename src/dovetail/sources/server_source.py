"""How a database server is read: many tables in one round trip, those that are asked for next.

A server takes milliseconds to be asked anything, however little there is to tell. So a source that
knows which tables come next asks for the versions of as many as fit at the first of them, and reads
the small ones with one statement. They differ in their columns, so a row of the answer has a slot
for every type and as many of it as the table with the most of them; a table fills its own and
leaves the others NULL. No value is converted on the way, and the answer is kept in DuckDB, which
reads a table out of it as it reads it from the server. So a table has the same values whether it
came alone or with others.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, count
from typing import Any, TypeVar

from dovetail.errors import SourceError
from dovetail.ports import (
    BatchingSource,
    Declaration,
    Fingerprint,
    Listing,
    Scan,
    ScannedColumn,
    Source,
)
from dovetail.sources import duck
from dovetail.sources.declarations import (
    Row,
    TableName,
    declarations,
    listings,
    qualified_name,
)
from dovetail.sources.projection import Columns, fields_of
from dovetail.sources.server import Asked, Server, named_columns

_T = TypeVar("_T")
# What a server says of a table's rows: it differs whenever they do. None where it cannot be told.
Version = str | int | None
# What it keeps of every stored table: `changed` of its changes, None where that cannot be relied
# on, and `shape` of its columns.
State = Mapping[str, str | None]
# Then the other tables would fare no better.
_NO_SERVER = re.compile(r"connect|closed|terminat|no answer|timeout|lost|gone away", re.IGNORECASE)
# What is compared of two states of a table.
_PROVING = ("version", "shape")
# PostgreSQL has 1,664 columns for an answer.
_MOST_COLUMNS = 1600
# A statement over so many tables locks each of them and its indexes, of which a server allows
# some thousands.
_TABLES_AT_ONCE = 128
# About how many bytes one statement compares in the server, or reads; a table of more than the
# second is read alone, and so is one of more rows, whatever the server thinks of its size.
_BYTES_AT_ONCE, _SMALL, MOST_ROWS = 16 << 20, 1 << 20, 50_000
_numbers = count(1)


def announce(
    source: Source, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool
) -> None:
    """Tell a source, if it wants to know, which tables it will be asked for next.

    It is asked for their fingerprints in this order, compared with `tokens` where there is one for
    the table's name, and with `rows` for those as well.
    """
    if isinstance(source, BatchingSource):
        source.expect(tables, tokens, rows=rows)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table to read: its name for us and as the server quotes it, and how to ask for columns."""

    name: str
    quoted: str
    columns: tuple[Asked, ...]


class ServerSource(ABC):
    """One database of a server; tables outside `default_schema` are named `schema.table`.

    What a server is asked, and how, its own class says. `declared` gives the columns of
    `declarations.Row` for all tables.
    """

    default_schema: str
    declared: str

    def __init__(self, server: Server) -> None:
        self._server = server
        self._expected: dict[str, Listing] = {}
        self._reads = False
        self._versions: dict[str, Version] = {}
        self._read: dict[str, Callable[[], Scan]] = {}
        # The tables of our DuckDB that hold what was read ahead.
        self._batches: list[str] = []

    @abstractmethod
    def _list(self) -> Sequence[tuple[TableName, int]]:
        """The tables to offer, with about how many bytes each has."""

    @abstractmethod
    def _ask_columns(self) -> Sequence[tuple[Any, ...]]:
        """Schema and table of every column, and what `_asked` takes; in the order of columns."""

    @abstractmethod
    def _asked(self, *column: Any) -> Asked:
        """How to ask for a column so that DuckDB has a word for each of its values."""

    @abstractmethod
    def _ask_states(self) -> Mapping[TableName, State]:
        """The state of every stored table."""

    @abstractmethod
    def _ask_versions(self, tables: Sequence[Listing]) -> Mapping[str, Version]:
        """The versions of tables, in one statement."""

    @abstractmethod
    def _quoted(self, table: Listing) -> str:
        """A table's name in SQL."""

    @abstractmethod
    def _null(self, slot: str) -> str:
        """A NULL of a slot's type."""

    def tables(self) -> Sequence[Listing]:
        return listings(self._list(), self.default_schema)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        return declarations(tables, map(Row.of, self._ask(self.declared)))

    def expect(self, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool) -> None:
        """Prepare to be asked for tables: many are then compared, and read, in one statement."""
        self._expected = {
            table.name: table
            for table in tables
            if not self._is_unchanged(table, tokens.get(table.name))
        }
        self._reads, self._versions, self._read = rows, {}, {}

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """The state and the version of a table: version and shape prove that it is as it was."""
        state = self._states.get(qualified_name(table))
        if state is None:  # a view or a foreign table: nobody keeps track of its changes
            return Fingerprint("{}", unchanged=False)
        if previous and self._is_unchanged(table, previous):
            return Fingerprint(previous, unchanged=True)
        if table.name in self._expected:
            self._look_ahead(table)
        # Once: who asks again is told the state of then.
        version = self._versions.pop(table.name, None)
        if version is None:
            version = self._ask_versions([table])[table.name]
        before = json.loads(previous) if previous else {}
        now = {**state, "version": version}
        same = version is not None and all(before.get(key) == now[key] for key in _PROVING)
        return Fingerprint(json.dumps(now, separators=(",", ":")), unchanged=same)

    def scan(self, table: Listing) -> Scan:
        read = self._read.pop(table.name, None)
        if read is not None:
            return read()
        wanted = self._wanted(table)
        return self._server.scan(wanted.quoted, wanted.columns)

    def answers(self) -> bool:
        try:
            self._server.ask("SELECT 1 AS c0")
        except duck.ENGINE_ERRORS:
            return False
        return True

    def close(self) -> None:
        self._forget()
        self._server.close()

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query, or one line on why there are none."""
        with self._server.explained():
            return self._server.ask(sql)

    @cached_property
    def _states(self) -> Mapping[TableName, State]:
        """Looked up once: what others commit later, the next run will find."""
        return self._ask_states()

    @cached_property
    def _columns(self) -> dict[TableName, list[tuple[Any, ...]]]:
        columns: dict[TableName, list[tuple[Any, ...]]] = {}
        for schema, table, *column in self._ask_columns():
            columns.setdefault((schema, table), []).append(tuple(column))
        return columns

    def _columns_of(self, table: TableName) -> Sequence[tuple[Any, ...]]:
        return self._columns.get(table, ())

    def _wanted(self, table: Listing) -> Wanted:
        columns = (self._asked(*column) for column in self._columns_of(qualified_name(table)))
        return Wanted(table.name, self._quoted(table), tuple(columns))

    def _is_unchanged(self, table: Listing, previous: str | None) -> bool:
        """Whether what the server keeps of changes tells that a table is as it was.

        Of views it keeps nothing: that is not looked for.
        """
        state = self._states.get(qualified_name(table))
        if state is None or not previous or not state["changed"]:
            return state is None
        return bool(state.items() <= json.loads(previous).items())

    def _look_ahead(self, table: Listing) -> None:
        """Ask for the versions of a table and of those after it; then read the small ones."""
        # Whatever stands before the table was not asked for when its turn came.
        for name in list(self._expected):
            if name == table.name:
                break
            del self._expected[name]
        chosen: list[Listing] = []
        size = 0
        for following in self._expected.values():
            size += following.weight
            if chosen and (len(chosen) == _TABLES_AT_ONCE or size > _BYTES_AT_ONCE):
                break
            chosen.append(following)
        for following in chosen:
            del self._expected[following.name]
        self._versions = fetch_apart(self._ask_versions, chosen)
        if self._reads:
            self._forget()
            small = [one for one in chosen if one.name in self._versions and one.weight < _SMALL]
            self._read = fetch_apart(self._load, small) if small else {}

    def _forget(self) -> None:
        """Drop the rows that were read ahead."""
        while self._batches:
            duck.run(f"DROP TABLE {self._batches.pop()}")

    def _load(self, tables: Sequence[Listing]) -> dict[str, Callable[[], Scan]]:
        """Read tables with one statement; those with too many rows are missing in the answer."""
        wanted = [self._wanted(table) for table in tables]
        slots = _slots_needed(wanted)
        if sum(slots.values()) > _MOST_COLUMNS:
            raise SourceError("these tables have too many different columns to be read together")
        with self._server.explained():
            batch = f"memory.main.batch_{next(_numbers)}"
            self._server.copy(_statement(wanted, slots, self._null, MOST_ROWS + 1), batch)
            self._batches.append(batch)
            rows = dict(duck.fetch(f"SELECT t, count(*) FROM {batch} GROUP BY t"))
            _, *described = duck.describe(batch)
        loaded: dict[str, Callable[[], Scan]] = {}
        for number, table in enumerate(wanted):
            at = _own_slots(table, slots)
            if table.columns and number not in rows:  # of tens of thousands, most have none
                loaded[table.name] = partial(_no_rows, table, [described[slot] for slot in at])
            elif table.columns and rows[number] <= MOST_ROWS:
                loaded[table.name] = partial(self._scan_loaded, batch, number, table, at)
        return loaded

    def _scan_loaded(self, batch: str, number: int, table: Wanted, slots: Sequence[int]) -> Scan:
        chosen = ", ".join(f"c{slot} AS c{at}" for at, slot in enumerate(slots))
        relation = f"(SELECT {chosen} FROM {batch} WHERE t = {number})"
        scanned = duck.scan(relation, self._server.explained)
        return Scan(named_columns(table.columns, scanned.columns), scanned.batches)


def _no_rows(table: Wanted, described: Columns) -> Scan:
    fields = fields_of(described)
    columns = [ScannedColumn(field.name, field.type, field.written_number) for field in fields]
    return Scan(named_columns(table.columns, columns), iter(()))


def fetch_apart(
    fetch: Callable[[Sequence[Listing]], Mapping[str, _T]], tables: Sequence[Listing]
) -> dict[str, _T]:
    """What `fetch` says of tables; without those that it fails over, which are found by halving."""
    try:
        return dict(fetch(tables))
    except SourceError as error:
        if len(tables) == 1 or _NO_SERVER.search(str(error)):
            return {}
    half = len(tables) // 2
    return fetch_apart(fetch, tables[:half]) | fetch_apart(fetch, tables[half:])


def _slots_needed(tables: Iterable[Wanted]) -> Counter[str]:
    """How many slots of each type a row needs that has room for any of the tables."""
    needed: Counter[str] = Counter()
    for table in tables:
        needed |= Counter(column.slot for column in table.columns)
    return needed


def _own_slots(table: Wanted, slots: Mapping[str, int]) -> list[int]:
    """The slots that the columns of a table take in a row."""
    free = dict(zip(slots, accumulate(slots.values(), initial=0), strict=False))
    columns_at = []
    for column in table.columns:
        columns_at.append(free[column.slot])
        free[column.slot] += 1
    return columns_at


def _statement(
    tables: Sequence[Wanted], slots: Mapping[str, int], null: Callable[[str], str], rows: int
) -> str:
    """A statement for the rows of tables, each row with the number of its table in front."""
    blank = [null(slot) for slot, width in slots.items() for _ in range(width)]
    parts = []
    for number, table in enumerate(tables):
        cells = list(blank)
        for slot_at, column in zip(_own_slots(table, slots), table.columns, strict=True):
            cells[slot_at] = column.sql
        wanted = ", ".join(f"{cell} AS c{at}" for at, cell in enumerate(cells))
        parts.append(f"(SELECT {number} AS t, {wanted} FROM {table.quoted} LIMIT {rows})")
    return " UNION ALL ".join(parts)
