"""PostgreSQL databases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from dovetail.errors import SourceError
from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources import postgres_sql as sql
from dovetail.sources.declarations import (
    LONGEST_COMMENT,
    Row,
    declarations,
    listing,
    names,
    place_of,
)
from dovetail.sources.read_ahead import ReadAhead
from dovetail.sources.server import Address, Asked, Server
from dovetail.sources.server_batches import GiveOut, ServerBatches, Wanted
from dovetail.sources.trust import LOGIN_VARIABLES

_REMEDY = "check host, port, database and login (the URL, or PGUSER and PGPASSWORD)"
_TARGET = "application_name={tag} connect_timeout=10"
# Ends what the sessions of a tag are doing, from a session without one.
_CANCEL = """
SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity
WHERE application_name = '{tag}' AND pid <> pg_backend_pid()
"""
_PAGE = 8192
# A statement over so many tables locks each of them and its indexes, of which a server allows
# some thousands.
_TABLES_AT_ONCE = 128
# About how many bytes one statement compares in the server, or reads.
_BYTES_COMPARED, _BYTES_READ = 64 << 20, 16 << 20
# A table of more bytes is read alone.
_SMALL = 1 << 20

_AS_IT_IS = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text",
    "character varying", "bytea", "uuid", "interval", "time without time zone",
    "time with time zone",
}  # fmt: skip
_TIMES = {"date", "timestamp without time zone", "timestamp with time zone"}
# Decimals that DuckDB has a type for.
_DECIMAL = re.compile(r"numeric\((?:[1-9]|[12]\d|3[0-8]),\d+\)")

# A column's name, and its type without and with modifiers.
Column = tuple[str, str, str]


class PostgresSource:
    """One PostgreSQL database; tables outside `public` are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        at = server.address(spec.location, spec.credentials, LOGIN_VARIABLES["postgresql"])
        options = _options(spec.seconds)
        try:
            self._server = _connect(at, options)
        except SourceError as error:
            if spec.seconds is not None or "startup parameter" not in str(error):
                raise
            # A proxy in between takes no options: we do without, as long as nobody asked for any.
            self._server = _connect(at, "")
        self._views = spec.views
        self._in_query = spec.seconds is not None
        self._kinds = "'r', 'p', 'm', 'f', 'v'" if spec.views else "'r', 'p', 'm', 'f'"
        self._batches = ServerBatches(self._server, "NULL::{}".format)
        self._expected: set[str] = set()
        self._reads = False
        self._versions = ReadAhead(
            self._expected_versions, most=_TABLES_AT_ONCE, most_bytes=_BYTES_COMPARED
        )
        self._rows = ReadAhead(
            self._load,
            most=_TABLES_AT_ONCE,
            most_bytes=_BYTES_READ,
            forget=self._batches.close,
        )

    def tables(self) -> Sequence[Listing]:
        with self._server.explained():
            rows = self._server.ask(sql.TABLES.format(kinds=self._kinds))
        places = [(schema, table) for schema, table, _ in rows]
        return [
            listing(name, schema, table, pages * _PAGE)
            for name, (schema, table, pages) in zip(names(places, "public"), rows, strict=True)
        ]

    def expect(self, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool) -> None:
        """Prepare to be asked for tables: many are then compared, and read, in one statement."""
        with self._server.explained():
            unsure = [table for table in tables if not self._vouched(table, tokens.get(table.name))]
            self._expected = {table.name for table in unsure}
            self._versions.expect([table for table in unsure if not self._is_empty(table)])
            if rows:
                empty = (table for table in unsure if self._is_empty(table))
                self._batches.learn_types(map(self._wanted, empty))
        self._reads = rows
        self._rows.expect(())

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        with self._server.explained():
            now = dict(self._look[1].get(place_of(table), {}))
            if not now:  # a view or a foreign table: nobody counts its changes
                return Fingerprint("{}", unchanged=False)
            if previous and self._vouched(table, previous):
                return Fingerprint(previous, unchanged=True)
            if self._is_empty(table):
                now["versions"] = sql.NO_ROWS
            else:
                found = self._versions.take(table) or self._ask_versions([table])[table.name]
                now["versions"] = found
        before = json.loads(previous) if previous else {}
        token = json.dumps(now, separators=(",", ":"))
        same = all(before.get(key) == now[key] for key in ("versions", "shape"))
        return Fingerprint(token, unchanged=same)

    def _vouched(self, table: Listing, previous: str | None) -> bool:
        """Whether the counters alone tell that a table is as it was; a view has none."""
        quiet, states = self._look
        now = states.get(place_of(table), {})
        if not now or not previous or not quiet:
            return not now
        return bool(now.items() <= json.loads(previous).items())

    def scan(self, table: Listing) -> Scan:
        calls = self._side_effects.get(place_of(table)) if self._views else None
        if calls:
            raise SourceError(
                f"is a view that calls {calls}, which may do more than read; "
                "leave it out with --exclude"
            )
        if self._is_empty(table):
            with self._server.explained():
                empty = self._batches.empty(self._wanted(table))
            if empty is not None:
                return empty
        read = self._rows.take(table)
        if read is not None:
            return read()
        with self._server.explained():
            wanted = self._wanted(table)
        return self._server.scan(wanted.quoted, wanted.columns)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with self._server.explained():
            rows = self._server.ask(
                sql.DECLARED.format(kinds=self._kinds, most=4 * LONGEST_COMMENT)
            )
        return declarations(tables, map(Row.of, rows))

    def statements(self, most: int) -> Iterator[tuple[str, int, str]]:
        """The statements that `pg_stat_statements` has counted here, each with how often it ran."""
        with self._server.explained():
            homes = self._server.ask(sql.STATISTICS)
        if not homes:
            raise SourceError(
                "the server counts no statements; CREATE EXTENSION pg_stat_statements makes it"
            )
        view = f"{duck.identifier(homes[0][0])}.pg_stat_statements"
        with self._server.explained():
            rows = self._server.ask(sql.STATEMENTS.format(view=view, most=most))
        yield from ((query, calls, "") for query, calls in rows)

    def answers(self) -> bool:
        return self._server.answers()

    def close(self) -> None:
        self._batches.close()
        self._server.close()

    def _is_empty(self, table: Listing) -> bool:
        """Whether a table that we expected to be asked for had no rows when we looked."""
        return table.name in self._expected and self._sizes.get(place_of(table)) == 0

    def _wanted(self, table: Listing) -> Wanted:
        columns = self._columns_of(place_of(table))
        return Wanted(table.name, _quoted(table), tuple(_asked(*column) for column in columns))

    def _ask_versions(self, tables: Sequence[Listing]) -> dict[str, str]:
        """How many rows tables have, and their versions."""
        asked = " UNION ALL ".join(
            sql.VERSIONS.format(number=number, relation=_quoted(table))
            for number, table in enumerate(tables)
        )
        with self._server.explained():
            found = self._server.ask(asked)
        return {tables[number].name: f"{rows} {versions}" for number, rows, versions in found}

    def _expected_versions(self, tables: Sequence[Listing]) -> dict[str, str]:
        """The same; now that it is known, the rows of the small ones may be read ahead."""
        found = self._ask_versions(tables)
        if self._reads:
            sizes = ((table, self._sizes.get(place_of(table), _SMALL)) for table in tables)
            self._rows.expect_also([table for table, size in sizes if size < _SMALL])
        return found

    def _load(self, tables: Sequence[Listing]) -> dict[str, GiveOut]:
        return self._batches.load([self._wanted(table) for table in tables])

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], int]:
        """The bytes of every table that can be read with others; looked up after the states."""
        rows = self._server.ask(sql.SIZES)
        return {(schema, table): 0 if empty else size for schema, table, empty, size in rows}

    @cached_property
    def _side_effects(self) -> dict[tuple[str, str], str]:
        """The views that call volatile functions, with the names of those."""
        with self._server.explained():
            rows = self._server.ask(sql.VOLATILE)
        return {(schema, view): calls for schema, view, calls in rows}

    def _columns_of(self, place: tuple[str, str]) -> list[Column]:
        """The columns of a table: with those of all others, unless for a query, which needs few."""
        if not self._in_query:
            return self._columns.get(place, [])
        schema, table = map(duck.literal, place)
        return self._ask_columns(f"AND n.nspname = {schema} AND c.relname = {table}").get(place, [])

    @cached_property
    def _columns(self) -> dict[tuple[str, str], list[Column]]:
        return self._ask_columns("")

    def _ask_columns(self, which: str) -> dict[tuple[str, str], list[Column]]:
        found: dict[tuple[str, str], list[Column]] = {}
        rows = self._server.ask(sql.COLUMNS.format(kinds=self._kinds, which=which))
        for schema, table, name, plain, full in rows:
            found.setdefault((schema, table), []).append((name, plain, full))
        return found

    @cached_property
    def _look(self) -> tuple[bool, dict[tuple[str, str], dict[str, str]]]:
        """Whether the counters can be relied on, and then the state of every table.

        In this order, and once: what others commit later, the next run will find.
        """
        quiet = bool(self._server.ask(sql.QUIET)[0][0])
        states = {
            (schema, table): {"counters": counters, "shape": shape}
            for schema, table, counters, shape in self._server.ask(sql.STATES)
        }
        return quiet, states


