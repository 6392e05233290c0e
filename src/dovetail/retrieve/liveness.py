"""Which tables are live, and which come after those: nobody means them while another has the same.

Companies keep what they no longer use: marts that were frozen, tables whose comment says not to use
them, empty ones, temporary and staging ones, older versions. They say the same words as the live
tables, often in plainer names; the cells of a data dictionary are names of others, and a calendar
has the days of every question. Where a live candidate covers what such a table covers, its
probability falls to a twentieth; where none does, as where the question names it by what marks it
(`the staging tables`) or asks for what it alone knows (weeks, holidays), it counts as any other.

So does a table of which a question says nothing but words of a value that a live table holds: a
refund for `duplicate charges` is not a matter of charge codes. One that is called so is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from dovetail.catalog.records import numbers
from dovetail.domain import Kind, TableId, warns_off
from dovetail.names.table_name import MARKERS, Marker, copy_marks
from dovetail.retrieve.match import WHOLE_WORD, QueryMatch
from dovetail.retrieve.scorer import ScoredCandidates
from dovetail.search.method_cache import method_cache
from dovetail.search.query import Query, stem, stems
from dovetail.search.searcher import Searcher
from dovetail.text import cut

# What is left of the probability of a table that is not live.
_BEHIND = 0.05
# A live table covers a word if it matches so well: better than by a mere key.
_COVERED = 0.3
# Where a larger share of the tables is empty, that is no sign: the catalog is one of schemas.
_MANY_EMPTY = 0.2
# Schemas of tables that are made from others, and in use all the same.
_IN_USE = frozenset(("mart", "marts", "dm", "rpt", "report", "reports", "reporting", "cube"))
# The share of a calendar's columns that are named by such words.
_OF_CALENDAR = 0.6
_CALENDAR = frozenset(
    stem(word)
    for word in """date day week month quarter year weekday weekend holiday fiscal period season
    calendar business working bank iso dow""".split()  # noqa: SIM905 - words read best as text
)
# From this weight on few tables hold a value.
_DISTINCTIVE = 0.5
_TABLES_KEPT, _WIDTH = 4096, 60


class Liveness:
    """Which tables of a catalog are not live, and why."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self.why = method_cache(self._why, _TABLES_KEPT)
        self._days = method_cache(self._is_calendar, _TABLES_KEPT)

    def of(self, query: Query, scored: ScoredCandidates) -> ScoredCandidates:
        """The candidates, with lower probabilities of those that are not live and add nothing."""
        behind_live = [bool(self.why(table)) or self._days(table) for table in scored.tables]
        live = [at for at, behind in enumerate(behind_live) if not behind]
        behind = set(_inside_values(query, scored.match, live))
        covers = scored.match.content_covers
        best = covers[:, live].max(axis=1, initial=0)
        for at in range(len(behind_live)) if live else ():
            alone = (covers[:, at] >= WHOLE_WORD) & (best < _COVERED)
            if behind_live[at] and not alone.any():
                behind.add(at)
        lowered = scored.probabilities.copy()
        lowered[[at for at in sorted(behind) if not scored.match.defined[at]]] *= _BEHIND
        return scored.with_probabilities(lowered) if behind else scored

    def _why(self, table: TableId) -> str:
        """Why a table may not be live; nothing where it is."""
        profile = self._searcher.catalog[table]
        in_dbt = self._searcher.catalog.dbt.tables.get(table)
        if warns_off(profile.comment):
            return f"its comment says {cut(profile.comment, _WIDTH)!r}"
        if in_dbt is not None and in_dbt.deprecated:
            return "dbt marks it as deprecated"
        if not profile.rows and not self._many_empty:
            return "it has no rows"
        if marks := _marks(table.name):
            return f"its name says {', '.join(sorted(marks))}"
        return "it is a data dictionary" if table in self._searcher.catalog.dictionaries else ""

    def _is_calendar(self, table: TableId) -> bool:
        """Whether a table has a row for each day, and its columns say what day that is."""
        columns = self._searcher.catalog[table].columns
        days = any(one.profile.kind is Kind.DATE and one.profile.unique for one in columns)
        named = [bool(_CALENDAR.intersection(stems(column.name))) for column in columns]
        return days and sum(named) >= _OF_CALENDAR * len(named)

    @cached_property
    def _many_empty(self) -> bool:
        rows = numbers(self._searcher.catalog.records.tables.column("rows"))
        return bool((rows == 0).mean() > _MANY_EMPTY)


def _marks(name: str) -> set[str]:
    """What in a table's name says that it is temporary, staged, a copy or an older version.

    >>> _marks("policy.tmp_fx_jd"), _marks("mart.sales"), _marks("orders_hist"), _marks("log_2024")
    ({'tmp'}, set(), set(), set())
    """
    return {
        mark
        for mark in copy_marks(name) - _IN_USE
        if not mark.isdigit() and MARKERS.get(mark) is not Marker.HISTORY
    }


def _inside_values(query: Query, match: QueryMatch, live: Sequence[int]) -> Iterator[int]:
    """The candidates of which a question says nothing but words of a value that a live one holds.

    Such a value has several words and stands in few tables.
    """
    rows = {term.text: row for row, term in enumerate(query.terms)}
    for link, holders in zip(query.links, match.values, strict=True):
        words = link.span.end - link.span.start
        if words < 2 or link.term.weight < _DISTINCTIVE or not holders[live].any():
            continue
        inside = [rows[word] for word in stems(link.span.text) if word in rows]
        beyond = match.content.copy()
        beyond[inside] = False
        said = match.covers[inside].max(axis=0, initial=0) >= _COVERED
        more = match.covers[beyond].max(axis=0, initial=0) > _COVERED
        yield from np.flatnonzero(said & ~more & ~match.called & (holders == 0)).tolist()
