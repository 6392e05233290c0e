"""Reading JSON out of replies: what stands in them is found, and nothing in them raises."""

from __future__ import annotations

import random
import time

import pytest

from dovetail.answer.generate import extract_sql
from dovetail.models.chat import LIMIT, parse_json, without_thoughts


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here you are:\n```\n{"a": 1}\n```\nAnything else?', {"a": 1}),
        ('<think>{"a": 0} or not?</think> {"a": 1}', {"a": 1}),
        (
            'I take [0] and [1], so {"groups": [[0, 1]], "group": 0}.',
            {"groups": [[0, 1]], "group": 0},
        ),
        ('So: {"groups": [[0, 1]], "group": 0, }', {"groups": [[0, 1]], "group": 0}),
        ('{"groups": [[0, 1], [2', {"groups": [[0, 1], [2]]}),
        ("{'a': True, b: None}", {"a": True, "b": None}),
        ("The tables [1, 3] fit.", [1, 3]),
        ('{curly} {"a": 1}', {"a": 1}),
        ("", None),
        ("No table fits.", None),
        ("42", None),
        ('"text"', None),
        ('{"a": 1}' + " " * LIMIT, None),
    ],
)
def test_json_is_found_in_replies(reply: str, value: object) -> None:
    assert parse_json(reply) == value


@pytest.mark.parametrize(
    "reply",
    ["[" * 500_000, "{" * 500_000, '{"a":' * 100_000, '{"a":' + "{" * 90_000, "[1 x]" * 90_000,
     '{"a": "' + "\\" * 90_000, '{"' * 90_000, '{"a": ' + "9" * 10_000],
    ids=range(8),
)  # fmt: skip
def test_hostile_replies_are_read_in_no_time(reply: str) -> None:
    started = time.process_time()
    value = parse_json(reply)
    assert value is None or isinstance(value, dict | list)
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize(
    "reply",
    ["`" * 3200, "`" * 300_000, "<think>" * 140_000, "``` " * 50_000, "```a" * 80_000 + "\n",
     "~~~\n" * 50_000, "WITH a (" * 20_000, "with" + "\t" * 300_000, "\n" * 100_000 + "SELECT",
     "SELECT" + "\n" * 200_000, "SELECT;" + " " * 200_000, "<sql>" * 100_000, "[" * 100_000,
     "`\nSELECT " * 50_000, "action:" * 30_000, "action:\n\n" * 30_000],
    ids=range(16),
)  # fmt: skip
def test_every_reader_of_replies_takes_linear_time(reply: str) -> None:
    started = time.process_time()
    assert parse_json(reply) is None or isinstance(parse_json(reply), list | dict)
    assert isinstance(extract_sql(reply), str)
    assert len(without_thoughts(reply)) <= len(reply)
    assert time.process_time() - started < 3.0


@pytest.mark.parametrize(
    ("reply", "sql"),
    [
        ("```sql\nSELECT 1```", "SELECT 1"),
        ("````sql\nSELECT '```'\n````", "SELECT '```'"),
        ("<think>SELECT 0</think>SELECT 1", "SELECT 1"),
        ("<THINKING>SELECT 0</THINKING> SELECT 1 AS a", "SELECT 1 AS a"),
        ("<think>SELECT 0", ""),
        ("SELECT 1\n\nThis counts one.", "SELECT 1"),
    ],
)  # fmt: skip
def test_sql_is_found_behind_fences_and_thoughts(reply: str, sql: str) -> None:
    assert extract_sql(reply) == sql


def test_mutated_replies_never_raise() -> None:
    """Half of 4,000 replies with one to six small damages still hold the answer's groups."""
    draw = random.Random(42)
    whole = '```json\n{"groups": [{"tables": [0, 2, 5], "why": "über \\"x\\""}], "group": 0}\n```'
    signs = [*'{}[]",:\\`\n 0-tfn\x00\u2028', "```", "\ud800", "🦊", "null", "<think>"]
    found = 0
    for _ in range(4000):
        text = whole
        for _ in range(draw.randint(1, 6)):
            at, span = draw.randrange(len(text) + 1), draw.choice([0, 0, 1, 1, 12])
            text = text[:at] + draw.choice([*signs, ""]) + text[at + span :]
        value = parse_json(text)
        assert value is None or isinstance(value, dict | list)
        found += isinstance(value, dict) and "groups" in value
    assert found > 2000
