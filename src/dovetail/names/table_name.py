"""The name of a table taken apart: schema or folder, stem, slots for dates and numbers, markers.

`sales.orders_bak_2022` is about `order`, stands in `sales`, has the slot `2022` and is marked as a
copy. Slots and markers may stand anywhere in a name, and dates in the folders or schema above it.

Markers are words that say what became of a table, not what it holds: how people everywhere mark
backups, staging areas, versions, histories and views. For a family a word is never enough by
itself, columns and contents decide; which of several tables with the same keys others refer to,
names alone must tell (`copy_marks`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache

import numpy as np

from dovetail.arrays import Encoded, Floats, Ints, once, padded
from dovetail.names.words import ID_WORDS, PREPOSITIONS, Words, singular, split, words


class Marker(StrEnum):
    """What a word in a name says of the table."""

    COPY = "copy"  # whatever it holds, nobody means it: backups, staging, tests
    ARCHIVE = "archive"  # moved away: a copy if its rows are still there, else a slice
    VERSION = "version"  # another state, perhaps the newer one
    DERIVED = "derived"  # an export, a sample, a cleaned one: a copy if the contents say so
    HISTORY = "history"
    VIEW = "view"
    LAYER = "layer"  # where in a warehouse it stands; says nothing


_WORDS = {
    Marker.COPY: """bak backup backups bkp bkup bck bkk copy copie copia kopie kopia cpy duplicate
        dup err error errors reject rejected rejects sicherung
        sauvegarde respaldo stg stage staging landing tmp temp temporary scratch test tst
        testing dev uat qa sandbox dummy fake dnu deprecated obsolete todelete trash junk broken
        corrupt corrupted wip draft entwurf brouillon xx xxx zz zzz restore restored rollback premig
        mirror replica shadow work wrk""",
    Marker.ARCHIVE: """old alt oud oude ancien vieux vieja viejo vecchio velho archive
        archives archived archiv arch arc legacy retired closed cold""",
    Marker.VERSION: "new neu nuevo nouveau final finale latest current actual live rev ver version",
    Marker.DERIVED: """export exported extract extracted dump import imported load loaded raw snap
        snapshot snapshots sample sampled subset preview orig original clean cleaned cleansed dedup
        deduped deduplicated fix fixed corrected patched int src ods dbt sync cache cached save
        saved upload""",
    Marker.HISTORY: """hist history historie historic historical historique historial aud audit scd
        changelog changes versions journal""",
    Marker.VIEW: "v vw view views mv mview vista vue sicht",
    Marker.LAYER: "dim fct fact tbl tb table mart marts dwh dw lkp t",
}
MARKERS: dict[str, Marker] = {
    word: marker for marker, listed in _WORDS.items() for word in listed.split()
}
# Those of them that name things of their own as well: work orders, closed periods, a load of goods.
_ORDINARY = frozenset(
    """audit broken cache cached changes clean closed cold corrupt dbt dev draft dump entwurf err
    error errors export extract fake fixed historic historical int journal junk landing legacy
    load loaded mirror ods original preview qa raw reject retired sample sampled save saved shadow
    src subset sync testing trash upload versions work wrk xx
    zz""".split()  # noqa: SIM905 - words read best as text
)
# What marks a table as a copy before any contents are compared.
_COPY_WORDS = frozenset(
    word
    for word, marker in MARKERS.items()
    if marker in (Marker.COPY, Marker.ARCHIVE, Marker.DERIVED, Marker.HISTORY)
    if word not in _ORDINARY
)
# Schemas and folders whose tables are made from others: nobody refers to them from outside.
_COPY_PLACES = frozenset(
    """mart marts dm rpt report reports reporting cube stg stage staging landing tmp temp scratch
    archive archives archiv arch backup backups bak old sandbox test snapshot
    snapshots""".split()  # noqa: SIM905 - words read best as text
)
# Markers only as the first word: elsewhere a lone letter is part of the name.
_FIRST_ONLY = frozenset({"v", "t", "mv"})
# Prepositions that belong to a marker: copy of, Kopie von, copie de.
_OF = frozenset({"of", "von", "de", "di", "do", "da"})
# Words before a number that give it a meaning, unless it is a year: level 1 and level 2 are two
# things, invoice_line_2022 and invoice_line_2023 are one.
_NUMBERED = frozenset(
    """level lvl tier phase type step grade class layer line axis dimension order
    generation gen""".split()  # noqa: SIM905 - words read best as text
)
# Words that announce a date or number and say nothing else.
_PERIOD = frozenset(("year", "yr", "month", "mon", "day", "date", "dt", "ds", "week", "period"))
_MONTHS = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
MONTHS = {word: number for line in _MONTHS for number, word in enumerate(line.split(), start=1)} | {
    "sept": 9,
    "mrz": 3,
    "okt": 10,
    "dez": 12,
}
# Parts of the world that people cut tables by; other codes are two or three letters.
REGIONS = frozenset(
    """north south east west central northeast northwest southeast southwest emea apac latam mena
    nordic nordics benelux dach europe asia africa america americas oceania anz iberia cee row
    domestic foreign international""".split()  # noqa: SIM905 - words read best as text
)
# Conventions of warehouses in table names that name no thing.
_TABLE_WORDS = frozenset(
    """tbl table ref dim fact lookup lkp tb t xref header hdr master mst stamm stam stammdaten kopf
    anagrafica anagrafe testata tabella elenco fichier maestro""".split()  # noqa: SIM905
)
# Files that a folder's one table is spread over: there the folder names the table.
_PIECES = frozenset(("part", "data", "chunk", "file", "export"))
# One or two schemas before a name, read backwards: from its end there is but one way to go.
_SCHEMA = re.compile(r"(\n?\w*[^\W\d])(?:\.\w*[^\W\d]){1,2}")
# Folders and schemas; a full stop between digits is part of a date or a version.
_LEVEL = re.compile(r"[/\\]+|(?<!\d)\.|\.(?!\d)")
_COPY_NUMBER = re.compile(r"(?<![ _])[ _]*+\(\d{1,3}\)")
_HASH = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?![0-9A-Za-z])")
_VERSION = re.compile(r"(?<![^\W_])v\d+(?![^\W_])")
_YEARS = range(1500, 2200)
# Digits that make a year or a date: events_2023, orders_20240101.
_DATED = 4


def qualifier(name: str) -> str:
    """The folder that a table's name begins with, else the schema.

    >>> qualifier("sales.orders"), qualifier("exports/2024/orders"), qualifier("orders")
    ('sales', 'exports/2024', '')
    """
    return name.rpartition("/")[0] or name.rpartition(".")[0]


def unqualified(name: str) -> str:
    """The name of a table without its schema or folder.

    >>> unqualified("hr.staff"), unqualified("exports/2024/staff"), unqualified("staff/part-0")
    ('staff', 'staff', 'staff/part-0')
    """
    last = name.rpartition("/")[2] or name
    if {word for word in words(last) if not word.isdecimal()} <= _PIECES:
        last = name
    return _SCHEMA.sub(r"\1", last[::-1], 1)[::-1] if _SCHEMA.match(last[::-1]) else last


# Tables of one schema, at least, whose first or last letter can be an affix; how many of them have
# it then, and letters that are left of a name.
# Letters that are cut from the front of all names, at most.
_LONGEST_FRONT = 3
_SEVERAL, _PREFIXED, _SUFFIXED, _LEAST_LEFT = 10, 0.95, 0.75, 4
_ONE_WORD = re.compile(r"([^\W\d_]+)(\d*)")


def without_affixes(names: Sequence[str]) -> list[str]:
    """The names of a schema's tables without the letters that all begin with, three at most, and
    the one that most end with, where they are one word each: FCLIENTP and FARTICLP are a client and
    an article, physical files. An s says that there are several.

    >>> files = ["FCLIENTP", "FARTICLP", *(f"F{letter}ENTP" for letter in "ABCDEGHI")]
    >>> without_affixes(files)[:2], without_affixes(["FCLIENTP"])
    (['CLIENT', 'ARTICL'], ['FCLIENTP'])
    """
    taken = [_ONE_WORD.fullmatch(name) for name in names]
    words = [one[1] for one in taken if one]
    if len(words) < max(_SEVERAL, _PREFIXED * len(names)):
        return list(names)
    front = _front(words)
    last, lasts = Counter(word[-1].casefold() for word in words).most_common(1)[0]
    back = last if lasts >= _SUFFIXED * len(words) and last != "s" else ""

    def shorter(name: str, one: re.Match[str] | None) -> str:
        if one is None:
            return name
        word, digits = one.groups()
        cut = word[len(front) :] if word.casefold().startswith(front) else word
        if back and cut[-1:].casefold() == back:
            cut = cut[:-1]
        return cut + digits if len(cut) >= _LEAST_LEFT else name

    return [shorter(name, one) for name, one in zip(names, taken, strict=True)]


def _front(names: Sequence[str]) -> str:
    """The letters that nearly all names begin with, unless they are so many that they are a word.

    >>> _front(["CVCAMPUS", "CVCOLLEG", "CVTERMCD"]), _front(["orderhead", "orderline"])
    ('cv', '')
    """
    front = ""
    while len(front) <= _LONGEST_FRONT:
        longer = Counter(name[: len(front) + 1].casefold() for name in names)
        most, times = longer.most_common(1)[0]
        if times < _PREFIXED * len(names) or len(most) == len(front):
            return front
        front = most
    return ""


# The master file or the header of something, run together as in systems with short names.
_MASTER = re.compile(r"(?i)^([a-z]{2,7})(mst|hdr)$")


@lru_cache(maxsize=1 << 17)
def entity(name: str) -> Words:
    """The thing a table is about, its head noun last.

    >>> entity("tbl_customers"), entity("products_for_hire"), entity("crm.customers")
    (('customer',), ('for', 'hire', 'product'), ('customer',))
    >>> entity("CUSMST"), entity("CLMHDR")
    (('cus',), ('clm',))
    >>> entity("reason_codes"), entity("TERMCD")
    (('reason',), ('term',))
    """
    every = words(_MASTER.sub(r"\1 \2", unqualified(name)))
    about = tuple(w for w in every if w not in _TABLE_WORDS and not w.isdecimal()) or every
    # A list of codes is of what these are codes of.
    about = about[:-1] if len(about) > 1 and about[-1] in ID_WORDS else about
    for at, word in enumerate(about):
        if word in PREPOSITIONS and 0 < at < len(about) - 1:
            return about[at:] + about[:at]
    return about


@dataclass(frozen=True, slots=True)
class Slot:
    """A date or number in a name: its normalised text, and whether it is a time or a version."""

    text: str
    time: bool = False
    version: bool = False


@dataclass(frozen=True, slots=True)
class TableName:
    """What a name says: `stem` is what the table is about, `schema` the schema or folder.

    `marks` are the words that mark the table and `markers` what they say; `shape` is the name with
    its digits replaced, which tells spellings apart.
    """

    schema: Words
    stem: Words
    slots: tuple[Slot, ...]
    markers: frozenset[Marker]
    marks: Words
    shape: str

    @classmethod
    @lru_cache(maxsize=1 << 17)
    def parse(cls, name: str) -> TableName:
        """Take the name of a table apart.

        >>> name = TableName.parse("sales.orders_bak_2022")
        >>> name.stem, name.schema, name.label, sorted(name.markers)
        (('order',), ('sale',), '2022', [<Marker.COPY: 'copy'>])
        >>> dated = ("gsod1929", "x_2024_03", "x_20240307", "Q3 2023 x")
        >>> [TableName.parse(each).label for each in dated]
        ['1929', '2024-03', '2024-03-07', '2023-Q3']
        """
        *above, last = [part for part in _LEVEL.split(name) if part] or [name]
        outer, own = _Level("/".join(above)), _Level(last)
        own.need_words()
        numbers = [slot.text for slot in outer.slots if not slot.time]
        marks = outer.marks + own.marks
        return cls(
            schema=(*outer.words, *numbers),
            stem=tuple(own.words),
            slots=(*(slot for slot in outer.slots if slot.time), *own.slots),
            markers=frozenset(MARKERS[mark] for mark in marks) - {Marker.LAYER},
            marks=tuple(mark for mark in marks if MARKERS[mark] is not Marker.LAYER),
            shape=re.sub(r"\d+", "#", last.casefold()),
        )

    @property
    def label(self) -> str:
        """The slots as one text."""
        return " ".join(slot.text for slot in self.slots)


class _Level:
    """One level of a name, read word by word."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.slots: list[Slot] = []
        self.marks: list[str] = []
        plain = _HASH.sub(" ", _COPY_NUMBER.sub(" ", text))
        if plain != text and plain.strip(" _-"):
            self.marks.append("copy")
        else:
            plain = text
        tokens = split(plain)
        at = 0
        while at < len(tokens):
            at += self._slot(tokens, at) or self._word(tokens, at)

    def need_words(self) -> None:
        """Where there is nothing but markers and slots, take the markers for what it is about."""
        if not self.words:
            self.words, self.marks = [singular(mark) for mark in self.marks], []

    def _word(self, tokens: Sequence[str], at: int) -> int:
        word = tokens[at]
        follows = tokens[at + 1] if at + 1 < len(tokens) else ""
        if word in _NUMBERED and follows.isdecimal() and len(follows) < _DATED:
            self.words.append(f"{word}{int(follows[:9])}")
            return 2
        if word in _PERIOD and follows.isdecimal():
            return 1
        if word in _OF and self.marks and not self.words:
            return 1
        marker = MARKERS.get(word)
        if marker and (word not in _FIRST_ONLY or (at == 0 and len(tokens) > 1)):
            self.marks.append(word)
        else:
            self.words.append(singular(word))
        return 1

    def _slot(self, tokens: Sequence[str], at: int) -> int:
        """How many words a slot takes up that begins here; 0 where none does."""
        for slot, size in _slots(tokens, at):
            self.slots.append(slot)
            return size
        return 0


