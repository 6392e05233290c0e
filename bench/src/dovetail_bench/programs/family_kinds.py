"""Piles of tables as companies have them, with the truth of what is a copy or slice of what.

`KINDS` has the ways in which one logical table comes to be many, and look-alikes that are none;
`pile(seed)` plays all of them through for entities of several industries. Names, columns and
contents are made up here and nowhere else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations
from typing import Any

Row = tuple[object, ...]
TableKey = tuple[str, str]

# Entities of several industries: a name, its key, and words for its texts.
ENTITIES = {
    "bank": ("accounts", "account_no", "iban holder branch"),
    "hospital": ("patients", "patient_id", "surname ward insurer"),
    "telecom": ("subscribers", "msisdn_id", "subscriber tariff handset"),
    "logistics": ("consignments", "consignment_id", "consignee depot route"),
    "university": ("enrolments", "enrolment_id", "student module tutor"),
    "energy": ("meter_readings", "reading_id", "meter tariff zone"),
    "insurance": ("claims", "claim_id", "claimant policy adjuster"),
    "software": ("licences", "licence_key_id", "tenant product reseller"),
    "farming": ("harvests", "harvest_id", "field crop combine"),
    "airline": ("bookings", "booking_id", "passenger fare agent"),
}


def _slices(name: str, begins: dict[Any, str], days: int) -> str:
    """Slices by time, without a table that holds them all; the last one stands for them.

    `#` in the name is what each slice is called, by the day it begins with.
    """
    slices = (
        f"partition {name.replace('#', str(part))}, {first}+{days}"
        for part, first in reversed(begins.items())
    )
    return "; ".join(slices)


def _years(name: str, *years: int) -> str:
    return _slices(name, {year: f"{year}-01-01" for year in years}, 364)


_MONTHS = {number: f"2023-0{number}-01" for number in (1, 2, 3, 4)}
_DAYS = {number: f"2023-03-0{number}" for number in range(1, 6)}
# A kind is its tables. Each has a role (`-`: it belongs to none of the others), a name in which {}
# is the entity's, and what is odd about it. The first is the canonical table; without more said, a
# table has all rows of the entity:
#   40-90           those rows of it alone        ~2021     those of its rows that are of 2021
#   2021-01-01+364  60 rows of such days          new 80    so many rows that no other table has
#   #5001           numbered from there           same 50   the first rows of the table before
#   +by on          more columns                  <4        only the first four columns
#   =id label       other columns altogether      *3        each row three times, with its times
#   @staging.       in another schema             @@old_    in another source
KINDS = {
    "backup": "table {}; copy {}_bak",
    "backup with a date": "table {}; copy {}_backup_20220103, 0-63",
    "old": "table {}; copy {}_old, 0-72",
    "staging": "table {}; copy stg_{}",
    "staging schema": "table {}; copy {}, 40-90, @staging.",
    "temporary": "table {}; copy tmp_{}, 0-36",
    "copy": "table {}; copy {}_copy",
    "copy of": "table {}; copy Copy of {}",
    "copy of, in German": "table {}; copy Kopie von {} (2)",
    "numbered download": "table {}; copy {} (3)",
    "hash suffix": "table {}; copy {}_3f9c1ab2",
    "tool's backup": "table {}; copy {}__dbt_backup, 0-54",
    "before a migration": "table {}; copy {}_premig_old",
    "rejects": "table {}; copy {}_rejected, 0-27",
    "restored": "table {}; copy restore_{}_1",
    "newer version": "table {}_v2, +checked_by; copy {}, 0-60",
    "final versions": "table {}_final_v2; copy {}_final, 0-60",
    "snapshots": "table {}_20220331; copy {}_20220131, 0-70; copy {}_20220228, 0-80",
    "archive": "table {}, 2022-01-01+600, #5001; partition {}_archive, 2015-01-01+900",
    "many copies": "table {}; copy {}_bak; copy {}_bak_2020, 1-90; copy tmp_{}, 2-90; "
    "copy {}_old, 3-90; copy stg_{}, 4-90; copy {}_20210101_copy, 5-90",
    "years": _years("{}_#", 2019, 2020, 2021, 2022, 2023),
    "years in front": _years("#_{}", 2020, 2021, 2022),
    "fiscal years": _slices("{}_fy#", {year: f"20{year}-01-01" for year in (20, 21, 22)}, 364),
    "months": _slices("{}_20230#", _MONTHS, 27),
    "month names": _slices(
        "{}_#_2023", dict(zip(("jan", "feb", "mar", "apr"), _MONTHS.values(), strict=True)), 27
    ),
    "days": _slices("{}_2023030#", _DAYS, 1),
    "days with dashes": _slices("{} 2023-03-0#", _DAYS, 1),
    "quarters": _slices(
        "{}_2022_q#", {n: f"2022-{3 * n - 2:02}-01" for n in (1, 2, 3, 4)}, 80
    ),
    "weeks": _slices("{}_2022w#", {10: "2022-03-07", 11: "2022-03-14", 12: "2022-03-21"}, 6),
    "ranges of years": _slices(
        "{}_#9", {f"{n}0_{n}": f"{n}0-01-01" for n in (199, 200, 201)}, 3600
    ),
    "short years": _slices(
        "{}#", {"98": "1998-01-01", "99": "1999-01-01", "00": "2000-01-01", "01": "2001-01-01"}, 364
    ),
    "dated folders": _slices("in/2023/0#/{}", _MONTHS, 27),
    "shards": "; ".join(f"partition {{}}_shard_0{n}, new 60" for n in (3, 2, 1, 0)),
    "regions": "partition {}_se, new 70, #70000; partition {}_no, new 90, #90000; "
    "partition {}_dk, new 60, #60000; partition {}_fi, new 50, #50000",
    "table and its years": "table {}; partition {}_2019, ~2019; partition {}_2020, ~2020; "
    "partition {}_2021, ~2021; partition {}_2022, ~2022; partition {}_2023, ~2023",
    "slice and its copy": _years("{}_#", 2019, 2020, 2021, 2022) + "; copy {}_2019_bak, same 50",
    "history": "table {}; history {}_hist, *3",
    "history of few columns": "table {}_rates, =code rate; history {}_rates_hist, =code rate, *3",
    "audit": "table {}; history {}_audit, 0-70, +action by_whom, *2",
    "view": "table {}; view vw_{}, 0-70, <4",
    "another name": "table {}; copy zwischenablage_kh",
    "another source": "table {}; copy {}, 0-80, @@laptop_",
    "empty staging": "table {}; copy stg_{}, 0-0",
    "tiny": "table {}, 0-4; copy {}_bak, 0-4",
    "test rows": "table {}; copy {}_test, new 30, #900001",
    "grown columns": "partition {}_2022, 2022-01-01+364, +channel flag; "
    + _years("{}_#", 2020, 2021),
    "fewer columns": "table {}; copy {}_export_2022-05-01, <5",
    "look-alike: two things": "- vendors, new 80; - debtors, new 80",
    "look-alike: subset": "- {}; - disputed_{}, 20-50",
    "look-alike: twins": "- {}; twin {}, new 90, @@acquired_",
    "look-alike: levels": "- {}_level_1, new 40; - {}_level_2, new 40; - {}_level_3, new 40",
    "look-alike: lookups": "- ref_colour, =id colour active; - ref_currency, =id currency active; "
    "- ref_status, =id status active; - ref_unit, =id unit active; - ref_country, =id country on",
    "look-alike: lines": "- {}; - {}_lines, =line_no item price",
    "look-alike: other columns": "- results; - test_results, =sample assay value verdict",
    "look-alike: sheets": "- sheet1, =a b c; - sheet2, =region target; - sheet3, =x y z note",
    "look-alike: plan and actual": _years("{}_plan_#", 2021, 2022, 2023)
    + " | " + _years("{}_actual_#", 2021, 2022, 2023),
    "look-alike: grain": "- {}_daily, new 80; - {}_monthly, new 80",
    "look-alike: in and out": "- {}_in, new 80; - {}_out, new 80",
    "look-alike: namesakes": "- {}; - {}_2, new 80, @@other_",
}  # fmt: skip


@dataclass
class Pile:
    """Tables by source and name (columns and rows), and which of them belong together."""

    tables: dict[TableKey, tuple[list[str], list[Row]]] = field(default_factory=dict)
    families: list[dict[TableKey, str]] = field(default_factory=list)
    canonical: list[TableKey] = field(default_factory=list)
    twins: list[frozenset[TableKey]] = field(default_factory=list)
    kind_of: dict[TableKey, str] = field(default_factory=dict)


class Unit:
    """One play of a kind: an entity of an industry, in a schema whose name says nothing."""

    def __init__(self, pile: Pile, kind: str, industry: str, draw: random.Random) -> None:
        self.pile, self.kind, self.draw = pile, kind, draw
        self.entity, key, words = ENTITIES[industry]
        self.words = words.split()
        self.source = f"{industry}_db"
        # No two plays of an entity meet by the name of their schema.
        self.schema = "".join(draw.choice("bcdfghjklmnp") + draw.choice("aeou") for _ in range(4))
        self.columns = [key, *self.words, "booked_on", "amount"]
        self.mark = f"{industry[:3]}{draw.randrange(10**6)}"
        self.own = sorted(self.rows(90), key=lambda row: str(row[-2]))
        self.last = self.own

    def rows(
        self, count: int, first: int = 1, begins: str = "2019-01-01", days: int = 1800
    ) -> list[Row]:
        """Rows whose texts nobody else has; dates are spread over some days."""
        start = date.fromisoformat(begins)
        return [
            (
                first + n,
                *(f"{word} {self.mark} {self.draw.randrange(10**7)}" for word in self.words),
                (start + timedelta(days=self.draw.randrange(days))).isoformat(),
                round(self.draw.uniform(1, 1e5), 2),
            )
            for n in range(count)
        ]

    def play(self, text: str) -> None:
        """Add the tables of a family to the pile, and the truth about them."""
        tables = [(role, self._table(name, odd)) for role, name, odd in _members(text)]
        (role, canonical), *others = tables
        roles = {table: role for role, table in others if role not in ("-", "twin")}
        if role != "-":
            self.pile.families.append({canonical: role, **roles})
            self.pile.canonical.append(canonical)
        twins = [frozenset((canonical, table)) for role, table in others if role == "twin"]
        self.pile.twins += twins

    def _table(self, name: str, odd: Sequence[str]) -> TableKey:
        """Add a table to the pile; returns its source and name."""
        source, schema = self.source, f"{self.schema}."
        columns, rows = self._drawn(odd)
        for part in odd:
            sign, rest = part[0], part[1:]
            if part.startswith("@@"):
                source, schema = f"{rest[1:]}{source}", ""
            elif sign == "@":
                schema = f"{rest}{schema}"
            elif sign == "<":
                columns, rows = columns[: int(rest)], [row[: int(rest)] for row in rows]
            elif sign == "*":
                columns = [*columns, "valid_from", "valid_to"]
                times = [(f"20{18 + n}-01-01", f"20{19 + n}-01-01") for n in range(int(rest))]
                rows = [(*row, *each) for each in times for row in rows]
            elif sign == "+":
                columns = [*columns, *rest.split()]
                rows = [(*row, *("x" for _ in rest.split())) for row in rows]
        self.last = rows
        table = (source, schema + name.format(self.entity))
        self.pile.tables[table] = (columns, rows)
        self.pile.kind_of[table] = self.kind
        return table

    def _drawn(self, odd: Sequence[str]) -> tuple[list[str], list[Row]]:
        """The columns and rows that a table begins with: all of the entity, or what is said."""
        first = next((int(part[1:]) for part in odd if part[0] == "#"), 1)
        for part in odd:
            word, _, count = part.partition(" ")
            begins, _, days = part.partition("+")
            if part[0] == "=":
                columns = part[1:].split()
                texts = [tuple(f"{each} {self.mark} {n}" for each in columns) for n in range(40)]
                return columns, list(texts)
            if part[0] == "~":
                return self.columns, [row for row in self.own if str(row[-2])[:4] == part[1:]]
            if word == "new":
                return self.columns, self.rows(int(count), first)
            if word == "same":
                return self.columns, self.last[: int(count)]
            if begins and days:
                return self.columns, self.rows(60, first, begins, int(days))
            if part[0].isdecimal():
                begin, _, end = part.partition("-")
                return self.columns, self.own[int(begin) : int(end)]
        return self.columns, self.own


def _members(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The tables of a family as `KINDS` writes them: role, name, and what is odd about each."""
    for member in text.split("; "):
        named, *odd = member.split(", ")
        role, _, name = named.partition(" ")
        yield role, name, odd


def pile(seed: int, each: int = 2) -> Pile:
    """Every kind, played for several industries."""
    draw = random.Random(seed)
    made = Pile()
    for kind, families in KINDS.items():
        for industry in draw.sample(sorted(ENTITIES), each):
            unit = Unit(made, kind, industry, draw)
            for family in families.split(" | "):
                unit.play(family)
    return made


def pairs(group: Sequence[TableKey]) -> Iterator[frozenset[TableKey]]:
    """Every two of some tables."""
    return map(frozenset, combinations(group, 2))
