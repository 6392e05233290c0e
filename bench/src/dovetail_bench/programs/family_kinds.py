"""Piles of tables as companies have them, with the truth of what is a copy or slice of what.

`KINDS` has more than thirty ways in which one logical table comes to be many, and the look-alikes
that are none; `pile(seed)` plays all of them through for entities of several industries. Names,
columns and contents are made up here and nowhere else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

Row = tuple[object, ...]
Rows = list[Row]

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


@dataclass
class Pile:
    """Tables by source and name (columns and rows), and which of them belong together."""

    tables: dict[tuple[str, str], tuple[list[str], Rows]] = field(default_factory=dict)
    families: list[dict[tuple[str, str], str]] = field(default_factory=list)
    canonical: list[tuple[str, str]] = field(default_factory=list)
    twins: list[frozenset[tuple[str, str]]] = field(default_factory=list)
    kind_of: dict[tuple[str, str], str] = field(default_factory=dict)


class Unit:
    """One play of a kind: an entity of an industry, in a source of its own schema."""

    def __init__(self, pile: Pile, kind: str, industry: str, draw: random.Random) -> None:
        self.pile, self.kind, self.draw = pile, kind, draw
        self.entity, self.key, words = ENTITIES[industry]
        self.words = words.split()
        # A schema that says nothing: no two plays of an entity meet by name.
        self.source = f"{industry}_db"
        self.schema = "".join(draw.choice("bcdfghjklmnp") + draw.choice("aeou") for _ in range(4))
        self.columns = [self.key, *self.words, "booked_on", "amount"]
        self.mark = f"{industry[:3]}{draw.randrange(10**6)}"

    def rows(
        self, count: int = 90, first: int = 1, begins: str = "2019-01-01", days: int = 1800
    ) -> Rows:
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

    def put(
        self,
        name: str,
        rows: Rows,
        columns: Sequence[str] = (),
        *,
        schema: str | None = None,
        source: str = "",
    ) -> tuple[str, str]:
        """Add a table to the pile; returns its source and name."""
        where = self.schema if schema is None else schema
        table = (source or self.source, f"{where}.{name}" if where else name)
        self.pile.tables[table] = (list(columns or self.columns), rows)
        self.pile.kind_of[table] = self.kind
        return table

    def family(self, canonical: tuple[str, str], **members: Sequence[tuple[str, str]]) -> None:
        """Tell the truth: the canonical table, and the others by role."""
        roles = {table: role for role, tables in members.items() for table in tables}
        self.pile.families.append({canonical: roles.pop(canonical, "table"), **roles})
        self.pile.canonical.append(canonical)


def _copies(name: str, share: float = 1.0, **more: str) -> Callable[[Unit], None]:
    """A table and a copy of some of its rows under another name; `{}` is the table's own."""

    def play(unit: Unit) -> None:
        rows = unit.rows()
        base = unit.put(unit.entity, rows)
        copy = unit.put(name.format(unit.entity), rows[: int(share * len(rows))], **more)
        unit.family(base, copy=[copy])

    return play


def _slices(names: Sequence[str], begins: Sequence[str], days: int) -> Callable[[Unit], None]:
    """Slices by time, without a table that holds them all; the last one stands for them."""

    def play(unit: Unit) -> None:
        tables = [
            unit.put(name.format(unit.entity), unit.rows(60, 1, first, days))
            for name, first in zip(names, begins, strict=True)
        ]
        unit.family(tables[-1], partition=tables)

    return play


def _years(unit: Unit, first: int = 2019, last: int = 2023) -> list[tuple[str, str]]:
    return [
        unit.put(f"{unit.entity}_{year}", unit.rows(60, 1, f"{year}-01-01", 364))
        for year in range(first, last + 1)
    ]


def _base_and_years(unit: Unit) -> None:
    slices = {
        year: unit.rows(60, 1 + 60 * (year - 2019), f"{year}-01-01", 364)
        for year in range(2019, 2023)
    }
    base = unit.put(unit.entity, [row for rows in slices.values() for row in rows])
    unit.family(base, partition=[unit.put(f"{unit.entity}_{y}", r) for y, r in slices.items()])


def _slice_and_its_copy(unit: Unit) -> None:
    tables = _years(unit)
    copy = unit.put(f"{unit.entity}_2021_bak", unit.pile.tables[tables[2]][1][:50])
    unit.family(tables[-1], partition=tables, copy=[copy])


