"""The parts of a query: as a question asks for them, and as JSON, to be changed and written anew.

A person sees each part in words, changes one and has the query again; no part is SQL, so that
nothing of a part is taken for more than a name, a value or a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dovetail.domain import Column, Table
from dovetail.domain.sql import MOST, MOST_ROWS, MOST_VALUES
from dovetail.errors import UsageError
from dovetail.ports import Json

AVERAGE = "average"
WORDS = {
    ">": "above", "<": "below", ">=": "at least", "<=": "at most", "=": "", "<>": "not", "in": "",
    "like": "like", "ilike": "like",
}  # fmt: skip
FUNCTIONS = {
    "count": "number of",
    "avg": "average",
    "sum": "total",
    "max": "highest",
    "min": "lowest",
}
UNITS = ("year", "quarter", "month", "week", "day")


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of a table; without one it is the table's rows."""

    table: Table
    column: Column | None = None

    @property
    def words(self) -> str:
        return self.column.name if self.column else self.table.name


@dataclass(frozen=True, slots=True)
class Item:
    """What is returned, grouped or sorted by: a column, a function of it, or the `unit` of time
    that its dates are in."""

    at: int
    of: Ref
    function: str = ""
    distinct: bool = False
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of a column: an operator, and the values behind it as a person writes them.

    `either` says that it or the one before it must hold.
    """

    at: int
    of: Ref
    operator: str
    values: tuple[str, ...]
    either: bool = False

    @property
    def words(self) -> str:
        """The operator and its values in words."""
        plain = self.operator.removeprefix("not ")
        values = [text.strip("%") if plain.endswith("like") else text for text in self.values]
        listed = (" or " if plain in ("=", "in") else " and ").join(values)
        said = f"{WORDS.get(plain, plain)} {listed}".strip()
        return said if plain == self.operator else f"not {said}"


@dataclass(slots=True)
class Reading:
    """The parts of a query as a question asks for them."""

    select: list[Item] = field(default_factory=list)
    where: list[Condition] = field(default_factory=list)
    group: list[Item] = field(default_factory=list)
    having: list[tuple[str, str]] = field(default_factory=list)
    order: list[tuple[Item, bool]] = field(default_factory=list)
    absent: list[Table] = field(default_factory=list)
    counted: list[Table] = field(default_factory=list)
    limit: int = 0
    distinct: bool = False
    everything: bool = False
    per: bool = False
    both: bool = False
    open: list[str] = field(default_factory=list)

    def keep_bounds(self) -> None:
        """Leave out what is beyond the bounds of a query; that something is is open."""
        for name, most in MOST.items():
            if (beyond := getattr(self, name)[most:]) and name != "open":
                self.open.insert(0, f"what of {len(beyond):,} more? ({name})")
            del getattr(self, name)[most:]
        for at, one in enumerate(self.where):
            if len(one.values) > MOST_VALUES:
                self.open.insert(0, f"what of more than {MOST_VALUES} values of {one.of.words}?")
                self.where[at] = replace(one, values=one.values[:MOST_VALUES])
        if self.limit > MOST_ROWS:
            self.open.insert(0, f"what of more than {MOST_ROWS:,} rows?")
            self.limit = MOST_ROWS
        del self.open[MOST["open"] :]

    @property
    def tables(self) -> list[Table]:
        """The tables that any part reads, each once."""
        listed = (*(of.table for of in self.refs), *self.counted)
        return list({table.id: table for table in listed}.values())

    @property
    def refs(self) -> list[Ref]:
        """The columns and rows that any part is of."""
        refs = [item.of for item in (*self.select, *self.group)]
        refs += [condition.of for condition in self.where]
        return refs + [item.of for item, _ in self.order if item.of.column or item.function]


def item_words(item: Item) -> str:
    """What is returned, grouped or sorted by, in words."""
    words = f"{item.unit} of {item.of.words}" if item.unit else item.of.words
    return f"{FUNCTIONS[item.function]} {words}" if item.function else words


def parts_of(reading: Reading) -> Json:
    """The parts of a query: columns or functions of them, conditions, groups, an order, a limit."""
    return {
        "select": [_item_json(item) for item in reading.select],
        "where": [
            {
                "table": str(one.of.table.id),
                "column": one.of.words,
                "operator": one.operator,
                "values": list(one.values),
                "either": one.either,
                "words": f"{one.of.words} is {one.words}",
            }
            for one in reading.where
        ],
        "group": [_item_json(item) for item in reading.group],
        "having": [
            {"operator": operator, "number": number, "words": f"{WORDS[operator]} {number} rows"}
            for operator, number in reading.having
        ],
        "order": [
            _item_json(item) | {"down": down}
            for item, down in reading.order
            if item.of.column or item.function
        ],
        "absent": [str(table.id) for table in reading.absent],
        "counted": [str(table.id) for table in reading.counted],
        "limit": reading.limit,
        "distinct": reading.distinct,
        "both": reading.both,
        "everything": reading.everything,
        "open": list(reading.open),
    }


def reading_of(parts: Mapping[str, Any], tables: Sequence[Table]) -> Reading:
    """What such parts ask for, over the tables of a set: the inverse of `parts_of`."""
    known = {str(table.id): table for table in tables}

    def table(name: str) -> Table:
        if name not in known:
            raise UsageError(f"{name!r} is no table of this set; it has: {', '.join(known)}")
        return known[name]

    def ref(part: Mapping[str, Any]) -> Ref:
        of, name = table(part["table"]), part.get("column")
        return Ref(of, None if name is None else _column(of, name))

    def item(part: Mapping[str, Any]) -> Item:
        function = part.get("function", "")
        if function and function not in FUNCTIONS:
            raise UsageError(f"there is no function {function!r}; one of: {', '.join(FUNCTIONS)}")
        unit = part.get("unit", "")
        if unit and unit not in UNITS:
            raise UsageError(f"there is no unit {unit!r}; one of: {', '.join(UNITS)}")
        return Item(0, ref(part), function, part.get("distinct", False), unit)

    def condition(part: Mapping[str, Any]) -> Condition:
        values = tuple(part["values"])
        return Condition(0, ref(part), part["operator"], values, part.get("either", False))

    return Reading(
        select=[item(part) for part in parts.get("select", ())],
        where=[condition(part) for part in parts.get("where", ())],
        group=[item(part) for part in parts.get("group", ())],
        having=[(part["operator"], part["number"]) for part in parts.get("having", ())],
        order=[(item(part), part.get("down", False)) for part in parts.get("order", ())],
        absent=[table(name) for name in parts.get("absent", ())],
        counted=[table(name) for name in parts.get("counted", ())],
        limit=parts.get("limit", 0),
        distinct=parts.get("distinct", False),
        both=parts.get("both", False),
        everything=parts.get("everything", False),
    )


def _item_json(item: Item) -> Json:
    return {
        "table": str(item.of.table.id),
        "column": item.of.column.name if item.of.column else None,
        "function": item.function,
        "distinct": item.distinct,
        "unit": item.unit,
        "words": item_words(item),
    }


def _column(table: Table, name: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise UsageError(f"{table.id} has no column {name!r}")
