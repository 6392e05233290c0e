"""No input crashes a parser: texts made from good ones end in an answer or in an error of ours."""

from __future__ import annotations

import pytest

from tests.support.parsers import Parser, fuzz, parsers

CASES = 60


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parser]:
    return parsers(tmp_path_factory.mktemp("parsers"))


def test_good_texts_are_read(known: dict[str, Parser]) -> None:
    for parser in known.values():
        for text in parser.good:
            parser.parse(text)


def test_no_text_crashes_a_parser(known: dict[str, Parser]) -> None:
    for seed, (name, parser) in enumerate(known.items()):
        _, wrong = fuzz({name: parser}, seed, CASES)
        assert not wrong