def _newer_version(unit: Unit) -> None:
    rows = unit.rows(80, 1, "2018-01-01", 700)
    old = unit.put(unit.entity, rows)
    grown = [(*row, "x") for row in [*rows, *unit.rows(40, 81, "2021-01-01", 900)]]
    new = unit.put(f"{unit.entity}_v2", grown, [*unit.columns, "checked_by"])
    unit.family(new, copy=[old])


def _final_versions(unit: Unit) -> None:
    rows = unit.rows()
    one = unit.put(f"{unit.entity}_final", rows[:60])
    two = unit.put(f"{unit.entity}_final_v2", rows)
    unit.family(two, copy=[one])


def _snapshots(unit: Unit) -> None:
    rows = unit.rows(100, 1, "2018-01-01", 300)
    days = ("20220131", "20220228", "20220331")
    taken = [unit.put(f"{unit.entity}_{day}", rows[: 80 + 10 * n]) for n, day in enumerate(days)]
    unit.family(taken[-1], copy=taken[:-1])


def _archive(unit: Unit) -> None:
    base = unit.put(unit.entity, unit.rows(90, 5001, "2022-01-01", 600))
    away = unit.put(f"{unit.entity}_archive", unit.rows(90, 1, "2015-01-01", 900))
    unit.family(base, partition=[away])


def _shards(unit: Unit) -> None:
    shards = [unit.put(f"{unit.entity}_shard_{n:02}", unit.rows(60)) for n in range(4)]
    unit.family(shards[-1], partition=shards)


def _regions(unit: Unit) -> None:
    sizes = {"no": 90, "se": 70, "dk": 60, "fi": 50}
    tables = [
        unit.put(f"{unit.entity}_{code}", unit.rows(n, 1000 * n)) for code, n in sizes.items()
    ]
    unit.family(max(tables), partition=tables)


def _history(unit: Unit) -> None:
    rows = unit.rows()
    states = [(*row, f"20{18 + n}-01-01", f"20{19 + n}-01-01") for n in range(3) for row in rows]
    base = unit.put(unit.entity, rows)
    states_table = unit.put(
        f"{unit.entity}_hist", states, [*unit.columns, "valid_from", "valid_to"]
    )
    unit.family(base, history=[states_table])


def _narrow_history(unit: Unit) -> None:
    """The history of a table of two columns has as many again."""
    rows: Rows = [(f"{unit.mark}{n}", round(unit.draw.uniform(1, 1e5), 2)) for n in range(40)]
    states = [(*row, f"20{18 + n}-01-01", f"20{19 + n}-01-01") for n in range(3) for row in rows]
    base = unit.put(f"{unit.entity}_rates", rows, [unit.key, "rate"])
    told = unit.put(
        f"{unit.entity}_rates_hist", states, [unit.key, "rate", "valid_from", "valid_to"]
    )
    unit.family(base, history=[told])


def _audit(unit: Unit) -> None:
    rows = unit.rows()
    told = [(*row, action, "admin") for action in ("I", "U") for row in rows[:70]]
    base = unit.put(unit.entity, rows)
    audit = unit.put(f"{unit.entity}_audit", told, [*unit.columns, "action", "by_whom"])
    unit.family(base, history=[audit])


