"""A join of two tables with the evidence for it, and the transforms that keys may need.

A transform is what must be done to the values of two columns before they match. Each is exact: it
is the same function on both sides, and its SQL finds the rows that join evidence counted, in DuckDB
and in SQLite alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dovetail.domain.tables import TableId

# What stands between the parts of a code, and goes when punctuation is dropped.
PUNCTUATION = " -_./#:,"
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"

CASE, PUNCTUATED, ZEROS, PREFIX, DAY = "case", "punctuation", "zeros", "prefix", "day"


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform by name: what it does in words, and its SQL over a column, by dialect."""

    name: str
    words: str
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


def transform_words(name: str) -> str:
    """A transform in words; nothing for none.

    >>> transform_words("zeros"), transform_words("")
    ('after stripping leading zeros', '')
    """
    return TRANSFORMS[name].words if name in TRANSFORMS else ""


def transformed_sql(name: str, column: str, dialect: str = "duckdb") -> str:
    """A column, quoted as SQL has it, with a transform applied; as it is without one.

    >>> transformed_sql("case", "t.email", "sqlite"), transformed_sql("", "t.email")
    ('lower(trim(t.email))', 't.email')
    """
    if name not in TRANSFORMS:
        return column
    transform = TRANSFORMS[name]
    return (transform.sqlite if dialect == "sqlite" else transform.duckdb)(column)


@dataclass(frozen=True, slots=True, repr=False)
class JoinEdge:
    """Two tables that can be joined: rows of the left refer to rows of the right.

    `columns` pairs a column of the left (the foreign key) with one of the right (the key); a
    composite key has two or three pairs. `cardinality` reads left to right. `match_rate` is the
    share of the left's rows that find a partner. Above a score of 0.5 the evidence for the join
    outweighs the evidence against it; `evidence` says what there was, by name. `transform` is what
    must be done to both sides before they match (`TRANSFORMS`), empty for nothing.

    >>> import dovetail
    >>> edge = dovetail.build("shop.sqlite", into="shop").joins("order_items")[0]
    >>> edge.columns, edge.cardinality
    ((('order_no', 'order_no'),), 'n:1')
    """

    left: TableId
    right: TableId
    columns: tuple[tuple[str, str], ...]
    score: float
    cardinality: str
    match_rate: float
    evidence: Mapping[str, float]
    transform: str = ""

    def __str__(self) -> str:
        pairs = " and ".join(f"{self.left}.{a} = {self.right}.{b}" for a, b in self.columns)
        after = f" {transform_words(self.transform)}" if self.transform else ""
        return f"{pairs}{after}  ({self.score:.2f})"

    def __repr__(self) -> str:
        return f"<JoinEdge {self}>"

    def fan_out(self, table: TableId) -> float:
        """How many rows of the other end a row of one of the two tables meets, if it meets any.

        From the left, the side of the foreign key, that is one, unless the key repeats.
        """
        side = "fan_in" if table == self.left else "fan_out"
        return self.evidence.get(side, 1.0)

    def to_dict(self) -> dict[str, object]:
        """The edge as JSON has it."""
        return {
            "left": str(self.left),
            "right": str(self.right),
            "columns": [list(pair) for pair in self.columns],
            "score": self.score,
            "cardinality": self.cardinality,
            "match_rate": self.match_rate,
            "evidence": dict(self.evidence),
            "transform": self.transform or None,
            "after": transform_words(self.transform) or None,
        }
