"""What a selector's reply means: strictly where it is sound, leniently where it is damaged.

A reply names groups of tables and one of them (Section 4.2.2), or the chosen tables alone. It is
hostile input: whatever it holds, it comes to some tables of the list or to a reason why not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.models.chat import parse_json

# Digits of a number that can stand for a table or a group.
_DIGITS = 6
_TOO_MANY = 1_000
_EMPTY_LIST = re.compile(r"\[\s*\]")
REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reply selects; tables are numbered from 1, as in the prompt.

    `groups` are by their own numbers. `dropped` counts the entries that were passed over, by why.
    `reason` says why nothing is selected; it is empty exactly when something is. `nothing_fits`
    says that the reply selects nothing on purpose: it has the asked form, with an empty list.
    """

    tables: tuple[int, ...] = ()
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    group: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    nothing_fits: bool = False

    @property
    def sound(self) -> bool:
        """Whether every entry of the reply names a table of the list; repetitions are harmless."""
        return not (self.reason or set(self.dropped) - {REPEATED})


def parse_selection(reply: str, count: int, *, strict: bool = False) -> Selection:
    """Return what a reply selects from a list of `count` tables; a `strict` reader mends nothing.

    >>> parse_selection('{"tables": [3, 1, 3, 9]}', 4).tables
    (3, 1)
    >>> parse_selection("I would need more information.", 4).reason
    'there is no JSON in it'
    >>> parse_selection('{"tables": []}', 4).nothing_fits
    True
    """
    said = parse_json(reply, mend=not strict)
    if said is None:
        return Selection(reason="it is empty" if not reply.strip() else "there is no JSON in it")
    dropped: Counter[str] = Counter()
    groups: dict[int, tuple[int, ...]] = {}
    chosen: int | None = None
    if isinstance(said, dict) and "tables" in said:
        tables = _numbers(said["tables"], count, dropped)
    elif isinstance(said, list) and not any(isinstance(item, dict) for item in said):
        tables = _numbers(said, count, dropped)
    else:
        listed = said.get("groups") if isinstance(said, dict) else said
        groups = _groups(listed, count, dropped)
        wanted = said.get("selected_group_index") if isinstance(said, dict) else None
        chosen = _selected(wanted, groups)
        if chosen is None:
            why = "it has no group" if not groups else "it selects none of its groups"
            empty = listed == [] and _written_empty(reply)
            return Selection((), groups, None, dict(dropped), why, nothing_fits=empty)
        tables = groups[chosen]
    if tables:
        return Selection(tables, groups, chosen, dict(dropped))
    reason = "what it selects holds no table of the list"
    asked = isinstance(said, dict) and (chosen is not None or said["tables"] == [])
    empty = asked and not dropped and _written_empty(reply)
    return Selection((), groups, chosen, dict(dropped), reason, nothing_fits=empty)


def _written_empty(reply: str) -> bool:
    """Whether a reply spells out an empty list; a torn list is mended to one without saying so."""
    return _EMPTY_LIST.search(reply) is not None


def _groups(listed: object, count: int, dropped: Counter[str]) -> dict[int, tuple[int, ...]]:
    """Groups by their numbers; two with the same number are one."""
    groups: dict[int, tuple[int, ...]] = {}
    for place, item in enumerate(_some(listed, dropped), start=1):
        if not isinstance(item, dict):
            dropped["not a group"] += 1
            continue
        number = _number(item.get("group_index", place))
        if number is None:
            dropped["group without a number"] += 1
            continue
        tables = _numbers(item.get("table_indices"), count, dropped)
        groups[number] = tuple(dict.fromkeys(groups.get(number, ()) + tables))
    return groups


def _selected(wanted: object, groups: Mapping[int, tuple[int, ...]]) -> int | None:
    """The number of the group that is meant: the one that is named, or the only one there is."""
    number = _number(wanted)
    if number in groups:
        return number
    return next(iter(groups)) if len(groups) == 1 and wanted is None else None


def _numbers(listed: object, count: int, dropped: Counter[str]) -> tuple[int, ...]:
    """The numbers of tables in a list, each once, in the order of the list."""
    found: dict[int, None] = {}
    for item in _some(listed, dropped):
        number = _number(item)
        if number is None:
            dropped["not a number"] += 1
        elif not 1 <= number <= count:
            dropped["out of range"] += 1
        elif number in found:
            dropped[REPEATED] += 1
        else:
            found[number] = None
    return tuple(found)


def _some(listed: object, dropped: Counter[str]) -> Sequence[object]:
    """A list as far as anybody would read it; anything else is none."""
    if not isinstance(listed, list):
        if listed is not None:
            dropped["not a list"] += 1
        return ()
    if len(listed) > _TOO_MANY:
        dropped["beyond the first thousand"] += len(listed) - _TOO_MANY
    return listed[:_TOO_MANY]


def _number(item: object) -> int | None:
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
