"""Transforms of keys: what must be done to the values of two columns before they match.

Each is exact: it is the same function on both sides, and its SQL finds the rows that join evidence
counted, in DuckDB and in SQLite alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# What stands between the parts of a code, and goes when punctuation is dropped.
PUNCTUATION = " -_./#:,"
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"

CASE, PUNCTUATED, ZEROS, PREFIX, DAY = "case", "punctuation", "zeros", "prefix", "day"


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform by name: what is said of it, and its SQL over a column, by dialect."""

    name: str
    said: str
    duckdb: Callable[[str], str]
    sqlite: Callable[[str], str]


def _text(column: str) -> str:
    return f"CAST({column} AS VARCHAR)"


def _dropped(column: str) -> str:
    """SQLite: without punctuation, in lower case; it has no function that maps characters."""
    for mark in PUNCTUATION:
        column = f"replace({column}, '{mark}', '')"
    return f"lower({column})"


# DuckDB's own lower() also folds letters beyond ASCII; SQLite's does not, and neither do we.
TRANSFORMS = {
    transform.name: transform
    for transform in (
        Transform(
            CASE,
            "after folding case",
            lambda column: f"translate(trim({_text(column)}), '{_UPPER}', '{_LOWER}')",
            lambda column: f"lower(trim({column}))",
        ),
        Transform(
            PUNCTUATED,
            "after dropping punctuation and folding case",
            lambda column: f"translate({_text(column)}, '{_UPPER}{PUNCTUATION}', '{_LOWER}')",
            _dropped,
        ),
        Transform(
            ZEROS,
            "after stripping leading zeros",
            lambda column: f"TRY_CAST(trim({_text(column)}) AS BIGINT)",
            lambda column: f"CAST(nullif(trim({column}), '') AS INTEGER)",
        ),
        Transform(
            PREFIX,
            "after stripping prefixes, punctuation and leading zeros",
            lambda column: (
                f"TRY_CAST(ltrim(translate({_text(column)}, '{_UPPER}{PUNCTUATION}', '{_LOWER}'), "
                f"'{_LOWER}') AS BIGINT)"
            ),
            lambda column: f"CAST(nullif(ltrim({_dropped(column)}, '{_LOWER}'), '') AS INTEGER)",
        ),
        Transform(
            DAY,
            "after cutting times to days",
            lambda column: f"substr({_text(column)}, 1, 10)",
            lambda column: f"substr({column}, 1, 10)",
        ),
    )
}


def said(name: str) -> str:
    """A transform in words; nothing for none.

    >>> said("zeros"), said("")
    ('after stripping leading zeros', '')
    """
    return TRANSFORMS[name].said if name in TRANSFORMS else ""


def transformed_sql(name: str, column: str, dialect: str = "duckdb") -> str:
    """A column, quoted as SQL has it, with a transform applied; as it is without one.

    >>> transformed_sql("case", "t.email", "sqlite"), transformed_sql("", "t.email")
    ('lower(trim(t.email))', 't.email')
    """
    if name not in TRANSFORMS:
        return column
    transform = TRANSFORMS[name]
    return (transform.sqlite if dialect == "sqlite" else transform.duckdb)(column)
