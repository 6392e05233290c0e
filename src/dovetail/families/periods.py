"""The times that a question names, and the members of a family that hold them.

"in 2022", "March 2024", "Q3 2023", "from 2019 to 2024", "2017-07-01": each is a first and a last
day. Labels of members are read the same way, so that a member is named where the two meet.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dovetail.families.family import FamilyMember
from dovetail.names.table_name import MONTHS

# Month names of English, which questions are asked in; "may" is one only beside a year or day.
_NAMES = "|".join(sorted((name for name in MONTHS if name.isascii()), key=len, reverse=True))
_MONTH = rf"(?:{_NAMES})\.?"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_UNTIL = (
    r"\s*(?:to|through|thru|until|till|and|up to|-|\u2013|\u2014)"
    r"\s*(?:and\s+including\s+)?(?:the\s+)?"
)
# These are compiled when a question that has a number in it is read, and many have none.
_ONE = rf"""
    (?P<iso>{_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}})
  | (?P<packed>{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))(?!\d)
  | (?P<month1>{_MONTH})\s+(?P<day1>{_DAY})(?:\s*,?\s*(?P<year1>{_YEAR}))(?!\d)
  | (?P<day2>{_DAY})\s+(?:of\s+)?(?P<month2>{_MONTH})\s*,?\s*(?P<year2>{_YEAR})(?!\d)
  | (?P<month3>{_MONTH})\s*,?\s*(?:of\s+|in\s+)?(?P<year3>{_YEAR})(?!\d)
  | (?P<isomonth>{_YEAR}-(?:0[1-9]|1[0-2]))(?![\d-])
  | q(?P<quarter1>[1-4])\s*(?:of\s+|/|-|'|,)?\s*(?P<year4>{_YEAR})(?!\d)
  | (?P<year5>{_YEAR})[\s-]*q(?P<quarter2>[1-4])
  | (?P<nth>first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter\s+
    (?:of\s+|in\s+)?(?P<year6>{_YEAR})
  | (?P<half>first|second)\s+half\s+(?:of\s+|in\s+)?(?P<year7>{_YEAR})
  | (?P<decade>(?:1[5-9]|20)\d0)s\b
  | (?P<year>{_YEAR})(?![\d,.]*\d)
    """
_SPAN = rf"(?P<from>{_MONTH}){_UNTIL}(?P<till>{_MONTH})\s*,?\s*(?:of\s+)?(?P<year>{_YEAR})"
_ORDINALS = {
    "first": 1,
    "1st": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
}
# Words before a year that open the period on one side, and those before an amount.
_SINCE = r"\b(?:since|after|starting(?: in| from)?|onwards? from)\s+(?:the\s+)?$"
_BEFORE = r"\b(?:before|until|prior to|up to|by the end of)\s+(?:the\s+)?$"
_AMOUNT = (
    r"(?:[$€£#]|\b(?:than|least|most|over|above|below|under|exceeds?|worth|id|no|number|top))\s*$"
)
_EVER, _FOREVER = "0001-01-01", "9999-12-31"
_MOST_READ = 4_000


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """Days from the first to the last, both included, as ISO dates.

    >>> Period("2022-01-01", "2022-12-31").meets(Period("2022-03-01", "2022-03-31"))
    True
    """

    first: str
    last: str

    def meets(self, other: Period) -> bool:
        """Whether the two have a day in common."""
        return self.first <= other.last and other.first <= self.last


def periods(question: str) -> tuple[Period, ...]:
    """The times that a question names, in its order.

    >>> periods("How did sales develop from 2019 to 2021, and in March 2024?")
    (Period(first='2019-01-01', last='2021-12-31'), Period(first='2024-03-01', last='2024-03-31'))
    >>> periods("orders worth more than 10000")
    ()
    """
    return tuple(period for _, period in placed_periods(question))


@lru_cache(maxsize=64)
def placed_periods(question: str) -> tuple[tuple[tuple[int, int], Period], ...]:
    """The times that a question names, each with where its words begin and end.

    >>> placed_periods("from March to May 2024")
    (((5, 22), Period(first='2024-03-01', last='2024-05-31')),)
    """
    text = question[:_MOST_READ]
    if not any(map(str.isdigit, text)):  # each has a year
        return ()
    spans = [
        (
            match.span(),
            _between(_month(match["year"], match["from"]), _month(match["year"], match["till"])),
        )
        for match in re.finditer(_SPAN, text, re.I)
    ]
    for match in re.finditer(_ONE, text, re.I | re.X):
        before = text[: match.start()]
        if before[-1:].isalnum() or any(a <= match.start() < b for (a, b), _ in spans):
            continue
        period = _read(match)
        if period is None or (match["year"] and re.search(_AMOUNT, before, re.I)):
            continue
        if re.search(_SINCE, before, re.I):
            period = Period(period.first, _FOREVER)
        elif re.search(_BEFORE, before, re.I) and not spans:
            period = Period(_EVER, period.last)
        spans.append((match.span(), period))
    return tuple(_joined(text, sorted(spans)))


def _joined(
    text: str, spans: Sequence[tuple[tuple[int, int], Period]]
) -> Iterator[tuple[tuple[int, int], Period]]:
    """The periods, two with "to" between them as one."""
    waiting: tuple[tuple[int, int], Period] | None = None
    for (start, end), period in spans:
        if waiting is not None:
            (began, reached), before = waiting
            if before.first <= period.first and re.fullmatch(_UNTIL, text[reached:start], re.I):
                between = text[reached:start].strip().lower() == "and"
                if not between or re.search(r"\bbetween\b", text[:reached], re.I):
                    waiting = (began, end), _between(before, period)
                    continue
            yield waiting
        waiting = (start, end), period
    if waiting is not None:
        yield waiting


def _read(match: re.Match[str]) -> Period | None:
    parts = {name: text for name, text in match.groupdict().items() if text}
    if "iso" in parts:
        year, month, day = re.split(r"[-/.]", parts["iso"])
        return _day(year, int(month), day)
    if "packed" in parts:
        packed = parts["packed"]
        return _day(packed[:4], int(packed[4:6]), packed[6:])
    if "isomonth" in parts:
        return _of_month(parts["isomonth"][:4], int(parts["isomonth"][5:]))
    if "decade" in parts:
        return Period(f"{parts['decade']}-01-01", f"{parts['decade'][:3]}9-12-31")
    year = next((text for name, text in parts.items() if name.startswith("year")), "")
    nth = _ORDINALS.get(parts.get("nth", "").lower())
    quarter = parts.get("quarter1") or parts.get("quarter2") or nth
    if quarter:
        return _months(year, 3 * int(quarter) - 2, 3 * int(quarter))
    if "half" in parts:
        return _months(year, *((1, 6) if parts["half"].lower() == "first" else (7, 12)))
    month = next((text for name, text in parts.items() if name.startswith("month")), "")
    day = parts.get("day1") or parts.get("day2")
    if month and day:
        return _day(year, _number(month), re.sub(r"\D", "", day))
    return _month(year, month) if month else _months(year, 1, 12)


def _number(month: str) -> int:
    return MONTHS[month.rstrip(".").lower()]


def _month(year: str, month: str) -> Period:
    return _of_month(year, _number(month))


def _of_month(year: str, month: int) -> Period:
    return _months(year, month, month)


def _months(year: str, first: int, last: int) -> Period:
    return Period(f"{year}-{first:02}-01", f"{year}-{last:02}-{monthrange(int(year), last)[1]}")


def _day(year: str, month: int, day: str) -> Period | None:
    if not 1 <= month <= 12 or not 1 <= int(day) <= monthrange(int(year), month)[1]:
        return None
    text = f"{year}-{month:02}-{int(day):02}"
    return Period(text, text)


def _between(first: Period, last: Period) -> Period:
    return Period(first.first, max(first.last, last.last))


def label_period(label: str) -> Period | None:
    """The time that a label stands for; None for one that is no time.

    >>> label_period("2024-03"), label_period("17")
    (Period(first='2024-03-01', last='2024-03-31'), None)
    """
    for part in label.split():
        if match := re.fullmatch(rf"({_YEAR})(?:/({_YEAR}))?", part):
            return Period(f"{match[1]}-01-01", f"{match[2] or match[1]}-12-31")
        if match := re.fullmatch(r"(\d{4})-(\d\d)", part):
            return _of_month(match[1], int(match[2]))
        if re.fullmatch(r"\d{4}-\d\d-\d\d", part):
            return Period(part, part)
        if match := re.fullmatch(r"(\d{4})-Q([1-4])", part):
            return _months(match[1], 3 * int(match[2]) - 2, 3 * int(match[2]))
        if match := re.fullmatch(r"(\d{4})-W(\d\d)", part):
            month = min(12, 1 + (int(match[2]) - 1) * 12 // 53)
            return _of_month(match[1], month)
    return None


def short_years(labels: Sequence[str]) -> dict[str, Period]:
    """Labels whose last two digits are years, where all labels of a family could be that.

    >>> sorted(short_years(["98", "00", "02"]))
    ['00', '02', '98']
    >>> short_years(["01", "02", "03"])
    {}
    """
    plausible = len(labels) > 2 and all(re.fullmatch(r"\d{2,3}", label) for label in labels)
    if not plausible or len({label[:-2] for label in labels}) > 1:
        return {}
    ends = sorted(int(label[-2:]) for label in labels)
    both_centuries = ends[0] < 50 <= ends[-1]
    if not both_centuries and not 14 <= ends[0] <= ends[-1] <= 29:
        return {}
    return {
        label: Period(f"{year}-01-01", f"{year}-12-31")
        for label in labels
        for year in [(1900 if int(label[-2:]) >= 50 else 2000) + int(label[-2:])]
    }


def named_by_time(members: Sequence[FamilyMember], question: str) -> list[FamilyMember]:
    """The members that hold the times that a question names, in their order."""
    asked = periods(question)
    if not asked:
        return []
    short = short_years([member.label for member in members])
    named = []
    for member in members:
        own = short.get(member.label) or label_period(member.label)
        if own is not None and any(own.meets(period) for period in asked):
            named.append(member)
    return named
