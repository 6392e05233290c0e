"""Groups of like columns against all pairs, and overlaps of contents against sets of Python."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.families.contents import Contents, FamilyTable, Verdict, alike, family_tables
from dovetail.families.detect import by_columns
from dovetail.names.table_name import TableName
from tests.support.pile import EVENTS, PEOPLE, catalog_of, events, people


def table(number: int, columns: frozenset[str]) -> FamilyTable:
    placed = {name: place for place, name in enumerate(sorted(columns))}
    return FamilyTable(
        TableId("s", f"t{number:03}"), number, 0, TableName.parse("t"), 1, placed, {}
    )


def slow_groups(tables: list[FamilyTable]) -> set[frozenset[TableId]]:
    """Connected components over every pair of tables."""
    groups = [{one.id} for one in tables]
    for one in tables:
        for other in tables:
            if alike(one.names, other.names):
                mine = next(group for group in groups if one.id in group)
                its = next(group for group in groups if other.id in group)
                if mine is not its:
                    groups.remove(its)
                    mine |= its
    return {frozenset(group) for group in groups}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), min_size=1), min_size=1, max_size=14)
)
def test_groups_equal_those_of_all_pairs(sets: list[frozenset[str]]) -> None:
    tables = [table(number, columns) for number, columns in enumerate(sets)]
    found = {frozenset(one.id for one in group) for group in by_columns(tables)}
    assert found == slow_groups(tables)


def test_contents_are_compared_by_exact_counts(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = people(200, 1)
    part = [*draw.sample(rows, 70), *people(30, 2, first=9000)]
    catalog = catalog_of(
        tmp_path,
        s={
            "people": (PEOPLE, rows),
            "some": (PEOPLE, part),
            "others": (PEOPLE, people(200, 3)),
            "events_1": (EVENTS, events(2020)),
            "events_2": (EVENTS, events(2021)),
            "few": (PEOPLE, rows[:5]),
        },
    )
    known = {one.id.name: one for one in family_tables(catalog.reader)}
    contents = Contents(catalog.reader)
    overlap = contents.compare(known["some"], known["people"])
    shared = len({row[2] for row in part} & {row[2] for row in rows})
    assert (overlap.verdict, overlap.column) == (Verdict.OVERLAP, "email")
    assert (overlap.shared, overlap.total) == (shared, 100) == (70, 100)
    strangers = contents.compare(known["others"], known["people"])
    assert (strangers.verdict, strangers.shared, strangers.proven) == (Verdict.APART, 0, True)
    apart = contents.compare(known["events_1"], known["events_2"])
    assert (apart.verdict, apart.times) == (Verdict.APART, "happened")
    assert contents.compare(known["few"], known["people"]).verdict is Verdict.UNKNOWN