def _slots(tokens: Sequence[str], at: int) -> Iterator[tuple[Slot, int]]:
    """The slots that may begin at a word, the longest first."""
    one, two, three = (*tokens[at : at + 3], "", "", "")[:3]
    if one == "v" and two.isdecimal():
        size = 2
        while (
            at + size < len(tokens) and tokens[at + size].isdecimal() and len(tokens[at + size]) < 3
        ):
            size += 1
        yield Slot("v" + ".".join(tokens[at + 1 : at + size]), version=True), size
    elif one == "fy" and (year := _year(two, short=True)):
        yield Slot(year, time=True), 2
    elif one in MONTHS and (year := _year(two, short=True)):
        yield Slot(f"{year}-{MONTHS[one]:02}", time=True), 2
    elif one == "q" and two in ("1", "2", "3", "4"):
        year = _year(three)
        yield Slot(f"{year}-Q{two}" if year else f"Q{two}", time=True), 3 if year else 2
    elif one in MONTHS and (at > 0 or two) and (len(one) > 3 or one == two):
        if at + 1 == len(tokens) and one not in ("may", "march", "mars", "mai"):
            yield Slot(f"{MONTHS[one]:02}", time=True), 1
    elif one.isdecimal():
        yield _number(tokens, at, one, two, three)


