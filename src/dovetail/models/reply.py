"""Reads the JSON in what a model wrote, past fences, prose and small damage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

LIMIT = 1_000_000
# Mending takes time that grows with the square of what is left open.
_MENDABLE, _LEFT_OPEN = 20_000, 200
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*(?:\n|\Z)")
# Where a value may begin; a bracket in prose is followed by something else.
_OPENING = re.compile(r"""\{(?=\s*(?:["'}]|\w+\s*:))|\[(?=\s*[\[\]{"'\d-])""")
_STARTS, _DAMAGED = 50, 3

Container = dict[str, object] | list[object]


def without_thoughts(text: str) -> str:
    """Remove the `<think>…</think>` passages that some models write before their reply.

    A passage that is never closed stays: there is no telling where the reply begins. The text is
    read once from left to right, so a hostile reply costs no more than an ordinary one.

    >>> without_thoughts("<think>two tables?</think> [1, 2]")
    '[1, 2]'
    """
    kept, begin, opened = [], 0, -1
    for mark in _THOUGHT.finditer(text):
        if not mark[1] and opened < 0:
            opened = mark.start()
        elif mark[1] and opened >= 0:
            kept.append(text[begin:opened])
            begin, opened = mark.end(), -1
    return "".join([*kept, text[begin:]]).strip()


def fenced_blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a Markdown text: language in lower case, and content.

    A block ends at the next fence of the same length or with the text. The text is read once from
    left to right.

    >>> fenced_blocks("Here:\\n```SQL\\nSELECT 1\\n```\\nDone")
    [('sql', 'SELECT 1')]
    """
    blocks, at = [], 0
    while (fence := _FENCE.search(text, at)) is not None:
        end = text.find(fence[1], fence.end())
        content = text[fence.end() :] if end < 0 else text[fence.end() : end]
        blocks.append((fence[2].lower(), content.rstrip()))
        if end < 0:
            break
        at = end + len(fence[1])
    return blocks


def parse_json(text: str, *, mend: bool = True) -> Container | None:
    """The JSON object or array in a reply, or None if there is none; never raises.

    What is valid as it stands comes first: the whole reply, or one of its fenced parts. In prose an
    object goes before an array and a longer value before a shorter one; a damaged object is mended,
    unless `mend` is off. A reply that is longer than `LIMIT` holds none.

    >>> parse_json('Sure! ```json\\n{"group": [1, 2]}\\n```')
    {'group': [1, 2]}
    >>> parse_json('{"group": [1, 2'), parse_json('{"group": [1, 2', mend=False)
    ({'group': [1, 2]}, None)
    """
    if len(text) > LIMIT:
        return None
    text = without_thoughts(text)
    for part in (text, *(content for _, content in fenced_blocks(text))):
        found = _load(part)
        if found is not None:
            return found
    values = list(_values(text, mend=mend))
    return max(values, key=lambda value: (isinstance(value[1], dict), value[0]), default=(0, None))[
        1
    ]


def _load(text: str) -> Container | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _values(text: str, *, mend: bool) -> Iterator[tuple[int, Container]]:
    """The values in a text with their lengths, up to the first object that is damaged."""
    decoder = json.JSONDecoder()
    at = damaged = 0
    for _ in range(_STARTS):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        try:
            value, at = decoder.raw_decode(text, opening.start())
            yield at - opening.start(), value
        except (ValueError, RecursionError):
            # What stands inside a damaged object is a part of it, not an answer.
            damaged += 1
            last = opening[0] == "{" or damaged == _DAMAGED
            at = len(text) if last else opening.end()
            if mend and (mended := _mend(text[opening.start() :])):
                yield 0, mended


def _mend(text: str) -> Container | None:
    from json_repair import repair_json

    text = text[:_MENDABLE]
    if sum(map(text.count, "{[")) - sum(map(text.count, "}]")) > _LEFT_OPEN:
        return None
    try:
        value = repair_json(text, return_objects=True)
    except Exception:  # noqa: BLE001 - a reply is hostile input, and how its mending fails is no news
        return None
    return value if isinstance(value, dict | list) else None
