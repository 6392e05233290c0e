"""What a model's reply means: strictly where it is sound, leniently where it is damaged.

A reply names the chosen tables by their numbers. It is hostile input: whatever it holds, it comes
to tables of the list or to a reason why not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.models.chat import parse_json
from dovetail.retrieve.look import phrases

# Digits of a number that can name a table.
_DIGITS = 6
_TOO_MANY = 1_000
_EMPTY_LIST = re.compile(r"\[\s*\]")
REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reply selects; tables are numbered from 1, as in the prompt.

    `missing` says in words what the model would have needed besides, `sure` how probable it holds
    the set to be right; None where it does not say. `dropped` counts the entries that were passed
    over, by why. `reason` says why nothing is selected; it is empty exactly when something is.
    `nothing_fits` says that the reply selects nothing on purpose: it has the asked form, with an
    empty list.
    """

    tables: tuple[int, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    nothing_fits: bool = False
    missing: str = ""
    sure: float | None = None


def parse_selection(reply: str, count: int) -> Selection:
    """Return what a reply selects from a list of `count` tables.

    >>> parse_selection('{"tables": [3, 1, 3, 9]}', 4).tables
    (3, 1)
    >>> parse_selection("I would need more information.", 4).reason
    'there is no JSON in it'
    >>> parse_selection('{"tables": []}', 4).nothing_fits
    True
    """
    value = parse_json(reply)
    if value is None:
        return Selection(reason="it is empty" if not reply.strip() else "there is no JSON in it")
    dropped: Counter[str] = Counter()
    listed = value.get("tables") if isinstance(value, dict) else value
    tables = listed_numbers(listed, count, dropped)
    more = value if isinstance(value, dict) else {}
    missing, sure = _text(more.get("missing")), _probability(more.get("sure"))
    if tables:
        return Selection(tables, dict(dropped), missing=missing, sure=sure)
    empty = isinstance(value, dict) and listed == [] and spells_out_empty(reply)
    reason = "what it selects holds no table of the list"
    return Selection((), dict(dropped), reason, nothing_fits=empty, missing=missing, sure=sure)


def _text(item: object) -> str:
    """A text as a phrase to search for; anything else is none."""
    return next(iter(phrases([item])), "")


def _probability(item: object) -> float | None:
    """A number from 0 to 1, not a truth value; anything else is none."""
    is_number = isinstance(item, int | float) and not isinstance(item, bool)
    return float(item) if is_number and 0 <= item <= 1 else None  # type: ignore[operator,arg-type]


def spells_out_empty(reply: str) -> bool:
    """Whether a reply has an empty list; a torn list is mended to one without saying so."""
    return _EMPTY_LIST.search(reply) is not None


def listed_numbers(listed: object, count: int, dropped: Counter[str]) -> tuple[int, ...]:
    """The numbers of tables in a list, each once, in the order of the list."""
    numbers: dict[int, None] = {}
    for item in listed_items(listed, dropped):
        number = whole_number(item)
        if number is None:
            dropped["not a number"] += 1
        elif not 1 <= number <= count:
            dropped["out of range"] += 1
        elif number in numbers:
            dropped[REPEATED] += 1
        else:
            numbers[number] = None
    return tuple(numbers)


def listed_items(listed: object, dropped: Counter[str]) -> Sequence[object]:
    """A list as far as anybody would read it; anything else is none."""
    if not isinstance(listed, list):
        if listed is not None:
            dropped["not a list"] += 1
        return ()
    if len(listed) > _TOO_MANY:
        dropped["beyond the first thousand"] += len(listed) - _TOO_MANY
    return listed[:_TOO_MANY]


def whole_number(item: object) -> int | None:
    """A whole number, also one that is written as text or with a point."""
    if isinstance(item, bool):
        return None
    if isinstance(item, int):
        return item
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, str):
        text = item.strip()
        return int(text) if text.isdecimal() and len(text) <= _DIGITS else None
    return None