def _number(tokens: Sequence[str], at: int, one: str, two: str, three: str) -> tuple[Slot, int]:
    """The slot that begins with a number."""
    if len(one) == 8 and (day := _day(one[:4], one[4:6], one[6:])):
        return Slot(day, time=True), 1
    if len(one) == 6 and (month := _month(one[:4], one[4:])):
        return Slot(month, time=True), 1
    year = _year(one)
    if not year:
        return Slot(one), 1
    four = tokens[at + 3] if at + 3 < len(tokens) else ""
    if two == "q" and three in ("1", "2", "3", "4"):
        return Slot(f"{year}-Q{three}", time=True), 3
    if two in ("w", "kw", "week", "cw") and three.isdecimal() and 1 <= int(three[:9]) <= 53:
        return Slot(f"{year}-W{int(three):02}", time=True), 3
    if two in MONTHS:
        return Slot(f"{year}-{MONTHS[two]:02}", time=True), 2
    named = two in ("m", "month", "mon")
    month, day = (three, four) if named else (two, three)
    if (len(month) == 2 or named or at + 2 == len(tokens)) and (dated := _month(year, month)):
        exact = len(day) == 2 and not named and _day(year, month, day)
        return (Slot(exact, time=True), 3) if exact else (Slot(dated, time=True), 3 if named else 2)
    until = _year(two)
    if until and until > year:
        return Slot(f"{year}/{until}", time=True), 2
    return Slot(year, time=True), 1


