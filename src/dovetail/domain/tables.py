"""Tables, columns and declared keys as a catalog knows them, what is said of them, and what could
not be read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from dovetail import notebook
from dovetail.errors import ColumnNotFoundError
from dovetail.text import count

# Columns that an error lists.
_LISTED = 20
# What stands between the parts of a name: of files, folders, schemas and tables.
SEPARATOR = re.compile(r"::|[./\\]")
_SLASH = re.compile(r"[/\\]")
# Authors other than a language model, which is named by its id.
PERSON, DICTIONARY = "person", "dictionary"
# How people write that a table is not to be used any more. What tables may be about as well
# (retired staff, obsolete stock, frozen food) is none of it.
_WARNING = re.compile(
    r"""\b(?:do\ not|don'?t|not\ to\ be|must\ not\ be)\ used?\b | \bdecommissioned\b
    | \bdeprecated\b | \b(?:is|are|now|table|data)\ obsolete\b | ^obsolete\s*(?:$|[.:;,!(\u2013-])
    | \bsuperseded\b | \breplaced\ by\b | \bout\ of\ use\b | \bfrozen\s+(?:at|on|since|as|in|end|\d)
    | \bno\ longer\ (?:in\ use|used|maintained|updated|loaded|filled|refreshed)\b
    | \bnicht\ (?:mehr\ )?(?:verwenden|benutzen|nutzen|gepflegt) | \bveraltet\b
    | \babgelöst\ durch\b | \bne\ (?:pas|plus)\ utiliser\b | \bobsolète\b | \bremplacée?\ par\b
    | \bno\ (?:usar|utilizar)\b | \bniet\ (?:meer\ )?gebruiken\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """What a table is called: its source's label and its name there.

    Two tables may share a name, and even their contents: both stay, under their own ids.

    >>> str(TableId("shop.sqlite", "orders"))
    'shop.sqlite::orders'
    """

    source: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}::{self.name}"

    @property
    def id(self) -> TableId:
        """Itself: whatever gives a table back has `.id`, `.name` and `.source`."""
        return self

    def is_called(self, name: str) -> bool:
        """Whether a name is this one or the end of it, in any case: `customers`, `crm::people`."""
        wanted = SEPARATOR.split(name.casefold())
        own = SEPARATOR.split(str(self).casefold())
        return bool(wanted[-1]) and own[-len(wanted) :] == wanted

    def longer_names(self) -> Iterator[str]:
        """The name behind ever more of the source's label, without what a file's name ends with.

        >>> list(TableId("crm/sales.sqlite", "orders").longer_names())
        ['sales.orders', 'crm.sales.orders']
        """
        path = [part for part in _SLASH.split(self.source) if part]
        path[-1:] = [last.rpartition(".")[0] or last for last in path[-1:]]
        for start in range(len(path) - 1, -1, -1):
            yield ".".join([*path[start:], self.name])

    def to_dict(self) -> dict[str, Any]:
        """What the table is called, as JSON has it."""
        return {"id": str(self), "name": self.name, "source": self.source}


def short_sources(labels: Iterable[str]) -> dict[str, str]:
    """The shortest end of each source's label that is no end of another's, without what a file's
    name ends with.

    >>> short_sources(["data/erp.duckdb", "data/crm.sqlite", "old/crm.sqlite"])
    {'data/crm.sqlite': 'data/crm', 'data/erp.duckdb': 'erp', 'old/crm.sqlite': 'old/crm'}
    """
    ends: dict[str, list[str]] = {}
    for label in sorted(labels):
        path = [part for part in _SLASH.split(label) if part] or [label]
        path[-1] = path[-1].rpartition(".")[0] or path[-1]
        ends[label] = ["/".join(path[start:]) for start in range(len(path) - 1, -1, -1)]
    often = Counter(end for listed in ends.values() for end in listed)
    return {
        label: next((end for end in listed if often[end] == 1), label)
        for label, listed in ends.items()
    }


def with_source_names(document: Any, names: Mapping[str, str]) -> Any:
    """JSON in which every table has the short name of its source beside its id.

    >>> table = TableId("data/erp.duckdb", "orders").to_dict()
    >>> with_source_names([table], {"data/erp.duckdb": "erp"})[0]["source_name"]
    'erp'
    """
    if isinstance(document, str):  # first, as most of what there is
        return document
    if isinstance(document, list | tuple):
        return [with_source_names(part, names) for part in document]
    if not isinstance(document, Mapping):
        return document
    named = {key: with_source_names(part, names) for key, part in document.items()}
    return named | source_name(document, names)


def source_name(document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """The short name of the source of a table as JSON has it; nothing of what is no table."""
    source = document.get("source")
    if "id" in document and isinstance(source, str) and source in names:
        return {"source_name": names[source]}
    return {}


class HasId:
    """Whatever gives a table back: its `.id`, and by that its `.name` and `.source`."""

    __slots__ = ()
    id: TableId

    @property
    def name(self) -> str:
        """The table's name in its source."""
        return self.id.name

    @property
    def source(self) -> str:
        """The label of the table's source."""
        return self.id.source


@dataclass(frozen=True, slots=True)
class DeclaredForeignKey:
    """A declared foreign key: columns that refer to columns of a table of the same source.

    The table may be missing: excluded, dropped, or never there where nobody enforces keys. A key
    that was not declared by the source says who did (`by`, such as `dbt`), and may refer to a table
    of another `source`.

    >>> str(DeclaredForeignKey(("customer_id",), "customers", ("id",)))
    'customer_id refers to customers(id)'
    """

    columns: tuple[str, ...]
    table: str
    key_columns: tuple[str, ...]
    source: str = ""
    by: str = ""

    def __str__(self) -> str:
        return f"{', '.join(self.columns)} refers to {self.table}({', '.join(self.key_columns)})"

    def to_dict(self) -> dict[str, Any]:
        """The key as JSON has it."""
        more = {"source": self.source, "by": self.by}
        return {
            "columns": list(self.columns),
            "table": self.table,
            "key_columns": list(self.key_columns),
            **{name: text for name, text in more.items() if text},
        }

    @classmethod
    def from_dict(cls, key: Mapping[str, Any]) -> DeclaredForeignKey:
        """The key that `to_dict` wrote."""
        columns, key_columns = _names(key["columns"]), _names(key["key_columns"])
        more = (str(key.get("source", "")), str(key.get("by", "")))
        return cls(columns, str(key["table"]), key_columns, *more)


@dataclass(frozen=True, slots=True)
class DeclaredKeys:
    """The keys that a table declares: its primary key, other unique ones, and foreign keys.

    >>> keys = DeclaredKeys(primary=("id",), unique=(("code",), ("year", "number")))
    >>> keys.is_key("id"), keys.is_key("year"), keys.uses("year"), bool(DeclaredKeys())
    (True, False, True, False)
    """

    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign: tuple[DeclaredForeignKey, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.primary or self.unique or self.foreign)

    @property
    def candidate_keys(self) -> tuple[tuple[str, ...], ...]:
        """The column sets that are declared unique, the primary key first."""
        return (self.primary, *self.unique) if self.primary else self.unique

    def is_key(self, column: str) -> bool:
        """Whether a column by itself is declared unique."""
        return (column,) in self.candidate_keys

    def uses(self, column: str) -> bool:
        """Whether a column is part of a key that is declared unique."""
        return any(column in key for key in self.candidate_keys)

    def to_dict(self) -> dict[str, Any]:
        """The keys as JSON has them."""
        return {
            "primary": list(self.primary),
            "unique": [list(key) for key in self.unique],
            "foreign": [key.to_dict() for key in self.foreign],
        }

    def to_text(self) -> str:
        """The keys as a catalog stores them; equal keys, equal text, and none for no keys."""
        if not self:
            return ""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> DeclaredKeys:
        """The keys that a catalog stored; none where the text is not what `to_text` writes."""
        if not text:
            return NO_KEYS
        try:
            stored = json.loads(text)
            return cls(
                _names(stored["primary"]),
                tuple(map(_names, stored["unique"])),
                tuple(map(DeclaredForeignKey.from_dict, stored["foreign"])),
            )
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return NO_KEYS


NO_KEYS = DeclaredKeys()


def _names(listed: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise TypeError(listed)
    return tuple(map(str, listed))


class Kind(StrEnum):
    """What the values of a column are, whatever its source calls the type.

    >>> Kind.INTEGER.value, Kind("text") is Kind.TEXT
    ('integer', True)
    """

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BINARY = "binary"
    EMPTY = "empty"  # not one value to judge by


# What stands in the place of a cell that is not shown, with the kind of thing that it is.
_MASK = re.compile("«([a-z -]+)»")


def mask(kind: str) -> str:
    """What is shown in the place of a cell that is personal or secret.

    >>> mask("e-mail")
    '«e-mail»'
    """
    return f"«{kind}»"


def masked_kinds(texts: Iterable[str | None]) -> frozenset[str]:
    """The kinds of things that are masked in some texts.

    >>> sorted(masked_kinds(["call «phone» or «e-mail»", None]))
    ['e-mail', 'phone']
    """
    return frozenset(kind for text in texts if text for kind in _MASK.findall(text))


NUMBERS = (Kind.INTEGER, Kind.REAL)
TIMES = (Kind.DATE, Kind.TIMESTAMP)
_DAY_LENGTH = 10
# Times as texts that sort as they do: 2024-01-31, 2024-01-31T09:30:00Z.
_ISO = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?P<time>[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)? ?(?:Z|[+-]\d\d(?::?\d\d)?)?)?"
)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What the full column holds; nulls are left out of everything but `nulls`.

    `nulls` counts missing cells: NULL, NaN, and blank text where the catalog compares coerced.
    `minimum`, `maximum` and `examples` are written out as text and cut to the catalog's width.
    Lengths are in characters of text, in bytes of binary values, and None for other kinds.
    `kept` is how many of the distinct values the catalog keeps by their hashes: all of them, unless
    a large column is no candidate key.

    >>> import dovetail
    >>> profile = dovetail.build("shop.sqlite", into="shop")["orders"].column("order_no").profile
    >>> profile.distinct, profile.unique, profile.nulls
    (600, True, 0)
    """

    kind: Kind
    nulls: int
    distinct: int
    unique: bool
    minimum: str | None
    maximum: str | None
    min_length: int | None
    max_length: int | None
    examples: tuple[str, ...]
    kept: int = 0

    @property
    def time(self) -> Kind | None:
        """`date` or `timestamp` where the values are times, be they ISO dates kept as texts; such
        texts are judged by the least, the greatest and the examples. None for all others.

        >>> days = ("2024-01-31", "2024-03-01")
        >>> ColumnProfile(Kind.TEXT, 0, 2, True, *days, 10, 10, days).time
        <Kind.DATE: 'date'>
        """
        if self.kind is not Kind.TEXT:
            return self.kind if self.kind in TIMES else None
        matches = [
            _ISO.fullmatch(text or "") for text in (self.minimum, self.maximum, *self.examples)
        ]
        if not all(matches):
            return None
        timed = any(match and match["time"] for match in matches)
        days = self.max_length == _DAY_LENGTH and not timed
        return Kind.DATE if days else Kind.TIMESTAMP


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name, with the type and the comment that its source gives it.

    >>> import dovetail
    >>> column = dovetail.build("shop.sqlite", into="shop")["orders"].columns[0]
    >>> column.name, column.profile.kind.value
    ('order_no', 'integer')
    """

    name: str
    type: str
    profile: ColumnProfile
    comment: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The column with its profile as JSON has it."""
        profile = {name: getattr(self.profile, name) for name in ColumnProfile.__slots__}
        profile["examples"] = list(self.profile.examples)
        return {"name": self.name, "type": self.type, **profile, "comment": self.comment}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a warehouse says of a table of which only a sample of the rows was read.

    `rows` is how many there are in all; by column, the share of NULLs and about how many distinct
    values there are.

    >>> Estimate.from_text(Estimate(500, (0.5,), (20,)).to_text())
    Estimate(rows=500, null_shares=(0.5,), distinct=(20,))
    """

    rows: int
    null_shares: tuple[float, ...]
    distinct: tuple[int, ...]

    def to_text(self) -> str:
        """As the catalog stores it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Estimate:
        stored = json.loads(text)
        return cls(stored["rows"], tuple(stored["null_shares"]), tuple(stored["distinct"]))


@dataclass(frozen=True, slots=True, repr=False)
class Table(HasId):
    """A table as the catalog knows it.

    `digest` names the contents: equal digests mean equal columns, values and sample, so
    everything derived from a table (its purpose, its vectors, its joins) is kept by digest.
    `keys` and `comment` are what the source declares and says of it: no part of the contents.
    Where only some rows were read, everything is of those, and `estimate` is of all rows. `called`
    is what a query calls it, where a catalog gave it.

    >>> import dovetail
    >>> table = dovetail.build("shop.sqlite", into="shop")["orders"]
    >>> table
    <Table shop.sqlite::orders: 600 rows, 7 columns>
    """

    id: TableId
    columns: tuple[Column, ...]
    rows: int
    sample: tuple[tuple[str | None, ...], ...]
    digest: str
    keys: DeclaredKeys = NO_KEYS
    comment: str = ""
    estimate: Estimate | None = None
    called: str = field(default="", compare=False)

    def __repr__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        columns = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return f"<Table {self.id}: {rows}, {columns}>"

    def _repr_html_(self) -> str:
        """The columns with types and examples, for a notebook."""
        told = (
            (one.name, one.type, ", ".join(one.profile.examples), one.comment)
            for one in self.columns
        )
        shown = notebook.table(["column", "type", "examples", "comment"], told)
        title = f"{self.called or self.name}: {count(self.rows, 'row')}"
        return notebook.block(title, shown, beside=str(self.id))

    def column(self, name: str) -> Column:
        """The column of this name; ColumnNotFoundError, a KeyError, if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self.columns[:_LISTED])
        more = ", …" if len(self.columns) > _LISTED else ""
        raise ColumnNotFoundError(f"{self.id} has no column {name!r}; it has: {names}{more}")

    @property
    def masked(self) -> dict[str, tuple[str, ...]]:
        """What is masked in the cells that are shown of each column: `e-mail`, `phone`, …"""
        kinds = (
            masked_kinds(
                (
                    column.profile.minimum,
                    column.profile.maximum,
                    *column.profile.examples,
                    *(row[at] for row in self.sample),
                )
            )
            for at, column in enumerate(self.columns)
        )
        by_column = zip(self.columns, kinds, strict=True)
        return {column.name: tuple(sorted(masks)) for column, masks in by_column if masks}

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        return {
            **self.id.to_dict(),
            "rows": self.rows,
            "digest": self.digest,
            "comment": self.comment,
            "keys": self.keys.to_dict(),
            "columns": [column.to_dict() for column in self.columns],
            "sample": [list(row) for row in self.sample],
            **({"masked": masked} if (masked := self.masked) else {}),
            **({"estimate": asdict(self.estimate)} if self.estimate else {}),
        }


