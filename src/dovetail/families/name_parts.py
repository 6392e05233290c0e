"""A table's name taken apart: what it is about, the slots for dates and numbers, and the markers.

`sales.orders_bak_2022` is about `order`, stands in `sales`, has the slot `2022` and is marked as a
copy. Slots and markers may stand anywhere in a name, and dates in the folders or schema above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from dovetail.joins.naming.markers import (
    FIRST_ONLY,
    MARKERS,
    MONTHS,
    NUMBERED,
    OF,
    PERIOD,
    Marker,
)
from dovetail.joins.naming.name_words import singular

# Words of a name; a capital begins a word where the letters are ASCII, as in camelCase.
_PIECE = re.compile(r"\d+|[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
# Folders and schemas; a full stop between digits is part of a date or a version.
_LEVEL = re.compile(r"[/\\]+|(?<!\d)\.|\.(?!\d)")
_COPY_NUMBER = re.compile(r"[ _]*\(\d{1,3}\)")
_HASH = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?![0-9A-Za-z])")
_YEARS = range(1500, 2200)


@dataclass(frozen=True, slots=True)
class Slot:
    """A date or number in a name: its normalised text, and whether it is a time or a version."""

    text: str
    time: bool = False
    version: bool = False


@dataclass(frozen=True, slots=True)
class NameParts:
    """What a name says. `stem` is what it is about, `space` where it stands: schema or folder.

    `shape` is the name with its digits replaced, which tells spellings apart.
    """

    stem: tuple[str, ...]
    space: tuple[str, ...]
    slots: tuple[Slot, ...]
    markers: frozenset[Marker]
    marks: tuple[str, ...]
    shape: str

    @property
    def label(self) -> str:
        """The slots as one text."""
        return " ".join(slot.text for slot in self.slots)


@lru_cache(maxsize=1 << 17)
def name_parts(name: str) -> NameParts:
    """Take the name of a table apart.

    >>> parts = name_parts("sales.orders_bak_2022")
    >>> parts.stem, parts.space, parts.label, sorted(parts.markers)
    (('order',), ('sale',), '2022', [<Marker.COPY: 'copy'>])
    >>> [name_parts(one).label for one in ("gsod1929", "x_2024_03", "x_20240307", "Q3 2023 x")]
    ['1929', '2024-03', '2024-03-07', '2023-Q3']
    """
    *above, last = [part for part in _LEVEL.split(name) if part] or [name]
    outer, own = _Reading("/".join(above)), _Reading(last)
    own.need_words()
    numbers = [slot.text for slot in outer.slots if not slot.time]
    marks = outer.marks + own.marks
    return NameParts(
        stem=tuple(own.words),
        space=(*outer.words, *numbers),
        slots=(*(slot for slot in outer.slots if slot.time), *own.slots),
        markers=frozenset(MARKERS[mark] for mark in marks) - {Marker.LAYER},
        marks=tuple(mark for mark in marks if MARKERS[mark] is not Marker.LAYER),
        shape=re.sub(r"\d+", "#", last.casefold()),
    )


class _Reading:
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
        tokens = list(_tokens(plain))
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
        if word in NUMBERED and follows.isdigit():
            self.words.append(f"{word}{int(follows[:9])}")
            return 2
        if word in PERIOD and follows.isdigit():
            return 1
        if word in OF and self.marks and not self.words:
            return 1
        marker = MARKERS.get(word)
        if marker and (word not in FIRST_ONLY or (at == 0 and len(tokens) > 1)):
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


def _tokens(text: str) -> Iterator[str]:
    for piece in _PIECE.findall(text):
        words = _CAMEL.findall(piece) if piece.isascii() and not piece.isdigit() else [piece]
        yield from (word.lower() for word in words)


def _slots(tokens: Sequence[str], at: int) -> Iterator[tuple[Slot, int]]:
    """The slots that may begin at a word, the longest first."""
    one, two, three = (*tokens[at : at + 3], "", "", "")[:3]
    if one == "v" and two.isdigit():
        size = 2
        while (
            at + size < len(tokens) and tokens[at + size].isdigit() and len(tokens[at + size]) < 3
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
    elif one.isdigit():
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
    if two in ("w", "kw", "week", "cw") and three.isdigit() and 1 <= int(three[:9]) <= 53:
        return Slot(f"{year}-W{int(three):02}", time=True), 3
    if two in MONTHS:
        return Slot(f"{year}-{MONTHS[two]:02}", time=True), 2
    named = two in ("m", "month", "mon")
    month, day = (three, four) if named else (two, three)
    if (len(month) == 2 or named or at + 2 == len(tokens)) and (found := _month(year, month)):
        whole = len(day) == 2 and not named and _day(year, month, day)
        return (Slot(whole, time=True), 3) if whole else (Slot(found, time=True), 3 if named else 2)
    until = _year(two)
    if until and until > year:
        return Slot(f"{year}/{until}", time=True), 2
    return Slot(year, time=True), 1


def _year(text: str, *, short: bool = False) -> str:
    """A year of four digits, or with a month's name before it of two; else nothing."""
    if len(text) == 4 and text.isdigit() and int(text) in _YEARS:
        return text
    return f"20{text}" if short and len(text) == 2 and text.isdigit() else ""


def _month(year: str, month: str) -> str:
    plausible = _year(year) and month.isdigit() and 1 <= int(month) <= 12
    return f"{year}-{int(month):02}" if plausible else ""


def _day(year: str, month: str, day: str) -> str:
    if not _year(year):
        return ""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""
