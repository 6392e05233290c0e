"""Calendars: tables with a row for each day, or month, which every column of days refers to.

That a day is in a calendar says nothing of whether two tables belong together. So a join of days is
never surer than even. It is there for who asks for what only the calendar knows (weeks, holidays,
fiscal periods), and two tables that share a day are not connected by it.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from dovetail.catalog.records import Records
from dovetail.domain import TableId

# Months and days of a calendar at least, and the share of all between its ends: some leave weekends
# out.
_MONTHS, _DAYS, _SHARE = 12, 28, 0.6
_DAY = re.compile(r"(\d{4})([-/.]?)(\d\d)(?:\2(\d\d)(?:[ T]00:00(:00(\.0+)?)?)?)?(?:\.0)?")


def covers_days(minimum: str | None, maximum: str | None, distinct: int) -> bool:
    """Whether so many distinct values, as written out, are nearly all days, or all months, between
    two ends.

    >>> covers_days("2023-01-01", "2024-12-31", 731), covers_days("20230102", "20231229", 260)
    (True, True)
    >>> covers_days("2023-01", "2024-12", 24), covers_days("1931-02-11", "2004-11-30", 400)
    (True, False)
    """
    if distinct < _MONTHS:
        return False
    ends = [_DAY.fullmatch(text or "") for text in (minimum, maximum)]
    months = [end and end[4] is None for end in ends]
    if not all(ends) or months[0] != months[1]:
        return False
    try:
        days = [date(int(end[1]), int(end[3]), int(end[4] or 1)) for end in ends if end]
    except ValueError:  # the 31st of February
        return False
    if months[0]:
        first, last = (12 * day.year + day.month for day in days)
    else:
        first, last = (day.toordinal() for day in days)
    fewest = _MONTHS if months[0] else _DAYS
    return max(fewest, _SHARE * (last - first + 1)) <= distinct <= last - first + 1


def calendars_of(records: Records) -> frozenset[TableId]:
    """The tables with a row for each day, or month."""
    names = ("unique", "minimum", "maximum", "distinct")
    facts = zip(*(records.columns[name].to_pylist() for name in names), strict=True)
    days = [at for at, (unique, *ends) in enumerate(facts) if unique and covers_days(*ends)]
    tables = np.searchsorted(records.bounds, days, side="right") - 1
    return frozenset(records.ids[table] for table in tables.tolist())
