"""Replies of a model: what they select, however damaged they are."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.retrieve.reply import Selection, parse_selection
from tests.support.damaged import damaged

SOUND = [
    '{"tables": [3, 1]}',
    'Sure!\n```json\n{"tables": ["1", "2"]}\n```\nAnything else?',
    '<think>the {question} is [hard]</think>{"tables": [6, 2, 2]}',
    "[1, 4]",
]


@pytest.mark.slow
def test_ten_thousand_damaged_replies() -> None:
    draw = random.Random(42)
    usable = 0
    for _ in range(10_000):
        reply = damaged(draw, SOUND)
        found = parse_selection(reply, 6)
        assert set(found.tables) <= set(range(1, 7)), reply
        assert len(set(found.tables)) == len(found.tables), reply
        assert bool(found.tables) != bool(found.reason), reply
        json.dumps(found.dropped)
        usable += bool(found.tables)
    assert 1_500 < usable < 8_500


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
                        st.sampled_from(["tables", "groups"]), inner, max_size=4)))  # fmt: skip
def test_any_json_is_understood_or_refused(said: object) -> None:
    found = parse_selection(json.dumps(said), 5)
    assert set(found.tables) <= {1, 2, 3, 4, 5}
    assert bool(found.tables) != bool(found.reason)


NO_TABLE = "what it selects holds no table of the list"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"tables": [2]}', Selection((2,))),
        ('{"tables": "2"}', Selection(dropped={"not a list": 1}, reason=NO_TABLE)),
        ('{"tables": [], "groups": []}', Selection(reason=NO_TABLE, nothing_fits=True)),
        ("[2, 1]", Selection((2, 1))),
        ("[]", Selection(reason=NO_TABLE)),
        ('{"groups": [{"group_index": 1, "table_indices": [2]}]}', Selection(reason=NO_TABLE)),
        ('[{"table_indices": [2]}]', Selection(dropped={"not a number": 1}, reason=NO_TABLE)),
        ('{"tables": ["\u0661", "\u0662"]}', Selection((1, 2))),
        (json.dumps({"tables": [1, *range(50, 1_200)]}),
         Selection((1,), dropped={"beyond the first thousand": 151, "out of range": 999})),
    ],
)  # fmt: skip
def test_replies_by_hand(reply: str, expected: Selection) -> None:
    assert parse_selection(reply, 3) == expected