def _view(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    view = unit.put(f"vw_{unit.entity}", [row[:4] for row in rows[:70]], unit.columns[:4])
    unit.family(base, view=[view])


def _equal_contents(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    unit.family(base, copy=[unit.put("zwischenablage_kh", rows)])


def _other_source(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    copy = unit.put(unit.entity, rows[:80], schema="", source=f"laptop_{unit.source}")
    unit.family(base, copy=[copy])


def _staging_schema(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    copy = unit.put(unit.entity, rows[40:], schema=f"staging.{unit.schema}")
    unit.family(base, copy=[copy])


def _empty_staging(unit: Unit) -> None:
    base = unit.put(unit.entity, unit.rows())
    unit.family(base, copy=[unit.put(f"stg_{unit.entity}", [])])


def _tiny(unit: Unit) -> None:
    rows = unit.rows(4)
    unit.family(unit.put(unit.entity, rows), copy=[unit.put(f"{unit.entity}_bak", rows)])


def _test_rows(unit: Unit) -> None:
    base = unit.put(unit.entity, unit.rows())
    unit.family(base, copy=[unit.put(f"{unit.entity}_test", unit.rows(30, 900001))])


def _grown_columns(unit: Unit) -> None:
    old = [
        unit.put(f"{unit.entity}_{y}", unit.rows(60, 1, f"{y}-01-01", 364)) for y in (2020, 2021)
    ]
    rows = [(*row, "web", 1) for row in unit.rows(60, 1, "2022-01-01", 364)]
    new = unit.put(f"{unit.entity}_2022", rows, [*unit.columns, "channel", "flag"])
    unit.family(new, partition=[*old, new])


def _fewer_columns(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    copy = unit.put(
        f"{unit.entity}_export_2022-05-01", [row[:-1] for row in rows], unit.columns[:-1]
    )
    unit.family(base, copy=[copy])


def _several(unit: Unit) -> None:
    rows = unit.rows()
    base = unit.put(unit.entity, rows)
    names = ("{}_bak", "{}_bak_2020", "tmp_{}", "{}_old", "stg_{}", "{}_20210101_copy")
    copies = [unit.put(name.format(unit.entity), rows[n:]) for n, name in enumerate(names)]
    unit.family(base, copy=copies)


# Look-alikes: what has the same columns or nearly the same name, and is something else.


def _two_things(unit: Unit) -> None:
    for name in ("vendors", "debtors"):
        unit.put(name, unit.rows(80))


def _subset(unit: Unit) -> None:
    rows = unit.rows()
    unit.put(unit.entity, rows)
    unit.put(f"disputed_{unit.entity}", rows[::3])


def _twins(unit: Unit) -> None:
    one = unit.put(unit.entity, unit.rows())
    unit.mark += "b"
    other = unit.put(unit.entity, unit.rows(), schema="", source=f"acquired_{unit.source}")
    unit.pile.twins.append(frozenset((one, other)))


def _levels(unit: Unit) -> None:
    for level in (1, 2, 3):
        unit.put(f"{unit.entity}_level_{level}", unit.rows(40))


def _lookups(unit: Unit) -> None:
    for name in ("colour", "currency", "status", "unit", "country"):
        rows: Rows = [(n, f"{name} {unit.mark} {n}", n % 2) for n in range(40)]
        unit.put(f"ref_{name}", rows, ["id", "label", "active"])


def _header_and_lines(unit: Unit) -> None:
    unit.put(unit.entity, unit.rows())
    lines: Rows = [(n // 3 + 1, n % 3, f"item {n}", n / 7) for n in range(200)]
    unit.put(f"{unit.entity}_lines", lines, [unit.key, "line_no", "item", "price"])


def _other_columns(unit: Unit) -> None:
    unit.put("results", unit.rows())
    rows: Rows = [(n, f"assay {unit.mark} {n}", n / 3, "ok") for n in range(80)]
    unit.put("test_results", rows, ["sample", "assay", "value", "verdict"])


def _sheets(unit: Unit) -> None:
    for n, columns in enumerate((["a", "b", "c"], ["region", "target"], ["x", "y", "z", "note"])):
        unit.put(
            f"sheet{n + 1}",
            [tuple(f"{unit.mark} {c}{r}" for c in columns) for r in range(40)],
            columns,
        )


def _plan_and_actual(unit: Unit) -> None:
    for what in ("plan", "actual"):
        tables = [
            unit.put(f"{unit.entity}_{what}_{y}", unit.rows(60, 1, f"{y}-01-01", 364))
            for y in (2021, 2022, 2023)
        ]
        unit.family(tables[-1], partition=tables)


def _grain(unit: Unit) -> None:
    for grain in ("daily", "monthly"):
        unit.put(f"{unit.entity}_{grain}", unit.rows(80))


def _in_and_out(unit: Unit) -> None:
    for way in ("in", "out"):
        unit.put(f"{unit.entity}_{way}", unit.rows(80))


def _namesakes(unit: Unit) -> None:
    unit.put(f"{unit.entity}", unit.rows(80))
    unit.mark += "n"
    unit.put(f"{unit.entity}_2", unit.rows(80), schema="", source=f"other_{unit.source}")


_MONTHS = ("2023-01-01", "2023-02-01", "2023-03-01", "2023-04-01")
KINDS: dict[str, Callable[[Unit], None]] = {
    "backup": _copies("{}_bak"),
    "backup with a date": _copies("{}_backup_20220103", 0.7),
    "old": _copies("{}_old", 0.8),
    "staging": _copies("stg_{}"),
    "staging schema": _staging_schema,
    "temporary": _copies("tmp_{}", 0.4),
    "copy": _copies("{}_copy"),
    "copy of": _copies("Copy of {}"),
    "copy of, in German": _copies("Kopie von {} (2)"),
    "numbered download": _copies("{} (3)"),
    "hash suffix": _copies("{}_3f9c1ab2"),
    "tool's backup": _copies("{}__dbt_backup", 0.6),
    "before a migration": _copies("{}_premig_old"),
    "rejects": _copies("{}_rejected", 0.3),
    "restored": _copies("restore_{}_1"),
    "newer version": _newer_version,
    "final versions": _final_versions,
    "snapshots": _snapshots,
    "archive": _archive,
    "many copies": _several,
    "years": lambda unit: unit.family((t := _years(unit))[-1], partition=t),
    "years in front": _slices(
        [f"{y}_{{}}" for y in (2020, 2021, 2022)], [f"{y}-01-01" for y in (2020, 2021, 2022)], 364
    ),
    "fiscal years": _slices(
        [f"{{}}_fy{y}" for y in (20, 21, 22)], [f"20{y}-01-01" for y in (20, 21, 22)], 364
    ),
    "months": _slices([f"{{}}_20230{n}" for n in (1, 2, 3, 4)], _MONTHS, 27),
    "month names": _slices(
        ["{}_jan_2023", "{}_feb_2023", "{}_mar_2023", "{}_apr_2023"], _MONTHS, 27
    ),
    "days": _slices(
        [f"{{}}_2023030{n}" for n in range(1, 6)], [f"2023-03-0{n}" for n in range(1, 6)], 1
    ),
    "days with dashes": _slices(
        [f"{{}} 2023-03-0{n}" for n in range(1, 4)], [f"2023-03-0{n}" for n in range(1, 4)], 1
    ),
    "quarters": _slices(
        [f"{{}}_2022_q{n}" for n in (1, 2, 3, 4)],
        ["2022-01-01", "2022-04-01", "2022-07-01", "2022-10-01"],
        80,
    ),
    "weeks": _slices(
        [f"{{}}_2022w{n}" for n in (10, 11, 12)], ["2022-03-07", "2022-03-14", "2022-03-21"], 6
    ),
    "ranges of years": _slices(
        ["{}_1990_1999", "{}_2000_2009", "{}_2010_2019"],
        ["1990-01-01", "2000-01-01", "2010-01-01"],
        3600,
    ),
    "short years": _slices(
        [f"{{}}{y}" for y in ("98", "99", "00", "01")],
        [f"{y}-01-01" for y in (1998, 1999, 2000, 2001)],
        364,
    ),
    "dated folders": _slices([f"in/2023/0{n}/{{}}" for n in (1, 2, 3, 4)], _MONTHS, 27),
    "shards": _shards,
    "regions": _regions,
    "table and its years": _base_and_years,
    "slice and its copy": _slice_and_its_copy,
    "history": _history,
    "history of few columns": _narrow_history,
    "audit": _audit,
    "view": _view,
    "another name": _equal_contents,
    "another source": _other_source,
    "empty staging": _empty_staging,
    "tiny": _tiny,
    "test rows": _test_rows,
    "grown columns": _grown_columns,
    "fewer columns": _fewer_columns,
    "look-alike: two things": _two_things,
    "look-alike: subset": _subset,
    "look-alike: twins": _twins,
    "look-alike: levels": _levels,
    "look-alike: lookups": _lookups,
    "look-alike: lines": _header_and_lines,
    "look-alike: other columns": _other_columns,
    "look-alike: sheets": _sheets,
    "look-alike: plan and actual": _plan_and_actual,
    "look-alike: grain": _grain,
    "look-alike: in and out": _in_and_out,
    "look-alike: namesakes": _namesakes,
}


def pile(seed: int, each: int = 2) -> Pile:
    """Every kind, played for several industries."""
    draw = random.Random(seed)
    made = Pile()
    for kind, play in KINDS.items():
        for industry in draw.sample(sorted(ENTITIES), each):
            play(Unit(made, kind, industry, draw))
    return made


def pairs(group: Sequence[tuple[str, str]]) -> Iterator[frozenset[tuple[str, str]]]:
    """Every two of some tables."""
    for place, one in enumerate(group):
        for other in group[place + 1 :]:
            yield frozenset((one, other))
