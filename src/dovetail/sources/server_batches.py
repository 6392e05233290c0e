"""Many tables of a server in one round trip: those that are asked for next, and their rows.

A server takes milliseconds to be asked anything, however little there is to tell. A source that
knows which tables come next asks for as many as fit at the first of them.

Small tables are read with one statement. They differ in their columns, so a row of the answer has a
slot for every type and as many of it as the table with the most of them; a table fills its own and
leaves the others NULL. No value is converted on the way, and the answer is kept in DuckDB, which
reads a table out of it as it reads it from the server. So a table has the same values whether it
came alone or with others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Generic, TypeVar

from dovetail.errors import SourceError
from dovetail.ports import Fingerprint, Listing, Scan, ScannedColumn, Source
from dovetail.sources import duck
from dovetail.sources.declarations import qualified_name
from dovetail.sources.projection import fields_of
from dovetail.sources.server import Asked, Server, named_columns

_T = TypeVar("_T")
# Then the other tables would fare no better.
_NO_SERVER = re.compile(r"connect|closed|terminat|no answer|timeout|lost|gone away", re.IGNORECASE)
# What is compared of two states of a table.
_PROVING = ("version", "shape")
# PostgreSQL has 1,664 columns for an answer.
_MOST_COLUMNS = 1600
# A table with more rows is read alone, whatever the server thinks of its size.
MOST_ROWS = 50_000
_numbers = count(1)

# What gives a table out that was read with others.
GiveOut = Callable[[], Scan]


def announce(
    source: Source, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool
) -> None:
    """Tell a source, if it wants to know, which tables it will be asked for next.

    It is asked for their fingerprints in this order, compared with `tokens` where there is one for
    the table's name, and with `rows` for those as well.
    """
    expect = getattr(source, "expect", None)
    if expect is not None:
        expect(tables, tokens, rows=rows)


class ReadAhead(Generic[_T]):
    """Answers by table. `fetch` gets those of several; what it leaves out is None.

    At most `limit` tables of about `limit_bytes` in all are fetched together; `forget` is called
    before that, when no earlier answer can be asked for any more.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[Listing]], Mapping[str, _T]],
        *,
        limit: int,
        limit_bytes: int,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self._fetch = fetch
        self._forget = forget
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._expected: dict[str, Listing] = {}
        self._loaded: dict[str, _T] = {}

    def expect(self, tables: Sequence[Listing]) -> None:
        """Name the tables that will be asked for next."""
        self._expected = {table.name: table for table in tables}
        self._loaded = {}

    def expect_also(self, tables: Sequence[Listing]) -> None:
        """Name tables that will be asked for after the others."""
        self._expected |= {table.name: table for table in tables}

    def take(self, table: Listing) -> _T | None:
        """The answer for a table, once: who asks again is told the state of then."""
        if table.name in self._loaded:
            return self._loaded.pop(table.name)
        if table.name not in self._expected:
            return None
        # Whatever stands before the table was not asked for when its turn came.
        for name in list(self._expected):
            if name == table.name:
                break
            del self._expected[name]
        self._forget()
        self._loaded = fetch_apart(self._fetch, self._next())
        return self._loaded.pop(table.name, None)

    def _next(self) -> list[Listing]:
        chosen: list[Listing] = []
        size = 0
        for table in self._expected.values():
            size += table.weight
            if chosen and (len(chosen) == self._limit or size > self._limit_bytes):
                break
            chosen.append(table)
        for table in chosen:
            del self._expected[table.name]
        return chosen


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table to read: its name for us and as the server quotes it, and how to ask for columns."""

    name: str
    quoted: str
    columns: tuple[Asked, ...]

    @property
    def slots(self) -> Counter[str]:
        return Counter(column.slot for column in self.columns)


class ServerBatches:
    """Reads tables of a server together. `null` writes a NULL of a slot's type."""

    def __init__(self, server: Server, null: Callable[[str], str]) -> None:
        self.server = server
        self._null = null
        self._types: dict[str, str] = {}
        self._loaded: list[str] = []

    def load(self, tables: Sequence[Wanted]) -> dict[str, GiveOut]:
        """Read tables with one statement; those with too many rows are missing in the answer."""
        slots = _slots_needed(tables)
        if sum(slots.values()) > _MOST_COLUMNS:
            raise SourceError("these tables have too many different columns to be read together")
        with self.server.explained():
            batch = f"memory.main.batch_{next(_numbers)}"
            self.server.copy(_statement(tables, slots, self._null, MOST_ROWS + 1), batch)
            self._loaded.append(batch)
            rows = dict(duck.fetch(f"SELECT t, count(*) FROM {batch} GROUP BY t"))
        return {
            table.name: partial(self._scan, batch, number, table, slots)
            for number, table in enumerate(tables)
            if rows.get(number, 0) <= MOST_ROWS
        }

    def learn_types(self, tables: Iterable[Wanted]) -> None:
        """Find out which types DuckDB has for the columns of tables, for `empty`.

        If one of the tables went meanwhile, nothing is learnt: the tables are then read.
        """
        first: dict[str, Wanted] = {}
        for table in tables:
            for column in table.columns:
                if column.slot not in self._types and column.slot not in first:
                    first[column.slot] = Wanted("", table.quoted, (column,))
        if first:
            sql = _statement(list(first.values()), Counter(list(first)), self._null, 0)
            with suppress(SourceError), self.server.explained():
                described = self.server.describe(sql)[1:]
                self._types |= dict(zip(first, (kind for _, kind in described), strict=True))

    def empty(self, table: Wanted) -> Scan | None:
        """A table that has no rows, if the types of all its columns were learnt."""
        if not table.columns or any(column.slot not in self._types for column in table.columns):
            return None
        fields = fields_of([(str(at), self._types[c.slot]) for at, c in enumerate(table.columns)])
        scanned = [ScannedColumn(field.name, field.type, field.written_number) for field in fields]
        return Scan(named_columns(table.columns, scanned), iter(()))

    def close(self) -> None:
        """Forget the rows that are held."""
        while self._loaded:
            duck.run(f"DROP TABLE {self._loaded.pop()}")

    def _scan(self, source: str, number: int, table: Wanted, slots: Mapping[str, int]) -> Scan:
        columns_at = _own_slots(table, slots)
        chosen = ", ".join(f"c{slot} AS c{at}" for at, slot in enumerate(columns_at))
        relation = f"(SELECT {chosen} FROM {source} WHERE t = {number})"
        scanned = duck.scan(relation, self.server.explained)
        return Scan(named_columns(table.columns, scanned.columns), scanned.batches)


