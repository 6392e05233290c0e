"""Finding a table by what a person calls it: the one resolver of the Python API and the commands.

A name may be exact (`shop.sqlite::orders`, `orders`), differ in case, or be the end of a longer
one (`customers` for `sales.customers`, `KNA1` for `sap/KNA1` of a folder); what queries call a
table (`erp.customers` of `data/erp.duckdb`) is always a name of it alone. The nearest reading
that any table fits counts; where it fits several, the caller must say which. Other systems name
tables by database, schema and name: a `Relation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath

from dovetail.domain import TableId
from dovetail.domain.sql import QueryNames
from dovetail.domain.tables import SEPARATOR, short_sources
from dovetail.errors import AmbiguousTableError, NotFoundError, TableNotFoundError

# Schemas that go unsaid.
_DEFAULT_SCHEMAS = frozenset({"main", "public", "dbo", "default", ""})

Relation = tuple[str, str, str]
_SUGGESTIONS = 3
_MOST_LISTED = 8


class TableNames:
    """Some tables by what people and other systems call them.

    Tables that a name may mean have the same last part, whatever the case, so no others are read.

    >>> names = TableNames([TableId("erp", "sales.customers"), TableId("shop.sqlite", "orders")])
    >>> str(names.find("Customers")), str(names.find("shop.sqlite::orders"))
    ('erp::sales.customers', 'shop.sqlite::orders')
    >>> names.find("order")
    Traceback (most recent call last):
        ...
    dovetail.errors.TableNotFoundError: there is no table 'order'; did you mean orders?
    """

    def __init__(self, tables: Iterable[TableId]) -> None:
        self._by_last: dict[str, list[TableId]] = {}
        self._with_schemas: set[str] = set()
        for table in tables:
            parts = _parts(table)
            self._by_last.setdefault(parts[-1], []).append(table)
            if len(parts) > 1:
                self._with_schemas.add(table.source)

    def find(self, name: TableId | str, where: object = "") -> TableId:
        """The one table that a name stands for, else an error that lists what it could mean."""
        candidates = self.matches(name)
        if not candidates:
            location = f" in {where}" if str(where) else ""
            hint = self._hint(str(name))
            raise TableNotFoundError(f"there is no table {str(name)!r}{location}{hint}")
        if len(candidates) > 1:
            raise AmbiguousTableError(
                f"there are {len(candidates)} tables named {name}; say which: {_listed(candidates)}"
            )
        return candidates[0]

    def matches(self, name: TableId | str) -> list[TableId]:
        """All tables that the nearest reading of a name fits, in the order given."""
        if isinstance(name, TableId):
            return [table for table in self.named(_last(name.name)) if table == name]
        folded = name.casefold()
        dotted, parts = _dotted(folded), SEPARATOR.split(name)
        readings: tuple[Callable[[TableId], bool], ...] = (
            lambda table: name in (table.name, str(table)),
            lambda table: folded in (table.name.casefold(), str(table).casefold()),
            lambda table: any(longer.casefold() == dotted for longer in table.longer_names()),
            lambda table: table.is_called(name) and _ends_with(table, parts),
            lambda table: table.is_called(name),
        )
        # A source whose label ends with a colon leaves it with the name: `x:::orders`.
        candidates = self.named(parts[-1]) or self.named(parts[-1].lstrip(":"))
        for fits in readings:
            if fitting := [table for table in candidates if fits(table)]:
                return fitting
        return []

    def named(self, last: str) -> Sequence[TableId]:
        """All tables whose last part is this, whatever the case."""
        return self._by_last.get(last.casefold(), ())

    def find_relation(self, relation: Relation) -> TableId | None:
        """The table that database, schema and name stand for; None if none, or several, do."""
        database, schema, name = (part.casefold() for part in relation)
        fits = [(self._fit(table, database, schema), table) for table in self.named(name)]
        best = max((fit for fit, _ in fits), default=0)
        fitting = [table for fit, table in fits if fit == best]
        return fitting[0] if best > 0 and len(fitting) == 1 else None

    def near(self, last: str) -> str:
        """A table whose name is nearly this one, or is it in another schema; empty for none."""
        same = self.named(last)
        close = get_close_matches(last.casefold(), self._by_last, n=1) if not same else ()
        nearest = [*same, *(self._by_last[close[0]] if close else ())]
        return nearest[0].name if nearest else ""

    def _fit(self, table: TableId, database: str, schema: str) -> int:
        """How well a table of the right name fits; 0 if it is of another schema."""
        parts = _parts(table)
        if len(parts) > 1:
            fit = 6 if parts[-2] == schema else (2 if not schema else 0)
        elif schema in _DEFAULT_SCHEMAS:
            fit = 5
        elif table.source not in self._with_schemas:
            fit = 4 if _stem(table.source) == schema else 2  # in MySQL a schema is a database
        else:
            fit = 0
        return fit + (fit > 0 and bool(database) and _stem(table.source) == database)

    def _hint(self, name: str) -> str:
        """What queries call tables whose names are nearly this one, by the last part of theirs."""
        if not self._by_last:
            return "; the catalog has no tables"
        near = get_close_matches(_last(name).casefold(), self._by_last, n=_SUGGESTIONS)
        called = QueryNames(table for tables in self._by_last.values() for table in tables)
        names = [
            full
            for last in near
            for full in get_close_matches(
                _dotted(name.casefold()),
                [called[table] for table in self._by_last[last]],
                n=_SUGGESTIONS,
                cutoff=0,
            )
        ]
        return f"; did you mean {' or '.join(names[:_SUGGESTIONS])}?" if names else ""


def find_table(tables: Iterable[TableId], name: TableId | str) -> TableId:
    """The one of some tables that a name stands for, where they are asked for no other."""
    return TableNames(tables).find(name)


def _parts(table: TableId) -> list[str]:
    return SEPARATOR.split(table.name.casefold())


def _ends_with(table: TableId, parts: list[str]) -> bool:
    return SEPARATOR.split(str(table))[-len(parts) :] == parts


def _last(name: str) -> str:
    return SEPARATOR.split(name)[-1]


def _stem(source: str) -> str:
    """The name of a database, from the label of its source."""
    return PurePath(source).stem.casefold()


def _dotted(name: str) -> str:
    """A name as queries write it: `old.crm.orders` for `old/crm::orders`."""
    source, mark, table = name.partition("::")
    return f"{source.replace('/', '.')}.{table}" if mark else name


def _listed(tables: Sequence[TableId]) -> str:
    more = len(tables) - _MOST_LISTED
    shown = ", ".join(map(str, tables[:_MOST_LISTED]))
    return f"{shown} and {more} more" if more > 0 else shown


def tables_of_sources(tables: Sequence[TableId], sources: Iterable[str]) -> list[TableId]:
    """The tables of some sources, each named by its label, an end of it or a folder, or in short.

    >>> tables = [TableId("crm/sales.sqlite", "orders"), TableId("erp", "orders")]
    >>> [str(table) for table in tables_of_sources(tables, ["sales"])]
    ['crm/sales.sqlite::orders']
    """
    labels = list(dict.fromkeys(table.source for table in tables))
    short = short_sources(labels)
    chosen: set[str] = set()
    for name in sources:
        matching = {label for label in labels if _is_source(label, name)}
        matching = matching or {one for one in labels if short[one].casefold() == name.casefold()}
        if not matching:
            shown = ", ".join(labels[:_MOST_LISTED]) or "none"
            more = ", …" if len(labels) > _MOST_LISTED else ""
            raise NotFoundError(f"there is no source {name!r}; there are: {shown}{more}")
        chosen |= matching
    return [table for table in tables if table.source in chosen]


def _is_source(label: str, name: str) -> bool:
    label, name = label.casefold(), name.casefold().rstrip("/")
    return label == name or label.startswith(f"{name}/") or label.endswith(f"/{name}")
