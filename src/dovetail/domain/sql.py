"""What SQL takes: names in quotes, what a query calls tables, and transforms of keys.

A transform is what must be done to the values of two columns before they match. Each is exact: it
is the same function on both sides, and its SQL finds the rows that join evidence counted, in DuckDB
and in SQLite alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

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
# Names are in any case with their accents: the commonest of Latin-1, since SQLite, which replaces
# one after the other, takes no more than two dozen within each other.
ACCENTED = "ÁÀÂÃÄÅÇÉÈÊÍÑÓÔÕÖØÚÜ"

# A table's name has at most so many parts: database, schema, name.
_PARTS = 3

CASE, PUNCTUATED, ZEROS, PREFIX, DAY = "case", "punctuation", "zeros", "prefix", "day"
# What all values of a column begin and end with goes: `cut:fr:` makes ab12 of FR-AB12.
CUT = "cut"
_CUT = re.compile(rf"{CUT}:([a-z0-9|]*):([a-z0-9]*)")


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


def _accents_lowered(column: str) -> str:
    """SQLite: with accented letters in lower case, which its lower() leaves."""
    for letter in ACCENTED:
        column = f"replace({column}, '{letter}', '{letter.lower()}')"
    return column


def _number(text: str) -> str:
    """SQLite: the number that a text is, NULL for any other; CAST alone would make 0 of those."""
    return f"CASE WHEN {text} NOT GLOB '*[^0-9.]*' THEN CAST(nullif({text}, '') AS INTEGER) END"


# DuckDB's own lower() also folds letters beyond ASCII; SQLite's does not, and neither do we.
TRANSFORMS = {
    transform.name: transform
    for transform in (
        Transform(
            CASE,
            "after folding case",
            lambda column: (
                f"translate(trim({_text(column)}), '{_UPPER}{ACCENTED}', "
                f"'{_LOWER}{ACCENTED.lower()}')"
            ),
            lambda column: _accents_lowered(f"lower(trim({column}))"),
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
            lambda column: _number(f"trim({column})"),
        ),
        Transform(
            PREFIX,
            "after stripping prefixes, punctuation and leading zeros",
            lambda column: (
                f"TRY_CAST(ltrim(translate({_text(column)}, '{_UPPER}{PUNCTUATION}', '{_LOWER}'), "
                f"'{_LOWER}') AS BIGINT)"
            ),
            lambda column: _number(f"ltrim({_dropped(column)}, '{_LOWER}')"),
        ),
        Transform(
            DAY,
            "after cutting times to days",
            lambda column: f"substr({_text(column)}, 1, 10)",
            lambda column: f"substr({column}, 1, 10)",
        ),
    )
}


def cut_transform(front: str, back: str) -> str:
    """The name of the transform that cuts what values begin and end with.

    >>> cut_transform("es|fr", "")
    'cut:es|fr:'
    """
    return f"{CUT}:{front}:{back}"


def _cut(front: str, back: str) -> Transform:
    """In lower case, without punctuation, a beginning and an end, nor zeros before a number."""
    said = [
        f"the {what} {' or '.join(map(repr, text.split('|')))}"
        for what, text in (("prefix", front), ("suffix", back))
        if text
    ]

    def duckdb(column: str) -> str:
        ends = "|".join([f"^(?:{front})"] * bool(front) + [f"{back}$"] * bool(back))
        cut = TRANSFORMS[PUNCTUATED].duckdb(column)
        cut = f"regexp_replace({cut}, '{ends}', '', 'g')" if ends else cut
        return f"regexp_replace({cut}, '^0+([0-9]+)$', '\\1')"

    def sqlite(column: str) -> str:
        text = _dropped(column)
        cases = [
            f"WHEN {text} LIKE '{begin}%' THEN substr({text}, {len(begin) + 1})"
            for begin in front.split("|")
            if begin
        ]
        text = f"CASE {' '.join(cases)} ELSE {text} END" if cases else text
        if back:
            cut = f"substr({text}, 1, length({text}) - {len(back)})"
            text = f"CASE WHEN {text} LIKE '%{back}' THEN {cut} ELSE {text} END"
        number = f"coalesce(nullif(ltrim({text}, '0'), ''), '0')"
        return f"CASE WHEN {text} NOT GLOB '*[^0-9]*' THEN {number} ELSE {text} END"

    dropped = " and ".join(filter(None, (", ".join(("punctuation", *said)), "leading zeros")))
    words = f"after dropping {dropped}, and folding case"
    return Transform(CUT, words, duckdb, sqlite)


def rung(transform: str) -> str:
    """What kind of transform one is, whatever it cuts.

    >>> rung("cut:fr:"), rung("case")
    ('cut', 'case')
    """
    return transform.partition(":")[0]


def _transform(name: str) -> Transform | None:
    """A transform by its name; None for a name that is none."""
    cut = _CUT.fullmatch(name)
    return _cut(cut[1], cut[2]) if cut else TRANSFORMS.get(name)


def transform_words(name: str) -> str:
    """A transform in words; nothing for none.

    >>> transform_words("zeros"), transform_words("")
    ('after stripping leading zeros', '')
    """
    transform = _transform(name)
    return transform.words if transform else ""


def transformed_sql(name: str, column: str, dialect: str = "duckdb") -> str:
    """A column, quoted as SQL has it, with a transform applied; as it is without one.

    >>> transformed_sql("zeros", "t.no"), transformed_sql("", "t.no")
    ('TRY_CAST(trim(CAST(t.no AS VARCHAR)) AS BIGINT)', 't.no')
    """
    transform = _transform(name)
    if transform is None:
        return column
    return (transform.sqlite if dialect == "sqlite" else transform.duckdb)(column)


_FOLDED = str.maketrans(_UPPER + ACCENTED, _LOWER + ACCENTED.lower())
_DROPPED = str.maketrans(_UPPER, _LOWER, PUNCTUATION)


def transformed_text(name: str, text: str) -> str:
    """What a transform makes of a value as it is written.

    >>> transformed_text("cut:fr:", "FR-0012"), transformed_text("zeros", "0012")
    ('12', '12')
    """
    if name == CASE:
        return text.strip().translate(_FOLDED)
    if name == DAY:
        return text[:10]
    kind, folded = rung(name), text.translate(_DROPPED)
    if kind == CUT:
        _, front, back = name.split(":")
        folded = re.sub(rf"\A(?:{front})", "", folded).removesuffix(back)
    if kind == PREFIX:
        folded = folded.lstrip(_LOWER)
    if kind == ZEROS:
        folded = text.strip()
    if kind in (CUT, PREFIX, ZEROS):
        number = folded.isascii() and folded.isdecimal()
        return str(int(folded)) if number else folded if kind == CUT else text
    return folded if kind == PUNCTUATED else text.strip()


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


def table_sql(name: str) -> str:
    """What a query calls a table, as SQL takes it: each part in quotes if it needs them.

    >>> table_sql("sales.order"), table_sql("exports/orders 2024"), table_sql("a.b.c.d")
    ('sales."order"', '"exports/orders 2024"', '"a.b.c.d"')
    """
    parts = name.split(".")
    return ".".join(map(quoted, parts)) if all(parts) and len(parts) <= _PARTS else identifier(name)


class QueryNames:
    """What a query calls each table of a catalog, or of a set: a name that means it alone.

    That is its own name; where others have the same (but for case), the end of its source's label
    before it, as short as can be; failing that, its id.

    >>> tables = TableId("crm/erp.db", "t"), TableId("shop.db", "T"), TableId("x", "s.u")
    >>> names = QueryNames(tables)
    >>> [names[table] for table in tables]
    ['erp.t', 'shop.T', 's.u']
    """

    def __init__(self, ids: Iterable[TableId]) -> None:
        self._alike: dict[str, list[TableId]] = {}
        for table in sorted(set(ids)):
            self._alike.setdefault(table.name.casefold(), []).append(table)

    def __getitem__(self, table: TableId) -> str:
        alike = self._alike.get(table.name.casefold(), [])
        if len(alike) <= 1:
            return table.name
        others = [other for other in alike if other != table]
        for name in table.longer_names():
            folded = name.casefold()
            if folded not in self._alike and not any(map(partial(_goes_by, name=folded), others)):
                return name
        return str(table)

    def of(self, ids: Iterable[TableId]) -> dict[TableId, str]:
        """The names of some tables."""
        return {table: self[table] for table in ids}


def _goes_by(table: TableId, *, name: str) -> bool:
    return any(longer.casefold() == name for longer in table.longer_names())


def query_names(ids: Iterable[TableId]) -> dict[TableId, str]:
    """What a query over some tables, and no others, calls them."""
    wanted = list(ids)
    return QueryNames(wanted).of(wanted)
