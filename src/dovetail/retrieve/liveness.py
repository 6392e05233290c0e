"""Which tables are live, and which come after those: nobody means them while another has the same.

Companies keep what they no longer use: marts that were frozen, tables whose comment says not to use
them, empty ones, temporary and staging ones, older versions. They say the same words as the live
tables, often in plainer names. A calendar has the days of every question and answers none, unless
it is about weeks, holidays or fiscal periods, and the cells of a data dictionary are names of
others. Where a live candidate covers what such a table covers, its probability falls to a
twentieth; where none does, or the question names it by what marks it (`the staging tables`), it
counts as any other.

So does a table of which a question says nothing but words of a value that a live table holds: a
refund for `duplicate charges` is not a matter of charge codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from dovetail.catalog.records import numbers
from dovetail.domain import Candidate, Kind, Table, TableId, warns_off
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
# The share of a calendar's columns that are named by such words; and those that it is asked for by.
_OF_CALENDAR = 0.6
_CALENDAR = frozenset(
    stem(word)
    for word in """date day week month quarter year weekday weekend holiday fiscal period season
    calendar business working bank iso dow""".split()  # noqa: SIM905 - words read best as text
)
_ASKED_FOR = frozenset(
    map(stem, ("week", "weekday", "weekend", "holiday", "fiscal", "working", "calendar"))
)
_DICTIONARY = frozenset(map(stem, ("dictionary", "codebook", "metadata")))
# From this weight on few tables hold a value.
_DISTINCTIVE = 0.5
_TABLES_KEPT, _WIDTH = 4096, 60


class Liveness:
    """Which tables of a catalog are not live, and why."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._why = method_cache(self._reason, _TABLES_KEPT)

    def of(self, query: Query, scored: ScoredCandidates) -> ScoredCandidates:
        """The candidates, with lower probabilities of those that are not live and add nothing."""
        why = [self._meant_why(table, query) for table in scored.tables]
        live = [at for at, reason in enumerate(why) if not reason]
        behind = set(_inside_values(query, scored.match, live))
        content, covers = scored.match.content, scored.match.covers
        covers = covers if content is None else covers[content]
        best = covers[:, live].max(axis=1, initial=0)
        for at in range(len(why)) if live else ():
            alone = (covers[:, at] >= WHOLE_WORD) & (best < _COVERED)
            if why[at] and not alone.any():
                behind.add(at)
        lowered = scored.probabilities.copy()
        lowered[[at for at in sorted(behind) if not scored.match.defined[at]]] *= _BEHIND
        return scored.with_probabilities(lowered) if behind else scored

    def live_first(self, query: Query, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates in their order, those that may not be live after all others."""
        return sorted(candidates, key=lambda one: bool(self._meant_why(one.id, query)))

    def why(self, table: TableId) -> str:
        """Why a table may not be live; nothing where it is."""
        sentence, _ = self._why(table)
        return sentence

    def _meant_why(self, table: TableId, query: Query) -> str:
        """The same, unless the question speaks of the very thing that marks the table."""
        sentence, marks = self._why(table)
        return "" if marks & query.words.keys() else sentence

    def _reason(self, table: TableId) -> tuple[str, frozenset[str]]:
        """Why a table may not be live, and the stems by which a question would mean it still."""
        profile, none = self._searcher.catalog[table], frozenset[str]()
        in_dbt = self._searcher.catalog.dbt.tables.get(table)
        if warns_off(profile.comment):
            return f"its comment says {cut(profile.comment, _WIDTH)!r}", none
        if in_dbt is not None and in_dbt.deprecated:
            return "dbt marks it as deprecated", none
        if not profile.rows and not self._many_empty:
            return "it has no rows", none
        if marks := _marks(table.name):
            return f"its name says {', '.join(sorted(marks))}", frozenset(map(stem, marks))
        if table in self._searcher.catalog.dictionaries:
            return "it is a data dictionary", _DICTIONARY
        if _is_calendar(profile):
            return "it is a calendar", _ASKED_FOR
        return "", none

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
    content = np.ones(len(rows), np.bool_) if match.content is None else match.content
    for link, holders in zip(query.links, match.values, strict=True):
        words = link.span.end - link.span.start
        if words < 2 or link.term.weight < _DISTINCTIVE or not holders[live].any():
            continue
        inside = [rows[word] for word in stems(link.span.text) if word in rows]
        beyond = content.copy()
        beyond[inside] = False
        said = match.covers[inside].max(axis=0, initial=0) >= _COVERED
        more = match.covers[beyond].max(axis=0, initial=0) > _COVERED
        yield from np.flatnonzero(said & ~more & (holders == 0)).tolist()


def _is_calendar(table: Table) -> bool:
    """Whether a table has a row for each day, and its columns say what day that is."""
    days = any(one.profile.kind is Kind.DATE and one.profile.unique for one in table.columns)
    named = [bool(_CALENDAR.intersection(stems(column.name))) for column in table.columns]
    return days and sum(named) >= _OF_CALENDAR * len(named)