def _year(text: str, *, short: bool = False) -> str:
    """A year of four digits, or with a month's name before it of two; else nothing."""
    if len(text) == 4 and text.isdecimal() and int(text) in _YEARS:
        return text
    return f"20{text}" if short and len(text) == 2 and text.isdecimal() else ""


def _month(year: str, month: str) -> str:
    plausible = _year(year) and month.isdecimal() and 1 <= int(month[:9]) <= 12
    return f"{year}-{int(month):02}" if plausible else ""


def _day(year: str, month: str, day: str) -> str:
    if not _year(year):
        return ""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


@lru_cache(maxsize=1 << 17)
def copy_marks(name: str) -> frozenset[str]:
    """What in a table's name says that it is a copy, a version or a part of another.

    A staging table holds the same ids as the table it feeds, so values cannot tell which of the two
    a column refers to. Their names can.

    >>> [sorted(copy_marks(name)) for name in ("orders", "crm.stg_orders", "orders_v2", "log_2024")]
    [[], ['stg'], ['v2'], ['2024']]
    >>> sorted(copy_marks("mart.orders")), sorted(copy_marks("exports/orders (1)"))
    (['mart'], ['(n)'])
    """
    last = unqualified(name).casefold()
    parts = split(last)
    marks = {part for part in parts if part in _COPY_WORDS}
    marks |= {p for p in parts if p.isdecimal() and len(p) >= _DATED and p[0] != "0"}
    marks |= set(_VERSION.findall(last))
    # A table whose name says nothing else is no copy: there is nothing that it is one of.
    own = marks if len(marks) < len(parts) else set()
    numbered = {"(n)"} if _COPY_NUMBER.search(last) else set()
    return frozenset(own | numbered | (_COPY_PLACES & set(split(qualifier(name)))))


