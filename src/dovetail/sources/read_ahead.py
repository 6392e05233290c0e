"""Tables that will be asked for one after the other, answered for many in one round trip.

A server takes milliseconds to be asked anything, however little there is to tell. A source that
knows which tables come next asks for as many as fit at the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from dovetail.errors import SourceError
from dovetail.ports import Listing, Source

_T = TypeVar("_T")
# Then the other tables would fare no better.
_NO_SERVER = re.compile(r"connect|closed|terminat|no answer|timeout|lost|gone away", re.IGNORECASE)


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

    At most `most` tables of about `most_bytes` in all are fetched together; `forget` is called
    before that, when no earlier answer can be asked for any more.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[Listing]], Mapping[str, _T]],
        *,
        most: int,
        most_bytes: int,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self._fetch = fetch
        self._forget = forget
        self._most = most
        self._most_bytes = most_bytes
        self._expected: dict[str, Listing] = {}
        self._held: dict[str, _T] = {}

    def expect(self, tables: Sequence[Listing]) -> None:
        """Name the tables that will be asked for next."""
        self._expected = {table.name: table for table in tables}
        self._held = {}

    def expect_also(self, tables: Sequence[Listing]) -> None:
        """Name tables that will be asked for after the others."""
        self._expected |= {table.name: table for table in tables}

    def take(self, table: Listing) -> _T | None:
        """The answer for a table, once: who asks again is told the state of then."""
        if table.name in self._held:
            return self._held.pop(table.name)
        if table.name not in self._expected:
            return None
        # Whatever stands before the table was not asked for when its turn came.
        for name in list(self._expected):
            if name == table.name:
                break
            del self._expected[name]
        self._forget()
        self._held = fetch_apart(self._fetch, self._next())
        return self._held.pop(table.name, None)

    def _next(self) -> list[Listing]:
        chosen: list[Listing] = []
        size = 0
        for table in self._expected.values():
            size += table.weight
            if chosen and (len(chosen) == self._most or size > self._most_bytes):
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
