"""What SQL takes: names in quotes, what a query calls tables, and transforms of keys.

A transform is what must be done to the values of two columns before they match. Each is exact: it
is the same function on both sides, and its SQL finds the rows that join evidence counted.
"""

from __future__ import annotations

import re
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
PUNCTUATION = " -_./#:,+"
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
# Names are in any case with their accents: the commonest of Latin-1.
ACCENTED = "ÁÀÂÃÄÅÇÉÈÊÍÑÓÔÕÖØÚÜ"

# A table's name has at most so many parts: database, schema, name.
_PARTS = 3

CASE, PUNCTUATED, ZEROS, PREFIX, DAY = "case", "punctuation", "zeros", "prefix", "day"
# What all values of a column begin and end with goes: `cut:fr:` makes ab12 of FR-AB12, and
# `cut::@firmse` makes alind of alind@firm.se.
CUT = "cut"
_CUT = re.compile(rf"{CUT}:([a-z0-9|]*):(@?[a-z0-9]*)")
# What a query may have of each part, be they read of a question or given by a program: one bound
# for both, as what is read is given back. Values of a condition, rows, and digits of a number.
MOST = {
    "select": 100, "where": 100, "group": 100, "having": 10, "order": 20, "absent": 20,
    "counted": 20, "open": 200,
}  # fmt: skip
MOST_VALUES, MOST_ROWS, NUMBER = 100, 1_000_000, r"[0-9]{1,30}(\.[0-9]{1,30})?"


@dataclass(frozen=True, slots=True)
class Transform:
    """What a transform does: in words, and as SQL over a column."""

    words: str
    sql: Callable[[str], str]


def _text(column: str) -> str:
    return f"CAST({column} AS VARCHAR)"


def _punctuated(column: str) -> str:
    return f"translate({_text(column)}, '{_UPPER}{PUNCTUATION}', '{_LOWER}')"


# DuckDB's own lower() also folds letters beyond ASCII; other systems' does not, and neither do we.
TRANSFORMS = {
    CASE: Transform(
        "after folding case",
        lambda column: (
            f"translate(trim({_text(column)}), '{_UPPER}{ACCENTED}', '{_LOWER}{ACCENTED.lower()}')"
        ),
    ),
    PUNCTUATED: Transform("after dropping punctuation and folding case", _punctuated),
    ZEROS: Transform(
        "after stripping leading zeros",
        lambda column: f"TRY_CAST(trim({_text(column)}) AS BIGINT)",
    ),
    PREFIX: Transform(
        "after stripping prefixes, punctuation and leading zeros",
        lambda column: f"TRY_CAST(ltrim({_punctuated(column)}, '{_LOWER}') AS BIGINT)",
    ),
    DAY: Transform("after cutting times to days", lambda column: f"substr({_text(column)}, 1, 10)"),
}


def cut_transform(front: str, back: str) -> str:
    """The name of the transform that cuts what values begin and end with.

    >>> cut_transform("es|fr", "")
    'cut:es|fr:'
    """
    return f"{CUT}:{front}:{back}"


def _cut(front: str, back: str) -> Transform:
    """In lower case, without punctuation, a beginning and an end, nor zeros before a number."""
    ends_cut = [
        f"the {what} {' or '.join(map(repr, text.split('|')))}"
        for what, text in (("prefix", front), ("suffix", back))
        if text
    ]

    def sql(column: str) -> str:
        ends = "|".join([f"^(?:{front})"] * bool(front) + [f"{back}$"] * bool(back))
        cut = _punctuated(column)
        cut = f"regexp_replace({cut}, '{ends}', '', 'g')" if ends else cut
        return f"regexp_replace({cut}, '^0+([0-9]+)$', '\\1')"

    dropped = " and ".join(filter(None, (", ".join(("punctuation", *ends_cut)), "leading zeros")))
    return Transform(f"after dropping {dropped}, and folding case", sql)


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


def transformed_sql(name: str, column: str) -> str:
    """A column, quoted as SQL has it, with a transform applied; as it is without one.

    >>> transformed_sql("zeros", "t.no"), transformed_sql("", "t.no")
    ('TRY_CAST(trim(CAST(t.no AS VARCHAR)) AS BIGINT)', 't.no')
    """
    transform = _transform(name)
    return transform.sql(column) if transform else column


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
        others = (other.longer_names() for other in alike if other != table)
        taken = {name.casefold() for names in others for name in names}
        for name in table.longer_names():
            folded = name.casefold()
            if folded not in self._alike and folded not in taken:
                return name
        return str(table)

    def of(self, ids: Iterable[TableId]) -> dict[TableId, str]:
        """The names of some tables."""
        return {table: self[table] for table in ids}


def query_names(ids: Iterable[TableId]) -> dict[TableId, str]:
    """What a query over some tables, and no others, calls them."""
    wanted = list(ids)
    return QueryNames(wanted).of(wanted)
