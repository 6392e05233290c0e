"""Selection by one call of a language model, as the paper has it (Section 4.2.2).

The prompt shows sampled rows, purposes and every pair with its score, within a budget of tokens:
each candidate can be written at several levels of detail, the least relevant one loses detail
first, level by level, and at last candidates are left out. A reply groups tables and selects one
of the groups; one that is damaged cannot be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dovetail.domain import Candidate, Table
from dovetail.domain.schema import WIDTH, markdown
from dovetail.domain.sql import transform_words
from dovetail.models.chat import estimate_tokens, parse_json
from dovetail.ports import LLM, Json
from dovetail.prompts import read_prompt
from dovetail.retrieve.match import by_relevance
from dovetail.retrieve.prompt import JoinedPair, PromptInput, Rendered, fit, named
from dovetail.retrieve.reply import listed_items, listed_numbers, whole_number
from dovetail.retrieve.trace import Stage, clipped
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape, fenced
from dovetail_bench.prompts import PROMPTS

_PROMPT = read_prompt("select_full", PROMPTS)
# Width of cells and number of columns, from the most detailed to the least.
_LEVELS = ((WIDTH, None), (30, 16), (16, 6))
# Joins may take this share of the room; the weakest are left out first.
_PAIRS_SHARE = 0.25
# Of a model's context, what a prompt may take by our estimate: tokens of odd texts are shorter.
_SHARE = 0.75
# Tokens that a reply may have, and characters of it that the trace keeps.
_REPLY, _REPLY_KEPT = 1_024, 1_000

_GROUP: Json = {
    "type": "object",
    "properties": {
        "group_index": {"type": "integer"},
        "table_indices": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["group_index", "table_indices"],
    "additionalProperties": False,
}
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "thoughts": {"type": "string"},
        "groups": {"type": "array", "items": _GROUP},
        "selected_group_index": {"type": "integer"},
    },
    "required": ["thoughts", "groups", "selected_group_index"],
    "additionalProperties": False,
}


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

    searcher: Searcher
    llm: LLM
    context: int

    def select(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        pairs: Sequence[JoinedPair],
        stage: Stage,
    ) -> Selection:
        """Return the selection of one call; a reply that cannot be used gives a reason instead."""
        stage.facts["model"] = self.llm.model_id
        if len(candidates) < 2:
            return Selection(tables=tuple(range(1, len(candidates) + 1)))
        asked = " ".join(clipped(query.text).split())
        empty = _PROMPT.fill(question=asked, tables="", pairs="")
        budget = int(_SHARE * self.context) - _REPLY
        room = budget - sum(estimate_tokens(message.content) for message in empty)
        shown, listed = render_full(PromptInput(self.searcher, query, candidates, pairs), room)
        if cuts := shown.cuts(candidates):
            stage.facts["cut"] = cuts
        if not shown.count:
            return Selection(reason=f"no candidate fits {budget} tokens")
        messages = _PROMPT.fill(question=asked, tables=shown.text, pairs=listed)
        completion = stage.ask(self.llm, messages, schema=SCHEMA, max_tokens=_REPLY)
        selection = parse_selection(completion.text, shown.count)
        stage.facts |= {
            "reply": escape(cut(completion.text, _REPLY_KEPT)),
            "groups": {str(number): list(group) for number, group in selection.groups.items()},
            "selected": list(selection.tables),
            "dropped": dict(selection.dropped),
        }
        return selection


def parse_selection(reply: str, count: int) -> Selection:
    """Return what a reply selects from a list of `count` tables; damaged JSON is not mended.

    >>> one = '{"groups": [{"group_index": 1, "table_indices": [3, 1, 9]}]}'
    >>> parse_selection(one, 4).tables
    (3, 1)
    >>> parse_selection("I would need more information.", 4).reason
    'there is no JSON in it'
    """
    value = parse_json(reply, mend=False)
    if value is None:
        return Selection(reason="there is no JSON in it" if reply.strip() else "it is empty")
    dropped: Counter[str] = Counter()
    listed = value.get("groups") if isinstance(value, dict) else value
    groups = _groups(listed, count, dropped)
    wanted = value.get("selected_group_index") if isinstance(value, dict) else None
    chosen = _selected(wanted, groups)
    if chosen is None:
        why = "it selects none of its groups" if groups else "it has no group"
        return Selection((), groups, dict(dropped), why)
    why = "" if groups[chosen] else "what it selects holds no table of the list"
    return Selection(groups[chosen], groups, dict(dropped), why)


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


def render_full(prompt_input: PromptInput, room: int) -> tuple[Rendered, str]:
    """Render sampled rows and purposes, each table in a fence of its own, and every pair.

    Where the room is short, the last candidates are narrowed and left out first.
    """
    lines = [(pair, _pair_in_full(pair)) for pair in prompt_input.pairs]
    pairs = _strongest(lines, int(room * _PAIRS_SHARE))
    spent = sum(estimate_tokens(text) + 1 for _, text in pairs)
    catalog = prompt_input.searcher.catalog
    texts = [
        _levels(prompt_input, number, catalog[candidate.id])
        for number, candidate in enumerate(prompt_input.candidates, start=1)
    ]
    # Each text ends a line or two; counting two keeps the sum on the safe side.
    left = room - spent
    chosen = fit([[estimate_tokens(text) + 2 for text in row] for row in texts], left, left)
    # Candidates are left out from the end, so those that stay are the first ones.
    count = sum(level < len(row) for level, row in zip(chosen, texts, strict=True))
    joined = [text for pair, text in pairs if max(pair.left, pair.right) < count]
    shown = Rendered(
        "\n\n".join(texts[at][chosen[at]] for at in range(count)),
        count,
        tuple(at + 1 for at in range(count) if chosen[at]),
        len(lines) - len(joined),
    )
    return shown, fenced("\n".join(joined)) if joined else "none"


def _levels(prompt_input: PromptInput, number: int, table: Table) -> list[str]:
    """A table at every level of detail."""
    order = by_relevance(prompt_input.searcher, prompt_input.query, table)
    return [
        _in_full(number, _some_columns(table, order, columns), width, len(order))
        for width, columns in _LEVELS
    ]


def _strongest(lines: Sequence[tuple[JoinedPair, str]], room: int) -> list[tuple[JoinedPair, str]]:
    """Keep the highest-scored joins that fit, in the order they came."""
    kept = set()
    for place in sorted(range(len(lines)), key=lambda place: -lines[place][0].edge.score):
        room -= estimate_tokens(lines[place][1]) + 1
        if room < 0:
            break
        kept.add(place)
    return [line for place, line in enumerate(lines) if place in kept]


def _some_columns(table: Table, order: Sequence[int], most: int | None) -> Table:
    """A table with the first columns of an order alone, in the table's own order."""
    if most is None or len(order) <= most:
        return table
    kept = sorted(order[:most])
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        sample=tuple(tuple(row[at] for at in kept) for row in table.sample),
    )


def _in_full(number: int, table: Table, width: int, columns: int) -> str:
    parts = [markdown(table, width=width)]
    if beyond := columns - len(table.columns):
        parts.append(f"({beyond} more columns)")
    parts += _comments(table, width)
    if table.comment:
        parts.append(f"Purpose: {escape(cut(table.comment, 4 * width))}")
    return f"Candidate {number}\n{fenced(chr(10).join(parts))}"


def _comments(table: Table, width: int) -> Iterator[str]:
    """What the comments on a table and on its columns say, a line each."""
    if table.comment:
        yield f"Comment: {escape(cut(table.comment, 4 * width))}"
    for column in table.columns:
        if column.comment:
            yield f"Comment on {named(column.name)}: {escape(cut(column.comment, width))}"


def _pair_in_full(pair: JoinedPair) -> str:
    left, right = (named(end.name) for end in (pair.edge.left, pair.edge.right))
    columns = " and ".join(
        f"{left}.{named(one)} = {right}.{named(other)}" for one, other in pair.edge.columns
    )
    after = f" {transform_words(pair.edge.transform)}" if pair.edge.transform else ""
    return f"{pair.left + 1} and {pair.right + 1}: {pair.edge.score:.2f}, {columns}{after}"