@dataclass(frozen=True, slots=True)
class CopyMarks:
    """The marks of many tables, to see for many pairs whether one is a copy the other is not.

    `codes` numbers the distinct sets of marks; each row of `marks` lists those of one set, filled
    up with -1.
    """

    codes: Ints
    marks: Ints

    @classmethod
    def of(cls, names: Sequence[str]) -> CopyMarks:
        """The marks in the names of tables."""
        sets = Encoded.of([copy_marks(name) for name in names])
        number = {mark: at for at, mark in enumerate(sorted(set().union(*sets.dictionary)))}
        rows = [[number[mark] for mark in marks] for marks in sets.dictionary]
        return cls(sets.codes, padded(rows, -1))

    def copied(self, child: Ints, parent: Ints) -> Floats:
        """1 where the parent's table is marked as a copy and the child's has not the same marks.

        The tables of one staging area refer to each other, and so do those of one backup.
        """
        flags = np.zeros(len(child))
        marked = np.any(self.marks >= 0, axis=1)
        copies = np.flatnonzero(marked[self.codes[parent]])
        codes, count = self.codes, len(self.marks)
        pairs = (codes[child[copies]], count), (codes[parent[copies]], count)
        flags[copies] = once(self._lacking, *pairs)
        return flags

    def _lacking(self, child: Ints, parent: Ints) -> Floats:
        """1 where a mark of the parent is none of the child's."""
        lacking = np.zeros(len(child), dtype=np.bool_)
        for mark in self.marks.T:
            wanted = mark[parent]
            lacking |= (wanted >= 0) & (self.marks[child] != wanted[:, None]).all(axis=1)
        return lacking.astype(np.float64)
