"""Parsing within bounds: of a text, of its tokens, of its depth, and of the parser's own steps.

A parser that tries one reading after another may take time that doubles with every level of a
query (`date(date(date(…)))` is read as a type first and as a function then, at each level). So its
steps are counted, and a text that takes many more of them than it has tokens is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.answer.identifiers import legible
from dovetail.errors import GuardError

MOST_CHARACTERS = 50_000
MOST_TOKENS = 10_000
DEEPEST = 40
# Ordinary queries take one or two steps for each token; what takes many doubles at every level.
_STEPS_PER_TOKEN = 20
_STEPS_AT_LEAST = 4_000

_BEGINNINGS = {"SELECT", "WITH", "FROM", "VALUES", "("}
_OPENING = {"(", "[", "{", "CASE"}
_PREFIXES = {"NOT", "-", "+", "~", "@"}
_CLOSING = {")", "]", "}", "END"}
_TOO_DEEP = "refused: the query is nested too deeply; write it flatter"


def parse(sql: str, dialect: str) -> exp.Expr:
    """The one statement of a text, as sqlglot understands it."""
    if len(sql) > MOST_CHARACTERS:
        raise GuardError(
            f"refused: the query has {len(sql):,} characters, more than {MOST_CHARACTERS:,}"
        )
    odd = next((char for char in sql if not (char.isprintable() or char in "\t\r\n\u00a0")), "")
    if odd:
        raise GuardError(f"refused: the query holds the invisible character U+{ord(odd):04X}")
    try:
        spoken = sqlglot.Dialect.get_or_raise(dialect)
        found = spoken.tokenize(sql)
        _look_over(found)
        steps = _STEPS_AT_LEAST + _STEPS_PER_TOKEN * len(found)
        parser = _counted(spoken.parser_class)(dialect=spoken)
        parser.steps_left = steps
        statements = parser.parse(found, sql)
    except SqlglotError as error:
        raise GuardError(f"refused: it does not parse as SQL: {_first_line(error)}") from None
    except RecursionError:
        raise GuardError(_TOO_DEEP) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The parser takes some texts apart in ways that it did not expect itself.
        why = f"{type(error).__name__} in the parser"
        raise GuardError(f"refused: it does not parse as SQL: {why}") from None
    whole = [each for each in statements if each and not isinstance(each, exp.Semicolon)]
    if len(whole) != 1:
        raise GuardError(f"refused: expected one statement, not {len(whole)}")
    return whole[0]


class _Counted(Parser):
    """A parser that gives up after so many steps: all it does moves along the tokens."""

    steps_left = _STEPS_AT_LEAST

    def _advance(self, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise GuardError(_TOO_DEEP)
        super()._advance(times)


@cache
def _counted(parser: type[Parser]) -> type[_Counted]:
    """The same for the parser of a dialect."""
    return type("Counted", (_Counted, parser), {})


def _look_over(found: Sequence[Token]) -> None:
    """Refuse by tokens alone what is too much for the parser, or begins like no query."""
    if not found:
        raise GuardError("refused: there is no statement")
    if len(found) > MOST_TOKENS:
        raise GuardError(f"refused: the query has more than {MOST_TOKENS:,} words")
    first = found[0].text.upper()
    if first not in _BEGINNINGS or found[0].token_type in (
        TokenType.STRING,
        TokenType.IDENTIFIER,
    ):
        raise GuardError(f"refused: {legible(first[:40])} is no query; only SELECT may run")
    depth = run = 0
    for token in found:
        text = token.text.upper()
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            text = ""
        depth += (text in _OPENING) - (text in _CLOSING)
        run = run + 1 if text in _PREFIXES else 0
        if max(depth, run) > DEEPEST:
            raise GuardError(_TOO_DEEP)


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = legible(text)
    return text if len(text) <= 200 else text[:199] + "…"
