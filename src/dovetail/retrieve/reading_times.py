"""What a question says of time: days, months and years of a column, and rows by units of time."""

from __future__ import annotations

import re

from dovetail.domain import Column, Kind, Table
from dovetail.families.periods import Period, periods, placed_periods
from dovetail.retrieve import grammar
from dovetail.retrieve.marked_text import MarkedText, akin
from dovetail.retrieve.parts import WORDS, Item, Ref
from dovetail.retrieve.schema_links import Value
from dovetail.search.query import stems

# More words than any question has: those of a column that it does not name.
_FAR = 1_000_000


class TimesReader(MarkedText):
    """Reads the times of a marked question."""

    def _is_of_day(self, mark: str | None) -> bool:
        """Whether a number is part of a day, or of a month: 2024-01-31, March 2024."""
        place = self.links.at[int(mark[1:])][0] if mark else -1
        days = [
            span
            for span, period in placed_periods(self.links.text)
            if (period.first[4:], period.last[4:]) != ("-01-01", "-12-31")
        ]
        days += [found.span() for found in grammar.FIGURES.finditer(self.links.text)]
        return any(start <= place < end for start, end in days)

    def _time_column(self, *tables: Table, at: int | None = None) -> Ref | None:
        """Of the columns of dates or years, of some tables or of all, the one that is meant.

        That is the one that the words nearest to the time name (*shipped in 2023*); else one of a
        table that refers to others, for these tell what happened, and none of when a record was
        kept.
        """
        listed = [
            Ref(table, column)
            for table in tables or self._by_link()
            for column in table.columns
            if _tells_time(column)
        ]

        def rank(of: Ref) -> tuple[int, bool, bool]:
            said = self._named_near(of, at)
            kept = not grammar.KEPT.isdisjoint(stems(of.words))
            return said, of.table.id in self.referred, kept

        return min(listed, key=rank, default=None)

    def _named_near(self, of: Ref, at: int | None) -> int:
        """How many words before a time the question names a column's own words; many, if not."""
        thing = set(stems(of.table.name))
        if of.table.id in self.referred and thing.isdisjoint(stems(self.links.text)):
            return _FAR
        own = set(stems(of.words)) - thing - grammar.TIMES
        words = self.links.words if at is None else self._words_before(at)
        far = (at for at, word in enumerate(reversed(words)) if any(akin(word, one) for one in own))
        return next(far, _FAR)

    def _times(self) -> None:
        """The times that the question names, each of a column of dates or years, or open."""
        text = self.links.text
        for (start, end), period in placed_periods(text):
            years = {period.first[:4], period.last[:4]}
            around = grammar.TIMELY.search(text[:start])
            unread = dict(self._unread_between(around.start() if around else start, end))
            said = [at for at, word in unread.items() if any(year in word for year in years)]
            if not said:
                continue
            every = grammar.FIGURES.finditer(text)
            if figures := next((one for one in every if one.start() < start < one.end()), None):
                self.reading.open.append(f"which day is {figures[0]}?")
            elif which := self._time(said[0], period, self._compared(period, start, end)):
                self.reading.open.append(which)
            for at in unread:
                self.blank(at, self.text.index(" ", at))

    def _time(self, at: int, period: Period, compared: tuple[str, tuple[str, ...]]) -> str:
        """What must hold of a column of dates or years, or what is open of it."""
        operator, days = compared
        which = f"which column is {WORDS.get(operator, operator)} {' and '.join(days)}?"
        of = self._time_column(at=at)
        if of is None or of.column is None:
            return "" if self._slices(period) else which
        if of.table.id in self.referred and self._named_near(of, at) == _FAR:
            return "" if self._slices(period) else which
        values, time = days, of.column.profile.time
        if time is None:
            values = tuple(day[:4] for day in days)
        if len(set(values)) < len(values) and time is not Kind.TIMESTAMP:
            operator, values = "=", values[:1]
        self._where(at, of, operator, *values)
        yearly = all(day[4:] in ("-01-01", "-12-31") for day in days)
        return "" if time or yearly else which

    def _compared(self, period: Period, start: int, end: int) -> tuple[str, tuple[str, ...]]:
        """How a time that is said somewhere is compared, and with which days."""
        if period.first >= "0002" and period.last <= "9998":
            return "between", (period.first, period.last)
        if opened := grammar.OPENED.search(self.links.text[:start]):
            named = next(iter(periods(self.links.text[start:end])), period)
            return (">", (named.last,)) if opened[1].lower() == "after" else ("<", (named.first,))
        return ("<=", (period.last,)) if period.first < "0002" else (">=", (period.first,))

    def _slices(self, period: Period) -> bool:
        """Whether a table of the set holds what is of some year alone: `premium_2020`."""
        named = (re.findall(r"(?<!\d)\d{4}(?!\d)", table.name) for table in self.tables)
        return any({period.first[:4], period.last[:4]} & set(found) for found in named)

    def _each_time(self) -> None:
        """Rows by the time of their dates: "per month", "each day". Where several columns of dates
        could be meant, it is an open choice."""
        reading = self.reading
        folded = any(item.function for item in reading.select)
        for match in grammar.EACH_TIME.finditer(self.text):
            said = match["unit"] or match["adverb"]
            ordered = grammar.SORTED.search(self.text[: match.start()])
            if ordered or (match["adverb"] and not folded):
                continue
            words = grammar.UNITS if match["unit"] else grammar.ADVERBS
            unit = next(unit for unit, form in words.items() if re.fullmatch(form, said))
            dates = self._dates(match.start(), unit)
            self.blank(*match.span())
            if len(dates) != 1:
                listed = " or ".join(f"{of.words} of {of.table.name}" for of in dates)
                reading.open.append(f"{match[0]} of which date: {listed or 'there is none'}?")
                continue
            dated = dates[0].column is not None and dates[0].column.profile.time is not None
            item = Item(match.start(), dates[0], unit=unit if dated else "")
            reading.group.append(item)
            reading.per = True
            reading.order = reading.order or [(item, False)]

    def _dates(self, at: int, unit: str) -> list[Ref]:
        """The columns by which rows can be put into units of time: that of a time which is asked
        for, the one whose words stand nearest, else all of what is counted, or of any table."""

        def dates(*tables: Table) -> list[Ref]:
            return [
                Ref(table, column)
                for table in tables
                for column in table.columns
                if column.profile.time or (unit == "year" and _tells_time(column))
                if grammar.KEPT.isdisjoint(stems(column.name))
            ]

        every = dates(*self._by_link())
        limited = [of for of in every if any(one.of == of for one in self.reading.where)]
        said = {of.words: self._named_near(of, at) for of in every}
        nearest = [of for of in every if said[of.words] == min(said.values()) < _FAR]
        folded = [item.of.table for item in self.reading.select if item.function]
        counted = dates(*(folded[:1] or [self.main]))
        own = [of for of in counted if set(stems(of.table.name)) & set(stems(of.words))]
        return limited or nearest or own or counted or every


def _tells_time(column: Column) -> bool:
    """Whether a column holds dates or years."""
    profile = column.profile
    yearly = profile.kind is not Kind.REAL and set(grammar.YEARS) & set(stems(column.name))
    return profile.time is not None or bool(yearly)


def is_year(column: Column, value: Value) -> bool:
    """Whether a number is a year of a column that holds years."""
    yearly = set(grammar.YEARS) & set(stems(column.name))
    return bool(yearly) and re.fullmatch(r"(?:18|19|20)\d\d", value.text) is not None