def warns_off(comment: str) -> bool:
    """Whether a comment says that its table is not to be used.

    >>> warns_off("Old star schema, frozen 31.12.2021 - do not use"), warns_off("Frozen food")
    (True, False)
    """
    return _WARNING.search(comment) is not None


@dataclass(frozen=True, slots=True)
class Description:
    """What a table holds, in a sentence, and what its cryptic columns mean (`glosses`, by name).

    The `author` is `person` (a comment of the source or of a dbt project), `dictionary` (a table of
    the pile that describes others), or the id of a language model. Where a person wrote a comment,
    that is the text, and no column that a person commented on has a gloss.

    >>> about = Description("Claims reported too late.", "person", {"LNT_IND": "late notification"})
    >>> about.to_dict()["columns"]
    {'LNT_IND': 'late notification'}
    """

    text: str
    author: str
    glosses: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.text or self.glosses)

    def to_dict(self) -> dict[str, Any]:
        """The description as JSON has it."""
        return {"text": self.text, "author": self.author, "columns": dict(self.glosses)}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A source or table that could not be read, and why; `table` is empty for a whole source.

    >>> str(Skipped("shop.sqlite", "orders", "its file is damaged"))
    'shop.sqlite::orders: its file is damaged'
    """

    source: str
    table: str
    reason: str

    def __str__(self) -> str:
        name = f"{self.source}::{self.table}" if self.table else self.source
        return f"{name}: {self.reason}"
