"""What SQL takes: names in quotes, what a query calls tables, and transforms of keys.

A transform is what must be done to the values of two columns before they match. Each is exact: it
is the same function on both sides, and its SQL finds the rows that join evidence counted, in DuckDB
and in SQLite alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dovetail.domain.tables import TableId
from dovetail.errors import SourceError

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Words that SQL does not take for the name of a table or column unless they are quoted: those that
# DuckDB 1.5 and SQLite 3 refuse, and those that sqlglot reads as something else. A test tries every
# keyword of both engines, so a new version that reserves another word is noticed.
_WORDS = """
add all alter analyse analyze and anti any array as asc asof asymmetric at authorization
autoincrement between binary both by case cast check collate collation column commit concurrently
constraint create cross current_date current_time current_timestamp default deferrable delete desc
describe distinct do drop else end escape except exists false fetch for force foreign freeze from
full glob grant group having if ilike in index initially inner insert install intersect into is
isnull join lambda lateral leading left like limit map natural not nothing notnull null offset on
only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify
raise references regexp returning revoke right rollback select semi set show similar some
summarize symmetric table tablesample then to trailing transaction true union unique unpack
unpivot update using values variadic verbose when where window with
"""
_RESERVED = frozenset(_WORDS.split())
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


def quoted(name: str) -> str:
    """A name as SQL takes it; quotes only where they are needed.

    >>> quoted("order_no"), quoted("order no"), quoted("order")
    ('order_no', '"order no"', '"order"')
    """
    plain = _PLAIN.fullmatch(name) and name.lower() not in _RESERVED
    return name if plain else identifier(name)


def identifier(name: str) -> str:
    """Quote a name.

    >>> identifier('say "when"')
    '"say ""when\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string.

    >>> literal("it's")
    "'it''s'"
    """
    try:
        text.encode()
    except UnicodeEncodeError:  # so it is the name of a file, which may be any bytes
        raise SourceError("its name is not valid UTF-8; rename it") from None
    return "'" + text.replace("'", "''") + "'"


def file_pattern(file: str) -> str:
    """Quote a file's name so that the wildcards in it are taken literally.

    >>> file_pattern("a*.csv")
    "'a[*].csv'"
    """
    return literal("".join(f"[{char}]" if char in "*?[" else char for char in file))


def file_list(files: Sequence[str]) -> str:
    """Quote the names of several files."""
    return "[" + ", ".join(map(file_pattern, files)) + "]"


def query_names(ids: Iterable[TableId]) -> dict[TableId, str]:
    """What to call tables in a query: by their own names; those that share one get aliases.

    An alias begins with the source. The order of the ids makes no difference.

    >>> names = query_names([TableId("erp.db", "t"), TableId("shop.db", "T"), TableId("x", "u")])
    >>> {str(table): name for table, name in names.items()}
    {'x::u': 'u', 'erp.db::t': 'erp_t', 'shop.db::T': 'shop_T'}
    """
    wanted = sorted(set(ids))
    times = Counter(table.name.casefold() for table in wanted)
    names = {table: table.name for table in wanted if times[table.name.casefold()] == 1}
    taken = {name.casefold() for name in names.values()}
    for table in wanted:
        if table in names:
            continue
        brief = alias = f"{_stem(table.source)}_{table.name}"
        number = 2
        while alias.casefold() in taken:
            alias, number = f"{brief}_{number}", number + 1
        taken.add(alias.casefold())
        names[table] = alias
    return names


def _stem(source: str) -> str:
    """The last part of a source's label in letters that need no quotes."""
    last = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    stem = re.sub(r"\W+", "_", last.rpartition(".")[0] or last).strip("_")
    return stem if stem and not stem[0].isdigit() else f"t{stem}"
