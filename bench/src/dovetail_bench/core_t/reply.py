"""What a reply to the paper's prompt means: groups of tables and one of them (Section 4.2.2).

A reply that names the chosen tables alone, as to our own prompts, is understood as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.models.chat import parse_json
from dovetail.retrieve.reply import (
    REPEATED,
    listed_items,
    listed_numbers,
    spells_out_empty,
    whole_number,
)


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
    value = parse_json(reply, mend=not strict)
    if value is None:
        return Selection(reason="it is empty" if not reply.strip() else "there is no JSON in it")
    dropped: Counter[str] = Counter()
    groups: dict[int, tuple[int, ...]] = {}
    chosen: int | None = None
    if isinstance(value, dict) and "tables" in value:
        tables = listed_numbers(value["tables"], count, dropped)
    elif isinstance(value, list) and not any(isinstance(item, dict) for item in value):
        tables = listed_numbers(value, count, dropped)
    else:
        listed = value.get("groups") if isinstance(value, dict) else value
        groups = _groups(listed, count, dropped)
        wanted = value.get("selected_group_index") if isinstance(value, dict) else None
        chosen = _selected(wanted, groups)
        if chosen is None:
            why = "it has no group" if not groups else "it selects none of its groups"
            empty = listed == [] and spells_out_empty(reply)
            return Selection((), groups, None, dict(dropped), why, nothing_fits=empty)
        tables = groups[chosen]
    if tables:
        return Selection(tables, groups, chosen, dict(dropped))
    reason = "what it selects holds no table of the list"
    asked = isinstance(value, dict) and (chosen is not None or value["tables"] == [])
    empty = asked and not dropped and spells_out_empty(reply)
    return Selection((), groups, chosen, dict(dropped), reason, nothing_fits=empty)


def _groups(listed: object, count: int, dropped: Counter[str]) -> dict[int, tuple[int, ...]]:
    """Groups by their numbers; two with the same number are one."""
    groups: dict[int, tuple[int, ...]] = {}
    for at, item in enumerate(listed_items(listed, dropped), start=1):
        if not isinstance(item, dict):
            dropped["not a group"] += 1
            continue
        number = whole_number(item.get("group_index", at))
        if number is None:
            dropped["group without a number"] += 1
            continue
        tables = listed_numbers(item.get("table_indices"), count, dropped)
        groups[number] = tuple(dict.fromkeys(groups.get(number, ()) + tables))
    return groups


def _selected(wanted: object, groups: Mapping[int, tuple[int, ...]]) -> int | None:
    """The number of the group that is meant: the one that is named, or the only one there is."""
    number = whole_number(wanted)
    if number in groups:
        return number
    return next(iter(groups)) if len(groups) == 1 and wanted is None else None