def _connect(at: Address, options: str) -> Server:
    target = f"{_TARGET} {options}"
    return Server("postgres", at, port=5432, target=target, remedy=_REMEDY, cancel=(_CANCEL, ""))


def _options(seconds: float | None) -> str:
    """The options of a session, after what PGOPTIONS asks for.

    Names are looked up in `pg_catalog` alone: whoever may create functions elsewhere could else
    give one of ours another meaning, and have it run with our rights. Where `seconds` are given,
    no statement takes longer, nor writes; DuckDB begins read-only transactions by itself.
    """
    wanted = os.environ.get("PGOPTIONS", "") + " -c search_path=pg_catalog"
    if seconds is not None:
        patience = max(int(seconds * 1000), 1)
        wanted += f" -c default_transaction_read_only=on -c statement_timeout={patience}"
    escaped = wanted.replace("\\", "\\\\").replace("'", "\\'")
    return f"options='{escaped}'"


def _quoted(table: Listing) -> str:
    return ".".join(map(duck.identifier, place_of(table)))


def _asked(name: str, plain: str, full: str) -> Asked:
    """How to ask for a column so that DuckDB has a word for each of its values."""
    column = duck.identifier(name)
    if plain in _AS_IT_IS:
        return Asked(name, column, plain)
    if plain in _TIMES:
        return Asked(name, f"CASE WHEN isfinite({column}) THEN {column} END", plain)
    if _DECIMAL.fullmatch(full):
        return Asked(name, f"nullif({column}, 'NaN')::{full}", full)
    if plain in ("numeric", "money"):
        return Asked(name, f"nullif({column}::numeric, 'NaN')::text", "text", number=True)
    if plain == "oid":
        return Asked(name, f"{column}::bigint", "bigint")
    if plain == "inet":  # written as everywhere else: a cast would add the mask of a lone host
        return Asked(name, f"abbrev({column})", "text")
    return Asked(name, f"{column}::text", "text")
