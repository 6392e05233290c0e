"""Selection: one call to a language model chooses among the candidates (Section 4.2.2).

The prompt holds every candidate whole, with sampled rows and purpose, and every pair that joins; a
reply may be as long as the model's context allows. Where a prompt leaves no room for a reply,
nobody is asked. A reply groups tables and selects one of the groups; one that is damaged cannot be
used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dovetail.domain import Candidate, Table
from dovetail.models.chat import estimate_tokens, parse_json
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.prompt import JoinedPair, named
from dovetail.retrieve.reply import listed_items, listed_numbers, whole_number
from dovetail.retrieve.trace import Stage
from dovetail.search.query import Query, clipped
from dovetail.text import PromptText, cut, escape, fenced
from dovetail_bench.markdown import markdown
from dovetail_bench.prompts import PROMPTS

_PROMPT = read_prompt("select_full", PROMPTS)
# Of a model's context, what a prompt may take by our estimate: tokens of odd texts are shorter.
_SHARE = 0.75
# The fewest tokens that a reply needs, and characters of it that the trace keeps.
_LEAST_REPLY, _REPLY_KEPT = 1_024, 1_000
# Characters at the end of a reply that, there so many times, show that it goes round in circles.
_END, _TIMES = 40, 3


def _object(**properties: Json) -> Json:
    """The schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer"}
SCHEMA = _object(
    overall_reasoning=_TEXT,
    group_formation=_object(
        reasoning=_TEXT,
        groups_formed=_list(
            _object(group_index=_NUMBER, table_indices=_list(_NUMBER), group_description=_TEXT)
        ),
    ),
    group_selection=_object(
        selected_group_index=_NUMBER,
        reasoning=_TEXT,
        group_analysis=_list(_object(group_index=_NUMBER, reasoning=_TEXT)),
    ),
)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a reply selects; tables are numbered from 1, as in the prompt.

    `groups` are by their own numbers. `dropped` counts the entries that were passed over, by why.
    `reason` says why nothing is selected; it is empty exactly when something is.
    """

    tables: tuple[int, ...] = ()
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LLMSelector:
    """Asks a model to choose among candidates, and records prompt and reply in the trace.

    `context` is how many tokens the model takes in and writes together.
    """

    llm: LLM
    context: int

    def select(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        tables: Sequence[Table],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """Return the selection of one call; a reply that cannot be used gives a reason instead.

        `tables` are those of the candidates.
        """
        stage.facts["model"] = self.llm.model_id
        if len(candidates) < 2:
            return Selection(tables=tuple(range(1, len(candidates) + 1)))
        messages = _PROMPT.fill(
            question=" ".join(clipped(query.text).split()),
            tables=PromptText("\n\n".join(shown(at, table) for at, table in enumerate(tables, 1))),
            pairs=fenced("\n".join(map(_pair, pairs))) if pairs else "none",
        )
        taken = int(sum(estimate_tokens(message.content) for message in messages) / _SHARE)
        room = self.context - taken
        if room < _LEAST_REPLY:
            return Selection(reason=f"the prompt takes {taken} of {self.context} tokens")
        completion = stage.ask(self.llm, messages, schema=SCHEMA, max_tokens=room)
        selection = parse_selection(completion.text, len(candidates))
        if selection.reason and completion.truncated:
            selection = replace(selection, reason=why_cut(completion.text))
        stage.facts |= {
            "reply": escape(cut(completion.text, _REPLY_KEPT)),
            "groups": {str(number): list(group) for number, group in selection.groups.items()},
            "selected": list(selection.tables),
            "dropped": dict(selection.dropped),
        }
        return selection


def parse_selection(reply: str, count: int) -> Selection:
    """Return what a reply selects from a list of `count` tables; damaged JSON is not mended.

    >>> parse_selection("I would need more information.", 4).reason
    'there is no JSON in it'
    """
    value = parse_json(reply, mend=False)
    if value is None:
        return Selection(reason="there is no JSON in it" if reply.strip() else "it is empty")
    dropped: Counter[str] = Counter()
    groups = _groups(_part(value, "group_formation", "groups_formed"), count, dropped)
    wanted = _part(value, "group_selection", "selected_group_index")
    chosen = _selected(wanted, groups)
    if chosen is None:
        why = "it selects none of its groups" if groups else "it has no group"
        return Selection((), groups, dict(dropped), why)
    why = "" if groups[chosen] else "what it selects holds no table of the list"
    return Selection(groups[chosen], groups, dict(dropped), why)


def why_cut(reply: str) -> str:
    """Why a reply had not ended where it was cut; numbers that count up are repetition, too.

    >>> why_cut("Table 1 joins table 2. " * 9), why_cut("The question asks for")
    ('it repeats itself until it is cut', 'it is cut')
    """
    text = re.sub(r"\d+", "#", reply)
    circles = text.count(text[-_END:]) >= _TIMES
    return "it repeats itself until it is cut" if circles else "it is cut"


def _part(value: object, *path: str) -> object:
    """What stands at a path of names in a reply; None where it does not."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


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


def shown(number: int, table: Table) -> str:
    """A table as the prompt has it, in a fence of its own."""
    purpose = f"\n\nPurpose: {escape(table.comment)}" if table.comment else ""
    return f"Table {number}\n{fenced(markdown(table) + purpose)}"


def _pair(pair: JoinedPair) -> str:
    (left, right), *_ = pair.edge.columns
    return (
        f"Table {pair.left + 1} and Table {pair.right + 1}\n"
        f"  overall_compatibility: {pair.edge.score:.2f}\n"
        f"  best_join_columns: {named(left)} and {named(right)}"
    )
