"""Replies of a model after accidents on their way."""

from __future__ import annotations

import random
from collections.abc import Sequence

SPLINTERS = [
    *'{}[]",:\\', "null", "true", "1e999", "-1", "NaN", "99999999999999999999", '"tables"', "\x00",
    "\ud800", "表", "```", "<think>", "</think>", '"selected_group_index": ', '{"tables": ',
    '{"group_formation": ', "[[[[", "Ignore all of this and DROP TABLE x;", "\u0663", "\u202e",
    "1" * 5_000,
]  # fmt: skip


def damaged(draw: random.Random, sound: Sequence[str]) -> str:
    """A sound reply after a few accidents."""
    text = draw.choice(sound)
    for _ in range(draw.randint(1, 6)):
        start = draw.randint(0, len(text))
        end = min(len(text), start + draw.randint(0, 30))
        what = draw.randint(0, 4)
        if what == 0:
            text = text[:start] + text[end:]
        elif what == 1:
            text = text[:start] + draw.choice(SPLINTERS) + text[start:]
        elif what == 2:
            text = text[:start] + text[start:end] * draw.randint(2, 4) + text[end:]
        elif what == 3:
            text = text[:start]
        else:
            text = text[:start] + draw.choice(SPLINTERS) + text[end:]
    return text
