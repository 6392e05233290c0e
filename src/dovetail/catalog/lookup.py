"""Finding a table by what a person calls it: the one resolver of the Python API and the commands.

A name may be exact (`shop.sqlite::orders`, `orders`), differ in case, or be the end of a longer
one (`customers` for `sales.customers`, `KNA1` for `sap/KNA1` of a folder); what queries call a
table (`erp.customers` of `data/erp.duckdb`) is always a name of it alone. The nearest reading
that any table fits counts; where it fits several, the caller must say which. Other systems name
tables by database, schema and name: `Relations`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath

from dovetail.domain import TableId
from dovetail.domain.sql import QueryNames
from dovetail.errors import AmbiguousTableError, NotFoundError, TableNotFoundError

SEPARATOR = re.compile(r"::|[./\\]")
# Schemas that go unsaid.
HOME = frozenset({"main", "public", "dbo", "default", ""})

Relation = tuple[str, str, str]
_SUGGESTIONS = 3
_MOST_LISTED = 8


def find_table(tables: Sequence[TableId], name: TableId | str, where: object = "") -> TableId:
    """The one table that a name stands for, else an error that lists what it could have meant.

    >>> tables = [TableId("erp", "sales.customers"), TableId("shop.sqlite", "orders")]
    >>> str(find_table(tables, "Customers")), str(find_table(tables, "shop.sqlite::orders"))
    ('erp::sales.customers', 'shop.sqlite::orders')
    >>> find_table(tables, "order")
    Traceback (most recent call last):
        ...
    dovetail.errors.TableNotFoundError: there is no table 'order'; did you mean orders?
    """
    candidates = matches(tables, name)
    if not candidates:
        location = f" in {where}" if str(where) else ""
        hint = _hint(tables, str(name))
        raise TableNotFoundError(f"there is no table {str(name)!r}{location}{hint}")
    if len(candidates) > 1:
        raise AmbiguousTableError(
            f"there are {len(candidates)} tables named {name}; say which: {_listed(candidates)}"
        )
    return candidates[0]


def matches(tables: Iterable[TableId], name: TableId | str) -> list[TableId]:
    """All tables that the nearest reading of a name fits, in the order given."""
    if isinstance(name, TableId):
        return [table for table in tables if table == name]
    readings: tuple[Callable[[TableId], bool], ...] = (
        lambda table: name in (table.name, str(table)),
        lambda table: name.casefold() in (table.name.casefold(), str(table).casefold()),
        _behind_its_source(_dotted(name.casefold())),
        _ends_with(name, str),
        _ends_with(name, str.casefold),
    )
    every = list(tables)
    for fits in readings:
        if fitting := [table for table in every if fits(table)]:
            return fitting
    return []


def _dotted(name: str) -> str:
    """A name as queries write it: `old.crm.orders` for `old/crm::orders`."""
    source, mark, table = name.partition("::")
    return f"{source.replace('/', '.')}.{table}" if mark else name


def _behind_its_source(name: str) -> Callable[[TableId], bool]:
    """Whether a folded name is a table's own behind some of its source's label."""

    def fits(table: TableId) -> bool:
        return name.endswith(f".{table.name.casefold()}") and any(
            longer.casefold() == name for longer in table.longer_names()
        )

    return fits


def _ends_with(name: str, fold: Callable[[str], str]) -> Callable[[TableId], bool]:
    """Whether the parts of a table's id end with those of a name."""
    wanted = SEPARATOR.split(fold(name))

    def fits(table: TableId) -> bool:
        return bool(wanted[-1]) and SEPARATOR.split(fold(str(table)))[-len(wanted) :] == wanted

    return fits