class TablesAhead(Generic[_T]):
    """The tables of a server that are asked for next: their versions, then the rows of small ones.

    `states` are those of every stored table: its `shape`, and as `changed` what the server keeps of
    changes, None where that cannot be relied on. `versions` tells those of several tables at once,
    `no_rows` is that of one without any; `wanted` says how to read one, and `small` whether it may
    be read with others. At most `limit` tables are asked for together, of about `bytes_compared` or
    `bytes_read` in all.
    """

    def __init__(
        self,
        batches: ServerBatches,
        states: Callable[[], Mapping[tuple[str, str], Mapping[str, str | None]]],
        versions: Callable[[Sequence[Listing]], Mapping[str, _T]],
        wanted: Callable[[Listing], Wanted],
        small: Callable[[Listing], bool],
        *,
        no_rows: _T,
        limit: int,
        bytes_compared: int,
        bytes_read: int,
    ) -> None:
        self._batches = batches
        self._states = states
        self._ask = versions
        self._wanted = wanted
        self._small = small
        self._no_rows = no_rows
        self._empty: set[str] = set()
        self._reads = False
        self._versions = ReadAhead(self._compare, limit=limit, limit_bytes=bytes_compared)
        self._rows = ReadAhead(
            self._load, limit=limit, limit_bytes=bytes_read, forget=batches.close
        )

    def expect(self, tables: Sequence[Listing], empty: Sequence[Listing], *, rows: bool) -> None:
        """Name the tables that will be asked for, and those of which we know that they are empty.

        With `rows` they will be read as well.
        """
        self._empty = {table.name for table in empty}
        self._versions.expect(tables)
        if rows:
            self._batches.learn_types(map(self._wanted, empty))
        self._reads = rows
        self._rows.expect(())

    def is_unchanged(self, table: Listing, previous: str | None) -> bool:
        """Whether what the server keeps of changes tells that a table is as it was.

        Of views it keeps nothing: that is not looked for.
        """
        state = self._states().get(qualified_name(table))
        if state is None or not previous or not state["changed"]:
            return state is None
        return bool(state.items() <= json.loads(previous).items())

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """The state and the version of a table: version and shape prove that it is as it was."""
        with self._batches.server.explained():
            state = self._states().get(qualified_name(table))
            if state is None:  # a view or a foreign table: nobody keeps track of its changes
                return Fingerprint("{}", unchanged=False)
            if previous and self.is_unchanged(table, previous):
                return Fingerprint(previous, unchanged=True)
            version = self._no_rows if table.name in self._empty else self._version(table)
        before = json.loads(previous) if previous else {}
        now = {**state, "version": version}
        same = version is not None and all(before.get(key) == now[key] for key in _PROVING)
        return Fingerprint(json.dumps(now, separators=(",", ":")), unchanged=same)

    def _version(self, table: Listing) -> _T:
        """The version of a table: the one that was told with others, or asked for now."""
        version = self._versions.take(table)
        return self._ask([table])[table.name] if version is None else version

    def scan(self, table: Listing) -> Scan:
        """The rows of a table: none, read with others, or read now."""
        server = self._batches.server
        with server.explained():
            wanted = self._wanted(table)
            empty = self._batches.empty(wanted) if table.name in self._empty else None
        if empty is not None:
            return empty
        read = self._rows.take(table)
        return read() if read is not None else server.scan(wanted.quoted, wanted.columns)

    def close(self) -> None:
        """Forget the rows that were read ahead."""
        self._batches.close()

    def _compare(self, tables: Sequence[Listing]) -> Mapping[str, _T]:
        """The versions of tables; now that they are known, the small ones may be read ahead."""
        versions = self._ask(tables)
        if self._reads:
            self._rows.expect_also([table for table in tables if self._small(table)])
        return versions

    def _load(self, tables: Sequence[Listing]) -> dict[str, GiveOut]:
        return self._batches.load([self._wanted(table) for table in tables])


def _slots_needed(tables: Iterable[Wanted]) -> Counter[str]:
    """How many slots of each type a row needs that has room for any of the tables."""
    needed: Counter[str] = Counter()
    for table in tables:
        needed |= table.slots
    return needed


def _own_slots(table: Wanted, slots: Mapping[str, int]) -> list[int]:
    """The slots that the columns of a table take in a row."""
    free: dict[str, int] = {}
    start = 0
    for slot, width in slots.items():
        free[slot] = start
        start += width
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
