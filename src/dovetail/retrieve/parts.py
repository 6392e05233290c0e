"""The parts of a query: as a question asks for them, and as JSON, to be changed and written anew.

A person sees each part in words, changes one and has the query again; no part is SQL, so that
nothing of a part is taken for more than a name, a value or a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.domain import Column, Table
from dovetail.domain.sql import literal
from dovetail.domain.tables import NUMBERS
from dovetail.errors import UsageError
from dovetail.ports import Json

AVERAGE = "average"
WORDS = {">": "above", "<": "below", ">=": "at least", "<=": "at most", "=": "", "<>": "not"}
FUNCTIONS = {
    "count": "number of",
    "avg": "average",
    "sum": "total",
    "max": "highest",
    "min": "lowest",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


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
    """What is returned, grouped or sorted by: a column, or a function of it."""

    at: int
    of: Ref
    function: str = ""
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of a column: an operator, what stands behind it, and that in words.

    `either` says that it or the one before it must hold.
    """

    at: int
    of: Ref
    operator: str
    operands: tuple[str, ...]
    words: str
    either: bool = False


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


def item_words(item: Item) -> str:
    """What is returned, grouped or sorted by, in words."""
    return f"{FUNCTIONS[item.function]} {item.of.words}" if item.function else item.of.words


def column_words(of: Ref, reading: Reading) -> str:
    """What a condition's column is called: with its table, where another that is read has one so
    called."""
    refs = [item.of for item in (*reading.select, *reading.group)]
    refs += [item.of for item, _ in reading.order] + [one.of for one in reading.where]
    others = {one.table.id: one.table for one in refs if one.table.id != of.table.id}.values()
    twice = any(of.words == column.name for table in others for column in table.columns)
    return f"{of.words} of {of.table.name}" if twice else of.words


def parts_of(reading: Reading) -> Json:
    """The parts of a query: columns or functions of them, conditions, groups, an order, a limit."""
    return {
        "select": [_item_json(item) for item in reading.select],
        "where": [
            {
                "table": str(one.of.table.id),
                "column": one.of.words,
                "operator": one.operator,
                "values": [_text(operand) for operand in one.operands],
                "either": one.either,
                "words": f"{column_words(one.of, reading)} is {one.words}",
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
        return Item(0, ref(part), function, part.get("distinct", False))

    def condition(part: Mapping[str, Any]) -> Condition:
        of, operator, texts = ref(part), part["operator"], part["values"]
        operands = tuple(_operand(of, operator, text) for text in texts)
        words = _condition_words(operator, texts)
        return Condition(0, of, operator, operands, words, part.get("either", False))

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
        "words": item_words(item),
    }


def _column(table: Table, name: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise UsageError(f"{table.id} has no column {name!r}")


def _text(operand: str) -> str:
    """What a person reads of an operand: a literal without its quotes."""
    return operand[1:-1].replace("''", "'") if operand.startswith("'") else operand


def _operand(of: Ref, operator: str, text: str) -> str:
    """A text as an operand; bounds stay texts, for the writer knows what they are compared with."""
    if operator in (">", "<", ">=", "<=", "<>", "between") or text == AVERAGE:
        return text
    number = of.column is not None and of.column.profile.kind in NUMBERS
    plain = number and not operator.endswith("like") and _NUMBER.fullmatch(text)
    return text if plain else literal(text)


def _condition_words(operator: str, texts: Sequence[str]) -> str:
    negated, plain = operator.startswith("not "), operator.removeprefix("not ")
    if plain in ("=", "in", "ilike"):
        said = " or ".join(text.strip("%") for text in texts)
        said = f"like {said}" if any("%" in text for text in texts) else said
    else:
        said = f"{WORDS.get(plain, plain)} {' and '.join(text.strip('%') for text in texts)}"
    return f"not {said}" if negated else said
