"""Key domains: columns that hold the same identifiers, and where these are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.domain.sql import transform_words
from dovetail.domain.tables import TableId


@dataclass(frozen=True, slots=True)
class DomainColumn:
    """A column of a key domain.

    `refers_to` is the column that it refers to, None for a master that refers to none; `transform`
    is what must be done before the two match, `match_rate` the share of its rows that find a
    partner there, and `missing` how many of its values find none, with `examples`.

    >>> DomainColumn(TableId("erp", "orders"), "customer_no", match_rate=0.98).match_rate
    0.98
    """

    table: TableId
    name: str
    refers_to: tuple[TableId, str] | None = None
    transform: str = ""
    match_rate: float = 1.0
    missing: int = 0
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"

    def to_dict(self) -> dict[str, Any]:
        """The column as JSON has it."""
        refers = self.refers_to
        return {
            "table": str(self.table),
            "column": self.name,
            "refers_to": f"{refers[0]}.{refers[1]}" if refers else None,
            "transform": self.transform or None,
            "after": transform_words(self.transform) or None,
            "match_rate": self.match_rate,
            "values_without_partner": self.missing,
            "examples": list(self.examples),
        }


@dataclass(frozen=True, slots=True)
class KeyDomain:
    """Columns that hold the same identifiers, such as policy numbers, across tables and systems.

    `master` is where they are made: the column that the others refer to, directly or through the
    master of their own source. `masters` is that of each source that has one. Two columns of a
    domain join through its master, unless they do so directly.

    >>> import dovetail
    >>> catalog = dovetail.build("shop.sqlite", into="shop")
    >>> domain = catalog.domains("orders")[0]
    >>> domain.name, str(domain.master), len(domain.columns)
    ('order numbers', 'shop.sqlite::orders.order_no', 2)
    """

    name: str
    master: DomainColumn
    masters: Mapping[str, DomainColumn]
    columns: tuple[DomainColumn, ...]

    @property
    def normal_form(self) -> str:
        """In words, what must be done before values match."""
        words = {transform_words(column.transform) for column in self.columns} - {""}
        return "; ".join(sorted(words)) or "as they are"

    def told_of(self, column: DomainColumn) -> str:
        """What a column holds and where that is made, what must be done before it matches, and what
        finds no partner, in a line."""
        here = (column.table, column.name) == (self.master.table, self.master.name)
        where = "made here" if here else f"made in {self.master}"
        examples = f" ({', '.join(column.examples[:3])})" if column.examples else ""
        missing = (
            f"{column.missing:,} of them without a partner{examples}" if column.missing else ""
        )
        parts = [f"{column.name}: {self.name}, {where}", transform_words(column.transform), missing]
        return ", ".join(filter(None, parts))

    def to_dict(self) -> dict[str, Any]:
        """The domain as JSON has it."""
        return {
            "name": self.name,
            "normal_form": self.normal_form,
            "master": str(self.master),
            "masters": {source: str(column) for source, column in self.masters.items()},
            "columns": [column.to_dict() for column in self.columns],
        }
