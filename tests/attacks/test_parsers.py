"""No input crashes a parser: texts made from good ones end in an answer or in an error of ours."""

from __future__ import annotations

import pytest

from tests.support.parsers import Parser, fuzz, parsers, tried
from tests.support.server_parsers import server_parsers

CASES = 60
_DEEP = "[" * 100_000
# Texts of the kinds that end a parser without its guards in an error that is none of ours.
FOUND = {
    "half a character in SQL": ("reply of a model that writes SQL", '{"sql": "SELECT \\ud800"}'),
    "half a character in a question": ("question", "orders of \ud800 in 'Os\ud800lo'"),
    "half a character in a source": ("source", "a\ud800.csv"),
    "half a character in notes": ("notes", '[terms]\nagent = "\ud800"\n'),
    "half a character over REST": ("REST ask", '{"question": "orders \\ud800"}'),
    "half a character to a tool": (
        "MCP tool", '{"name": "find_tables", "given": {"question": "\\ud800"}}'
    ),
    "half a character in a query log": ("query log in lines", '{"query": "SELECT \\ud800"}\n'),
    "a port of 5,000 digits": ("source", "shop=postgresql://u:p@h:" + "9" * 5_000 + "/db"),
    "deep run file": ("run file", f'{{"run": {{}}}}\n{_DEEP}'),
    "deep descriptions": ("descriptions in lines", '{"a": ' + _DEEP + "\n"),
    "deep descriptions beside tables": ("descriptions beside tables", _DEEP),
    "deep manifest": ("manifest", _DEEP),
    "deep dbt manifest": ("dbt manifest", _DEEP),
    "deep tokens": ("tokens", f"a = {_DEEP}"),
    "deep settings": ("settings", f"a = {_DEEP}"),
    "deep notes": ("notes", f"[terms]\na = {_DEEP[:9_000]}\n"),
    "deep reply": ("reply of a model that selects", '{"tables": ' + _DEEP),
    "deep lake metadata": ("lake metadata", _DEEP),
    "deep body": ("REST set", '{"tables": ' + _DEEP),
    "no list of choices": ("chat completion", '{"choices": 3}'),
    "no list of tokens": (
        "chat completion",
        '{"choices": [{"message": {"content": "a"}, "logprobs": {"content": 1}}]}',
    ),
    "a number without end": ("reply of a model that selects", '{"tables": [1e999, -1e999]}'),
    "a number of 5,000 digits": ("REST ask", '{"question": "a", "k": ' + "9" * 5_000 + "}"),
    "nothing but signs": ("name", "?!. ()"),
}  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parser]:
    folder = tmp_path_factory.mktemp("parsers")
    return parsers(folder / "alone") | server_parsers(folder / "server")


def test_good_texts_are_read(known: dict[str, Parser]) -> None:
    for parser in known.values():
        for text in parser.good:
            parser.parse(text)


@pytest.mark.parametrize("case", FOUND)
def test_guards_of_parsers_stand(known: dict[str, Parser], case: str) -> None:
    name, text = FOUND[case]
    outcomes, wrong = tried(name, known[name], text)
    assert wrong == []
    assert outcomes.total() == 1


def test_no_text_crashes_a_parser(known: dict[str, Parser]) -> None:
    for seed, (name, parser) in enumerate(known.items()):
        _, wrong = fuzz({name: parser}, seed, CASES)
        assert not wrong
