"""Conditional keys: columns whose parent depends on another column of the same table."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dovetail
from dovetail.domain.joins import join_sql
from dovetail.settings import Settings

# The names of a table's columns, and its rows; and tables by name.
Table = tuple[Sequence[str], Sequence[Sequence[object]]]
Tables = dict[str, Table]
# Child and column, parent and key, and the condition, in SQL.
Conditional = tuple[str, str, str]


def things(keys: Sequence[object], key: str) -> Table:
    """A table of things: its key, and something that says nothing."""
    return (key, "remark"), [(each, "abcdefghijk"[n % 11]) for n, each in enumerate(keys)]


def referring(
    random: Random, by: Mapping[Any, Sequence[object]], names: tuple[str, str, str], rows: int = 400
) -> Table:
    """A table that refers to several others: by a type, and a number of what is of that type."""
    kinds = [kind for kind in by for _ in range(1 + len(by) // 3)]
    lines = []
    for number in range(rows):
        kind = random.choice(kinds)
        lines.append((number + 1, kind, random.choice(by[kind]), random.choice("xyz")))
    return (*names, "mood"), lines


def numbered_types(random: Random) -> Tables:
    """Types are numbers, and the ids of two tables begin at other numbers."""
    invoices, orders = range(10_001, 10_301), range(50_001, 51_001)
    return {
        "invoices": things(invoices, "id"),
        "orders": things(orders, "id"),
        "remarks": referring(random, {1: invoices, 2: orders}, ("id", "ref_type", "ref_id")),
    }


def named_types(random: Random) -> Tables:
    """Types name the tables, whose ids all begin at 1: every id is also one of the longest."""
    posts, photos, videos = range(1, 601), range(1, 101), range(1, 301)
    by = {"App\\Models\\Post": posts, "App\\Models\\Photo": photos, "App\\Models\\Video": videos}
    return {
        "posts": things(posts, "id"),
        "photos": things(photos, "id"),
        "videos": things(videos, "id"),
        "comments": referring(random, by, ("id", "commentable_type", "commentable_id")),
    }


def letters(random: Random) -> Tables:
    """Documents by their numbers, which begin with letters, in another language."""
    bills, offers = [f"RE-{n:05d}" for n in range(300)], [f"AG-{n:05d}" for n in range(200)]
    return {
        "rechnungen": things(bills, "rechnungsnr"),
        "angebote": things(offers, "angebotsnr"),
        "vorgang": referring(random, {"R": bills, "A": offers}, ("lfd", "belegart", "belegnr")),
    }


def one_type_elsewhere(random: Random) -> Tables:
    """A type whose table is not there, rows without any, and some that refer to nothing."""
    tables = numbered_types(random)
    names, rows = referring(
        random,
        {1: range(10_001, 10_301), 2: range(50_001, 51_001), 3: range(900_000, 900_400)},
        ("id", "ref_type", "ref_id"),
        800,
    )
    spoilt = [
        (number, None, None, mood)
        if number % 19 == 0
        else (number, kind, 77_000_000 + number if number % 31 == 0 else ref, mood)
        for number, (kind, ref, mood) in enumerate((row[1:] for row in rows), 1)
    ]
    return {**tables, "remarks": (names, spoilt)}


def many_types(random: Random) -> Tables:
    """More types than a column has examples, two of them of one table."""
    names = ("desk", "chair", "lamp", "shelf", "sofa", "bed")
    keys = {name: [f"{name[:2].upper()}{n:04d}" for n in range(60)] for name in names}
    by = dict(enumerate(keys.values(), 1))
    by[7] = keys["desk"]
    tables: Tables = {f"{name}s": things(keys[name], f"{name}_no") for name in names}
    return {**tables, "repairs": referring(random, by, ("id", "object_kind", "object_no"), 900)}


def short_types(random: Random) -> Tables:
    """Types are short for the tables: by their first letters, or by consonants."""
    by = {"RES": range(1, 601), "PRF": range(1, 301)}
    return {
        "reservation": things(by["RES"], "reservation_id"),
        "guest_profile": things(by["PRF"], "profile_id"),
        "notes": referring(random, by, ("note_id", "ref_type", "ref_id")),
    }


def codes_and_numbers(random: Random) -> Tables:
    """One column of texts holds the codes of one table and the numbers of others."""
    by = {
        "account": [f"acc_{n * 7919 % 99991:05d}" for n in range(300)],
        "lead": range(1, 401),
        "opportunity": range(1, 201),
    }
    texts = {kind: list(map(str, keys)) for kind, keys in by.items()}
    return {
        **{kind: things(keys, f"{kind}_id") for kind, keys in by.items()},
        "activity": referring(random, texts, ("activity_id", "related_type", "related_id")),
    }


VARIANTS: list[tuple[Callable[[Random], Tables], set[Conditional]]] = [
    (
        numbered_types,
        {
            ("remarks.ref_id", "invoices.id", "ref_type = 1"),
            ("remarks.ref_id", "orders.id", "ref_type = 2"),
        },
    ),
    (
        named_types,
        {
            ("comments.commentable_id", "posts.id", "commentable_type = 'App\\Models\\Post'"),
            ("comments.commentable_id", "photos.id", "commentable_type = 'App\\Models\\Photo'"),
            ("comments.commentable_id", "videos.id", "commentable_type = 'App\\Models\\Video'"),
        },
    ),
    (
        letters,
        {
            ("vorgang.belegnr", "rechnungen.rechnungsnr", "belegart = 'R'"),
            ("vorgang.belegnr", "angebote.angebotsnr", "belegart = 'A'"),
        },
    ),
    (
        one_type_elsewhere,
        {
            ("remarks.ref_id", "invoices.id", "ref_type = 1"),
            ("remarks.ref_id", "orders.id", "ref_type = 2"),
        },
    ),
    (
        many_types,
        {
            ("repairs.object_no", "desks.desk_no", "object_kind in (1, 7)"),
            *(
                ("repairs.object_no", f"{name}s.{name}_no", f"object_kind = {number}")
                for number, name in enumerate(("chair", "lamp", "shelf", "sofa", "bed"), 2)
            ),
        },
    ),
    (
        codes_and_numbers,
        {
            ("activity.related_id", "account.account_id", "related_type = 'account'"),
            ("activity.related_id", "lead.lead_id", "related_type = 'lead'"),
            ("activity.related_id", "opportunity.opportunity_id", "related_type = 'opportunity'"),
        },
    ),
    (
        short_types,
        {
            ("notes.ref_id", "reservation.reservation_id", "ref_type = 'RES'"),
            ("notes.ref_id", "guest_profile.profile_id", "ref_type = 'PRF'"),
        },
    ),
]


def no_split(random: Random) -> Tables:
    """Two tables hold the column together, but nothing says which row is whose."""
    tables = numbered_types(random)
    names, rows = tables["remarks"]
    mixed = [(number, random.choice((1, 2)), ref, mood) for number, _, ref, mood in rows]
    return {**tables, "remarks": (names, mixed)}


def one_holds_all(random: Random) -> Tables:
    """Small ids of both tables are in the longer one, and types are mere numbers."""
    invoices, orders = range(1, 301), range(1, 1_001)
    return {
        "invoices": things(invoices, "id"),
        "orders": things(orders, "id"),
        "remarks": referring(random, {1: invoices, 2: orders}, ("id", "ref_type", "ref_id")),
    }


def kinds_of_one_thing(random: Random) -> Tables:
    """Persons and firms are parties: they refer to the table of parties, not it to them."""
    persons, firms = range(20_001, 20_301), range(70_001, 70_201)
    parties = [(n, "P") for n in persons] + [(n, "F") for n in firms]
    random.shuffle(parties)
    return {
        "persons": things(persons, "party_id"),
        "firms": things(firms, "party_id"),
        "parties": (("party_id", "party_kind"), [*parties]),
    }


def measures(random: Random) -> Tables:
    """Points are no reference, though two ranges of ids hold them by level."""
    tables = numbered_types(random)
    names = ("id", "level", "points_total")
    return {
        **tables,
        "remarks": referring(random, {1: range(10_001, 10_301), 2: range(50_001, 51_001)}, names),
    }


def years(random: Random) -> Tables:
    """A table in parts by year is one parent; the year beside the number is no condition."""
    by = {2020 + n: [f"O{2020 + n}-{i:04d}" for i in range(200)] for n in range(3)}
    tables: Tables = {f"orders_{year}": things(keys, "order_no") for year, keys in by.items()}
    return {**tables, "lines": referring(random, by, ("id", "season", "order_no"), 900)}


TRAPS = [no_split, one_holds_all, kinds_of_one_thing, measures, years]


def built(tmp_path: Path, tables: Tables, *, files: bool) -> dovetail.Catalog:
    source = tmp_path / "office"
    if files:
        source.mkdir()
        for name, (columns, rows) in tables.items():
            with (source / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([columns, *rows])
    else:
        source = source.with_suffix(".sqlite")
        with closing(sqlite3.connect(source)) as connection, connection:
            for name, (columns, rows) in tables.items():
                connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
                marks = ", ".join("?" * len(columns))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    settings = Settings(embedder="none")
    return dovetail.build(str(source), into=tmp_path / "catalog", settings=settings)


def conditional(catalog: dovetail.Catalog) -> set[Conditional]:
    return {
        (
            f"{e.left.name}.{e.columns[0][0]}",
            f"{e.right.name}.{e.columns[0][1]}",
            e.to_dict()["when"],
        )
        for e in catalog.joins()
        if e.when
    }


@pytest.mark.parametrize("files", [False, True], ids=["database", "files"])
@pytest.mark.parametrize(
    ("make", "expected"), VARIANTS, ids=[each.__name__ for each, _ in VARIANTS]
)
def test_a_column_that_splits_the_rows_is_told_as_a_condition(
    tmp_path: Path, make: Callable[[Random], Tables], expected: set[Conditional], files: bool
) -> None:
    catalog = built(tmp_path, make(Random(5)), files=files)
    assert {
        (a.replace(".csv", ""), b.replace(".csv", ""), c) for a, b, c in conditional(catalog)
    } == expected
    columns = {(e.left, e.columns[0][0]) for e in catalog.joins() if e.when}
    plain = [e for e in catalog.joins() if (e.left, e.columns[0][0]) in columns and not e.when]
    assert plain == []


@pytest.mark.parametrize("make", TRAPS, ids=[each.__name__ for each in TRAPS])
def test_what_only_looks_like_a_condition_is_none(
    tmp_path: Path, make: Callable[[Random], Tables]
) -> None:
    assert conditional(built(tmp_path, make(Random(5)), files=False)) == set()


def test_sql_prompts_and_paths_say_the_condition(tmp_path: Path) -> None:
    catalog = built(tmp_path, numbered_types(Random(5)), files=False)
    invoices, orders = (
        next(iter(catalog.join_graph().between("remarks", name))) for name in ("invoices", "orders")
    )
    assert invoices.condition() == "remarks.ref_id = invoices.id AND remarks.ref_type = 1"
    ids = [invoices.right, orders.right, invoices.left]
    assert join_sql(ids, [invoices, orders]) == (
        "FROM remarks\n"
        "LEFT JOIN invoices ON remarks.ref_id = invoices.id AND remarks.ref_type = 1\n"
        "LEFT JOIN orders ON remarks.ref_id = orders.id AND remarks.ref_type = 2"
    )
    assert join_sql(ids, [invoices]).splitlines()[-1] == (
        "JOIN remarks ON remarks.ref_id = invoices.id AND remarks.ref_type = 1"
    )
    counted = catalog.sql(f"SELECT count(*) AS n {join_sql(ids, [invoices])}").to_arrow()
    assert counted.to_pylist()[0]["n"] / 400 == pytest.approx(invoices.match_rate)
    given = catalog.ask("remarks on orders and invoices")
    assert "remarks.ref_type = 1" in catalog.prompt(given)
    # No remark is on an invoice and on an order: there is no way from one to the other.
    assert catalog.path("invoices", "orders") == []


def test_updates_find_what_a_rebuild_finds(tmp_path: Path) -> None:
    tables = numbered_types(Random(5))
    catalog = built(tmp_path, tables, files=True)
    (tmp_path / "office" / "orders.csv").unlink()
    catalog.refresh()
    assert conditional(catalog) == set()
    names, rows = tables["orders"]
    with (tmp_path / "office" / "orders.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    catalog.refresh()
    fresh = dovetail.build(tmp_path / "office", into=tmp_path / "fresh")
    assert list(catalog.join_graph().edges) == list(fresh.join_graph().edges)
    assert len(conditional(catalog)) == 2
