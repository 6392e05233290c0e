"""Which member of a family stands for it, by what dbt says of how tables come about."""

from __future__ import annotations

from dovetail.catalog.dbt import NO_PROJECT, DbtProject, DbtTable
from dovetail.domain import TableId
from dovetail.families.family import Families, Family, FamilyMember, Role, by_lineage

RAW, STAGED, MART = (TableId("db", name) for name in ("raw.orders", "stg_orders", "fct_orders"))
FOUND = Families(
    [
        Family(
            "raw.orders",
            RAW,
            (
                FamilyMember(RAW, Role.TABLE),
                FamilyMember(STAGED, Role.COPY),
                FamilyMember(MART, Role.COPY),
            ),
        )
    ]
)


def project(**told: DbtTable) -> DbtProject:
    ids = {"raw": RAW, "staged": STAGED, "mart": MART}
    return DbtProject("manifest.json", "", {ids[name]: facts for name, facts in told.items()})


def stands(known: DbtProject) -> TableId:
    (family,) = by_lineage(FOUND, known)
    assert set(family.tables) == {RAW, STAGED, MART}
    return family.canonical


def test_the_mart_stands_for_what_it_is_staged_from() -> None:
    staged, mart = DbtTable(built_from=(RAW,)), DbtTable(built_from=(STAGED,))
    assert stands(project(raw=DbtTable("source"), staged=staged, mart=mart)) == MART
    assert stands(NO_PROJECT) == RAW
    assert stands(project(mart=mart)) == RAW  # nothing is known of the others


def test_what_people_look_at_comes_before_what_is_built_last() -> None:
    staged = DbtTable(built_from=(RAW,), exposures=("dashboard Orders",))
    mart = DbtTable(built_from=(STAGED,))
    assert stands(project(raw=DbtTable("source"), staged=staged, mart=mart)) == STAGED
    old = DbtTable(built_from=(RAW,), exposures=("dashboard Orders",), deprecated=True)
    assert stands(project(raw=DbtTable("source"), staged=old, mart=mart)) == MART


def test_a_circle_and_a_tie_leave_the_family_as_it_was() -> None:
    one, other = DbtTable(built_from=(MART,)), DbtTable(built_from=(STAGED,))
    assert stands(project(raw=DbtTable("source", feeds=(MART,)), staged=one, mart=other)) == RAW
    assert stands(project(staged=DbtTable(), mart=DbtTable())) == RAW