def _hint(tables: Sequence[TableId], name: str) -> str:
    """What queries call tables whose names are nearly this one, by the last part of their names."""
    by_last: dict[str, list[TableId]] = {}
    for table in tables:
        by_last.setdefault(SEPARATOR.split(table.name)[-1].casefold(), []).append(table)
    if not by_last:
        return "; the catalog has no tables"
    last = SEPARATOR.split(name)[-1].casefold()
    near = get_close_matches(last, by_last, n=_SUGGESTIONS)
    called, wanted = QueryNames(tables), _dotted(name.casefold())
    names = [
        full
        for brief in near
        for full in get_close_matches(
            wanted, [called[table] for table in by_last[brief]], n=_SUGGESTIONS, cutoff=0
        )
    ]
    return f"; did you mean {' or '.join(names[:_SUGGESTIONS])}?" if names else ""


def _listed(tables: Sequence[TableId]) -> str:
    more = len(tables) - _MOST_LISTED
    shown = ", ".join(map(str, tables[:_MOST_LISTED]))
    return f"{shown} and {more} more" if more > 0 else shown


def tables_of_sources(tables: Sequence[TableId], sources: Iterable[str]) -> list[TableId]:
    """The tables of some sources, each named by its label, the end of it, or a folder above it.

    >>> tables = [TableId("crm/sales.sqlite", "orders"), TableId("erp", "orders")]
    >>> [str(table) for table in tables_of_sources(tables, ["sales.sqlite"])]
    ['crm/sales.sqlite::orders']
    """
    labels = list(dict.fromkeys(table.source for table in tables))
    chosen: set[str] = set()
    for name in sources:
        matching = {label for label in labels if _is_source(label, name)}
        if not matching:
            shown = ", ".join(labels[:_MOST_LISTED]) or "none"
            more = ", …" if len(labels) > _MOST_LISTED else ""
            raise NotFoundError(f"there is no source {name!r}; there are: {shown}{more}")
        chosen |= matching
    return [table for table in tables if table.source in chosen]


def _is_source(label: str, name: str) -> bool:
    label, name = label.casefold(), name.casefold().rstrip("/")
    return label == name or label.startswith(f"{name}/") or label.endswith(f"/{name}")


class Relations:
    """The tables of a catalog by the names that other systems give them."""

    def __init__(self, tables: Iterable[TableId]) -> None:
        self._by_name: dict[str, list[TableId]] = {}
        self._with_schemas: set[str] = set()
        for table in tables:
            parts = _parts(table)
            self._by_name.setdefault(parts[-1], []).append(table)
            if len(parts) > 1:
                self._with_schemas.add(table.source)

    def named(self, name: str) -> Sequence[TableId]:
        """All tables whose last part is this name, whatever the case."""
        return self._by_name.get(name.casefold(), ())

    def find(self, relation: Relation) -> TableId | None:
        """The table that database, schema and name stand for; None if none, or several, do."""
        database, schema, name = (part.casefold() for part in relation)
        fits = [(self._fit(table, database, schema), table) for table in self.named(name)]
        best = max((fit for fit, _ in fits), default=0)
        fitting = [table for fit, table in fits if fit == best]
        return fitting[0] if best > 0 and len(fitting) == 1 else None

    def near(self, name: str) -> str:
        """A table whose name is nearly this one, or is it in another schema; empty for none."""
        same = self.named(name)
        close = get_close_matches(name.casefold(), self._by_name, n=1) if not same else ()
        nearest = [*same, *(self._by_name[close[0]] if close else ())]
        return nearest[0].name if nearest else ""

    def _fit(self, table: TableId, database: str, schema: str) -> int:
        """How well a table of the right name fits; 0 if it is of another schema."""
        parts = _parts(table)
        if len(parts) > 1:
            fit = 6 if parts[-2] == schema else (2 if not schema else 0)
        elif schema in HOME:
            fit = 5
        elif table.source not in self._with_schemas:
            fit = 4 if _stem(table.source) == schema else 2  # in MySQL a schema is a database
        else:
            fit = 0
        return fit + (fit > 0 and bool(database) and _stem(table.source) == database)


def _parts(table: TableId) -> list[str]:
    return [part.casefold() for part in SEPARATOR.split(table.name)]


def _stem(source: str) -> str:
    """The name of a database, from the label of its source."""
    return PurePath(source).stem.casefold()
